//! HTTP clients. Every client of ours is built here, so that all share one choice of cryptography.

/// Why a server's TLS is not trusted.
mod tls_error;
/// Addresses that others than the operator have entered.
mod outbound;

use std::sync::Once;

use reqwest::{Certificate, Client, ClientBuilder, Url};

pub use outbound::{check_entered, check_entered_text, check_resolved, toward_entered};
pub use tls_error::{TlsError, distrust};

/// Begins a client for servers anywhere: TLS with the certificates that this machine trusts, and
/// the proxies that its environment names.
///
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` name other certificates to trust in place of the machine's.
#[expect(clippy::disallowed_methods, reason = "this is where clients come from")]
pub fn anywhere() -> ClientBuilder {
    choose_cryptography();
    Client::builder()
}

/// Begins a client for servers on this machine: no proxies, and no certificates to load.
pub fn on_this_machine() -> ClientBuilder {
    anywhere().no_proxy().tls_certs_only(std::iter::empty::<Certificate>())
}

/// Begins a client for the server at an address: as much of the above as it takes to get there.
pub fn toward(url: &Url) -> ClientBuilder {
    match (url.scheme(), is_loopback(url)) {
        ("http", true) => on_this_machine(),
        (_, true) => anywhere().no_proxy(),
        (_, false) => anywhere(),
    }
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}

fn choose_cryptography() {
    static CHOICE: Once = Once::new();
    // Whoever embeds us may have chosen already; any choice will do, so theirs stays.
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
