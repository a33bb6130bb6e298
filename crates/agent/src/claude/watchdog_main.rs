//! The process that ends an agent with its host.
//!
//! The host may be killed, hung up on or crash, and says nothing then. What the system does for it
//! in every case, on every system, is to close its pipes. So a process of its own holds the other
//! end of one: when it closes without a word, the agent and all it started are killed. It is not
//! between the host and the agent: nothing that they say passes through it.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::getppid;

use super::process_identity::{ProcessIdentity, wait_until_gone};
use super::process_tree::kill_tree;

/// How often it looks whether its host is still its parent. Another child of the host may hold the
/// pipe open by accident, where the system cannot open one that children do not get.
const PARENT_CHECK: Duration = Duration::from_secs(1);
/// How often what is left is looked for.
const MAX_ROUNDS: usize = 5;

/// What the host says over the pipe, a line each.
#[derive(Debug, PartialEq, Eq)]
enum Order {
    /// This process is to end with the host.
    Watch(ProcessIdentity),
    /// It has ended: there is nothing left to do.
    Done,
}

/// Waits until the host says that its agent has ended, or is gone; then ends the agent: its group,
/// all that descends from it, and all that has its folder for temporary files.
pub fn supervise(orders: impl Read + Send + 'static, temp: &Path) {
    let (sender, received) = mpsc::sync_channel(4);
    // It ends with the process, at the latest.
    std::thread::spawn(move || {
        for line in BufReader::new(orders).lines() {
            let Ok(line) = line else { return };
            if let Some(order) = Order::read(&line)
                && sender.send(order).is_err()
            {
                return;
            }
        }
    });
    let parent = getppid();
    if let Some(watched) = until_the_host_is_gone(&received, || getppid() == parent) {
        end(&watched, temp);
    }
}

/// Returns what to end once the host is gone; `None` when there is nothing to end.
fn until_the_host_is_gone(
    orders: &Receiver<Order>,
    is_there: impl Fn() -> bool,
) -> Option<Vec<ProcessIdentity>> {
    let mut watched = Vec::new();
    loop {
        match orders.recv_timeout(PARENT_CHECK) {
            Ok(Order::Watch(identity)) => watched.push(identity),
            Ok(Order::Done) => return None,
            Err(RecvTimeoutError::Timeout) if is_there() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Some(watched);
            }
        }
    }
}

fn end(watched: &[ProcessIdentity], temp: &Path) {
    // One that the host had no time to name has the folder at least.
    let unnamed = [ProcessIdentity { pid: 0, started: String::new() }];
    let roots = if watched.is_empty() { &unnamed[..] } else { watched };
    for _ in 0..MAX_ROUNDS {
        let killed: Vec<_> = roots.iter().flat_map(|root| kill_tree(root, temp)).collect();
        wait_until_gone(&killed);
        if killed.is_empty() {
            return;
        }
    }
}

impl Order {
    fn read(line: &str) -> Option<Self> {
        if line == "done" {
            return Some(Self::Done);
        }
        let (pid, started) = line.strip_prefix("watch ")?.split_once(' ')?;
        Some(Self::Watch(ProcessIdentity { pid: pid.parse().ok()?, started: started.to_owned() }))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Write as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn cat(temp: &Path) -> Child {
        let mut command = Command::new("cat");
        command.env("TMPDIR", temp).stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_pipe_that_closes_without_a_word_ends_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let (orders, mut lifeline) = std::io::pipe().unwrap();
        let (mut agent, mut unnamed) = (cat(Path::new("/elsewhere/x/y")), cat(folder.path()));
        let identity = ProcessIdentity::of(agent.id());
        writeln!(lifeline, "watch {} {}", identity.pid, identity.started).unwrap();
        drop(lifeline);
        supervise(orders, folder.path());
        assert!(!agent.wait().unwrap().success());
        assert!(!unnamed.wait().unwrap().success());
    }

    #[test]
    fn an_agent_that_ended_in_order_leaves_nothing_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let (orders, mut lifeline) = std::io::pipe().unwrap();
        let mut other = cat(folder.path());
        let identity = ProcessIdentity::of(other.id());
        writeln!(lifeline, "watch {} {}\ndone", identity.pid, identity.started).unwrap();
        supervise(orders, folder.path());
        drop(other.stdin.take());
        assert!(other.wait().unwrap().success());
    }

    #[test]
    fn a_host_that_is_gone_is_noticed_even_if_the_pipe_stays_open() {
        let (_sender, received) = mpsc::sync_channel(1);
        assert_eq!(until_the_host_is_gone(&received, || false), Some(Vec::new()));
    }

    #[test]
    fn orders_are_read() {
        let identity = ProcessIdentity { pid: 7, started: "12@x y".to_owned() };
        assert_eq!(Order::read("watch 7 12@x y"), Some(Order::Watch(identity)));
        let unset = ProcessIdentity { pid: 7, started: String::new() };
        assert_eq!(Order::read("watch 7 "), Some(Order::Watch(unset)));
        assert_eq!(Order::read("done"), Some(Order::Done));
        assert_eq!(Order::read("else"), None);
    }
}
