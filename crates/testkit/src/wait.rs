//! Waiting for a condition with a deadline: the one way in which tests wait.
//!
//! Conditions are checked every few milliseconds instead of in a busy loop, which would take the
//! processor from what is waited for.

use std::fmt::Debug;
use std::io::{BufRead, BufReader, Read};
use std::panic::Location;
use std::process::{Child, ExitStatus, Output};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// After this a wait fails. Long, because machines may be busy; a passing test never takes it.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The same for a command that runs to its end, which may have much to do.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
const INTERVAL: Duration = Duration::from_millis(3);

/// Waits until a condition is true.
///
/// # Panics
/// On timeout; the message has `what`.
#[track_caller]
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < TIMEOUT, "timeout while waiting until {what}");
        std::thread::park_timeout(INTERVAL);
    }
}

/// Waits until an asynchronous condition is true.
///
/// # Panics
/// On timeout; the message has `what`, and the caller's line, which a panic in a task does not say.
#[track_caller]
pub fn until_async(what: &str, mut is_true: impl AsyncFnMut() -> bool) -> impl Future<Output = ()> {
    let caller = Location::caller();
    async move {
        let wait = async {
            while !is_true().await {
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let ended = tokio::time::timeout(TIMEOUT, wait).await;
        assert!(ended.is_ok(), "timeout while waiting until {what} ({caller})");
    }
}

/// Reads a value until it meets a condition, and returns it.
///
/// # Panics
/// On timeout; the message has `what` and the last value.
#[track_caller]
pub fn for_value<T: Debug>(
    what: &str,
    mut read: impl FnMut() -> T,
    is_it: impl Fn(&T) -> bool,
) -> T {
    let began = Instant::now();
    loop {
        let value = read();
        if is_it(&value) {
            return value;
        }
        assert!(began.elapsed() < TIMEOUT, "timeout while waiting for {what}; last: {value:#?}");
        std::thread::park_timeout(INTERVAL);
    }
}

/// Reads a value asynchronously until it meets a condition, and returns it.
///
/// # Panics
/// On timeout; the message has `what`, the last value and the caller's line.
#[track_caller]
pub fn for_value_async<T: Debug>(
    what: &str,
    mut read: impl AsyncFnMut() -> T,
    is_it: impl Fn(&T) -> bool,
) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let mut last = None;
        let wait = async {
            loop {
                let value = read().await;
                if is_it(&value) {
                    return value;
                }
                last = Some(value);
                tokio::time::sleep(INTERVAL).await;
            }
        };
        let ended = tokio::time::timeout(TIMEOUT, wait).await;
        let timeout = |_| panic!("timeout while waiting for {what} ({caller}); last: {last:#?}");
        ended.unwrap_or_else(timeout)
    }
}

/// Awaits a future: the next event of a stream, the end of a process.
///
/// # Panics
/// On timeout; the message has `what` and the caller's line.
#[track_caller]
pub fn with_timeout<T>(what: &str, future: impl Future<Output = T>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        let ended = tokio::time::timeout(TIMEOUT, future).await;
        ended.unwrap_or_else(|_| panic!("timeout while waiting for {what} ({caller})"))
    }
}

/// Waits for the next message of a channel.
///
/// # Panics
/// On timeout, or if the other side is gone; the message has `what`.
#[track_caller]
pub fn receive<T>(what: &str, receiver: &Receiver<T>) -> T {
    let received = receiver.recv_timeout(TIMEOUT);
    received.unwrap_or_else(|error| panic!("no {what} was received: {error}"))
}

/// Waits until a process has exited.
///
/// # Panics
/// On timeout; the message has `what`.
#[track_caller]
pub fn exit(what: &str, child: &mut Child) -> ExitStatus {
    for_value(what, || child.try_wait().unwrap(), Option::is_some).unwrap()
}

/// Waits until a command has exited, and returns its output.
///
/// # Panics
/// On timeout, after killing it; the message has `what`.
#[track_caller]
pub fn output(what: &str, child: Child) -> Output {
    let pid = Pid::from_child(&child);
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(COMMAND_TIMEOUT) else {
        let killed = kill_process(pid, Signal::KILL);
        panic!("timeout while waiting until {what} exits; killed: {killed:?}");
    };
    output.unwrap()
}

/// The lines of a stream, read in a thread of their own, so that a wait for one has a deadline.
#[derive(Debug)]
pub struct Lines(Receiver<String>);

impl Lines {
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = sync_channel(1024);
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self(receiver)
    }

    /// The next line.
    ///
    /// # Errors
    /// Fails on timeout and after the last line.
    pub fn try_next(&self) -> Result<String, RecvTimeoutError> {
        self.0.recv_timeout(TIMEOUT)
    }

    /// The next line.
    ///
    /// # Panics
    /// On timeout and after the last line; the message has `what`.
    #[track_caller]
    pub fn next(&self, what: &str) -> String {
        receive(what, &self.0)
    }

    /// Waits for a line that contains a text, and returns it.
    ///
    /// # Panics
    /// On timeout, or if the stream ends before; the message has the lines that came.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        let mut passed = Vec::new();
        let deadline = Instant::now() + TIMEOUT;
        loop {
            match self.0.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => passed.push(line),
                Err(error) => panic!("no line with {text:?}: {error}; lines: {passed:#?}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_order_and_their_end_is_seen() {
        let lines = Lines::of(&b"one\ntwo\nthree\n"[..]);
        assert_eq!(lines.wait_for("w"), "two");
        assert_eq!(lines.try_next().as_deref(), Ok("three"));
        assert_eq!(lines.try_next(), Err(RecvTimeoutError::Disconnected));
    }

    #[tokio::test]
    async fn a_value_is_read_until_it_is_the_right_one() {
        let mut reads = 0..;
        assert_eq!(for_value("two", || reads.next(), |read| *read == Some(2)), Some(2));
        let next = async || reads.next().unwrap();
        assert_eq!(for_value_async("five", next, |read| *read == 5).await, 5);
    }

    #[test]
    fn a_process_is_waited_for_and_its_output_is_whole() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "echo said; exit 3"]).stdout(std::process::Stdio::piped());
        let finished = output("sh", command.spawn().unwrap());
        assert_eq!((finished.status.code(), &finished.stdout[..]), (Some(3), &b"said\n"[..]));
        assert_eq!(exit("sh", &mut command.spawn().unwrap()).code(), Some(3));
    }

    #[test]
    #[should_panic(expected = "no second message was received")]
    fn a_failed_wait_says_what_was_waited_for() {
        let (sender, receiver) = sync_channel(1);
        sender.send(1).unwrap();
        drop(sender);
        assert_eq!(receive("first message", &receiver), 1);
        receive("second message", &receiver);
    }

    #[test]
    fn a_condition_is_checked_until_it_is_true() {
        let mut checks = 0;
        until("the third check", || {
            checks += 1;
            checks == 3
        });
        assert_eq!(checks, 3);
    }
}
