use std::path::Path;
use std::time::Duration;

use super::process_tree::{kill_by_temp_folder, kill_tree, start_of};

/// How often we look whether a process is gone.
const LOOK: Duration = Duration::from_millis(5);
/// How long a process that was killed may take to be gone.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Which process it is: a number, which another may get later, and when it started, which none can.
///
/// Kept with a conversation, it tells after a restart whether the process is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    pub pid: u32,
    /// When it started, in the system's own words; empty where the system does not say.
    pub started: String,
}

impl ProcessIdentity {
    /// Identity of a running process.
    pub fn of(pid: u32) -> Self {
        Self { pid, started: start_of(pid).unwrap_or_default() }
    }

    /// Whether that very process still runs. Where the system does not say, it does not.
    pub fn is_alive(&self) -> bool {
        !self.started.is_empty() && start_of(self.pid).as_ref() == Some(&self.started)
    }

    /// Ends what is left of a chat after a restart: the process if it is still the same, its
    /// group, and whatever it started that has the chat's own folder for temporary files. Waits
    /// a moment until they are gone, for two that go on with one conversation would both write.
    ///
    /// Says whether the process itself was there.
    pub fn end_orphan(&self, temp: &Path) -> bool {
        let was_there = self.is_alive();
        // A group that lost its first process may be anybody's after so long.
        let ended = if was_there { kill_tree(self, temp) } else { kill_by_temp_folder(temp) };
        wait_until_gone(&ended);
        was_there
    }
}

/// Blocks until killed processes have exited, up to a timeout. For threads that may block.
pub(super) fn wait_until_gone(killed: &[ProcessIdentity]) {
    let mut looks = 0..LAST_BREATH.as_millis() / LOOK.as_millis();
    while killed.iter().any(ProcessIdentity::is_alive) && looks.next().is_some() {
        std::thread::sleep(LOOK);
    }
}

/// Waits a moment until processes that were killed are gone.
pub(super) async fn gone(killed: &[ProcessIdentity]) {
    let gone = async {
        while killed.iter().any(ProcessIdentity::is_alive) {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(LAST_BREATH, gone).await.is_err() {
        tracing::warn!("a process that claude started does not end");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_known_by_its_start() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = ProcessIdentity::of(child.id());
        assert!(identity.is_alive(), "{identity:?}");
        let another = ProcessIdentity { started: "1@x".to_owned(), ..identity.clone() };
        assert!(!another.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!identity.is_alive());
    }
}
