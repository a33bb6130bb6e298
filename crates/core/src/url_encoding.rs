/// Percent-encodes a text for one segment of a path, or one name or value of a query: all but the
/// unreserved characters of RFC 3986.
pub fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        assert_eq!(encoded("a-Z_0.~"), "a-Z_0.~");
        assert_eq!(encoded("a/b?c=d&e #%ü"), "a%2Fb%3Fc%3Dd%26e%20%23%25%C3%BC");
    }
}
