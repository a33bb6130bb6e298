//! HTTP clients. All clients of the project are built here, so that they share one TLS provider.

/// TLS verification errors.
mod tls_error;
/// Clients for user-entered URLs.
mod outbound;

use std::sync::Once;

use reqwest::{Certificate, Client, ClientBuilder, Url};

pub use outbound::{check_entered, check_entered_text, check_resolved, client_for_entered_url};
pub use tls_error::{TlsError, tls_error_of};

/// Returns a client builder for remote servers: TLS with the system's root certificates, and the
/// environment's proxies.
///
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` replace the system's root certificates.
#[expect(clippy::disallowed_methods, reason = "this is where clients come from")]
pub fn anywhere() -> ClientBuilder {
    choose_cryptography();
    Client::builder()
}

/// Returns a client builder for servers on this machine: no proxies, and no certificates to load.
pub fn on_this_machine() -> ClientBuilder {
    anywhere().no_proxy().tls_certs_only(std::iter::empty::<Certificate>())
}

/// Returns the client builder for a URL: local or remote.
pub fn client_builder_for(url: &Url) -> ClientBuilder {
    match (url.scheme(), is_loopback(url)) {
        ("http", true) => on_this_machine(),
        (_, true) => anywhere().no_proxy(),
        (_, false) => anywhere(),
    }
}

/// Returns whether a URL is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}

fn choose_cryptography() {
    static CHOICE: Once = Once::new();
    // An embedding program may have installed a provider already, which is then used.
    CHOICE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_many_names() {
        let is_here = |text: &str| is_loopback(&Url::parse(text).unwrap());
        assert!(is_here("http://localhost:3000") && is_here("http://127.1.2.3"));
        assert!(is_here("https://[::1]:3000/"));
        assert!(!is_here("https://example.com") && !is_here("http://localhost.example.com"));
    }
}
