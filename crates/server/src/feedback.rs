use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

/// Thumbs buttons for a web page, in about a kilobyte.
const SCRIPT: &str = include_str!("../assets/feedback.js");

/// `GET /feedback.js`: a script with thumbs buttons for a page, or a function to call:
/// `docs/feedback.md`.
#[utoipa::path(
    get,
    path = "/feedback.js",
    tag = "Feedback",
    security(()),
    responses((status = 200, body = String, content_type = "text/javascript"))
)]
pub(crate) async fn script() -> Response {
    let headers =
        [(CONTENT_TYPE, "text/javascript; charset=utf-8"), (CACHE_CONTROL, "public, max-age=3600")];
    (headers, SCRIPT).into_response()
}
