//! A real Chromium, used as a person would use it, for tests and measurements.
//!
//! ```no_run
//! use ratchet_browser::{Browser, Size, Theme};
//!
//! let browser = Browser::start();
//! let page = browser.page();
//! page.size(Size::Phone);
//! page.theme(Theme::Dark);
//! page.open("http://127.0.0.1:3000/");
//! page.click("Traces");
//! assert_eq!(page.text("h1"), "Traces");
//! assert_eq!(page.problems(), []);
//! assert_eq!(page.accessibility(), []);
//! ```
//!
//! Every method waits for what it needs and panics when it does not come: there is nothing a test
//! could do about it. The browser reaches this machine and nothing else.
#![expect(
    clippy::unwrap_used,
    reason = "everything here runs for a test or a measurement, which a broken expectation must stop"
)]

/// Messages to the browser and back.
mod wire;
mod browser;
/// One tab.
mod page;
/// What a page is asked to tell of itself.
mod ask;
/// What goes wrong on a page, and what is under way.
mod watch;
mod keys;
/// Service workers.
mod worker;
/// How a page is looked at.
mod look;
mod axe;
mod cost;

pub use axe::Violation;
pub use browser::Browser;
pub use cost::Cost;
pub use look::{Size, Theme};
pub use page::Page;
pub use watch::{Problem, Trouble};

use std::time::Duration;

/// After this a wait fails. Long, because machines may be busy; a passing test never takes it.
const TIMEOUT: Duration = Duration::from_secs(60);
