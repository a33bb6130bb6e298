//! The DevTools protocol over a pair of pipes: JSON texts, each ended by a zero byte.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::watch::Watch;

/// What came back, or the browser's complaint.
pub(crate) type Reply = Result<Value, String>;

/// The way to the browser.
#[derive(Debug)]
pub(crate) struct Wire {
    input: Mutex<ChildStdin>,
    last: AtomicU64,
    waiting: Mutex<HashMap<u64, SyncSender<Reply>>>,
    watches: Mutex<HashMap<String, Arc<Watch>>>,
}

impl Wire {
    pub(crate) fn new(input: ChildStdin) -> Self {
        Self {
            input: Mutex::new(input),
            last: AtomicU64::new(0),
            waiting: Mutex::default(),
            watches: Mutex::default(),
        }
    }

    /// Asks the browser itself, or one of its pages, and waits for the answer.
    pub(crate) fn call(&self, session: Option<&str>, method: &str, params: &Value) -> Reply {
        let (sender, receiver) = sync_channel(1);
        let id = self.next();
        self.waiting.lock().unwrap().insert(id, sender);
        self.send(id, session, method, params)?;
        let reply = receiver.recv_timeout(TIMEOUT);
        self.waiting.lock().unwrap().remove(&id);
        reply.map_err(|_| format!("{method}: the browser has ended or does not answer"))?
    }

    /// Sends a command to a page without waiting for the response.
    fn tell(&self, session: &str, method: &str, params: &Value) {
        // The page may just have been closed.
        drop(self.send(self.next(), Some(session), method, params));
    }

    fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn send(
        &self,
        id: u64,
        session: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<(), String> {
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let sent = self.input.lock().unwrap().write_all(&bytes);
        sent.map_err(|error| format!("{method}: the browser does not listen: {error}"))
    }

    /// Has what a page tells go to its watch.
    pub(crate) fn watch(&self, session: &str, watch: &Arc<Watch>) {
        self.watches.lock().unwrap().insert(session.to_owned(), Arc::clone(watch));
    }

    /// Lets go of a page.
    pub(crate) fn forget(&self, session: &str) {
        self.watches.lock().unwrap().remove(session);
    }

    /// Reads until the browser ends, and fails all pending calls then.
    pub(crate) fn listen(&self, output: impl Read) {
        let mut output = BufReader::new(output);
        let mut message = Vec::new();
        while output.read_until(0, &mut message).is_ok_and(|len| len > 0) {
            let text = message.strip_suffix(&[0]).unwrap_or(&message);
            if let Ok(message) = serde_json::from_slice(text) {
                self.take(&message);
            }
            message.clear();
        }
        self.waiting.lock().unwrap().clear();
    }

    fn take(&self, message: &Value) {
        if let Some(id) = message["id"].as_u64() {
            let Some(asked) = self.waiting.lock().unwrap().remove(&id) else { return };
            let reply = match message.get("error") {
                Some(error) => Err(error["message"].as_str().unwrap_or("no reason").to_owned()),
                None => Ok(message["result"].clone()),
            };
            // The caller may have timed out.
            drop(asked.try_send(reply));
            return;
        }
        let (Some(session), Some(method)) =
            (message["sessionId"].as_str(), message["method"].as_str())
        else {
            return;
        };
        if method == "Page.javascriptDialogOpening" {
            // Until somebody answers, the page stands still.
            self.tell(session, "Page.handleJavaScriptDialog", &json!({ "accept": false }));
        }
        let watch = self.watches.lock().unwrap().get(session).map(Arc::clone);
        if let Some(watch) = watch {
            watch.take(method, &message["params"]);
        }
    }
}
