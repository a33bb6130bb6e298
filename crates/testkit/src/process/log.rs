use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The stderr of a process, while it runs.
#[derive(Debug)]
pub(super) struct Log {
    told: Arc<LogText>,
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
        let told = Arc::<LogText>::default();
        let heard = Arc::clone(&told);
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut text = heard.text.lock().unwrap();
                *text += &line;
                *text += "\n";
                heard.grew.notify_all();
            }
        });
        Self { told, reader: Some(reader) }
    }

    pub(super) fn text(&self) -> String {
        self.told.text.lock().unwrap().clone()
    }

    /// Waits for a text; `false` on timeout.
    pub(super) fn wait_for(&self, wanted: &str, patience: Duration) -> bool {
        let told = self.told.text.lock().unwrap();
        let is_missing = |text: &mut String| !text.contains(wanted);
        let (_told, waited) =
            self.told.grew.wait_timeout_while(told, patience, is_missing).unwrap();
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
