use std::fmt;

/// A web origin as browsers send it: `https://app.example.com`.
///
/// Invariant: `http` or `https`, a host in lower case, and a port only if it is not the scheme's
/// default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageOrigin(String);

/// The maximum length in bytes: a host name has at most 253.
const MAX_BYTES: usize = 300;

impl PageOrigin {
    /// Parses an origin; a trailing slash is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches('/').to_ascii_lowercase();
        let (scheme, host) = text.split_once("://")?;
        let usual_port = match scheme {
            "http" => ":80",
            "https" => ":443",
            _ => return None,
        };
        let host = host.strip_suffix(usual_port).unwrap_or(host);
        let has_port = !host.ends_with(']');
        let split = if has_port { host.rsplit_once(':') } else { None };
        let (name, port) = split.unwrap_or((host, "0"));
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._[]:".contains(c);
        let is_origin = !name.is_empty()
            && name.chars().all(is_name)
            && port.parse::<u16>().is_ok()
            && text.len() <= MAX_BYTES;
        is_origin.then(|| Self(format!("{scheme}://{host}")))
    }

    /// Returns the origin.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(PageOrigin::parse(text).as_ref().map(PageOrigin::as_str), expected);
    }

    #[test]
    fn origins_are_written_one_way() {
        check("https://App.Example.com/", Some("https://app.example.com"));
        check("http://localhost:5173", Some("http://localhost:5173"));
        check("https://a.example:443", Some("https://a.example"));
        check("http://[::1]:3000", Some("http://[::1]:3000"));
        check("http://[::1]", Some("http://[::1]"));
    }

    #[test]
    fn anything_else_is_none() {
        for text in
            ["", "null", "*", "a.example", "ftp://a", "https://", "https://a/b", "http://a:x"]
        {
            check(text, None);
        }
        check("https://user@a.example", None);
        check(&format!("https://{}", "a".repeat(300)), None);
    }
}
