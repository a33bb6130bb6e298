//! Runs a program in a pseudo-terminal: sends keys and reads the screen.

mod display;

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use tempfile::TempDir;

use crate::process::{Launch, Signal};
use crate::wait::TIMEOUT;
pub use display::Display;

/// A program in a pseudo-terminal. Killed on drop.
#[derive(Debug)]
pub struct Pty {
    child: Child,
    master: File,
    heard: Arc<PtyOutput>,
    /// The reader thread, which ends when the pipe is closed.
    reading: Option<(PipeWriter, JoinHandle<()>)>,
    size: (u16, u16),
    _home: TempDir,
}

/// Everything that the program wrote.
#[derive(Debug, Default)]
struct PtyOutput {
    written: Mutex<Written>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Pty {
    /// Starts a program in a terminal of this size, as its controlling terminal.
    pub fn start(launch: Launch, size: (u16, u16)) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
        tcsetwinsize(&master, winsize(size)).unwrap();
        let (command, home) = launch.into_parts();
        // `setsid` sets the controlling terminal, which the standard library cannot.
        let mut own = Command::new("setsid");
        own.arg("--ctty").arg(command.get_program()).args(command.get_args());
        own.current_dir(home.path());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => own.env(name, value),
                None => own.env_remove(name),
            };
        }
        let side = || Stdio::from(slave.try_clone().unwrap());
        own.stdin(side()).stdout(side()).stderr(side());
        let child = own.spawn().unwrap();
        drop(own);
        drop(slave);
        let master = File::from(master);
        let heard = Arc::new(PtyOutput::default());
        let (listening, terminal) = (Arc::clone(&heard), master.try_clone().unwrap());
        let (stop, stopper) = std::io::pipe().unwrap();
        let thread = thread::spawn(move || listening.listen(terminal, &stop));
        Self { child, master, heard, reading: Some((stopper, thread)), size, _home: home }
    }

    /// Sends keys or pasted text.
    pub fn press(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Resizes the terminal; the program gets SIGWINCH.
    pub fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        tcsetwinsize(&self.master, winsize(size)).unwrap();
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Closes the terminal: the program gets SIGHUP.
    pub fn close_terminal(&mut self) {
        let Some((stopper, thread)) = self.reading.take() else { return };
        drop(stopper);
        thread.join().unwrap();
        // The last handle of the terminal's own side is closed.
        self.master = File::open("/dev/null").unwrap();
    }

    /// The current screen, and its scrollback.
    pub fn display(&self) -> Display {
        Display::of(&self.heard.written.lock().unwrap().bytes, self.size)
    }

    /// Everything that was written to the terminal.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.heard.written.lock().unwrap().bytes).into_owned()
    }

    /// Whether the terminal is in canonical mode with echo, as a shell leaves it.
    pub fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.master).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for a text on the screen.
    ///
    /// # Panics
    /// On timeout; the message has the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |display| display.text().contains(text));
    }

    /// Waits for a condition on the screen.
    ///
    /// # Panics
    /// On timeout; the message has the screen.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_true: impl Fn(&Display) -> bool) {
        let until = Instant::now() + TIMEOUT;
        let mut written = self.heard.written.lock().unwrap();
        loop {
            let display = Display::of(&written.bytes, self.size);
            if is_true(&display) {
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            let is_hopeless = written.is_over || left.is_zero();
            assert!(!is_hopeless, "never {what:?} on\n{}", display.text());
            written = self.heard.news.wait_timeout(written, left).unwrap().0;
        }
    }

    /// Waits until the program has ended: its exit code, or `None` if a signal ended it.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait(&mut self) -> Option<i32> {
        let until = Instant::now() + TIMEOUT;
        let mut written = self.heard.written.lock().unwrap();
        while !written.is_over {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it does not end");
            written = self.heard.news.wait_timeout(written, left).unwrap().0;
        }
        drop(written);
        self.child.wait().unwrap().code()
    }
}

impl PtyOutput {
    /// Reads output until the other side is closed, or a stop is requested.
    fn listen(&self, mut terminal: File, stop: &PipeReader) {
        let mut bytes = [0; 4096];
        loop {
            let is_to_stop = {
                let mut watched =
                    [PollFd::new(stop, PollFlags::IN), PollFd::new(&terminal, PollFlags::IN)];
                poll(&mut watched, None).unwrap();
                !watched[0].revents().is_empty()
            };
            if is_to_stop {
                break;
            }
            let Ok(length @ 1..) = terminal.read(&mut bytes) else { break };
            self.written.lock().unwrap().bytes.extend(&bytes[..length]);
            self.news.notify_all();
        }
        self.written.lock().unwrap().is_over = true;
        self.news.notify_all();
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn winsize((columns, rows): (u16, u16)) -> Winsize {
    Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }
}
