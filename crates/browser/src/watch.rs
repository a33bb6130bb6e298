use std::collections::HashMap;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard};

use serde_json::Value;

use crate::TIMEOUT;

/// Something that should not happen on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub trouble: Trouble,
    /// What the browser says about it.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// An error or a warning on the console.
    Console,
    Script,
    /// A request failed or was refused.
    Request,
    /// Another host was asked for something.
    Abroad,
    /// The content security policy had to stop something.
    Policy,
    /// The page does something that browsers advise against.
    Advice,
    /// A dialog of the browser's opened.
    Dialog,
    Window,
    /// Text that was recorded has run: `__ran(…)` was called.
    Ran,
    Crash,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.trouble, self.text)
    }
}

/// Events of one page since it was last opened.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    seen: Mutex<Seen>,
    changed: Condvar,
}

/// What was seen of one page.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The host that may be asked, as the beginning of an address.
    pub(crate) home: String,
    pub(crate) problems: Vec<Problem>,
    /// The load that is finished.
    pub(crate) loaded: Option<String>,
    /// The load that is on screen.
    pub(crate) shown: Option<String>,
    /// How many requests were made.
    pub(crate) requests: usize,
    /// How many bytes came for them, headers included.
    pub(crate) bytes: u64,
    /// The file that is being kept, as the server calls it.
    pub(crate) file: Option<String>,
    /// Whether all of it is there.
    pub(crate) has_file: bool,
    under_way: HashMap<String, String>,
}

impl Seen {
    /// Whether the page has all it asked for.
    pub(crate) fn is_quiet(&self) -> bool {
        self.under_way.is_empty() && self.loaded == self.shown
    }

    fn problem(&mut self, trouble: Trouble, text: impl Into<String>) {
        self.problems.push(Problem { trouble, text: text.into() });
    }

    fn take(&mut self, method: &str, params: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match method {
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                self.shown = Some(text(&params["frame"]["loaderId"]));
            }
            // Frames load too; what counts is the page.
            "Page.lifecycleEvent"
                if params["name"] == "load"
                    && self.shown.as_deref() == params["loaderId"].as_str() =>
            {
                self.loaded.clone_from(&self.shown);
            }
            "Page.javascriptDialogOpening" => {
                self.problem(Trouble::Dialog, text(&params["message"]))
            }
            "Page.downloadWillBegin" => self.file = Some(text(&params["suggestedFilename"])),
            "Page.downloadProgress" => match params["state"].as_str() {
                Some("completed") => self.has_file = true,
                Some("canceled") => self.problem(Trouble::Request, "a file was not kept"),
                _ => {}
            },
            "Page.windowOpen" => self.problem(Trouble::Window, text(&params["url"])),
            "Inspector.targetCrashed" => self.problem(Trouble::Crash, "the page died"),
            "Runtime.bindingCalled" => self.problem(Trouble::Ran, text(&params["payload"])),
            "Runtime.exceptionThrown" => {
                let details = &params["exceptionDetails"];
                let what = details["exception"]["description"].as_str();
                self.problem(Trouble::Script, what.unwrap_or(&text(&details["text"])));
            }
            "Runtime.consoleAPICalled" => self.console(params),
            "Log.entryAdded" => self.entry(&params["entry"]),
            "Audits.issueAdded" => self.issue(&params["issue"]),
            _ if method.starts_with("Network.") => self.network(method, params),
            _ => {}
        }
    }

    fn console(&mut self, params: &Value) {
        let is_bad = matches!(params["type"].as_str(), Some("error" | "warning" | "assert"));
        if is_bad {
            let said = params["args"].as_array().into_iter().flatten();
            let said: Vec<&str> = said
                .filter_map(|arg| arg["value"].as_str().or(arg["description"].as_str()))
                .collect();
            self.problem(Trouble::Console, said.join(" "));
        }
    }

    fn entry(&mut self, entry: &Value) {
        let is_bad = matches!(entry["level"].as_str(), Some("error" | "warning"));
        // Requests that fail tell so themselves, with more words.
        if is_bad && entry["source"] != "network" {
            let kind =
                if entry["source"] == "security" { Trouble::Policy } else { Trouble::Console };
            self.problem(kind, entry["text"].as_str().unwrap_or_default());
        }
    }

    fn issue(&mut self, issue: &Value) {
        let code = issue["code"].as_str().unwrap_or_default();
        // What it thinks of forms is mostly about filling in credit cards; axe-core knows better.
        if code == "GenericIssue" {
            return;
        }
        let is_policy = code == "ContentSecurityPolicyIssue";
        let trouble = if is_policy { Trouble::Policy } else { Trouble::Advice };
        self.problem(trouble, format!("{code} {}", issue["details"]));
    }

    fn network(&mut self, method: &str, params: &Value) {
        let id = params["requestId"].as_str().unwrap_or_default().to_owned();
        match method {
            "Network.requestWillBeSent" => self.request(id, params),
            "Network.responseReceived" => {
                let (status, url) = (&params["response"]["status"], &params["response"]["url"]);
                if status.as_u64().is_some_and(|status| status >= 400) {
                    self.problem(Trouble::Request, format!("{status} {url}"));
                }
            }
            "Network.loadingFinished" => {
                let bytes = params["encodedDataLength"].as_f64().unwrap_or_default();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a whole number of bytes"
                )]
                let bytes = bytes as u64;
                self.bytes += bytes;
                self.under_way.remove(&id);
            }
            "Network.loadingFailed" => {
                let url = self.under_way.remove(&id).unwrap_or_default();
                let (why, blocked) = (&params["errorText"], &params["blockedReason"]);
                // A page that is left gives up what it was waiting for.
                if params["canceled"] != true {
                    self.problem(Trouble::Request, format!("{why} {blocked} {url}"));
                }
            }
            _ => {}
        }
    }

    fn request(&mut self, id: String, params: &Value) {
        let url = params["request"]["url"].as_str().unwrap_or_default();
        let is_here = [self.home.as_str(), "data:", "blob:", "about:"];
        if !is_here.iter().any(|home| url.starts_with(home)) {
            self.problem(Trouble::Abroad, url);
        }
        self.requests += 1;
        // An event stream never ends, so it is not waited for.
        if params["type"] != "EventSource" {
            self.under_way.insert(id, url.to_owned());
        }
    }
}

impl Watch {
    /// Takes what the page tells.
    pub(crate) fn take(&self, method: &str, params: &Value) {
        self.seen().take(method, params);
        self.changed.notify_all();
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Forgets everything, before another address is opened.
    pub(crate) fn begin(&self, home: &str) {
        let mut seen = self.seen();
        let (loaded, shown) = (seen.loaded.take(), seen.shown.take());
        *seen = Seen { home: home.to_owned(), loaded, shown, ..Seen::default() };
    }

    /// Forgets the file that came last, before another is asked for.
    pub(crate) fn forget_file(&self) {
        let mut seen = self.seen();
        (seen.file, seen.has_file) = (None, false);
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Seen) -> bool) {
        let (seen, waited) =
            self.changed.wait_timeout_while(self.seen(), TIMEOUT, |seen| !is_so(seen)).unwrap();
        let under_way: Vec<&String> = seen.under_way.values().collect();
        let problems = &seen.problems;
        assert!(!waited.timed_out(), "{what} takes too long: {under_way:?}, {problems:?}");
    }
}
