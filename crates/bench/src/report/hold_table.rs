use super::table::{megabytes, milliseconds, table, whole};
use crate::hold::Holding;

pub(super) fn table_of(holding: &Holding) -> String {
    let row = |what: &str, measured: String| vec![what.to_owned(), measured];
    let trace = &holding.trace;
    let rows = [
        row("health check at rest, p50", milliseconds(holding.health_idle.p50_ms)),
        row("health check at rest, p99", milliseconds(holding.health_idle.p99_ms)),
        row("health check under 8 bombs, p50", milliseconds(holding.health.p50_ms)),
        row("health check under 8 bombs, p99", milliseconds(holding.health.p99_ms)),
        row("bombs refused meanwhile", whole(holding.refused)),
        row("peak memory (resident)", megabytes(holding.peak_bytes)),
        row("spans of a long trace", whole(trace.spans)),
        row("reading it whole", format!("{:.1} s", trace.seconds)),
        row("bytes of the answer", megabytes(trace.bytes)),
        row("peak memory (resident) of that", megabytes(trace.peak_bytes)),
    ];
    table("What it bears", &["what", "measured"], &rows)
}
