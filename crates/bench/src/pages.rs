//! The cost of pages as the folder grows: server time, bytes, and first paint in a browser.

use std::path::Path;

use anyhow::Context;
use ratchet_browser::{Browser, Cost};
use ratchet_store::blocking::run_blocking;
use serde::Serialize;

use crate::child::{AuthMode, PROJECT, Server};
use crate::fill::Filled;
use crate::reads::ask;
use crate::record::hex;
use crate::sample::Spread;

/// The cost of one page at one size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PageReading {
    pub(crate) name: &'static str,
    /// Until the page itself is complete, over HTTP.
    pub(crate) server: Spread,
    /// Everything that a browser fetches for it with an empty cache.
    pub(crate) bytes: u64,
    /// Until first paint, with an empty cache.
    pub(crate) first_paint: Spread,
}

/// HTTP requests per page.
const REPETITIONS: usize = 15;
/// Browser loads per page.
const OPENED: usize = 7;

/// Target for first paint.
pub(crate) const TARGET_MS: f64 = 200.0;

/// Pages whose content grows, by path suffix, besides one trace.
const PAGES: [(&str, &str); 12] = [
    ("home", ""),
    ("traces", "/traces"),
    ("observations", "/observations"),
    ("sessions", "/sessions"),
    ("users", "/users"),
    ("scores", "/scores"),
    ("dashboards", "/dashboards"),
    ("review", "/queues"),
    ("matrix", "/matrix"),
    ("metrics", "/metrics"),
    ("evaluators", "/evaluators"),
    ("agents", "/agents"),
];

/// Opens the pages of a folder.
///
/// # Errors
/// Fails if a page does not load.
pub(crate) async fn measure(
    program: &Path,
    data: &Path,
    filled: &Filled,
) -> anyhow::Result<Vec<PageReading>> {
    let server = Server::start(program, data, AuthMode::Open).await?;
    let trace = filled.traces.last().map(|id| hex(id)).context("the folder is empty")?;
    let lists = PAGES.map(|(name, end)| (name, format!("/project/{PROJECT}{end}")));
    let one = ("one trace", format!("/project/{PROJECT}/traces/{trace}"));
    let mut readings = Vec::new();
    for (name, path) in lists.into_iter().chain([one]) {
        eprintln!("  opening {name}");
        let took = ask(&server.target, REPETITIONS, |_| path.clone()).await?;
        let url = format!("http://{}{path}", server.target.authority);
        let costs = run_blocking(move || open(&url)).await?;
        let paints = costs.iter().filter_map(|cost| cost.first_paint).collect();
        readings.push(PageReading {
            name,
            server: took,
            bytes: costs.first().map_or(0, |cost| cost.bytes),
            first_paint: Spread::of(paints),
        });
    }
    server.stop().await?;
    Ok(readings)
}

/// Opens a page several times, each time with an empty cache.
fn open(url: &str) -> Vec<Cost> {
    let browser = Browser::start();
    let once = || {
        let page = browser.page();
        page.open(url);
        page.cost()
    };
    // The first page includes the start of the browser.
    once();
    (0..OPENED).map(|_| once()).collect()
}
