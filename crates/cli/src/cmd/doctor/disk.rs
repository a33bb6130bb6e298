use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::SystemTime;

use ratchet_core::time::Timestamp;
use rustix::fs::Access;

use super::{Check, State};
use crate::config::Config;
use crate::print::bytes_text;
use ratchet_store::disk_reserve::DiskSpace;
use ratchet_store::secrets::SECRET_FILE;

/// Below this, it is time to act.
const LITTLE_SPACE: u64 = 1_000_000_000;
/// How far into the future a file may have been written: clocks of network disks differ a little.
const CLOCK_TOLERANCE_NANOS: i64 = 60_000_000_000;

/// Whether the folder holds what a server keeps there.
pub(super) fn is_data_folder(data: &Path) -> bool {
    data.join("catalog.db").exists() || data.join("telemetry.db").exists()
}

/// Looks at the folder and the disk under it.
pub(super) fn checks(config: &Config, now: Timestamp) -> Vec<Check> {
    let data = config.data.as_path();
    if !is_data_folder(data) {
        let detail = format!(
            "{} is not a data folder; `ratchet serve --data {}` creates one",
            data.display(),
            data.display()
        );
        return vec![Check::new("data folder", State::Bad, detail)];
    }
    let found = Check::new("data folder", State::Ok, data.display().to_string());
    vec![found, access(data), space(config), secret_key(data), clock(data, now)]
}

fn access(data: &Path) -> Check {
    let parts = [".", "catalog.db", "telemetry.db"].map(|name| data.join(name));
    let refused = parts.iter().filter(|path| path.exists()).find(|path| {
        rustix::fs::access(path.as_path(), Access::READ_OK | Access::WRITE_OK).is_err()
    });
    match refused {
        None => Check::new("permissions", State::Ok, "readable and writable"),
        Some(path) => Check::new(
            "permissions",
            State::Bad,
            format!("{} cannot be written; see `ls -ld` and `mount`", path.display()),
        ),
    }
}

fn space(config: &Config) -> Check {
    let data = config.data.as_path();
    let Some(space) = config.store.reserve.free_space(data) else {
        return Check::new("disk space", State::Warn, "free space is unknown");
    };
    let used = ["telemetry.db", "telemetry.db-wal", "catalog.db"]
        .map(|name| std::fs::metadata(data.join(name)).map_or(0, |file| file.len()));
    judge_space(space, used.iter().sum())
}

/// Says whether that is enough.
pub(super) fn judge_space(space: DiskSpace, used: u64) -> Check {
    let DiskSpace { free, reserve } = space;
    let detail = format!("{} free, {} used", bytes_text(free), bytes_text(used));
    if space.is_low() {
        let detail = format!(
            "{detail}; ingestion has stopped, {} are reserved (disk.reserve): delete traces, set a retention, run `ratchet compact`, or enlarge the disk",
            bytes_text(reserve)
        );
        return Check::new("disk space", State::Bad, detail);
    }
    if free < LITTLE_SPACE.saturating_add(reserve) {
        let detail = format!(
            "{detail}; ingestion stops at {} (disk.reserve): free disk space or set a retention soon",
            bytes_text(reserve)
        );
        return Check::new("disk space", State::Warn, detail);
    }
    if free < used {
        let detail = format!("{detail}; not enough for a backup on this disk");
        return Check::new("disk space", State::Warn, detail);
    }
    Check::new("disk space", State::Ok, detail)
}

fn secret_key(data: &Path) -> Check {
    let path = data.join(SECRET_FILE);
    let Ok(file) = std::fs::metadata(&path) else {
        return Check::new(SECRET_FILE, State::Ok, "not created yet");
    };
    let others = file.permissions().mode() & 0o077;
    if others != 0 {
        let detail = format!("readable by others; run `chmod 600 {}`", path.display());
        return Check::new(SECRET_FILE, State::Bad, detail);
    }
    Check::new(SECRET_FILE, State::Ok, "readable by its owner only")
}

/// A file written in the future means that the clock was set back since.
fn clock(data: &Path, now: Timestamp) -> Check {
    let written = ["telemetry.db", "telemetry.db-wal", "catalog.db"].map(|name| {
        let modified = std::fs::metadata(data.join(name)).and_then(|file| file.modified()).ok()?;
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(Timestamp::from_nanos(i64::try_from(since.as_nanos()).ok()?))
    });
    judge_clock(now, written.into_iter().flatten().max())
}

fn judge_clock(now: Timestamp, written: Option<Timestamp>) -> Check {
    match written {
        Some(written) if written.since(now) > CLOCK_TOLERANCE_NANOS => Check::new(
            "clock",
            State::Warn,
            format!(
                "the clock shows {now}, but the data was last written at {written}; correct the clock"
            ),
        ),
        _ => Check::new("clock", State::Ok, now.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_judged_by_what_is_left() {
        let judge =
            |(free, used)| judge_space(DiskSpace { free, reserve: 100_000_000 }, used).state;
        let states = [(50_000_000, 0), (500_000_000, 0), (2_000_000_000, 3_000_000_000)].map(judge);
        assert_eq!(states, [State::Bad, State::Warn, State::Warn]);
        assert_eq!(judge((5_000_000_000, 3_000_000_000)), State::Ok);
    }

    #[test]
    fn a_clock_set_back_is_noticed() {
        let now = Timestamp::from_millis(1_000_000);
        let state = |later_millis: i64| {
            judge_clock(now, Some(Timestamp::from_millis(1_000_000 + later_millis))).state
        };
        assert_eq!(state(-5_000), State::Ok);
        assert_eq!(state(30_000), State::Ok);
        assert_eq!(state(120_000), State::Warn);
    }
}
