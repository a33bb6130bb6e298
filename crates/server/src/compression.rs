//! Compression of responses that are the same for every client, and of pages that our own pages
//! request.
//!
//! The length of a compressed response reveals whether two texts in it are alike, and a page contains
//! secrets beside content of other users. Another site that makes a browser request pages and watches
//! their lengths gets them uncompressed (BREACH, ADR 23 and 79).

use std::io::Write as _;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::ApiError;

/// Maximum size; our own files are shorter.
const MAX_BYTES: u64 = 4_000_000;
/// Minimum size; shorter responses gain nothing.
const MIN_BYTES: u64 = 1_000;
/// Most of the gain for a third of the work.
const LEVEL: u32 = 4;

/// Says which site caused a request. Browsers set it, scripts cannot.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Compresses a response if the client accepts gzip and its length reveals nothing.
pub(crate) async fn pack(request: Request, next: Next) -> Response {
    let takes_packed = request.method() == Method::GET && takes_gzip(request.headers());
    let is_from_us = is_from_us(request.headers());
    let mut response = next.run(request).await;
    let headers = response.headers();
    let is_page = kind(headers) == "text/html" && !headers.contains_key(CONTENT_ENCODING);
    let is_safe = is_for_everyone(headers) && is_text(headers) || is_page && is_from_us;
    if is_page {
        response.headers_mut().append(VARY, HeaderValue::from_static("sec-fetch-site"));
    }
    if !is_safe {
        return response;
    }
    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    let length = response.body().size_hint().exact();
    let fits = length.is_some_and(|length| (MIN_BYTES..=MAX_BYTES).contains(&length));
    if takes_packed && fits { packed(response).await } else { response }
}

async fn packed(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let most = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    let Ok(plain) = to_bytes(body, most).await else {
        return ApiError::internal("cannot read a response body").into_response();
    };
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::new(LEVEL));
    let written = encoder.write_all(&plain);
    let Ok(packed) = written.and_then(|()| encoder.finish()) else {
        return Response::from_parts(parts, Body::from(plain));
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(parts, Body::from(packed))
}

/// Whether the response is the same for every client, according to its own headers.
fn is_for_everyone(headers: &HeaderMap) -> bool {
    let is_packed = headers.contains_key(CONTENT_ENCODING);
    !is_packed && text(headers, &CACHE_CONTROL).starts_with("public")
}

/// Whether one of our own pages or the user caused the request, and not another site.
fn is_from_us(headers: &HeaderMap) -> bool {
    ["same-origin", "none"].contains(&text(headers, &SEC_FETCH_SITE))
}

/// The content type without parameters.
fn kind(headers: &HeaderMap) -> &str {
    text(headers, &CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = kind(headers);
    kind.starts_with("text/") && kind != "text/event-stream"
        || ["application/json", "image/svg+xml"].contains(&kind)
}

/// Whether a client accepts gzip, with a non-zero weight.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let asked = text(headers, &ACCEPT_ENCODING);
    asked.split(',').any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let is_none = weight.trim().strip_prefix("q=").and_then(|q| q.trim().parse().ok());
        name.trim().eq_ignore_ascii_case("gzip") && is_none != Some(0.0)
    })
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use flate2::read::GzDecoder;
    use tower::ServiceExt as _;

    use super::*;

    async fn answer(cache: &'static str, kind: &'static str, asked: &str) -> (HeaderMap, Vec<u8>) {
        answer_to("cross-site", cache, kind, asked).await
    }

    async fn answer_to(
        site: &str,
        cache: &'static str,
        kind: &'static str,
        asked: &str,
    ) -> (HeaderMap, Vec<u8>) {
        let says = [(CACHE_CONTROL, cache), (CONTENT_TYPE, kind)];
        let route = get(move || async move { (says, "a".repeat(5_000)) });
        let router = Router::new().route("/", route).layer(from_fn(pack));
        let request = Request::get("/").header(ACCEPT_ENCODING, asked).header(SEC_FETCH_SITE, site);
        let request = request.body(Body::empty()).unwrap();
        let (parts, body) = router.oneshot(request).await.unwrap().into_parts();
        (parts.headers, to_bytes(body, 10_000).await.unwrap().to_vec())
    }

    #[tokio::test]
    async fn what_is_the_same_for_everyone_goes_out_packed() {
        let (headers, body) =
            answer("public, no-cache", "text/css; charset=utf-8", "br, gzip").await;
        assert_eq!(text(&headers, &CONTENT_ENCODING), "gzip");
        assert_eq!(text(&headers, &VARY), "accept-encoding");
        let mut plain = String::new();
        GzDecoder::new(body.as_slice()).read_to_string(&mut plain).unwrap();
        assert_eq!(plain, "a".repeat(5_000));
    }

    #[tokio::test]
    async fn a_page_goes_out_packed_only_to_our_own_pages_and_the_user() {
        for (site, is_packed) in [
            ("same-origin", true),
            ("none", true),
            ("same-site", false),
            ("cross-site", false),
            ("", false),
        ] {
            let page = answer_to(site, "private, no-cache", "text/html; charset=utf-8", "gzip");
            let (headers, body) = page.await;
            assert_eq!(headers.contains_key(CONTENT_ENCODING), is_packed, "{site}");
            assert_eq!(body.len() < 5_000, is_packed, "{site}");
            let json = answer_to(site, "private", "application/json", "gzip").await;
            assert!(!json.0.contains_key(CONTENT_ENCODING), "{site}");
        }
    }

    #[tokio::test]
    async fn nothing_else_does() {
        for (cache, kind, asked) in [
            ("private, no-cache", "text/html", "gzip"),
            ("public", "text/event-stream", "gzip"),
            ("public", "image/png", "gzip"),
            ("public", "text/css", "identity"),
            ("public", "text/css", "gzip;q=0"),
        ] {
            let (headers, body) = answer(cache, kind, asked).await;
            assert!(!headers.contains_key(CONTENT_ENCODING), "{cache} {kind} {asked}");
            assert_eq!(body.len(), 5_000);
        }
    }
}
