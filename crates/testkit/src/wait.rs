//! Waiting for a condition with a deadline: the one way in which tests wait.
//!
//! Conditions are checked every few milliseconds instead of in a busy loop, which would take the
//! processor from what is waited for.

use std::io::{BufRead, BufReader, Read};
use std::panic::Location;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// After this a wait fails. Long, because machines may be busy; a passing test never takes it.
pub const TIMEOUT: Duration = Duration::from_secs(60);
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
            let mut interval = tokio::time::interval(INTERVAL);
            while !is_true().await {
                interval.tick().await;
            }
        };
        let ended = tokio::time::timeout(TIMEOUT, wait).await;
        assert!(ended.is_ok(), "timeout while waiting until {what} ({caller})");
    }
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
