//! The kinds of values a setting can have, each read from and shown as plain text.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ratchet_store::disk_reserve::DiskReserve;

/// An address to listen on, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    At(SocketAddr),
    /// Do not listen.
    Off,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let address = text.parse();
        address.map(Self::At).map_err(|_| "an address such as 127.0.0.1:4317, or off".to_owned())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(address) => address.fmt(f),
            Self::Off => f.write_str("off"),
        }
    }
}

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) SocketAddr);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| "an address such as 127.0.0.1:3000".to_owned())
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where people reach the server: `http` or `https`, a host, perhaps a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerUrl(pub(crate) String);

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = ratchet_remote::delivery::address(text);
        let url = url.filter(|url| url.query().is_none() && url.fragment().is_none());
        let url = url.ok_or_else(|| "an address such as https://ratchet.example.com".to_owned())?;
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) usize);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = text.parse().ok().filter(|count| *count > 0);
        count.map(Self).ok_or_else(|| "a whole number from 1".to_owned())
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number of bytes: `20 MB`, `64KB` or `4096`. A kilobyte is 1000 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) usize);

const BYTE_UNITS: [(&str, u64); 5] =
    [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1), ("", 1)];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = number_with_unit(text, &BYTE_UNITS).and_then(|size| size.try_into().ok());
        size.map(Self).ok_or_else(|| "a size such as 20 MB, 64 KB or 4096".to_owned())
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_with_unit(self.0 as u64, &BYTE_UNITS, f)
    }
}

/// Disk reserve: a size, or the default for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reserve(pub(crate) DiskReserve);

impl FromStr for Reserve {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(DiskReserve::Usual));
        }
        let size = number_with_unit(text, &BYTE_UNITS);
        let size = size.map(|bytes| Self(DiskReserve::Bytes(bytes)));
        size.ok_or_else(|| "a size such as 500 MB, or auto".to_owned())
    }
}

impl fmt::Display for Reserve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DiskReserve::Usual => f.write_str("auto"),
            DiskReserve::Bytes(bytes) => show_with_unit(bytes, &BYTE_UNITS, f),
        }
    }
}

/// A length of time: `500 ms`, `10 s`, `5 min` or `1 h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HumanDuration(pub(crate) Duration);

const TIME_UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

impl FromStr for HumanDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let millis = number_with_unit(text, &TIME_UNITS);
        millis
            .map(|millis| Self(Duration::from_millis(millis)))
            .ok_or_else(|| "a time such as 10 s, 500 ms or 5 min".to_owned())
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_with_unit(u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX), &TIME_UNITS, f)
    }
}

/// A folder or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigPath(pub(crate) PathBuf);

impl FromStr for ConfigPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(PathBuf::from(text)))
    }
}

impl fmt::Display for ConfigPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    /// It is not.
    Off,
}

impl FromStr for Switch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "on" | "true" | "1" => Ok(Self::On),
            "off" | "false" | "0" => Ok(Self::Off),
            _ => Err("on or off".to_owned()),
        }
    }
}

impl fmt::Display for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

fn number_with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit.trim()))?;
    digits.parse::<u64>().ok()?.checked_mul(*factor)
}

/// Shows a number in the largest unit that divides it.
fn show_with_unit(number: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fits = |factor: u64| number >= factor && number.is_multiple_of(factor);
    let unit = units.iter().find(|(_, factor)| fits(*factor)).or(units.last());
    match unit {
        Some((name, factor)) if !name.is_empty() => write!(f, "{} {name}", number / factor),
        _ => write!(f, "{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: FromStr<Err = String> + fmt::Display>(text: &str, shown: &str) {
        let read = text.parse::<T>().map(|value| value.to_string());
        assert_eq!(read.unwrap_or_else(|wanted| format!("wants {wanted}")), shown);
    }

    #[test]
    fn sizes_have_units() {
        check::<ByteSize>("20 MB", "20 MB");
        check::<ByteSize>("64kb", "64 KB");
        check::<ByteSize>("4096", "4096 B");
        check::<ByteSize>("2000", "2 KB");
        check::<ByteSize>("0", "0");
        check::<ByteSize>("20 stone", "wants a size such as 20 MB, 64 KB or 4096");
        check::<ByteSize>("-1", "wants a size such as 20 MB, 64 KB or 4096");
        check::<ByteSize>("99999999999999999 GB", "wants a size such as 20 MB, 64 KB or 4096");
    }

    #[test]
    fn times_need_units() {
        check::<HumanDuration>("90 s", "90 s");
        check::<HumanDuration>("120s", "2 min");
        check::<HumanDuration>("1500 ms", "1500 ms");
        check::<HumanDuration>("0 s", "0 ms");
        check::<HumanDuration>("10", "wants a time such as 10 s, 500 ms or 5 min");
    }

    #[test]
    fn addresses_may_be_off() {
        check::<Address>("off", "off");
        check::<Address>("[::1]:4317", "[::1]:4317");
        check::<Address>("4317", "wants an address such as 127.0.0.1:4317, or off");
        check::<Listen>("off", "wants an address such as 127.0.0.1:3000");
    }

    #[test]
    fn switches_are_on_or_off() {
        check::<Switch>("true", "on");
        check::<Switch>("off", "off");
        check::<Switch>("maybe", "wants on or off");
    }
}
