//! Cookies: `HttpOnly`, `SameSite=Lax`, and with the `__Host-` prefix over TLS.

use std::time::Duration;

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ratchet_core::secret::Secret;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// The login.
    Session,
    /// Binds CSRF tokens of anonymous users to their browser.
    Form,
    /// State of an OIDC sign-in in progress.
    Departure,
    /// Tells browsers apart where nobody signs in.
    Browser,
}

/// Transport of a request; determines the cookie names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// TLS, possibly terminated at a proxy.
    Secure,
    /// Plain HTTP.
    Clear,
}

impl Channel {
    /// Detects TLS by `X-Forwarded-Proto`. A client that forges the header only gets cookies that
    /// its browser rejects.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let proto = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
        let first = proto.and_then(|proto| proto.split(',').next()).unwrap_or_default();
        if first.trim().eq_ignore_ascii_case("https") { Self::Secure } else { Self::Clear }
    }
}

impl Cookie {
    /// Browsers accept the `__Host-` prefix only over TLS and for this host.
    const fn name(self, channel: Channel) -> &'static str {
        match (self, channel) {
            (Self::Session, Channel::Secure) => "__Host-ratchet-session",
            (Self::Session, Channel::Clear) => "ratchet-session",
            (Self::Form, Channel::Secure) => "__Host-ratchet-form",
            (Self::Form, Channel::Clear) => "ratchet-form",
            (Self::Departure, Channel::Secure) => "__Host-ratchet-departure",
            (Self::Departure, Channel::Clear) => "ratchet-departure",
            (Self::Browser, Channel::Secure) => "__Host-ratchet-browser",
            (Self::Browser, Channel::Clear) => "ratchet-browser",
        }
    }

    /// Value in the request.
    pub(crate) fn read(self, headers: &HeaderMap) -> Option<Secret> {
        let name = self.name(Channel::of(headers));
        let sent = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let pairs = sent.flat_map(|line| line.split(';'));
        let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
        named
            .find(|(known, value)| *known == name && !value.is_empty())
            .map(|(_, value)| value.into())
            .map(|value: String| Secret::new(value))
    }

    /// `Set-Cookie` header with an optional lifetime.
    pub(crate) fn set(
        self,
        value: &Secret,
        life: Option<Duration>,
        channel: Channel,
    ) -> (HeaderName, HeaderValue) {
        let (name, value) = (self.name(channel), value.expose());
        let age = life.map(|life| format!("; Max-Age={}", life.as_secs())).unwrap_or_default();
        let secure = match channel {
            Channel::Secure => "; Secure",
            Channel::Clear => "",
        };
        let line = format!("{name}={value}; Path=/{age}; HttpOnly; SameSite=Lax{secure}");
        // Values are our own, in base64 that fits into a header as it is.
        (SET_COOKIE, HeaderValue::try_from(line).unwrap_or(HeaderValue::from_static("")))
    }

    /// `Set-Cookie` header that deletes the cookie.
    pub(crate) fn clear(self, channel: Channel) -> (HeaderName, HeaderValue) {
        self.set(&Secret::new(""), Some(Duration::ZERO), channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(named: &[(&'static str, &'static str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        named.iter().map(header).collect()
    }

    #[track_caller]
    fn check(named: &[(&'static str, &'static str)], expected: Option<&str>) {
        let read = Cookie::Session.read(&headers(named));
        assert_eq!(read.as_ref().map(Secret::expose), expected);
    }

    #[test]
    fn only_the_cookie_of_the_channel_counts() {
        check(&[("cookie", "a=1; ratchet-session=xyz")], Some("xyz"));
        check(&[("cookie", "a=1"), ("cookie", "ratchet-session=xyz")], Some("xyz"));
        check(&[("cookie", "__Host-ratchet-session=xyz")], None);
        check(&[("cookie", "ratchet-session="), ("cookie", "ratchet-session")], None);
        let tls = ("x-forwarded-proto", "https");
        check(&[tls, ("cookie", "__Host-ratchet-session=xyz")], Some("xyz"));
        check(&[tls, ("cookie", "ratchet-session=xyz")], None);
        check(&[], None);
    }

    #[test]
    fn cookies_are_as_closed_as_the_channel_lets_them_be() {
        let life = Some(Duration::from_secs(60));
        let set = |channel| Cookie::Session.set(&Secret::new("xyz"), life, channel).1;
        assert_eq!(
            set(Channel::Secure),
            "__Host-ratchet-session=xyz; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            set(Channel::Clear),
            "ratchet-session=xyz; Path=/; Max-Age=60; HttpOnly; SameSite=Lax"
        );
        let gone = "ratchet-form=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax";
        assert_eq!(Cookie::Form.clear(Channel::Clear).1, gone);
    }
}
