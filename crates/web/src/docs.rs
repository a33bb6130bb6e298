//! The API's description to read and search in a browser, with no help from other hosts.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{Html, IntoResponse};
use axum::routing::get;

/// No inline script or style, and nothing from elsewhere: the description is data, never markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The same for everyone, and asked for again after each build.
const KEEP: &str = "public, no-cache";

/// The page and what it is made of.
pub(crate) fn pages() -> Router {
    Router::new()
        .route("/api/docs", get(page))
        .route("/api/docs/docs.js", get(script))
        .route("/api/docs/docs.css", get(style))
}

async fn page() -> impl IntoResponse {
    let says = [(CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, KEEP)];
    (says, Html(include_str!("docs/docs.html")))
}

async fn script() -> impl IntoResponse {
    let says = [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, KEEP)];
    (says, include_str!("docs/docs.js"))
}

async fn style() -> impl IntoResponse {
    let says = [(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, KEEP)];
    (says, include_str!("docs/docs.css"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_writes_no_markup() {
        let (page, script) = (include_str!("docs/docs.html"), include_str!("docs/docs.js"));
        for text in [page, script, include_str!("docs/docs.css")] {
            assert!(!text.contains("http:") && !text.contains("https:"), "no other host");
        }
        for way_around in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("] {
            assert!(!script.contains(way_around), "{way_around} would not escape");
        }
        assert!(!page.contains("<style") && !page.contains("style="), "the policy forbids it");
    }
}
