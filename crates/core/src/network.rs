//! Whose addresses are meant: single ones, and networks of them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

/// Some networks; by default none but this machine's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// How many of its first bits all addresses share.
    shared: u32,
}

/// A text that is no list of networks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no address and no network; write them like 10.0.0.5 or 10.0.0.0/8, with commas")]
pub struct NetworkError(String);

impl Networks {
    /// No network at all.
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Whether an address is in one of them.
    ///
    /// ```
    /// use ratchet_core::network::Networks;
    ///
    /// let office: Networks = "192.0.2.7, 10.0.0.0/8, fd00::/8".parse()?;
    /// assert!(office.contains("10.9.9.9".parse().unwrap()));
    /// assert!(!office.contains("192.0.2.8".parse().unwrap()));
    /// # Ok::<(), ratchet_core::network::NetworkError>(())
    /// ```
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address.to_canonical()))
    }
}

impl Default for Networks {
    fn default() -> Self {
        let loopback = Network { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), shared: 8 };
        Self(vec![loopback, Network { address: IpAddr::V6(Ipv6Addr::LOCALHOST), shared: 128 }])
    }
}

impl FromStr for Networks {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let read = |part: &str| Network::read(part).ok_or_else(|| NetworkError(part.to_owned()));
        parts.map(read).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Networks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Network { address, shared }) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{address}")?;
            if *shared != whole(*address).1 {
                write!(f, "/{shared}")?;
            }
        }
        Ok(())
    }
}

impl Network {
    fn read(text: &str) -> Option<Self> {
        let (address, shared) = match text.split_once('/') {
            Some((address, shared)) => (address, Some(shared.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let (_, bits) = whole(address);
        let shared = shared.unwrap_or(bits);
        (shared <= bits).then_some(Self { address, shared })
    }

    fn contains(self, address: IpAddr) -> bool {
        let ((own, bits), (other, of_other)) = (whole(self.address), whole(address));
        let differing = (own ^ other).checked_shr(bits - self.shared).unwrap_or(0);
        bits == of_other && differing == 0
    }
}

/// An address as a number, and of how many bits.
fn whole(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(networks: &str, address: &str, is_in: bool) {
        let networks: Networks = networks.parse().unwrap();
        assert_eq!(networks.contains(address.parse().unwrap()), is_in, "{networks}: {address}");
    }

    #[test]
    fn networks_hold_their_addresses() {
        check("10.0.0.0/8", "10.255.0.1", true);
        check("10.0.0.0/8", "11.0.0.1", false);
        check("10.0.0.0/8", "::ffff:10.0.0.1", true);
        check("10.0.0.0/8", "::10.0.0.1", false);
        check("192.0.2.7", "192.0.2.7", true);
        check("192.0.2.7", "192.0.2.6", false);
        check("0.0.0.0/0", "203.0.113.1", true);
        check("0.0.0.0/0", "2001:db8::1", false);
        check("::/0", "2001:db8::1", true);
        check("fd00::/8,", "fdff::1", true);
        check("", "127.0.0.1", false);
        assert!(Networks::default().contains("127.1.2.3".parse().unwrap()));
        assert!(Networks::default().contains("::1".parse().unwrap()));
        assert!(!Networks::default().contains("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["proxy", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::/129", "10.0.0.1/"] {
            let error = text.parse::<Networks>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
        let networks: Networks = "10.0.0.0/8, ::1".parse().unwrap();
        assert_eq!(networks.to_string(), "10.0.0.0/8, ::1");
        assert_eq!(networks.to_string().parse(), Ok(networks));
    }
}
