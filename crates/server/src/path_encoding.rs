//! Normalizes paths before routing.
//!
//! Names of prompts and datasets may contain slashes: `trips/eu`. Clients should encode them in a
//! path (`trips%2Feu`), and newer ones do. Older ones do not, so that their paths have more
//! segments than any route; the name is unambiguous all the same. A trailing slash of an API path
//! is removed, too: some clients join URLs that way, and do not send a body again after a redirect.

use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{Method, Uri};

/// Removes the trailing slash of an API path, and encodes the slashes of a name in a path.
pub(crate) fn encode(mut request: Request) -> Request {
    let sent = request.uri().path();
    let path = without_last_slash(sent);
    let put_right = encoded(request.method(), path)
        .or_else(|| (path.len() < sent.len()).then(|| path.to_owned()));
    if let Some(path) = put_right
        && let Some(uri) = with_path(request.uri(), &path)
    {
        *request.uri_mut() = uri;
    }
    request
}

/// An API path without its trailing slash. Two slashes are left alone.
fn without_last_slash(path: &str) -> &str {
    let is_below =
        ["/api/", "/v1/"].iter().any(|api| path.len() > api.len() && path.starts_with(api));
    let is_api = is_below || ["/metrics/", "/feedback.js/"].contains(&path);
    let bare = path.strip_suffix('/').filter(|bare| is_api && !bare.ends_with('/'));
    bare.unwrap_or(path)
}

pub(crate) fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let path_and_query = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

/// The path with its names encoded; `None` if there is nothing to encode.
fn encoded(method: &Method, path: &str) -> Option<String> {
    let below = |folder: &str| path.strip_prefix(folder).filter(|rest| rest.contains('/'));
    if let Some(rest) = below("/api/public/v2/prompts/") {
        let version = rest.rsplit_once("/versions/").filter(|_| method == Method::PATCH);
        return Some(match version {
            Some((name, version)) => {
                format!("/api/public/v2/prompts/{}/versions/{version}", one(name))
            }
            None => format!("/api/public/v2/prompts/{}", one(rest)),
        });
    }
    if let Some(rest) = below("/api/public/datasets/") {
        if let Some((name, run)) = rest.split_once("/runs/") {
            return Some(format!("/api/public/datasets/{}/runs/{}", one(name), one(run)));
        }
        let name = rest.strip_suffix("/runs")?;
        return Some(format!("/api/public/datasets/{}/runs", one(name)));
    }
    let alone = ["/api/public/v2/datasets/", "/api/public/dataset-items/"];
    alone.into_iter().find_map(|folder| Some(format!("{folder}{}", one(below(folder)?))))
}

fn one(name: &str) -> String {
    name.replace('/', "%2F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &Method, uri: &str, expected: &str) {
        let request = Request::builder().method(method).uri(uri).body(axum::body::Body::empty());
        assert_eq!(encode(request.unwrap()).uri(), expected);
    }

    #[test]
    fn slashes_of_names_are_encoded() {
        let prompts = "/api/public/v2/prompts";
        check(&Method::GET, &format!("{prompts}/a/b%20c?x=/"), &format!("{prompts}/a%2Fb%20c?x=/"));
        check(
            &Method::PATCH,
            &format!("{prompts}/a/versions/b/versions/3"),
            &format!("{prompts}/a%2Fversions%2Fb/versions/3"),
        );
        check(
            &Method::GET,
            &format!("{prompts}/a/versions/3"),
            &format!("{prompts}/a%2Fversions%2F3"),
        );
        check(&Method::GET, "/api/public/v2/datasets/a/b", "/api/public/v2/datasets/a%2Fb");
        check(&Method::GET, "/api/public/datasets/a/b/runs", "/api/public/datasets/a%2Fb/runs");
        check(
            &Method::DELETE,
            "/api/public/datasets/a/b/runs/c/d",
            "/api/public/datasets/a%2Fb/runs/c%2Fd",
        );
        check(&Method::GET, "/api/public/dataset-items/a/b", "/api/public/dataset-items/a%2Fb");
    }

    #[test]
    fn one_slash_too_many_goes() {
        for (sent, meant) in [
            ("/api/public/traces/?limit=1", "/api/public/traces?limit=1"),
            ("/api/public/v2/prompts/a/b/", "/api/public/v2/prompts/a%2Fb"),
            ("/api/v1/status/", "/api/v1/status"),
            ("/v1/traces/", "/v1/traces"),
            ("/metrics/", "/metrics"),
            ("/api/public/traces//", "/api/public/traces//"),
            ("/api/", "/api/"),
            ("/project/", "/project/"),
        ] {
            check(&Method::POST, sent, meant);
        }
    }

    #[test]
    fn all_else_stays() {
        for path in [
            "/api/public/v2/prompts",
            "/api/public/v2/prompts/a%2Fb?label=c/d",
            "/api/public/datasets/a/runs",
            "/api/public/datasets/a/runs/b",
            "/api/public/traces/a/b",
            "/",
        ] {
            check(&Method::GET, path, path);
        }
        let labels = "/api/public/v2/prompts/a/versions/3";
        check(&Method::PATCH, labels, labels);
    }
}
