//! Ids of runners. A runner can tell whether another one of the same machine has ended, and then
//! takes its trials over without waiting for their leases to expire.

use std::fs;
use std::path::Path;

use uuid::Uuid;

/// Returns a new id for this process.
pub fn new() -> String {
    let machine = machine().unwrap_or_else(|| "unknown".to_owned());
    format!("{machine}/{}/{}", std::process::id(), Uuid::new_v4().simple())
}

/// Returns whether a runner is known to have ended: it ran on this machine, and there is no process
/// of its number, or one that nobody has waited for.
pub fn has_ended(runner: &str) -> bool {
    let mut parts = runner.split('/');
    let (theirs, pid) = (parts.next(), parts.next().and_then(|pid| pid.parse::<u32>().ok()));
    match (machine(), theirs, pid) {
        (Some(ours), Some(theirs), Some(pid)) if ours == theirs => !is_running(pid),
        _ => false,
    }
}

/// A process that was killed stays as a zombie until its parent waits for it, which in a container
/// may be never.
fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    // The state follows the name, which is in parentheses and may contain any character.
    let state = stat.as_deref().ok().and_then(|stat| stat.rsplit_once(") "));
    state.is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Where process numbers mean the same: one start of the system, one namespace of processes.
fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let namespace: String =
        namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{namespace}", boot.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_that_lives_has_not_ended() {
        let ours = new();
        assert!(!has_ended(&ours));
        assert!(!has_ended("another-machine/1/x"));
        assert!(!has_ended(""));
    }

    #[test]
    fn a_killed_process_has_ended_before_its_parent_waits_for_it() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        assert!(is_running(pid));
        child.kill().unwrap();
        ratchet_testkit::wait::until("the end of a process", || !is_running(pid));
        child.wait().unwrap();
        assert!(!is_running(pid));
    }
}
