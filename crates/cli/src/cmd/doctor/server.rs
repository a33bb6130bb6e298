use ratchet_core::counted::counted;
use ratchet_core::time::Timestamp;
use ratchet_remote::ratchet::RatchetClient;
use ratchet_server::api::status::StatusView;
use ratchet_store::disk_reserve::DiskSpace;

use super::disk::judge_space;
use super::{Check, State};
use crate::print::bytes_text;

/// How far the two clocks may be apart.
const CLOCK_TOLERANCE_NANOS: u64 = 60_000_000_000;

/// Asks a running server how it is.
pub(super) async fn checks(server: &RatchetClient, now: Timestamp) -> Vec<Check> {
    match server.get::<StatusView>(&["v1", "status"]).await {
        Ok(status) => judge(&status, env!("CARGO_PKG_VERSION"), now),
        Err(error) => {
            vec![Check::new("server", State::Bad, format!("{:#}", anyhow::Error::from(error)))]
        }
    }
}

fn judge(status: &StatusView, our_version: &str, now: Timestamp) -> Vec<Check> {
    let StatusView { version, projects, queue_depth, telemetry_bytes, .. } = status;
    let work = format!("{queue_depth} batches waiting to be written");
    let data =
        format!("{}, {} of telemetry", counted(*projects, "project"), bytes_text(*telemetry_bytes));
    let space = status.disk_free.zip(status.disk_reserve);
    let space =
        space.map(|(free, reserve)| judge_space(DiskSpace { free, reserve }, *telemetry_bytes));
    let paused = status.retention_paused.as_ref();
    let paused = paused.map(|why| Check::new("retention", State::Warn, why));
    let mut checks = vec![
        Check::new("server", State::Ok, "reachable, with an owner's key"),
        judge_version(version, our_version),
        judge_clock(&status.now, now),
        Check::new("queue", State::Ok, work),
        Check::new("data", State::Ok, data),
    ];
    checks.extend(space.into_iter().chain(paused));
    checks
}

fn judge_version(theirs: &str, ours: &str) -> Check {
    if theirs == ours {
        return Check::new("version", State::Ok, theirs);
    }
    let detail = format!("the server runs ratchet {theirs}, this is {ours}; use the same version");
    Check::new("version", State::Warn, detail)
}

fn judge_clock(theirs: &str, ours: Timestamp) -> Check {
    let distance = Timestamp::parse(theirs).map(|theirs| theirs.since(ours).unsigned_abs());
    let is_close = distance.is_ok_and(|distance| distance <= CLOCK_TOLERANCE_NANOS);
    if is_close {
        return Check::new("clock", State::Ok, theirs);
    }
    let detail =
        format!("the server clock shows {theirs}, the local clock {ours}; correct the clocks");
    Check::new("clock", State::Warn, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: &str, now: &str, expected: [State; 2]) {
        let status = StatusView {
            version: version.to_owned(),
            now: now.to_owned(),
            projects: 1,
            queue_depth: 0,
            observations_since_start: 0,
            telemetry_bytes: 0,
            disk_free: None,
            disk_reserve: None,
            retention_paused: None,
        };
        let ours = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        let checks = judge(&status, "1.2.3", ours);
        let state = |about| checks.iter().find(|check| check.about == about).unwrap().state;
        assert_eq!([state("version"), state("clock")], expected);
    }

    #[test]
    fn versions_and_clocks_should_agree() {
        check("1.2.3", "2026-01-01T00:00:59Z", [State::Ok, State::Ok]);
        check("1.3.0", "2026-01-01T00:00:00Z", [State::Warn, State::Ok]);
        check("1.2.3", "2026-01-01T00:02:00Z", [State::Ok, State::Warn]);
        check("1.2.3", "2025-12-31T23:58:00Z", [State::Ok, State::Warn]);
        check("1.2.3", "soon", [State::Ok, State::Warn]);
    }
}
