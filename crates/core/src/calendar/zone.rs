use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::time::Timestamp;

/// An IANA time zone, by name: `Europe/Berlin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// Error: no such time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no time zone {0:?}; they are named like UTC or Europe/Berlin")]
pub struct UnknownZone(pub String);

impl Zone {
    /// Looks up a zone by name.
    ///
    /// # Errors
    /// Fails if the time zone database does not contain it.
    pub fn parse(name: &str) -> Result<Self, UnknownZone> {
        if name.eq_ignore_ascii_case("utc") {
            return Ok(Self::utc());
        }
        let zone = TimeZone::get(name).map_err(|_| UnknownZone(name.to_owned()))?;
        let name = zone.iana_name().unwrap_or(name).to_owned();
        Ok(Self { name, zone })
    }

    /// Returns UTC.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }

    /// Returns this machine's time zone; UTC if it has no name.
    ///
    /// Reads system settings: call it at start-up and pass the result on.
    pub fn of_this_machine() -> Self {
        let zone = TimeZone::system();
        zone.iana_name().and_then(|name| Self::parse(name).ok()).unwrap_or_else(Self::utc)
    }

    /// Returns the IANA name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the local time at a timestamp.
    pub fn civil(&self, moment: Timestamp) -> Option<DateTime> {
        let moment = jiff::Timestamp::from_nanosecond(i128::from(moment.nanos())).ok()?;
        Some(self.zone.to_datetime(moment))
    }

    /// Returns the timestamp of a local time: the first of two for a repeated time, the transition
    /// for a skipped one. Monotonic: a later local time never gives an earlier timestamp.
    pub fn moment(&self, civil: DateTime) -> Option<Timestamp> {
        let moment = match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok()?,
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok()?,
            AmbiguousOffset::Gap { before, .. } => {
                // With the offset before the transition, a skipped time lies at or after it.
                let behind = before.to_timestamp(civil).ok()?;
                let behind = behind.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
                self.zone.preceding(behind).next()?.timestamp()
            }
        };
        i64::try_from(moment.as_nanosecond()).ok().map(Timestamp::from_nanos)
    }
}

/// Prints its name.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
