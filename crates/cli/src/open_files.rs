//! How many files and connections the system lets one process have.

use ratchet_server::app::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More is of no use, and some systems reserve memory for each.
const ENOUGH: u64 = 65_536;
/// What is open beside connections: databases, pipes of agents, files that are being read.
const BESIDE: u64 = 600;

/// Raises the limit of open files to the maximum, and returns it: the usual 1,024
/// are a habit from the time of `select`, which nothing here uses.
pub(crate) fn raise() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    let now = limit.current.unwrap_or(ENOUGH);
    if now >= most {
        return now;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }) {
        Ok(()) => most,
        Err(error) => {
            tracing::warn!(error.cause = %error, "cannot open more files than usual");
            now
        }
    }
}

/// The limits that so many files leave room for; half of the connections are then for all else
/// than streams.
pub(crate) fn fit(limits: Limits, files: u64) -> Limits {
    let room = files.saturating_sub(BESIDE).max(files / 2);
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    if limits.connections <= room {
        return limits;
    }
    tracing::warn!(files, connections = room, "fewer connections: the system allows few files");
    let streams = limits.streams.min(room / 2);
    let project_streams = limits.project_streams.min(streams);
    Limits { connections: room, streams, project_streams, ..limits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_the_system_gives_are_taken() {
        let given = raise();
        assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(given), given);
        assert_eq!(raise(), given);
    }

    #[test]
    fn connections_fit_into_the_files_there_are() {
        let usual = Limits::default();
        let connections = |files| fit(Limits::default(), files).connections;
        assert_eq!(connections(65_536), usual.connections);
        assert_eq!(connections(1_024), 512);
        let few = fit(Limits::default(), 1_024);
        assert!(few.streams < few.connections && few.project_streams <= few.streams);
    }
}
