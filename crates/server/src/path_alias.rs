//! Earlier paths of routes, answered for one release more.

use axum::extract::Request;
use axum::http::header::LINK;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::path_encoding::with_path;

/// Path of the chats API before it was renamed.
const OLD_CHATS: &str = "/api/v1/sessions";
const CHATS: &str = "/api/v1/chats";
/// Names the path that takes the place of a deprecated one.
const SUCCESSOR: HeaderValue =
    HeaderValue::from_static("</api/v1/chats>; rel=\"successor-version\"");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

/// Marks a request that was sent to a deprecated path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeprecatedPath;

/// Serves `/api/v1/sessions…` as `/api/v1/chats…`. Responses carry `Deprecation` and a `Link` to
/// the successor.
pub(crate) async fn serve_deprecated(mut request: Request, next: Next) -> Response {
    let renamed = renamed(request.uri().path()).and_then(|path| with_path(request.uri(), &path));
    let Some(uri) = renamed else { return next.run(request).await };
    *request.uri_mut() = uri;
    request.extensions_mut().insert(DeprecatedPath);
    let mut response = next.run(request).await;
    response.headers_mut().insert(DEPRECATION, HeaderValue::from_static("true"));
    response.headers_mut().append(LINK, SUCCESSOR);
    response
}

fn renamed(path: &str) -> Option<String> {
    let rest = path.strip_prefix(OLD_CHATS)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| format!("{CHATS}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_segments_are_renamed() {
        for (path, expected) in [
            ("/api/v1/sessions", Some("/api/v1/chats")),
            ("/api/v1/sessions/", Some("/api/v1/chats/")),
            ("/api/v1/sessions/a/events", Some("/api/v1/chats/a/events")),
            ("/api/v1/sessionsx", None),
            ("/api/public/sessions", None),
        ] {
            assert_eq!(renamed(path).as_deref(), expected, "{path}");
        }
    }
}
