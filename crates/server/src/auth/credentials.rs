use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratchet_core::secret::Secret;

use crate::error::{ApiError, ApiResult};

/// The credentials in an Authorization header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    Pair { public: String, secret: Secret },
    Public(String),
}

impl Credentials {
    pub(super) fn from_headers(headers: &HeaderMap) -> ApiResult<Self> {
        let header =
            headers.get(AUTHORIZATION).ok_or_else(|| unauthorized("no Authorization header"))?;
        let text = header.to_str().map_err(|_| unauthorized("Authorization is not plain text"))?;
        Self::parse(text)
    }

    fn parse(header: &str) -> ApiResult<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("bearer") && !rest.is_empty() {
            // Both halves, for clients that can only send a token.
            return Ok(match rest.split_once(':') {
                Some((public, secret)) => {
                    Self::Pair { public: public.to_owned(), secret: Secret::new(secret) }
                }
                None => Self::Public(rest.to_owned()),
            });
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(unauthorized("Authorization is neither Basic nor Bearer"));
        }
        let pair = STANDARD
            .decode(rest)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| unauthorized("Authorization is not base64 of public:secret"))?;
        let (public, secret) = pair
            .split_once(':')
            .ok_or_else(|| unauthorized("Authorization has no colon between public and secret"))?;
        Ok(Self::Pair { public: public.to_owned(), secret: Secret::new(secret) })
    }
}

pub(super) fn unauthorized(why: &str) -> ApiError {
    ApiError::Unauthorized(format!(
        "{why}; send HTTP Basic auth with your public key as user and your secret key as password"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, expected: impl Into<Option<Credentials>>) {
        assert_eq!(Credentials::parse(header).ok(), expected.into());
    }

    fn pair(public: &str, secret: &str) -> Option<Credentials> {
        Some(Credentials::Pair { public: public.to_owned(), secret: Secret::new(secret) })
    }

    #[test]
    fn basic_holds_both_halves() {
        check("Basic cGs6c2s=", pair("pk", "sk"));
        check("basic   cGs6c2s=", pair("pk", "sk"));
        check("Basic cGs6czpr", pair("pk", "s:k"));
        check("Basic Og==", pair("", ""));
    }

    #[test]
    fn bearer_holds_the_public_half_or_both() {
        check("Bearer pk-lf-1", Some(Credentials::Public("pk-lf-1".to_owned())));
        check("Bearer pk-lf-1:sk-lf-1", pair("pk-lf-1", "sk-lf-1"));
        check("bearer pk:s:k", pair("pk", "s:k"));
    }

    #[test]
    fn anything_else_is_refused() {
        for header in
            ["", "Basic", "Basic ???", "Basic cGtzaw==", "Bearer ", "Digest x", "Basic /w=="]
        {
            check(header, None);
        }
    }
}
