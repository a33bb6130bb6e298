use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How often we look whether a process is gone.
const LOOK: Duration = Duration::from_millis(5);
/// How long a process that was killed may take to be gone.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Which process it is: a number, which another may get later, and when it started, which none can.
///
/// Kept with a conversation, it tells after a restart whether the process is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMark {
    /// The number.
    pub pid: u32,
    /// When it started, in the system's own words; empty where the system does not say.
    pub started: String,
}

impl ProcessMark {
    /// The mark of a process that runs.
    pub fn of(pid: u32) -> Self {
        Self { pid, started: start_of(pid).unwrap_or_default() }
    }

    /// Whether that very process still runs. Where the system does not say, it does not.
    pub fn is_alive(&self) -> bool {
        !self.started.is_empty() && start_of(self.pid).as_ref() == Some(&self.started)
    }

    /// Ends what is left of a session after a restart: the process if it is still the same, its
    /// group, and whatever it started that has the session's own folder for temporary files. Waits
    /// a moment until they are gone, for two that go on with one conversation would both write.
    ///
    /// Says whether the process itself was there.
    pub fn end_orphan(&self, temp: &Path) -> bool {
        let was_there = self.is_alive();
        let mut ended = kill_kin(temp);
        if was_there {
            kill_group(self.pid, Signal::KILL);
            ended.push(self.clone());
        }
        let looks = LAST_BREATH.as_millis() / LOOK.as_millis();
        let mut looks = 0..looks;
        while ended.iter().any(Self::is_alive) && looks.next().is_some() {
            std::thread::sleep(LOOK);
        }
        was_there
    }
}

/// Waits a moment until processes that were killed are gone.
pub(super) async fn gone(killed: &[ProcessMark]) {
    let gone = async {
        while killed.iter().any(ProcessMark::is_alive) {
            tokio::time::sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(LAST_BREATH, gone).await.is_err() {
        tracing::warn!("a process that claude started does not end");
    }
}

/// Sends a signal to a process and all that stayed in its group.
pub(super) fn kill_group(pid: u32, signal: Signal) {
    let Some(pid) = number(pid) else { return };
    tell(pid, kill_process_group(pid, signal));
}

/// Ends all processes that have this folder for temporary files. The shells that the program
/// starts leave its group, but they keep their environment. Returns which they were.
pub(super) fn kill_kin(temp: &Path) -> Vec<ProcessMark> {
    let mut killed = Vec::new();
    // A folder that others share says nothing about whose process it is.
    let is_shared = temp == std::env::temp_dir() || temp.components().count() < 3;
    if is_shared || !temp.is_absolute() {
        return killed;
    }
    let mut entry = b"TMPDIR=".to_vec();
    entry.extend(std::os::unix::ffi::OsStrExt::as_bytes(temp.as_os_str()));
    for pid in processes().filter(|pid| *pid != std::process::id()) {
        let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else { continue };
        let is_kin = environment.split(|byte| *byte == 0).any(|variable| variable == entry);
        let mark = ProcessMark::of(pid);
        if let Some(pid) = number(pid).filter(|_| is_kin) {
            tell(pid, kill_process(pid, Signal::KILL));
            killed.push(mark);
        }
    }
    killed
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// There may be nobody left, which is as well; anything else is worth knowing.
fn tell(pid: Pid, killed: rustix::io::Result<()>) {
    if let Err(error) = killed
        && error != Errno::SRCH
    {
        tracing::warn!(pid = pid.as_raw_nonzero().get(), %error, "cannot end a process");
    }
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// When a process started: in ticks since the machine did, and which start of the machine. `None`
/// when there is no such process, or it has ended and only waits to be noticed.
fn start_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may hold anything, but it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let is_over = matches!(fields.next()?, "Z" | "X");
    let ticks = fields.nth(18)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    (!is_over).then(|| format!("{ticks}@{}", boot.trim()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_known_by_its_start() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let mark = ProcessMark::of(child.id());
        assert!(mark.is_alive(), "{mark:?}");
        let another = ProcessMark { started: "1@x".to_owned(), ..mark.clone() };
        assert!(!another.is_alive());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!mark.is_alive());
    }

    #[test]
    fn kin_are_known_by_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let cat = |temp: &Path| {
            let mut command = Command::new("cat");
            command.env("TMPDIR", temp).stdin(Stdio::piped()).spawn().unwrap()
        };
        let (mut kin, mut stranger) = (cat(folder.path()), cat(&folder.path().join("other")));
        let killed = kill_kin(folder.path());
        assert_eq!(killed.iter().map(|mark| mark.pid).collect::<Vec<_>>(), [kin.id()]);
        assert!(!kin.wait().unwrap().success());
        drop(stranger.stdin.take());
        assert!(stranger.wait().unwrap().success());
    }
}
