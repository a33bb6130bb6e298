use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

use crate::error::{ApiError, ApiResult};

/// Without keys, whoever can make a browser call this server could do everything. Pages of other
/// sites give themselves away by their Origin, and names made to point here by their Host.
pub(super) fn refuse_others(headers: &HeaderMap) -> ApiResult<()> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    // HTTP/2 has no Host header; no browser speaks it without TLS.
    let host = text(HOST);
    let is_local = host.is_none_or(|host| LOCAL.contains(&without_port(host)));
    let is_same_site = headers.get(ORIGIN).is_none()
        || text(ORIGIN).and_then(|origin| origin.split_once("://")).map(|(_, site)| site) == host;
    if is_local && is_same_site {
        return Ok(());
    }
    Err(ApiError::Forbidden(
        "without keys this server answers only at localhost and to its own pages; start it with \
         keys to call it from elsewhere"
            .to_owned(),
    ))
}

const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

fn without_port(host: &str) -> &str {
    host.rsplit_once(':').map_or(host, |(name, port)| {
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        if is_port { name } else { host }
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check_site(named: &[(&'static str, &'static str)], is_let_in: bool) {
        let named = named
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        assert_eq!(refuse_others(&named.collect()).is_ok(), is_let_in);
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
        check_site(&[], true);
    }
}
