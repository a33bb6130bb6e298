//! Where the server may call when somebody else than its operator has entered the address.
//!
//! Whoever may enter the address of a webhook, a push service or a provider of models could have
//! the server call machines that only it can reach: its own ports, its network, a cloud's metadata.
//! So such addresses lead to public places only, unless the operator's settings name others.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

use crate::network::Networks;

/// The setting that allows more.
pub const SETTING: &str = "outbound.allow";

/// Which addresses may be called that were entered by API callers and on pages.
///
/// By default public ones; in addition what the operator lists: networks, addresses and names.
/// `localhost` stands for this machine by name and by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboundPolicy {
    networks: Networks,
    hosts: Vec<String>,
    is_unrestricted: bool,
}

/// An address that may not be called.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{host} is {kind}, which this server does not call; its operator can allow it with \
     outbound.allow = \"{host}\" in ratchet.toml"
)]
pub struct OutboundRefused {
    host: String,
    kind: &'static str,
}

/// A text that is no list of networks and names.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("addresses, networks and host names such as 10.0.0.0/8, localhost, with commas, not {0:?}")]
pub struct OutboundPolicyError(String);

impl Default for OutboundPolicy {
    fn default() -> Self {
        Self { networks: Networks::none(), hosts: Vec::new(), is_unrestricted: false }
    }
}

impl OutboundPolicy {
    /// Allows everything: for addresses that the operator has entered.
    pub fn unrestricted() -> Self {
        Self { is_unrestricted: true, ..Self::default() }
    }

    /// Whether everything is allowed.
    pub fn is_unrestricted(&self) -> bool {
        self.is_unrestricted
    }

    /// Checks the host of an address, as far as it says by itself where it leads.
    ///
    /// # Errors
    /// Refuses an address that is not public, and the names of this machine.
    ///
    /// ```
    /// use ratchet_core::outbound::OutboundPolicy;
    ///
    /// let usual = OutboundPolicy::default();
    /// assert!(usual.check_host("example.com").is_ok());
    /// assert!(usual.check_host("169.254.169.254").is_err());
    /// let local: OutboundPolicy = "localhost, 10.0.0.0/8".parse()?;
    /// assert!(local.check_host("127.0.0.1").is_ok() && local.check_host("10.1.2.3").is_ok());
    /// # Ok::<(), ratchet_core::outbound::OutboundPolicyError>(())
    /// ```
    pub fn check_host(&self, host: &str) -> Result<(), OutboundRefused> {
        if self.allows_name(host) {
            return Ok(());
        }
        match plain(host).parse() {
            Ok(address) => self.check_resolved(host, address),
            Err(_) if is_this_machine(&plain(host)) => Err(refused(host, THIS_MACHINE)),
            Err(_) => Ok(()),
        }
    }

    /// Checks an address that the name of a host leads to.
    ///
    /// # Errors
    /// Refuses what is not public. The error does not say which address it is: whoever entered the
    /// name may not know this network.
    pub fn check_resolved(&self, host: &str, address: IpAddr) -> Result<(), OutboundRefused> {
        let is_allowed = self.allows_name(host) || self.networks.contains(address);
        match kind(address.to_canonical()) {
            Some(THIS_MACHINE) if self.allows_name("localhost") => Ok(()),
            Some(kind) if !is_allowed => Err(refused(host, kind)),
            _ => Ok(()),
        }
    }

    fn allows_name(&self, host: &str) -> bool {
        self.is_unrestricted || self.hosts.contains(&plain(host))
    }
}

impl FromStr for OutboundPolicy {
    type Err = OutboundPolicyError;

    fn from_str(text: &str) -> Result<Self, OutboundPolicyError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let (mut networks, mut hosts) = (Vec::new(), Vec::new());
        for part in parts {
            let is_address = part.parse::<Networks>().is_ok();
            match part {
                _ if is_address => networks.push(part),
                _ if is_name(part) => hosts.push(plain(part)),
                _ => return Err(OutboundPolicyError(part.to_owned())),
            }
        }
        let joined = networks.join(",");
        let networks = joined.parse().map_err(|_| OutboundPolicyError(joined))?;
        Ok(Self { networks, hosts, is_unrestricted: false })
    }
}

impl fmt::Display for OutboundPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks = self.networks.to_string();
        let parts = [networks.as_str()].into_iter().chain(self.hosts.iter().map(String::as_str));
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        if parts.is_empty() {
            return f.write_str("(none)");
        }
        f.write_str(&parts.join(", "))
    }
}

const THIS_MACHINE: &str = "an address of this machine";
const PRIVATE: &str = "an address in a private network";
const LINK_LOCAL: &str = "a link-local address";
const RESERVED: &str = "a reserved address";

fn refused(host: &str, kind: &'static str) -> OutboundRefused {
    OutboundRefused { host: plain(host), kind }
}

/// A host without what URLs and DNS add to it.
fn plain(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

fn is_this_machine(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=63).contains(&label.len()) && label.bytes().all(is_letter)
    };
    // What ends in a number was meant as an address.
    let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    text.len() <= 253
        && text.trim_end_matches('.').split('.').all(is_label)
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

/// What kind of address is not public; `None` for those that are.
fn kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

fn kind_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [0 | 127, ..] => Some(THIS_MACHINE),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Some(PRIVATE),
        [169, 254, ..] => Some(LINK_LOCAL),
        // Azure answers machines of its own there.
        [168, 63, 129, 16] => Some(RESERVED),
        // Protocols, documentation, 6to4 relays, benchmarks, multicast and what nobody has.
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => {
            Some(RESERVED)
        }
        [198, 18 | 19, ..] | [224..=255, ..] => Some(RESERVED),
        _ => None,
    }
}

fn kind_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, .., y, z] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match (a, b, c) {
        _ if address.is_loopback() || address.is_unspecified() => Some(THIS_MACHINE),
        (0xfc00..=0xfdff, ..) | (0xfec0..=0xfeff, ..) => Some(PRIVATE),
        (0xfe80..=0xfebf, ..) => Some(LINK_LOCAL),
        // Translation and tunnels lead to the IPv4 address inside.
        (0x64, 0xff9b, 0) => kind_v4(v4(y, z)),
        (0x2002, ..) => kind_v4(v4(b, c)),
        // Only these are given to anyone, and of them Teredo, protocols and documentation are not.
        (0x2001, 0x0000..=0x01ff | 0x0db8, _) | (0x3fff, 0x0000..=0x0fff, _) => Some(RESERVED),
        (0x2000..=0x3fff, ..) => None,
        _ => Some(RESERVED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(policy: &str, host: &str, is_allowed: bool) {
        let policy: OutboundPolicy = policy.parse().unwrap();
        assert_eq!(policy.check_host(host).is_ok(), is_allowed, "{policy}: {host}");
    }

    #[test]
    fn only_public_addresses_are_called() {
        let private = [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "168.63.129.16",
            "192.0.0.192",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[::127.0.0.1]",
            "[64:ff9b::10.0.0.1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[2001::1]",
            "[2001:db8::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
            "[100::1]",
        ];
        for host in private {
            check("", host, false);
        }
        let public =
            ["8.8.8.8", "172.32.0.1", "[2606:4700::1111]", "[64:ff9b::8.8.8.8]", "a.example"];
        for host in public {
            check("", host, true);
        }
    }

    #[test]
    fn settings_allow_more() {
        check("10.0.0.0/8", "10.9.9.9", true);
        check("10.0.0.0/8", "192.168.0.1", false);
        check("localhost", "localhost", true);
        check("localhost", "127.0.0.1", true);
        check("localhost", "[::1]", true);
        check("localhost", "10.0.0.1", false);
        check("127.0.0.1", "127.0.0.1", true);
        check("127.0.0.1", "127.0.0.2", false);
        check("10.0.0.0/8, Hooks.Internal", "hooks.internal.", true);
        let named: OutboundPolicy = "hooks.internal".parse().unwrap();
        let inside = "10.0.0.1".parse().unwrap();
        assert!(named.check_resolved("hooks.internal", inside).is_ok());
        assert!(named.check_resolved("other.internal", inside).is_err());
        assert!(OutboundPolicy::unrestricted().check_host("localhost").is_ok());
    }

    #[test]
    fn a_refusal_names_the_setting_and_no_resolved_address() {
        let usual = OutboundPolicy::default();
        let why = usual.check_resolved("in.example", "10.1.2.3".parse().unwrap()).unwrap_err();
        let why = why.to_string();
        assert!(why.contains("outbound.allow = \"in.example\"") && why.contains(SETTING), "{why}");
        assert!(why.contains("private network") && !why.contains("10.1.2.3"), "{why}");
    }

    #[test]
    fn lists_are_read_and_shown() {
        let read: OutboundPolicy = "Localhost, 10.0.0.0/8,::1".parse().unwrap();
        assert_eq!(read.to_string(), "10.0.0.0/8, ::1, localhost");
        assert_eq!(read.to_string().parse(), Ok(read));
        assert_eq!(OutboundPolicy::default().to_string(), "(none)");
        for text in ["http://x", "10.0.0.0/99", "a b", "1.2.3", "x:80"] {
            assert!(text.parse::<OutboundPolicy>().unwrap_err().to_string().contains(text));
        }
    }
}
