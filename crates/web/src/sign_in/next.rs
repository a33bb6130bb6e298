use std::fmt;

/// Where to go after signing in: a path of this server, and nothing that a browser could take for
/// another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Next(String);

/// Longer addresses are not worth coming back to.
const MAX_BYTES: usize = 4_000;

impl Next {
    /// Parses a path; everything else leads to the home page.
    pub(crate) fn parse(text: &str) -> Self {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
        let is_local = text.starts_with('/') && !text.starts_with("//");
        let is_ours = ["/sign-in", "/sign-out", "/set-up"].iter().any(|own| text.starts_with(own));
        let is_fine = is_local
            && !is_ours
            && text.len() <= MAX_BYTES
            // Browsers read a backslash as a slash and leave tabs and line breaks out.
            && text.bytes().all(is_plain);
        if is_fine { Self(text.to_owned()) } else { Self::default() }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Next {
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_server_are_followed() {
        for path in ["/", "/project/shop/traces?level=ERROR&name=a%2Fb#x", "/account"] {
            assert_eq!(Next::parse(path).as_str(), path);
        }
        for elsewhere in [
            "",
            "evil.example",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/a\r\nSet-Cookie: x=1",
            "/ä",
            "/sign-in?next=/sign-in",
            "/sign-out",
        ] {
            assert_eq!(Next::parse(elsewhere), Next::default(), "{elsewhere}");
        }
        assert_eq!(Next::parse(&format!("/{}", "a".repeat(4_000))), Next::default());
    }
}
