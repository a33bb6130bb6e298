//! Cross-site checks: which page made a browser send a request, and to which host.

/// The headers by which browsers identify the page that sends a request. Pages cannot forge them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestSite<'a> {
    /// The host that the browser called: `Host`, or what a trusted proxy forwards in its place.
    pub host: Option<&'a str>,
    /// `Origin`; a value that is not text counts as empty.
    pub origin: Option<&'a str>,
    /// `Sec-Fetch-Site`, which browsers send over TLS and on loopback.
    pub fetch_site: Option<&'a str>,
}

impl RequestSite<'_> {
    /// Returns whether one of the server's own pages sent the request, or no page at all.
    ///
    /// ```
    /// use ratchet_core::request_site::RequestSite;
    ///
    /// let (host, origin) = (Some("ratchet.example"), Some("https://evil.example"));
    /// assert!(!RequestSite { host, origin, fetch_site: None }.is_same_origin());
    /// assert!(RequestSite { host, ..RequestSite::default() }.is_same_origin());
    /// ```
    pub fn is_same_origin(self) -> bool {
        match (self.fetch_site, self.origin) {
            // None: the user entered the address or reloaded the page.
            (Some(site), _) => ["same-origin", "none"].contains(&site),
            (None, Some(_)) => self.is_origin_of_host(),
            // An old browser, or no browser.
            (None, None) => true,
        }
    }

    /// Returns whether `Origin` names the host, with any scheme: behind a proxy the server does not
    /// know its own.
    pub fn is_origin_of_host(self) -> bool {
        let named = self.origin.and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        named.is_some() && named == self.host.map(str::trim)
    }
}

/// Returns the host of the `X-Forwarded-Host` headers of a request, in the order in which they were
/// sent. It counts only if a trusted proxy sent the request.
///
/// The last entry is the one of that proxy; a client may have sent the ones before.
pub fn forwarded_host<'a>(values: impl DoubleEndedIterator<Item = &'a str>) -> Option<&'a str> {
    values.rev().find_map(|value| value.rsplit(',').next()).map(str::trim)
}

/// Returns whether a Host header names this machine, on any port.
///
/// Guards against DNS rebinding: any other name may have been pointed here by an attacker's page.
/// HTTP/2 has no Host header; no browser uses it without TLS.
pub fn is_loopback_host(host: Option<&str>) -> bool {
    let Some(host) = host else { return true };
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        if is_port { name } else { host }
    });
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fetch_site: Option<&str>, origin: Option<&str>, expected: bool) {
        let site = RequestSite { host: Some("ratchet.example"), origin, fetch_site };
        assert_eq!(site.is_same_origin(), expected, "{site:?}");
    }

    #[test]
    fn only_own_pages_are_of_the_same_origin() {
        check(None, None, true);
        check(Some("same-origin"), None, true);
        check(Some("none"), None, true);
        check(Some("same-origin"), Some("null"), true);
        for site in ["same-site", "cross-site", ""] {
            check(Some(site), None, false);
            check(Some(site), Some("https://ratchet.example"), false);
        }
        check(None, Some("https://ratchet.example"), true);
        check(None, Some("http://ratchet.example"), true);
        for origin in ["https://evil.example", "null", "ratchet.example", "", "https://"] {
            check(None, Some(origin), false);
        }
    }

    #[test]
    fn an_origin_is_foreign_where_no_host_is_known() {
        for origin in ["null", "", "https://ratchet.example"] {
            let site = RequestSite { origin: Some(origin), ..RequestSite::default() };
            assert!(!site.is_same_origin(), "{origin}");
        }
    }

    #[test]
    fn the_nearest_proxy_names_the_host() {
        let host = |values: &[&'static str]| forwarded_host(values.iter().copied());
        assert_eq!(host(&[]), None);
        assert_eq!(host(&[" outer.example "]), Some("outer.example"));
        assert_eq!(host(&["evil.example, outer.example"]), Some("outer.example"));
        assert_eq!(host(&["evil.example", "outer.example"]), Some("outer.example"));
    }

    #[test]
    fn this_machine_has_three_names() {
        for host in ["localhost:3000", "localhost", "127.0.0.1:80", "[::1]", "[::1]:3000"] {
            assert!(is_loopback_host(Some(host)), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example:3000", "127.0.0.1.evil", "::1"] {
            assert!(!is_loopback_host(Some(host)), "{host}");
        }
        assert!(is_loopback_host(None));
    }
}
