use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use ratchet_core::catalog::cors_origin::PageOrigin;
use ratchet_core::record::limit::elide;
use ratchet_core::request_site::{RequestSite, is_loopback_host};

use crate::error::{ApiError, ApiResult};

/// Rejects cross-site requests. Without authentication, any web page could use the visitor's
/// browser to call this server; cross-site pages are detected by Origin and Sec-Fetch-Site, DNS
/// rebinding by Host. X-Forwarded-Host does not count: the server is reached on loopback only.
pub(super) fn reject_cross_site(headers: &HeaderMap) -> ApiResult<()> {
    let site = site_of(headers);
    if is_loopback_host(site.host) && site.is_same_origin() {
        return Ok(());
    }
    Err(ApiError::Forbidden(
        "without keys this server answers only at localhost and to its own pages; start it with \
         keys to call it from elsewhere"
            .to_owned(),
    ))
}

fn site_of(headers: &HeaderMap) -> RequestSite<'_> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    RequestSite {
        host: text(HOST.as_str()),
        origin: text(ORIGIN.as_str()),
        fetch_site: text("sec-fetch-site"),
    }
}

/// Rejects pages of other origins than the allowed ones. An empty list allows any.
pub(super) fn check_page_origin(headers: &HeaderMap, known: &[PageOrigin]) -> ApiResult<()> {
    if known.is_empty() || !headers.contains_key(ORIGIN) {
        return Ok(());
    }
    let site = site_of(headers);
    let origin = site.origin.unwrap_or_default();
    let is_known = PageOrigin::parse(origin).is_some_and(|origin| known.contains(&origin));
    if site.is_origin_of_host() || is_known {
        return Ok(());
    }
    let origin = elide(origin, SHOWN_ORIGIN_BYTES);
    Err(ApiError::Forbidden(format!(
        "pages of {origin} may not call with this project's keys; an owner can let them with \
         `ratchet projects set-origins`"
    )))
}

/// Maximum length of a rejected origin in the error.
const SHOWN_ORIGIN_BYTES: usize = 100;

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check_site(named: &[(&'static str, &'static str)], is_let_in: bool) {
        let named = named
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        assert_eq!(reject_cross_site(&named.collect()).is_ok(), is_let_in);
    }

    #[test]
    fn without_keys_only_local_pages_are_let_in() {
        check_site(&[("host", "localhost:3000")], true);
        check_site(&[("host", "127.0.0.1:3000")], true);
        check_site(&[("host", "[::1]")], true);
        check_site(&[("host", "localhost:3000"), ("origin", "http://localhost:3000")], true);
        check_site(&[("host", "localhost:3000"), ("origin", "http://evil.example")], false);
        check_site(&[("host", "localhost:3000"), ("origin", "null")], false);
        check_site(&[("host", "evil.example:3000")], false);
        check_site(&[("host", "localhost:3000"), ("sec-fetch-site", "cross-site")], false);
        check_site(&[("origin", "null")], false);
        check_site(&[], true);
    }

    #[test]
    fn only_known_pages_are_let_in_once_some_are_named() {
        let check = |known: &[&str], origin: Option<&'static str>, is_let_in: bool| {
            let known: Vec<_> = known.iter().filter_map(|text| PageOrigin::parse(text)).collect();
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("ratchet.example"));
            headers.extend(origin.map(|origin| (ORIGIN, HeaderValue::from_static(origin))));
            assert_eq!(check_page_origin(&headers, &known).is_ok(), is_let_in, "{origin:?}");
        };
        check(&[], Some("https://evil.example"), true);
        let app = ["https://app.example"];
        check(&app, None, true);
        check(&app, Some("https://app.example"), true);
        check(&app, Some("https://ratchet.example"), true);
        check(&app, Some("http://app.example"), false);
        check(&app, Some("https://evil.example"), false);
        check(&app, Some("null"), false);
    }
}
