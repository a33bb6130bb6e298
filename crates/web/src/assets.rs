//! Style and scripts: few files, compiled in, kept by browsers until the next build.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::page_error::PageError;
use crate::web::Web;

/// The style sheet, its parts in order.
pub(crate) const STYLE: &str = concat!(
    include_str!("assets/tokens.css"),
    include_str!("assets/base.css"),
    include_str!("assets/frame.css"),
    include_str!("assets/components.css"),
    include_str!("assets/pages.css"),
    include_str!("assets/trace.css"),
    include_str!("assets/lists.css"),
    include_str!("assets/people.css"),
    include_str!("assets/dashboards.css"),
    include_str!("assets/datasets.css"),
    include_str!("assets/settings.css"),
    include_str!("assets/reports.css"),
    include_str!("assets/playground.css"),
    include_str!("assets/trust.css"),
    include_str!("assets/chat.css"),
    include_str!("assets/review.css"),
);

/// The script that works while no page is open.
const WORKER: &str = "service-worker.js";

const FILES: &[(&str, &str)] = &[
    ("ratchet.css", STYLE),
    ("ratchet.js", include_str!("assets/ratchet.js")),
    ("keys.js", include_str!("assets/keys.js")),
    ("lists.js", include_str!("assets/lists.js")),
    ("suggest.js", include_str!("assets/suggest.js")),
    ("home.js", include_str!("assets/home.js")),
    ("trace.js", include_str!("assets/trace.js")),
    ("dashboards.js", include_str!("assets/dashboards.js")),
    ("session.js", include_str!("assets/session.js")),
    ("chat.js", include_str!("assets/chat.js")),
    ("chat-composer.js", include_str!("assets/chat-composer.js")),
    ("review.js", include_str!("assets/review.js")),
    ("compare.js", include_str!("assets/compare.js")),
    ("experiments.js", include_str!("assets/experiments.js")),
    ("target-chat.js", include_str!("assets/target-chat.js")),
    ("push.js", include_str!("assets/push.js")),
    (WORKER, include_str!("assets/service-worker.js")),
    ("icon.svg", include_str!("assets/icon.svg")),
];

/// Changes with any of the files, so that browsers may keep them forever.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
});

/// The address of a file.
pub fn address(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

pub(crate) fn routes() -> Router<Web> {
    Router::new()
        .route("/assets/{version}/{name}", get(serve))
        .route("/service-worker.js", get(worker))
}

/// At the root, for it looks after no pages but those beneath its own address; and asked for anew
/// each time, for browsers keep what it was otherwise.
async fn worker() -> Result<Response, PageError> {
    let mut response = serve(Path(("worker".to_owned(), WORKER.to_owned()))).await?;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

async fn serve(Path((_, name)): Path<(String, String)>) -> Result<Response, PageError> {
    let file = FILES.iter().find(|(known, _)| *known == name);
    let (name, text) = file.ok_or_else(|| PageError::not_there("file"))?;
    let kind = match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    };
    let keep = "public, max-age=31536000, immutable";
    Ok(([(CONTENT_TYPE, kind), (CACHE_CONTROL, keep)], *text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_need_nothing_from_elsewhere_and_write_no_markup() {
        for (name, text) in FILES {
            let text = text.replace("http://www.w3.org/", "");
            assert!(!text.contains("http:") && !text.contains("https:"), "{name}: no other host");
            for way_around in ["outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
                assert!(!text.contains(way_around), "{name}: {way_around} would not escape");
            }
        }
    }
}
