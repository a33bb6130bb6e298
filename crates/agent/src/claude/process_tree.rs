//! Finds and ends the processes of an agent: its group, what it started, and what left both.
//!
//! The shells that the program starts make sessions of their own, so that a signal for its group
//! does not reach them. While the program lives they are its descendants, which every system can
//! tell; after that they are known by the folder for temporary files in their environment, which
//! only `/proc` can tell.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::process_identity::ProcessIdentity;

/// How long to wait for a process that is just becoming another program.
const EXEC_PAUSE: Duration = Duration::from_millis(5);
/// How often processes are looked through for those that were started meanwhile.
const MAX_PASSES: usize = 40;
/// The flag of threads of the kernel in `/proc/PID/stat`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Lists processes where there is no `/proc`.
const PS: &str = "/bin/ps";

/// Sends a signal to a process and all that stayed in its group.
pub(super) fn kill_group(pid: u32, signal: Signal) {
    let Some(pid) = number(pid) else { return };
    tell(pid, kill_process_group(pid, signal));
}

/// Ends a process, its group, all that descends from it and all that has its folder for temporary
/// files. Returns which they were; they may take a moment to be gone.
pub(super) fn kill_tree(root: &ProcessIdentity, temp: &Path) -> Vec<ProcessIdentity> {
    let mut killed = Vec::new();
    if root.is_alive() {
        // The newest go first, so that no child outlives its parent.
        for pid in stopped_tree(root.pid).into_iter().rev() {
            let identity = ProcessIdentity::of(pid);
            signal(pid, Signal::KILL);
            killed.push(identity);
        }
    }
    let is_taken = start_of(root.pid).is_some_and(|started| started != root.started);
    if !is_taken {
        kill_group(root.pid, Signal::KILL);
    }
    killed.extend(kill_by_temp_folder(temp));
    killed
}

/// Stops a process and all that descends from it, so that none of them starts another meanwhile;
/// returns them, parents first.
fn stopped_tree(root: u32) -> Vec<u32> {
    let mut stopped = vec![root];
    signal(root, Signal::STOP);
    for _ in 0..MAX_PASSES {
        let known: BTreeSet<u32> = stopped.iter().copied().collect();
        let is_new = |(pid, parent): &(u32, u32)| known.contains(parent) && !known.contains(pid);
        let new: Vec<u32> = parents().into_iter().filter(is_new).map(|(pid, _)| pid).collect();
        if new.is_empty() {
            break;
        }
        for pid in new {
            signal(pid, Signal::STOP);
            stopped.push(pid);
        }
    }
    stopped
}

/// Ends all processes that have this folder for temporary files. The shells that the program
/// starts leave its group, but they keep their environment. Returns which they were.
pub(super) fn kill_by_temp_folder(temp: &Path) -> Vec<ProcessIdentity> {
    let mut killed: Vec<ProcessIdentity> = Vec::new();
    // A folder that others share says nothing about whose process it is.
    let is_shared = temp == std::env::temp_dir() || temp.components().count() < 3;
    if is_shared || !temp.is_absolute() {
        return killed;
    }
    let mut entry = b"TMPDIR=".to_vec();
    entry.extend(std::os::unix::ffi::OsStrExt::as_bytes(temp.as_os_str()));
    let mut looked_at: Vec<u32> = processes().collect();
    for _ in 0..MAX_PASSES {
        let before = killed.len();
        let unready = kill_those_of(&entry, looked_at, &mut killed);
        if killed.len() > before {
            // They may have started others before they were killed.
            looked_at = processes().collect();
        } else if unready.is_empty() {
            break;
        } else {
            std::thread::sleep(EXEC_PAUSE);
            looked_at = unready;
        }
    }
    killed
}

/// Ends those processes whose environment has an entry, and returns those that have none yet.
fn kill_those_of(entry: &[u8], pids: Vec<u32>, killed: &mut Vec<ProcessIdentity>) -> Vec<u32> {
    let mut unready = Vec::new();
    for pid in pids {
        let is_known =
            pid == std::process::id() || killed.iter().any(|identity| identity.pid == pid);
        match environment_of(pid) {
            _ if is_known => {}
            Environment::Unknown => {}
            Environment::Unready => unready.push(pid),
            Environment::Known(environment) => {
                let mut variables = environment.split(|byte| *byte == 0);
                if variables.any(|variable| variable == entry) {
                    let identity = ProcessIdentity::of(pid);
                    signal(pid, Signal::KILL);
                    killed.push(identity);
                }
            }
        }
    }
    unready
}

/// A process's environment, as far as it can be read.
#[derive(Debug, PartialEq, Eq)]
enum Environment {
    /// It cannot be read: the process has exited, belongs to another user, or there is no `/proc`.
    Unknown,
    /// The process is in the middle of `exec` and has no environment yet.
    Unready,
    Known(Vec<u8>),
}

fn environment_of(pid: u32) -> Environment {
    let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) else {
        return Environment::Unknown;
    };
    if !environment.is_empty() {
        return Environment::Known(environment);
    }
    // Its parent goes on as soon as the old program is gone, before the new one has its
    // environment: one that was just started may look as if it had none.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    if is_becoming(&stat) { Environment::Unready } else { Environment::Unknown }
}

/// Whether a process is between two programs: it has no environment, not even an empty one.
fn is_becoming(stat: &str) -> bool {
    let Some(fields) = fields(stat) else { return false };
    let number = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok());
    let is_over = matches!(fields.first(), Some(&("Z" | "X")));
    let is_kernels = number(6).is_none_or(|flags| flags & KERNEL_THREAD != 0);
    !is_over && !is_kernels && number(48) == Some(0)
}

/// The fields of `/proc/PID/stat` from the state on.
fn fields(stat: &str) -> Option<Vec<&str>> {
    // The name of the program may hold anything, but it ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().collect())
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn signal(pid: u32, signal: Signal) {
    let Some(pid) = number(pid) else { return };
    tell(pid, kill_process(pid, signal));
}

/// Logs a failed signal, unless the process had exited already.
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

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

/// All processes with their parents.
fn parents() -> Vec<(u32, u32)> {
    if !has_proc() {
        let listed = ps(&["-A", "-o", "pid=", "-o", "ppid="]).unwrap_or_default();
        return listed.lines().filter_map(read_parent).collect();
    }
    let parent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, fields(&stat)?.get(1)?.parse().ok()?))
    };
    processes().filter_map(parent).collect()
}

/// A process and its parent, as `ps` lists them.
fn read_parent(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// What `ps` says; `None` when it says nothing or cannot be asked.
fn ps(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(PS);
    command.args(arguments).env_clear().env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!said.is_empty()).then_some(said)
}

/// When a process started: in ticks since the machine did, and which start of the machine; by the
/// clock where there is no `/proc`. `None` when there is no such process, or it has ended and only
/// waits to be noticed.
pub(super) fn start_of(pid: u32) -> Option<String> {
    if !has_proc() {
        let said = ps(&["-o", "state=", "-o", "lstart=", "-p", &pid.to_string()])?;
        return read_start(&said);
    }
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = fields(&stat)?;
    let is_over = matches!(fields.first(), Some(&("Z" | "X")));
    let ticks = fields.get(19)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    (!is_over).then(|| format!("{ticks}@{}", boot.trim()))
}

/// When a process started, as `ps` says it behind its state.
fn read_start(said: &str) -> Option<String> {
    let (state, started) = said.trim().split_once(char::is_whitespace)?;
    (!state.starts_with('Z')).then(|| started.split_whitespace().collect::<Vec<_>>().join("_"))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
