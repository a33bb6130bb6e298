use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::Authority;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// The origin under which the client reached the server, for links: `http://127.0.0.1:3000`.
///
/// A proxy that terminates TLS sets `X-Forwarded-Proto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    scheme: &'static str,
    authority: Authority,
}

impl Origin {
    fn from_parts(headers: &HeaderMap, named: Option<&Authority>) -> Option<Self> {
        let word = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let is_tls = word("x-forwarded-proto").is_some_and(|proto| {
            proto.split(',').next().is_some_and(|first| first.trim().eq_ignore_ascii_case("https"))
        });
        let host = word("x-forwarded-host").or_else(|| word(HOST.as_str()));
        let authority =
            host.and_then(|host| host.trim().parse().ok()).or_else(|| named.cloned())?;
        Some(Self { scheme: if is_tls { "https" } else { "http" }, authority })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

impl FromRequestParts<App> for Origin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> ApiResult<Self> {
        let origin = Self::from_parts(&parts.headers, parts.uri.authority());
        origin.ok_or_else(|| ApiError::Invalid("the Host header is missing or wrong".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&'static str, &str)], expected: Option<&str>) {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let origin = Origin::from_parts(&HeaderMap::from_iter(headers), None);
        assert_eq!(origin.map(|origin| origin.to_string()).as_deref(), expected);
    }

    #[test]
    fn links_lead_where_the_client_came_in() {
        check(&[("host", "127.0.0.1:3000")], Some("http://127.0.0.1:3000"));
        check(
            &[
                ("host", "inner:3000"),
                ("x-forwarded-proto", "https, http"),
                ("x-forwarded-host", "ratchet.example"),
            ],
            Some("https://ratchet.example"),
        );
        check(&[("host", "a/b c")], None);
        check(&[], None);
    }
}
