//! Clients for URLs that others than the operator entered (SSRF protection).

use std::net::IpAddr;
use std::sync::Arc;

use ratchet_core::outbound::{OutboundPolicy, OutboundRefused};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{ClientBuilder, Url, redirect};

use super::client_builder_for;

/// Returns a client builder for a URL that was entered through the API or on a page.
///
/// Connects only where the policy allows: addresses are checked when a name is resolved for a
/// connection, which prevents DNS rebinding. Redirects are not followed.
///
/// # Errors
/// Rejects a URL whose host is forbidden by itself.
pub fn client_for_entered_url(
    url: &Url,
    policy: &OutboundPolicy,
) -> Result<ClientBuilder, OutboundRefused> {
    let client = client_builder_for(url).redirect(redirect::Policy::none());
    if policy.is_unrestricted() {
        return Ok(client);
    }
    check_entered(url, policy)?;
    let host = host(url).to_owned();
    Ok(client.dns_resolver(Arc::new(PolicyResolver { policy: policy.clone(), host })))
}

/// Validates a URL when it is entered, without resolving its host.
///
/// # Errors
/// Rejects a forbidden host.
pub fn check_entered(url: &Url, policy: &OutboundPolicy) -> Result<(), OutboundRefused> {
    policy.check_host(host(url))
}

/// The same for text; invalid URLs pass and are left to other checks.
///
/// # Errors
/// Rejects a forbidden host.
pub fn check_entered_text(text: &str, policy: &OutboundPolicy) -> Result<(), OutboundRefused> {
    Url::parse(text).map_or(Ok(()), |url| check_entered(&url, policy))
}

/// Resolves the host of a URL and checks the addresses, before anything is sent.
///
/// Needed with a proxy, which resolves names itself, so that the connection does not show the
/// address. A name that only the proxy can resolve passes.
///
/// # Errors
/// Rejects a host that resolves to a forbidden address.
pub async fn check_resolved(url: &Url, policy: &OutboundPolicy) -> Result<(), OutboundRefused> {
    check_entered(url, policy)?;
    let port = url.port_or_known_default().unwrap_or(0);
    if policy.is_unrestricted() {
        return Ok(());
    }
    let Ok(found) = tokio::net::lookup_host((host(url), port)).await else { return Ok(()) };
    found.map(|address| address.ip()).try_for_each(|ip| policy.check_resolved(host(url), ip))
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_matches(['[', ']'])
}

/// Resolves names to allowed addresses.
struct PolicyResolver {
    policy: OutboundPolicy,
    /// The host of the entered URL. Other names are the operator's proxies, because redirects are
    /// not followed.
    host: String,
}

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, is_entered) = (self.policy.clone(), name.as_str() == self.host);
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let check = |ip: IpAddr| policy.check_resolved(name.as_str(), ip);
            if is_entered {
                found.iter().try_for_each(|address| check(address.ip()))?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_disguise_are_seen_through() {
        let usual = OutboundPolicy::default();
        for text in [
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://127.1:9/",
            "http://[::ffff:7f00:1]/",
            "http://user@169.254.169.254/latest/meta-data",
            "https://LocalHost/",
            "http://１２７.0.0.1/",
        ] {
            assert!(check_entered_text(text, &usual).is_err(), "{text}");
        }
        assert!(check_entered_text("https://example.com/127.0.0.1", &usual).is_ok());
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_a_private_address_is_refused() {
        let resolver =
            PolicyResolver { policy: OutboundPolicy::default(), host: "localhost".to_owned() };
        let refused = resolver.resolve("localhost".parse().unwrap()).await.err().unwrap();
        assert!(refused.downcast_ref::<OutboundRefused>().is_some(), "{refused}");
        let other = PolicyResolver { host: "hooks.example".to_owned(), ..resolver };
        assert!(other.resolve("localhost".parse().unwrap()).await.is_ok(), "a proxy of ours");
    }
}
