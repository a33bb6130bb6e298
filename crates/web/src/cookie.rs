//! What browsers carry for us. Scripts cannot read it, other sites cannot make a browser send it
//! along with a change, and over TLS it goes nowhere else.

use std::time::Duration;

use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ratchet_core::secret::Secret;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookie {
    /// Proves that someone is signed in.
    Session,
    /// Binds the forms of someone who is not to their browser.
    Form,
    /// What a sign-in at another server began with.
    Departure,
}

/// How a request came: what cookies may be called depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Over TLS, at least up to the proxy that says so.
    Secure,
    /// In the clear: on this machine, or nobody cares.
    Clear,
}

impl Channel {
    /// Works out how a request came. A proxy that takes care of TLS says so in
    /// `X-Forwarded-Proto`; whoever else says so only gets cookies that do not work for them.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let proto = headers.get("x-forwarded-proto").and_then(|value| value.to_str().ok());
        let first = proto.and_then(|proto| proto.split(',').next()).unwrap_or_default();
        if first.trim().eq_ignore_ascii_case("https") { Self::Secure } else { Self::Clear }
    }
}

impl Cookie {
    /// A browser takes a name with this beginning only over TLS, for this host, and from it.
    const fn name(self, channel: Channel) -> &'static str {
        match (self, channel) {
            (Self::Session, Channel::Secure) => "__Host-ratchet-session",
            (Self::Session, Channel::Clear) => "ratchet-session",
            (Self::Form, Channel::Secure) => "__Host-ratchet-form",
            (Self::Form, Channel::Clear) => "ratchet-form",
            (Self::Departure, Channel::Secure) => "__Host-ratchet-departure",
            (Self::Departure, Channel::Clear) => "ratchet-departure",
        }
    }

    /// Reads its value, if the browser sent one.
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

    /// Has the browser carry a value: for so long, or until it is closed.
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

    /// Has the browser forget it.
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
