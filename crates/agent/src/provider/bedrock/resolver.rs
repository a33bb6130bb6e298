use std::net::IpAddr;

use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use ratchet_core::outbound::OutboundPolicy;

/// Resolves names to allowed addresses at connect time, which prevents DNS rebinding.
#[derive(Clone, Debug)]
pub(crate) struct PolicyResolver {
    pub(super) policy: OutboundPolicy,
    /// The host of the user-entered endpoint; any other name is one of the operator's proxies.
    pub(super) host: String,
}

impl ResolveDns for PolicyResolver {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        DnsFuture::new(async move {
            let found = tokio::net::lookup_host((name, 0)).await.map_err(ResolveDnsError::new)?;
            let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            if name == self.host {
                let mut found = found.iter();
                let checked = found.try_for_each(|ip| self.policy.check_resolved(name, *ip));
                checked.map_err(ResolveDnsError::new)?;
            }
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_resolves_to_a_private_address_is_refused() {
        let (policy, host) = (OutboundPolicy::default(), "localhost".to_owned());
        let resolver = PolicyResolver { policy, host };
        assert!(resolver.resolve_dns("localhost").await.is_err());
        let host = "bedrock.example".to_owned();
        let other = PolicyResolver { host, ..resolver };
        assert!(other.resolve_dns("localhost").await.is_ok(), "a proxy of the operator's own");
    }
}
