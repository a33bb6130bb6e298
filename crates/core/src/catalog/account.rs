use std::fmt;
use std::ops::RangeInclusive;

/// Allowed password lengths, in characters. Longer ones would only cost hashing time.
pub const PASSWORD_CHARS: RangeInclusive<usize> = 8..=256;

/// The maximum length of an address in SMTP.
const MAX_EMAIL_BYTES: usize = 254;

/// An email address that identifies a user.
///
/// Invariant: visible ASCII with one `@` inside, in lower case, so that an address is registered
/// once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Email(String);

impl Email {
    /// Parses an address, trimming surrounding whitespace.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@')
        };
        let is_email = text.len() <= MAX_EMAIL_BYTES
            && text.split_once('@').is_some_and(|(name, host)| is_part(name) && is_part(host));
        is_email.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the part after the `@`.
    pub fn domain(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, domain)| domain)
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns whether a text has an acceptable password length.
pub fn is_password(text: &str) -> bool {
    PASSWORD_CHARS.contains(&text.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(Email::parse(text).as_ref().map(Email::as_str), expected);
    }

    #[test]
    fn an_address_is_written_one_way() {
        check(" Ann.Lee+x@Mail.Example ", Some("ann.lee+x@mail.example"));
        check("owner@localhost", Some("owner@localhost"));
        assert_eq!(Email::parse("a@B.c").unwrap().domain(), "b.c");
    }

    #[test]
    fn anything_else_is_none() {
        for text in ["", "ann", "@", "ann@", "@mail", "a@b@c", "a b@c", "a\n@b", "ä@b", "a@b\u{0}"]
        {
            check(text, None);
        }
        check(&format!("{}@b", "a".repeat(253)), None);
    }

    #[test]
    fn passwords_have_a_length() {
        assert!(!is_password("1234567") && is_password("12345678") && is_password("ääääääää"));
        assert!(is_password(&"x".repeat(256)) && !is_password(&"x".repeat(257)));
    }
}
