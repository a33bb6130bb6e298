//! HTTP clients. Every client of ours is built here, so that all share one choice of cryptography.

use std::sync::Once;

use reqwest::{Certificate, Client, ClientBuilder};

/// Begins a client for servers anywhere: TLS with the certificates that this machine trusts, and
/// the proxies that its environment names.
#[expect(clippy::disallowed_methods, reason = "this is where clients come from")]
pub fn anywhere() -> ClientBuilder {
    choose_cryptography();
    Client::builder()
}

/// Begins a client for servers on this machine: no proxies, and no certificates to load.
pub fn on_this_machine() -> ClientBuilder {
    anywhere().no_proxy().tls_certs_only(std::iter::empty::<Certificate>())
}

fn choose_cryptography() {
    static CHOICE: Once = Once::new();
    // Whoever embeds us may have chosen already; any choice will do, so theirs stays.
    CHOICE.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
}
