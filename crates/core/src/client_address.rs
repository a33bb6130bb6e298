//! Client addresses for rate limiting, taken from the connection or from trusted proxies.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::network::Networks;

/// The address that rate limits count by: one IPv4 address, or an IPv6 /64, because providers
/// assign a whole /64 to one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientAddress(IpAddr);

impl ClientAddress {
    /// Returns the client key of an address.
    ///
    /// ```
    /// use ratchet_core::client_address::ClientAddress;
    ///
    /// let one = ClientAddress::new("2001:db8:1:2::7".parse().unwrap());
    /// assert_eq!(one, ClientAddress::new("2001:db8:1:2:ffff::1".parse().unwrap()));
    /// assert_eq!(one.to_string(), "2001:db8:1:2::/64");
    /// ```
    pub fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            v4 @ IpAddr::V4(_) => v4,
        })
    }

    /// Returns the client behind a connection, from the request's `X-Forwarded-For` values in the
    /// order in which they were sent.
    ///
    /// Each proxy appends the address of its peer. Only entries that a trusted proxy appended
    /// count: otherwise a client could evade limits by forging the header.
    pub fn behind<'a>(
        peer: IpAddr,
        proxies: &Networks,
        forwarded: impl DoubleEndedIterator<Item = &'a str>,
    ) -> Self {
        let mut client = peer;
        for hop in forwarded.rev().flat_map(|value| value.rsplit(',')) {
            if !proxies.contains(client) {
                break;
            }
            let Some(address) = read_hop(hop.trim()) else { break };
            client = address;
        }
        Self::new(client)
    }
}

/// Parses one entry of `X-Forwarded-For`; some proxies append the port.
fn read_hop(hop: &str) -> Option<IpAddr> {
    let with_port = || hop.parse().ok().map(|address: SocketAddr| address.ip());
    hop.parse().ok().or_else(with_port)
}

impl fmt::Display for ClientAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let proxies = "127.0.0.0/8, ::1, 10.0.0.2".parse().unwrap();
        let forwarded = forwarded.iter().copied();
        let client = ClientAddress::behind(peer.parse().unwrap(), &proxies, forwarded);
        assert_eq!(client.to_string(), expected);
    }

    #[test]
    fn only_a_trusted_proxy_speaks_for_others() {
        check("203.0.113.9", &[], "203.0.113.9");
        check("203.0.113.9", &["198.51.100.7"], "203.0.113.9");
        check("127.0.0.1", &["10.9.9.9, 198.51.100.7"], "198.51.100.7");
        check("10.0.0.2", &["198.51.100.7"], "198.51.100.7");
        check("10.0.0.3", &["198.51.100.7"], "10.0.0.3");
        check("::1", &["nonsense"], "::/64");
        check("::ffff:203.0.113.9", &[], "203.0.113.9");
    }

    #[test]
    fn a_chain_of_trusted_proxies_is_followed_to_its_client() {
        check("127.0.0.1", &["198.51.100.7, 10.0.0.2"], "198.51.100.7");
        check("127.0.0.1", &["192.0.2.1", "198.51.100.7", "10.0.0.2"], "198.51.100.7");
        check("127.0.0.1", &["192.0.2.1, 198.51.100.7, nonsense"], "127.0.0.1");
        check("127.0.0.1", &["198.51.100.7:61234"], "198.51.100.7");
        check("127.0.0.1", &["[2001:db8:1:2::3]:61234"], "2001:db8:1:2::/64");
    }

    #[test]
    fn one_network_is_one_client() {
        check("2001:db8:1:2:3:4:5:6", &[], "2001:db8:1:2::/64");
        check("2001:db8:1:2:ffff::1", &[], "2001:db8:1:2::/64");
    }
}
