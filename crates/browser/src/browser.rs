use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::page::Page;
use crate::wire::Wire;

/// What Chromium is called, by those who package it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Says what the browser should do without: other hosts, a screen, a sandbox (which needs rights
/// that containers do not give, and we only open pages of our own), and everything that makes two
/// screenshots of one page differ.
const FLAGS: [&str; 22] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication",
    "--password-store=basic",
    "--lang=en-US",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
];

/// Chromium reads commands from its descriptor 3 and answers on 4. A shell puts the pipes there,
/// because Rust could only do so with unsafe code.
const REDIRECT: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

/// A running Chromium with a profile of its own. Dropping it ends it, and so does the end of this
/// process: the browser leaves when its pipe is closed.
#[derive(Debug)]
pub struct Browser {
    wire: Arc<Wire>,
    child: Child,
    reader: Option<JoinHandle<()>>,
    _home: TempDir,
}

impl Browser {
    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// If there is no Chromium, or it does not start; the message says what to do.
    pub fn start() -> Self {
        let program = program();
        let home = TempDir::new().unwrap();
        let log = home.path().join("log");
        let mut child = Command::new("sh")
            .args(["-c", REDIRECT, "sh"])
            .arg(&program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            // What it keeps beside its profile should go when we go.
            .env("HOME", home.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let wire = Arc::new(Wire::new(child.stdin.take().unwrap()));
        let output = child.stdout.take().unwrap();
        let listener = Arc::clone(&wire);
        let reader = Some(std::thread::spawn(move || listener.listen(output)));
        let browser = Self { wire, child, reader, _home: home };
        if let Err(error) = browser.wire.call(None, "Browser.getVersion", &json!({})) {
            let log = std::fs::read_to_string(log).unwrap_or_default();
            panic!("{} does not start: {error}\n{log}", program.display());
        }
        browser
    }

    /// The browser that all tests of this moment share. It ends with the last of them.
    ///
    /// # Panics
    /// If it must be started and cannot be; the message says what to do.
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Browser>> = Mutex::new(Weak::new());
        // A test that fails here leaves everything as it was.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let browser = Arc::new(Self::start());
            *shared = Arc::downgrade(&browser);
            browser
        })
    }

    /// Opens a tab that shares nothing with any other: no cookies, no storage, no cache.
    pub fn page(&self) -> Page {
        Page::new(&self.wire)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It answers by ending, and the reader ends with it; if it does not, it is killed.
        if self.wire.call(None, "Browser.close", &Value::Null).is_err() {
            drop(self.child.kill());
        }
        drop(self.reader.take().map(JoinHandle::join));
        drop(self.child.wait());
    }
}

fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("RATCHET_CHROMIUM") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = places.into_iter().find(|place| place.is_file());
    found.unwrap_or_else(|| {
        panic!("there is no Chromium to look at the pages with: `make setup` installs it")
    })
}
