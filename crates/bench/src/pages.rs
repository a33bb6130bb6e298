//! What pages cost as the folder grows: the server's time, bytes, and when a browser first shows
//! something.

use std::path::Path;

use anyhow::Context;
use ratchet_browser::{Browser, Cost};
use serde::Serialize;

use crate::child::{Door, PROJECT, Server};
use crate::fill::Filled;
use crate::reads::ask;
use crate::record::hex;
use crate::sample::Spread;

/// What one page costs at one size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PageReading {
    pub(crate) name: &'static str,
    /// Until all of the page itself is there, over HTTP.
    pub(crate) server: Spread,
    /// All that a browser fetches for it when nothing is cached.
    pub(crate) bytes: u64,
    /// Until the browser shows something, nothing being cached.
    pub(crate) first_paint: Spread,
}

/// How often each page is asked for.
const ASKED: usize = 15;
/// How often a browser opens it.
const OPENED: usize = 7;

/// A page may take this long until something is to be seen of it.
pub(crate) const AIM_MS: f64 = 200.0;

/// The pages that show what grows, by the end of their address. One trace comes on top.
const PAGES: [(&str, &str); 7] = [
    ("home", ""),
    ("traces", "/traces"),
    ("observations", "/observations"),
    ("sessions", "/sessions"),
    ("users", "/users"),
    ("scores", "/scores"),
    ("dashboards", "/dashboards"),
];

/// Opens pages over a folder.
///
/// # Errors
/// Fails if a page does not come.
pub(crate) async fn measure(
    program: &Path,
    data: &Path,
    filled: &Filled,
) -> anyhow::Result<Vec<PageReading>> {
    let server = Server::start(program, data, Door::Open).await?;
    let trace = filled.traces.last().map(|id| hex(id)).context("the folder is empty")?;
    let lists = PAGES.map(|(name, end)| (name, format!("/project/{PROJECT}{end}")));
    let one = ("one trace", format!("/project/{PROJECT}/traces/{trace}"));
    let mut readings = Vec::new();
    for (name, path) in lists.into_iter().chain([one]) {
        eprintln!("  opening {name}");
        let took = ask(&server.target, ASKED, |_| path.clone()).await?;
        let url = format!("http://{}{path}", server.target.authority);
        let costs = tokio::task::spawn_blocking(move || open(&url)).await?;
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

/// Opens a page several times, each time as if for the first.
fn open(url: &str) -> Vec<Cost> {
    let browser = Browser::start();
    let once = || {
        let page = browser.page();
        page.open(url);
        page.cost()
    };
    // The first page of a browser pays for the browser.
    once();
    (0..OPENED).map(|_| once()).collect()
}
