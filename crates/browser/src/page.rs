use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::TIMEOUT;
use crate::ask::is_left;
use crate::keys::Stroke;
use crate::watch::{Problem, Seen, Watch};
use crate::wire::{Reply, Wire};

/// The functions of the protocol that a page needs from the start.
const DOMAINS: [&str; 6] = [
    "Page.enable",
    "Runtime.enable",
    "Network.enable",
    "Log.enable",
    "Audits.enable",
    "Inspector.enable",
];

/// What recorded text calls if it ever runs.
const CANARY: &str = "__ran";

/// No page of ours has more to step through.
const MOST_TABS: usize = 1_000;

/// One tab. It remembers nothing of another, and closes when it is dropped.
#[derive(Debug)]
pub struct Page {
    wire: Arc<Wire>,
    watch: Arc<Watch>,
    context: String,
    target: Value,
    session: String,
    has_downloaded: AtomicBool,
}

impl Page {
    pub(crate) fn new(wire: &Arc<Wire>) -> Self {
        let ask = |method: &str, params: Value| {
            wire.call(None, method, &params).unwrap_or_else(|error| panic!("{method}: {error}"))
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let context = text(&ask("Target.createBrowserContext", json!({}))["browserContextId"]);
        let target = json!({
            "url": "about:blank", "browserContextId": context, "newWindow": true,
        });
        let target = ask("Target.createTarget", target)["targetId"].take();
        let attached = ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        let session = text(&attached["sessionId"]);
        let watch = Arc::<Watch>::default();
        wire.watch(&session, &watch);
        let wire = Arc::clone(wire);
        let has_downloaded = AtomicBool::new(false);
        let page = Self { wire, watch, context, target, session, has_downloaded };
        for domain in DOMAINS {
            page.call(domain, &json!({}));
        }
        page.call("Page.setLifecycleEventsEnabled", &json!({ "enabled": true }));
        page.call("Runtime.addBinding", &json!({ "name": CANARY }));
        page.call("Emulation.setFocusEmulationEnabled", &json!({ "enabled": true }));
        page.size(crate::Size::Laptop);
        page.theme(crate::Theme::Light);
        page
    }

    /// Opens an address and waits until it is all there. Problems are counted from here.
    #[track_caller]
    pub fn open(&self, url: &str) {
        let home: String = url.split_inclusive('/').take(3).collect();
        self.watch.begin(&home);
        let opened = self.call("Page.navigate", &json!({ "url": url }));
        if let Some(error) = opened["errorText"].as_str() {
            panic!("{url} cannot be opened: {error}");
        }
        if let Some(load) = opened["loaderId"].as_str() {
            self.watch.wait(url, |seen| seen.loaded.as_deref() == Some(load));
        }
        self.settle();
    }

    /// Waits until nothing is under way any more and all of it has been drawn.
    #[track_caller]
    pub fn settle(&self) {
        let began = Instant::now();
        loop {
            self.watch.wait("the page", Seen::is_quiet);
            match self.evaluate("drawn", &[]) {
                Ok(_) if self.watch.seen().is_quiet() => return,
                Ok(_) => {}
                Err(error) => assert!(is_left(&error), "the page cannot be drawn: {error}"),
            }
            assert!(began.elapsed() < TIMEOUT, "the page is never at rest");
        }
    }

    /// What went wrong since the page was opened.
    pub fn problems(&self) -> Vec<Problem> {
        self.watch.seen().problems.clone()
    }

    /// Presses a key, alone or with others: `j`, `Enter`, `Control+k`, `Shift+Tab`.
    #[track_caller]
    pub fn press(&self, key: &str) {
        for event in Stroke::parse(key).events() {
            self.call("Input.dispatchKeyEvent", &event);
        }
        self.settle();
    }

    /// Types a text, key by key, to whatever has the focus.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        for character in text.chars() {
            for event in Stroke::of(character).events() {
                self.call("Input.dispatchKeyEvent", &event);
            }
        }
        self.settle();
    }

    /// Clicks what a selector finds, or else what bears these words.
    ///
    /// # Panics
    /// If there is no such thing to be seen, or something else lies over it.
    #[track_caller]
    pub fn click(&self, wanted: &str) {
        let place = self.tell("place", &[wanted.into()]);
        if let Some(other) = place["under"].as_str() {
            panic!("{wanted:?} lies under {other}");
        }
        let (x, y) = (&place["x"], &place["y"]);
        let event = |kind: &str, buttons: u8| {
            json!({
                "type": kind, "x": x, "y": y, "buttons": buttons, "clickCount": 1,
                "button": if kind == "mouseMoved" { "none" } else { "left" },
            })
        };
        self.call("Input.dispatchMouseEvent", &event("mouseMoved", 0));
        self.call("Input.dispatchMouseEvent", &event("mousePressed", 1));
        self.call("Input.dispatchMouseEvent", &event("mouseReleased", 0));
        self.settle();
    }

    /// Puts the mouse over what a selector finds, or else what bears these words.
    #[track_caller]
    pub fn hover(&self, wanted: &str) {
        let place = self.tell("place", &[wanted.into()]);
        let event = json!({ "type": "mouseMoved", "x": place["x"], "y": place["y"] });
        self.call("Input.dispatchMouseEvent", &event);
        self.settle();
    }

    /// The words of what a selector finds, once there is one, as they are seen.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        self.tell("text", &[selector.into()]).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until something can be seen, by a selector or by its words.
    #[track_caller]
    pub fn wait_for(&self, wanted: &str) {
        self.tell("found", &[wanted.into()]);
        self.settle();
    }

    /// Waits until the path of the address begins so.
    #[track_caller]
    pub fn wait_for_path(&self, beginning: &str) {
        self.tell("at", &[beginning.into()]);
        self.settle();
    }

    /// Waits until an expression of JavaScript is true, whichever page it is asked on.
    #[track_caller]
    pub fn wait_until(&self, expression: &str) {
        self.wait_until_true(expression);
        self.settle();
    }

    /// Presses Tab until what a selector finds has the focus, as people without a mouse do.
    ///
    /// # Panics
    /// If it never has.
    #[track_caller]
    pub fn tab_to(&self, selector: &str) {
        self.wait_for(selector);
        let has_focus = format!("document.activeElement.matches({})", Value::from(selector));
        let tab = Stroke::parse("Tab").events();
        for _ in 0..MOST_TABS {
            if self.js(&has_focus) == true {
                return;
            }
            for event in &tab {
                self.call("Input.dispatchKeyEvent", event);
            }
        }
        panic!("{selector} is not reached with Tab");
    }

    /// Chooses a file, as the browser's own dialog does.
    #[track_caller]
    pub fn choose_file(&self, selector: &str, file: &Path) {
        self.wait_for(selector);
        let find = format!("document.querySelector({})", Value::from(selector));
        let found = self.call("Runtime.evaluate", &json!({ "expression": find }));
        let field = &found["result"]["objectId"];
        self.call("DOM.setFileInputFiles", &json!({ "files": [file], "objectId": field }));
        self.settle();
    }

    /// Does something that gives a file, and tells where in a folder it is once all of it is there.
    #[track_caller]
    pub fn download(&self, folder: &Path, act: impl FnOnce(&Self)) -> PathBuf {
        let how = json!({
            "behavior": "allow", "downloadPath": folder, "browserContextId": self.context,
            "eventsEnabled": true,
        });
        let set = self.wire.call(None, "Browser.setDownloadBehavior", &how);
        set.unwrap_or_else(|error| panic!("no file can be kept: {error}"));
        self.has_downloaded.store(true, Ordering::Relaxed);
        self.watch.forget_file();
        act(self);
        self.watch.wait("a file", |seen| seen.has_file);
        let name = self.watch.seen().file.take().unwrap_or_default();
        folder.join(name)
    }

    /// Whether something can be seen now, by a selector or by its words.
    #[track_caller]
    pub fn shows(&self, wanted: &str) -> bool {
        self.tell("shows", &[wanted.into()]) == true
    }

    /// The path and the query of the address.
    #[track_caller]
    pub fn path(&self) -> String {
        self.js("location.pathname + location.search").as_str().unwrap_or_default().to_owned()
    }

    /// What an expression of JavaScript gives, awaited.
    ///
    /// # Panics
    /// If it throws.
    #[track_caller]
    pub fn js(&self, expression: &str) -> Value {
        self.run(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Keeps what can be seen as a PNG, scrolled parts included.
    #[track_caller]
    pub fn screenshot(&self, path: &Path) {
        let size = self.call("Page.getLayoutMetrics", &json!({}))["cssContentSize"].take();
        let (width, height) = (&size["width"], &size["height"]);
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let how = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.call("Page.captureScreenshot", &how);
        let bytes = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// What keeps this page's cookies and workers apart from others'.
    pub(crate) fn context(&self) -> &str {
        &self.context
    }

    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Asks for something that a page always answers.
    #[track_caller]
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Asks for something that may be refused.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Reply {
        self.wire.call(Some(&self.session), method, params)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.wire.forget(&self.session);
        // Chromium crashes if what belongs to the downloads of one tab is taken away while another
        // tab has one under way; so it stays until the browser ends.
        let (method, what) = if self.has_downloaded.load(Ordering::Relaxed) {
            ("Target.closeTarget", json!({ "targetId": self.target }))
        } else {
            ("Target.disposeBrowserContext", json!({ "browserContextId": self.context }))
        };
        // The browser may be gone already, and its pages with it.
        drop(self.wire.call(None, method, &what));
    }
}
