use std::io::{self, BufRead as _};
use std::thread;

use tokio::sync::mpsc::{self, Receiver};

/// Lines that wait to be taken.
const QUEUE: usize = 64;

/// What comes in on stdin, line by line, until it ends.
///
/// Read on a thread of its own, which ends with the process: a read of stdin cannot be given up.
pub(crate) fn lines() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
