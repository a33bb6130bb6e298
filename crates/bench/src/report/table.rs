use crate::cluster::{Clustering, TARGET_SECONDS as CLUSTERING_TARGET};
use crate::pages::{PageReading, TARGET_MS};
use crate::record::Recording;
use crate::score::{ScoringPace, Sent, TARGET_BYTES, TARGET_PER_100_MS};

use super::{Idle, Peer, Report, chat_table, experiment_table, hold_table};

pub(super) fn report(report: &Report) -> String {
    let setting = &report.setting;
    let mut text = format!(
        "Spans of {} bytes, {} cores shared by server and client, {} s for each load.\n",
        setting.span_bytes, setting.cores, setting.seconds
    );
    if let Some(idle) = &report.idle {
        text += &idle_table(idle);
    }
    if !report.recording.is_empty() {
        text += &recording_table(&report.recording);
    }
    text += &split_table(report);
    text += &evaluating_table(report);
    text += &reading_table(report);
    text += &page_table(report);
    text += &scoring_table(report);
    text += &report.clustering.as_ref().map(clustering_table).unwrap_or_default();
    text += &report.experiments.as_ref().map(experiment_table::table_of).unwrap_or_default();
    text += &chat_table::tables(&report.relaying);
    text += &report.holding.as_ref().map(hold_table::table_of).unwrap_or_default();
    if let Some(peer) = &report.peer {
        text += &peer_table(report, peer);
    }
    text
}

/// A table with a heading; numbers are already formatted.
pub(super) fn table(title: &str, head: &[&str], rows: &[Vec<String>]) -> String {
    let columns: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells =
                rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain([head[column].chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&columns).map(|(cell, width)| format!("{cell:>width$}"));
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule =
        columns.iter().map(|width| format!("{}:", "-".repeat(width.saturating_sub(1).max(1))));
    let rule: Vec<String> = rule.collect();
    let mut text = format!("\n**{title}**\n\n");
    text += &line(head.to_vec());
    text += &line(rule.iter().map(String::as_str).collect());
    rows.iter().for_each(|row| text += &line(row.iter().map(String::as_str).collect()));
    text
}

fn clustering_table(measured: &Clustering) -> String {
    let row = vec![
        measured.failures.to_string(),
        measured.groups.to_string(),
        format!("{:.1} (aim < {CLUSTERING_TARGET})", measured.seconds),
    ];
    table("Clustering of failures of one tool", &["failures", "groups", "seconds"], &[row])
}

fn idle_table(idle: &Idle) -> String {
    let mut rows = vec![
        vec!["cold start, new folder".to_owned(), milliseconds(idle.cold_start_ms)],
        vec!["idle memory (resident)".to_owned(), megabytes(idle.memory_bytes)],
        vec!["program".to_owned(), megabytes(idle.program_bytes)],
    ];
    if let Some(bytes) = idle.bytes_per_span {
        rows.push(vec!["on disk for each span".to_owned(), format!("{bytes:.0} bytes")]);
    }
    table("At rest", &["what", "measured"], &rows)
}

fn recording_table(recordings: &[Recording]) -> String {
    let head = [
        "connections",
        "batch",
        "spans/s",
        "server µs/span",
        "client µs/span",
        "ack p50",
        "ack p99",
        "read back",
    ];
    let rows: Vec<Vec<String>> = recordings
        .iter()
        .map(|recording| {
            vec![
                recording.cell.connections.to_string(),
                recording.cell.batch.to_string(),
                thousands(recording.spans_per_second),
                recording.server_cpu_us.map_or_else(|| "?".to_owned(), |us| format!("{us:.1}")),
                format!("{:.1}", recording.client_cpu_us),
                milliseconds(recording.acknowledged.p50_ms),
                milliseconds(recording.acknowledged.p99_ms),
                if recording.confirmed { "yes" } else { "not tried" }.to_owned(),
            ]
        })
        .collect();
    table("Recording over HTTP, acknowledged and queryable", &head, &rows)
}

fn split_table(report: &Report) -> String {
    let Some(split) = &report.split else {
        return String::new();
    };
    let total = split.decode_us + split.map_us + split.prepare_us + split.write_us;
    let row =
        |what: &str, us: f64, ceiling: String| vec![what.to_owned(), format!("{us:.1}"), ceiling];
    let rows = [
        row("decode", split.decode_us, format!("{} on one core", thousands(split.decode_ceiling))),
        row("map", split.map_us, String::new()),
        row("merge and compress", split.prepare_us, String::new()),
        row("write", split.write_us, format!("{} by the writer", thousands(split.write_ceiling))),
        row("together", total, String::new()),
    ];
    table("CPU time of one span, without HTTP", &["step", "µs", "alone, spans/s"], &rows)
}

fn evaluating_table(report: &Report) -> String {
    let Some(evaluating) = &report.evaluating else { return String::new() };
    let per_second = |rate: f64| format!("{} spans/s", thousands(rate));
    let rows = [
        vec!["recording without".to_owned(), per_second(evaluating.without_spans_per_second)],
        vec!["recording with".to_owned(), per_second(evaluating.with_spans_per_second)],
        vec!["share".to_owned(), format!("{:.0}%", evaluating.share * 100.0)],
        vec![
            "outbox, writer's time per span".to_owned(),
            format!("{:.2} µs", evaluating.outbox_us),
        ],
        vec!["traces judged".to_owned(), evaluating.judged.to_string()],
        vec!["verdict, judge included".to_owned(), format!("{:.2} ms", evaluating.verdict_ms)],
        vec!["of which the offline judge".to_owned(), format!("{:.2} ms", evaluating.judge_ms)],
    ];
    table("Online evaluators, offline judge", &["what", "measured"], &rows)
}

fn reading_table(report: &Report) -> String {
    if report.reading.is_empty() {
        return String::new();
    }
    let head = [
        "observations",
        "list-50 p50",
        "p99",
        "get-trace p50",
        "p99",
        "aggregate p50",
        "p99",
        "metrics p50",
        "p99",
        "metrics of a day, read, p50",
        "p99",
        "daily metrics p50",
        "p99",
        "review sample, traces/s",
        "recording spans/s",
        "µs/span",
        "cold start",
        "bytes/span",
    ];
    let rows: Vec<Vec<String>> = report
        .reading
        .iter()
        .map(|at| {
            let spreads = [at.list, at.get, at.aggregate, at.metrics, at.metrics_scan, at.daily];
            let times = spreads.iter().flat_map(|spread| [spread.p50_ms, spread.p99_ms]);
            let mut row = vec![whole(at.rows)];
            row.extend(times.map(milliseconds));
            row.push(thousands(at.drawn_per_second));
            row.push(thousands(at.recording.spans_per_second));
            row.push(at.recording.server_cpu_us.map_or_else(String::new, |us| format!("{us:.1}")));
            row.push(milliseconds(at.cold_start_ms));
            row.push(format!("{:.0}", at.bytes_per_span));
            row
        })
        .collect();
    table("Reading, as the folder grows", &head, &rows)
}

fn page_table(report: &Report) -> String {
    let row = |rows: u64, page: &PageReading| {
        vec![
            whole(rows),
            page.name.to_owned(),
            milliseconds(page.server.p50_ms),
            milliseconds(page.server.p99_ms),
            milliseconds(page.first_paint.p50_ms),
            format!("{:.2}", page.first_paint.p50_ms / TARGET_MS),
            whole(page.bytes),
        ]
    };
    let at_each = report.reading.iter();
    let rows: Vec<Vec<String>> =
        at_each.flat_map(|at| at.pages.iter().map(move |page| row(at.rows, page))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "observations",
        "page",
        "server p50",
        "p99",
        "first paint p50",
        "of the 200 ms aimed at",
        "bytes, nothing cached",
    ];
    table("Pages, as the folder grows", &head, &rows)
}

fn scoring_table(report: &Report) -> String {
    let Some(scoring) = &report.scoring else {
        return String::new();
    };
    let row = |what: &str, pace: &ScoringPace| {
        #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
        let of_memory = pace.memory_bytes as f64 / TARGET_BYTES;
        vec![
            what.to_owned(),
            pace.judge.to_owned(),
            format!("{:.1}", pace.per_second),
            milliseconds(pace.cpu_ms_per_100),
            milliseconds(pace.ms_per_100),
            format!("{:.2}", pace.ms_per_100 / TARGET_PER_100_MS),
            megabytes(pace.memory_bytes),
            format!("{of_memory:.2}"),
        ]
    };
    let many = scoring.usual.iter().map(|pace| row("100 traces each", pace));
    let rows: Vec<Vec<String>> = many.chain([row("1 M tokens", &scoring.long)]).collect();
    let head = [
        "sessions",
        "judge",
        "sessions/s",
        "CPU for 100 traces",
        "on the clock",
        "of the 20 ms aimed at",
        "peak memory",
        "of the 200 MB aimed at",
    ];
    let Sent { questions, tokens, tokens_with_cache } = scoring.sent;
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let share = tokens_with_cache as f64 / tokens.max(1) as f64;
    let sent =
        [vec![whole(questions), whole(tokens), whole(tokens_with_cache), format!("{share:.3}")]];
    let sent_head = ["questions", "tokens sent", "fresh, with the cached prefix", "of all"];
    table("Scoring with a judge that answers at once", &head, &rows)
        + &table("What a session of 1 M tokens has a judge read", &sent_head, &sent)
}

fn peer_table(report: &Report, peer: &Peer) -> String {
    let head = [
        "connections",
        "batch",
        "peer spans/s",
        "until idle",
        "peer µs/span",
        "ratchet spans/s",
        "times as fast",
        "times as cheap",
    ];
    let rows: Vec<Vec<String>> = peer
        .recording
        .iter()
        .map(|theirs| {
            let ours = report.under(theirs.cell);
            let faster =
                ours.map(|ours| ours.settled_spans_per_second / theirs.settled_spans_per_second);
            let ours_cpu = ours.and_then(|ours| ours.server_cpu_us);
            let cheaper = ours_cpu.zip(theirs.server_cpu_us).map(|(ours, theirs)| theirs / ours);
            let times =
                |ratio: Option<f64>| ratio.map_or_else(|| "?".to_owned(), |r| format!("{r:.0}"));
            vec![
                theirs.cell.connections.to_string(),
                theirs.cell.batch.to_string(),
                thousands(theirs.spans_per_second),
                thousands(theirs.settled_spans_per_second),
                theirs.server_cpu_us.map_or_else(|| "?".to_owned(), |us| format!("{us:.0}")),
                ours.map_or_else(|| "?".to_owned(), |ours| thousands(ours.spans_per_second)),
                times(faster),
                times(cheaper),
            ]
        })
        .collect();
    table(&format!("The same load on {}", peer.url), &head, &rows)
}

pub(super) fn megabytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
    let bytes = bytes as f64;
    format!("{:.1} MB", bytes / 1e6)
}

pub(super) fn milliseconds(ms: f64) -> String {
    if ms < 10.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") }
}

/// A rate with thousands separators.
fn thousands(rate: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    whole(rate.round() as u64)
}

pub(super) fn whole(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(whole(7), "7");
        assert_eq!(whole(1_234_567), "1,234,567");
        assert_eq!(thousands(999.6), "1,000");
    }

    #[test]
    fn tables_line_up() {
        let text = table("T", &["a", "b"], &[vec!["1".to_owned(), "22".to_owned()]]);
        assert_eq!(text, "\n**T**\n\n| a |  b |\n| -: | -: |\n| 1 | 22 |\n");
    }
}
