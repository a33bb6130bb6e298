use std::io::{self, IsTerminal as _};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use tokio::sync::mpsc::{self, Receiver};

use super::QUEUE;
use super::keys::{Key, KeyReader};
use crate::print::print;

/// How wide and high a terminal is that does not say.
const USUAL_SIZE: (usize, usize) = (80, 24);
/// How long Esc may be the beginning of something else.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 40_000_000 };
/// Has what is pasted be marked as such.
const MARK_PASTES: &str = "\u{1b}[?2004h";
/// Has it not be marked any more, and the cursor be seen.
const AS_BEFORE: &str = "\u{1b}[?2004l\u{1b}[?25h";

/// What the terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalMode {
    /// Keys as they are pressed, and text that is drawn anew.
    Keys,
    Lines,
}

impl TerminalMode {
    /// What the terminal of this process can do, if it has one.
    pub(crate) fn find() -> Self {
        let term = std::env::var("TERM").unwrap_or_default();
        let has_both = io::stdin().is_terminal() && io::stdout().is_terminal();
        if has_both && !term.is_empty() && term != "dumb" { Self::Keys } else { Self::Lines }
    }
}

/// The terminal's width and height.
pub(crate) fn size() -> (usize, usize) {
    let Ok(size) = tcgetwinsize(io::stdout()) else { return USUAL_SIZE };
    let or = |own: u16, usual: usize| if own == 0 { usual } else { usize::from(own) };
    (or(size.ws_col, USUAL_SIZE.0), or(size.ws_row, USUAL_SIZE.1))
}

/// The terminal, set to give keys as they are pressed. Set back as it was when this is dropped.
#[derive(Debug)]
pub(crate) struct Terminal {
    before: Termios,
}

impl Terminal {
    pub(crate) fn open() -> io::Result<Self> {
        let terminal = Self { before: tcgetattr(io::stdin())? };
        terminal.enter()?;
        Ok(terminal)
    }

    /// Sets it again, after it was set back.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let mut keys = self.before.clone();
        // What is written is still made into lines by the terminal: messages of others, too, look
        // as they should.
        keys.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IXON);
        keys.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &keys)?;
        print(MARK_PASTES)
    }

    /// Sets it back as it was.
    pub(crate) fn leave(&self) -> io::Result<()> {
        let said = print(AS_BEFORE);
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before)?;
        said
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If it is gone there is nothing to set back.
        drop(self.leave());
    }
}

/// Keys as they are pressed, until the terminal is closed.
///
/// Read on a thread of its own, which ends with the process: a read of stdin cannot be given up.
pub(crate) fn keys() -> Receiver<Key> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        let mut reader = KeyReader::default();
        while let Ok(keys) = pressed(&mut reader) {
            for key in keys {
                if sender.blocking_send(key).is_err() {
                    return;
                }
            }
        }
    });
    receiver
}

/// Waits for keys. Esc alone is known by nothing following it.
fn pressed(reader: &mut KeyReader) -> io::Result<Vec<Key>> {
    let stdin = io::stdin();
    let mut wanted = [PollFd::new(&stdin, PollFlags::IN)];
    let patience = reader.is_waiting().then_some(&PATIENCE);
    match poll(&mut wanted, patience) {
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
        Ok(0) => return Ok(reader.settle()),
        Ok(_) => {}
    }
    let mut bytes = [0; 1024];
    match rustix::io::read(&stdin, &mut bytes) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(length) => Ok(reader.push(bytes.get(..length).unwrap_or_default())),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}
