use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use ratchet_browser::Browser;
use ratchet_testkit::http::{self, Answer};
use ratchet_testkit::process::{PROJECT, PUBLIC_KEY, Ratchet, SECRET_KEY};
use tempfile::TempDir;

use super::list::Places;
use super::{budget, hostile};
use crate::{ok, ratchet, server};

/// One browser and some servers, each started when somebody first asks for it. They end with the
/// last test that uses them.
pub(super) struct Stage {
    pub(super) browser: Arc<Browser>,
    demo: OnceLock<Served>,
    hostile: OnceLock<Served>,
    crowded: OnceLock<Served>,
}

/// A server with something in it.
pub(super) struct Served {
    pub(super) places: Places,
    web: String,
    server: Mutex<Ratchet>,
    _data: TempDir,
}

/// The stage that all tests of this moment share.
pub(super) fn stage() -> Arc<Stage> {
    static SHARED: Mutex<Weak<Stage>> = Mutex::new(Weak::new());
    // A test that fails while it sets the stage leaves it as it was.
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(stage) = shared.upgrade() {
        return stage;
    }
    let stage = Arc::new(Stage {
        browser: Browser::shared(),
        demo: OnceLock::new(),
        hostile: OnceLock::new(),
        crowded: OnceLock::new(),
    });
    *shared = Arc::downgrade(&stage);
    stage
}

impl Stage {
    /// A made-up week that ends now.
    pub(super) fn demo(&self) -> &Served {
        self.demo.get_or_init(|| {
            let data = TempDir::new().unwrap();
            let demo = ratchet(&["demo", "--once", "--seed", "4", "--data"]).arg(data.path());
            ok(demo
                .env("RATCHET_INIT_PROJECT_ID", PROJECT)
                .env("RATCHET_INIT_PUBLIC_KEY", PUBLIC_KEY)
                .env("RATCHET_INIT_SECRET_KEY", SECRET_KEY));
            Served::start(data, |server| {
                let traces = get(server, "/api/public/traces?limit=1").json();
                let trace = traces["data"][0]["id"].as_str().unwrap().to_owned();
                Places::from([("project", PROJECT.to_owned()), ("trace", trace)])
            })
        })
    }

    /// Text in every place that takes text, written to harm.
    pub(super) fn hostile(&self) -> &Served {
        self.hostile.get_or_init(|| Served::start(TempDir::new().unwrap(), hostile::seed))
    }

    /// A hundred thousand observations.
    pub(super) fn crowded(&self) -> &Served {
        self.crowded.get_or_init(|| {
            let data = TempDir::new().unwrap();
            let places = budget::fill(data.path());
            Served::start(data, |_| places)
        })
    }
}

impl Served {
    fn start(data: TempDir, seed: impl FnOnce(&Ratchet) -> Places) -> Self {
        let server = serve(data.path());
        let places = seed(&server);
        let web = server.web().to_owned();
        Self { places, web, server: Mutex::new(server), _data: data }
    }

    /// The whole address of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.web)
    }

    /// What the server answers to a browser that runs no scripts.
    pub(super) fn get(&self, path: &str) -> Answer {
        get(&self.server.lock().unwrap(), path)
    }
}

/// A server that lets anybody on this machine in.
fn serve(data: &Path) -> Ratchet {
    server(data).arg("--no-auth").start()
}

fn get(server: &Ratchet, path: &str) -> Answer {
    server.send(http::get(path).host("localhost"))
}
