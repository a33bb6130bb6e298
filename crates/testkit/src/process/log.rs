use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The stderr of a process, while it runs.
#[derive(Debug)]
pub(super) struct Log {
    lines: Arc<LogText>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct LogText {
    text: Mutex<String>,
    grew: Condvar,
}

impl Log {
    /// Reads in a separate thread, until the process closes the pipe.
    pub(super) fn follow(stderr: impl Read + Send + 'static) -> Self {
        let lines = Arc::<LogText>::default();
        let heard = Arc::clone(&lines);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut text = heard.text.lock().unwrap();
                *text += &line;
                *text += "\n";
                heard.grew.notify_all();
            }
        });
        Self { lines, reader: Some(reader) }
    }

    pub(super) fn text(&self) -> String {
        self.lines.text.lock().unwrap().clone()
    }

    /// Waits for a text; `false` on timeout.
    pub(super) fn wait_for(&self, wanted: &str, patience: Duration) -> bool {
        let lines = self.lines.text.lock().unwrap();
        let is_missing = |text: &mut String| !text.contains(wanted);
        let (_told, waited) =
            self.lines.grew.wait_timeout_while(lines, patience, is_missing).unwrap();
        !waited.timed_out()
    }

    /// The whole log, once the process has ended.
    pub(super) fn whole(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.text()
    }
}
