use reqwest::Url;
use serde::Deserialize;

/// The discovery document as received.
#[derive(Deserialize)]
pub(super) struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// The validated discovery document.
#[derive(Clone, Debug)]
pub(super) struct Discovery {
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) jwks_uri: Url,
    methods: Vec<String>,
}

impl Discovery {
    /// Validates that the issuer matches and that all endpoints use TLS.
    pub(super) fn check(document: Document, issuer: &str) -> Result<Self, String> {
        if document.issuer != issuer {
            return Err(format!("it is {} and not {issuer}", document.issuer));
        }
        Ok(Self {
            authorization_endpoint: checked(&document.authorization_endpoint)?,
            token_endpoint: checked(&document.token_endpoint)?,
            jwks_uri: checked(&document.jwks_uri)?,
            methods: document.token_endpoint_auth_methods_supported.unwrap_or_default(),
        })
    }

    /// Returns whether the client secret must be sent in the form instead of the header.
    pub(super) fn takes_secret_in_form(&self) -> bool {
        let takes = |method: &str| self.methods.iter().any(|known| known == method);
        takes("client_secret_post") && !takes("client_secret_basic")
    }
}

/// Parses a URL with TLS, or on this machine.
pub(super) fn checked(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|_| format!("{text} is not a URL"))?;
    let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here => Ok(url),
        _ => Err(format!("{text} must begin with https://")),
    }
}

/// Returns the URL of the discovery document.
pub(super) fn address(issuer: &str) -> Result<Url, String> {
    checked(&format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_endpoints_require_tls() {
        for fine in ["https://id.example/a", "http://127.0.0.1:8080", "http://localhost/x"] {
            assert!(checked(fine).is_ok(), "{fine}");
        }
        for bad in ["http://id.example", "ftp://id.example", "id.example", "", "http://127.0.0.2"] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_description_has_one_place() {
        let at = |issuer| address(issuer).unwrap().to_string();
        let expected = "https://id.example/realm/.well-known/openid-configuration";
        assert_eq!(at("https://id.example/realm"), expected);
        assert_eq!(at("https://id.example/realm/"), expected);
    }
}
