use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use ratchet_browser::{Browser, Page};
use ratchet_testkit::claude;
use ratchet_testkit::http::{self, Answer};
use ratchet_testkit::process::{Launch, PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY};
use tempfile::TempDir;

use super::furnish::furnish;
use super::list::Places;
use super::writer::Writer;
use super::{budget, hostile, review};
use crate::{ok, ratchet, server};

/// The owner of a server with sign-in.
pub(super) const OWNER: &str = "ada@example.com";
/// What they sign in with.
pub(super) const PASSWORD: &str = "correct horse";

/// The target that people talk to.
pub(super) const TARGET: &str = "echo";
/// It repeats the last message.
const TARGETS: &str = r#"
[targets.echo]
kind = "command"
command = ["python3", "-c", """
import json, sys
said = json.load(sys.stdin)
print('You said: ' + (said if isinstance(said, str) else said['messages'][-1]['content']))
"""]
"#;

/// One browser and some servers, each started when somebody first asks for it. They end with the
/// last test that uses them.
pub(super) struct Stage {
    pub(super) browser: Arc<Browser>,
    demo: OnceLock<Served>,
    hostile: OnceLock<Served>,
    crowded: OnceLock<Served>,
    empty: OnceLock<Served>,
    guarded: OnceLock<Served>,
    fresh: OnceLock<Served>,
}

/// A server with something in it.
pub(super) struct Served {
    pub(super) places: Places,
    web: String,
    server: Mutex<Ratchet>,
    data: TempDir,
}

/// The stage that all tests of this moment share.
pub(super) fn stage() -> Arc<Stage> {
    static SHARED: Mutex<Weak<Stage>> = Mutex::new(Weak::new());
    // A test that fails while it sets the stage leaves it as it was.
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stage) = shared.upgrade() {
        return stage;
    }
    let stage = Arc::new(Stage {
        browser: Browser::shared(),
        demo: OnceLock::new(),
        hostile: OnceLock::new(),
        crowded: OnceLock::new(),
        empty: OnceLock::new(),
        guarded: OnceLock::new(),
        fresh: OnceLock::new(),
    });
    *shared = Arc::downgrade(&stage);
    stage
}

impl Stage {
    /// A made-up week that ends now.
    pub(super) fn demo(&self) -> &Served {
        self.demo.get_or_init(|| {
            let data = TempDir::new().unwrap();
            let demo = ["demo", "--once", "--unscored", "--seed", "4", "--data"];
            let demo = ratchet(&demo).arg(data.path());
            ok(demo
                .env("RATCHET_INIT_PROJECT_ID", PROJECT)
                .env("RATCHET_INIT_PUBLIC_KEY", PUBLIC_KEY)
                .env("RATCHET_INIT_SECRET_KEY", SECRET_KEY));
            Served::start(open(data.path()), data, |server| furnish(&Writer { server }))
        })
    }

    /// Text in every place that takes text, written to harm.
    pub(super) fn hostile(&self) -> &Served {
        self.hostile.get_or_init(|| {
            let data = TempDir::new().unwrap();
            let name = hostile::PROJECT_NAME;
            let launch = open(data.path()).env("RATCHET_INIT_PROJECT_NAME", name);
            Served::start(launch, data, hostile::seed)
        })
    }

    pub(super) fn crowded(&self) -> &Served {
        self.crowded.get_or_init(|| {
            let data = TempDir::new().unwrap();
            budget::fill(data.path());
            Served::start(open(data.path()), data, |server| furnish(&Writer { server }))
        })
    }

    pub(super) fn empty(&self) -> &Served {
        self.empty.get_or_init(|| {
            let data = TempDir::new().unwrap();
            Served::start(open(data.path()), data, |_| {
                let words = |text: &str| text.to_owned();
                Places::from([("project", words(PROJECT)), ("words", words("refund"))])
            })
        })
    }

    /// A server that people sign in to, with an owner.
    pub(super) fn guarded(&self) -> &Served {
        self.guarded.get_or_init(|| {
            let data = TempDir::new().unwrap();
            let launch = server(data.path())
                .env("RATCHET_INIT_OWNER_EMAIL", OWNER)
                .env("RATCHET_INIT_OWNER_PASSWORD", PASSWORD);
            Served::start(launch, data, |_| Places::from([("project", PROJECT.to_owned())]))
        })
    }

    /// A server without an owner, and its setup URL.
    pub(super) fn fresh(&self) -> &Served {
        self.fresh.get_or_init(Served::fresh)
    }
}

impl Served {
    /// Another server without an owner.
    pub(super) fn fresh() -> Self {
        let data = TempDir::new().unwrap();
        Self::start(server(data.path()), data, |server| {
            let url = server.ready["setUp"].as_str().unwrap();
            let path = url.strip_prefix(server.web()).unwrap();
            Places::from([("project", PROJECT.to_owned()), ("set-up", path.to_owned())])
        })
    }

    /// A server with a queue and two reviewers.
    pub(super) fn with_queue() -> Self {
        let data = TempDir::new().unwrap();
        let launch = server(data.path())
            .env("RATCHET_INIT_OWNER_EMAIL", OWNER)
            .env("RATCHET_INIT_OWNER_PASSWORD", PASSWORD);
        Self::start(launch, data, |server| review::seed(&Writer { server }))
    }

    /// A server that lets anybody on this machine in, with something of its own.
    pub(super) fn with(seed: impl FnOnce(&Ratchet) -> Places) -> Self {
        let data = TempDir::new().unwrap();
        Self::start(open(data.path()), data, seed)
    }

    fn start(launch: Launch, data: TempDir, seed: impl FnOnce(&Ratchet) -> Places) -> Self {
        let server = launch.start();
        let places = seed(&server);
        let web = server.web().to_owned();
        Self { places, web, server: Mutex::new(server), data }
    }

    /// Runs SQL on the catalog while the server is up, for what only time would do.
    #[track_caller]
    pub(super) fn change_catalog(&self, sql: &str) {
        let catalog = self.data.path().join("catalog.db");
        let script = "import sqlite3, sys\n\
                      db = sqlite3.connect(sys.argv[1], timeout=30)\n\
                      db.execute(sys.argv[2])\n\
                      db.commit()\n";
        let mut python = std::process::Command::new("python3");
        let done = python.args(["-c", script]).arg(catalog).arg(sql).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The whole address of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.web)
    }

    /// What the server answers to a browser that runs no scripts.
    pub(super) fn get(&self, path: &str) -> Answer {
        self.server().send(http::get(path).host("localhost"))
    }

    /// Writes something on the server.
    pub(super) fn write<T>(&self, write: impl FnOnce(&Writer<'_>) -> T) -> T {
        write(&Writer { server: &self.server() })
    }

    /// A test that failed while it held the server leaves it as it was.
    fn server(&self) -> MutexGuard<'_, Ratchet> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the owner sign in.
    #[track_caller]
    pub(super) fn sign_in(&self, page: &Page) {
        self.sign_in_as(page, OWNER);
    }

    /// Has someone sign in who has the usual password.
    #[track_caller]
    pub(super) fn sign_in_as(&self, page: &Page, email: &str) {
        page.open(&self.url("/sign-in"));
        page.click("[name=email]");
        page.type_text(email);
        page.press("Tab");
        page.type_text(PASSWORD);
        page.press("Enter");
        page.wait_for_path("/project/");
    }
}

/// A server that lets anybody on this machine in, with agents that need no model.
fn open(data: &Path) -> Launch {
    std::fs::write(data.join("ratchet.toml"), TARGETS).unwrap();
    server(data).arg("--no-auth").env("RATCHET_CLAUDE_BIN", claude::fake())
}
