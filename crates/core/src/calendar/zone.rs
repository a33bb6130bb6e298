use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::time::Timestamp;

/// A time zone, by its name in the time zone database: `Europe/Berlin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// Nobody knows a time zone of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no time zone {0:?}; they are named like UTC or Europe/Berlin")]
pub struct UnknownZone(pub String);

impl Zone {
    /// The zone of a name.
    ///
    /// # Errors
    /// Fails if the time zone database does not have it.
    pub fn parse(name: &str) -> Result<Self, UnknownZone> {
        if name.eq_ignore_ascii_case("utc") {
            return Ok(Self::utc());
        }
        let zone = TimeZone::get(name).map_err(|_| UnknownZone(name.to_owned()))?;
        let name = zone.iana_name().unwrap_or(name).to_owned();
        Ok(Self { name, zone })
    }

    /// Universal time.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }

    /// The zone that this machine's clocks show; universal time if it has no name for it.
    ///
    /// It reads the machine's settings: call it at the rim, and hand it on.
    pub fn of_this_machine() -> Self {
        let zone = TimeZone::system();
        zone.iana_name().and_then(|name| Self::parse(name).ok()).unwrap_or_else(Self::utc)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What clocks there show at a moment.
    pub fn civil(&self, moment: Timestamp) -> Option<DateTime> {
        let moment = jiff::Timestamp::from_nanosecond(i128::from(moment.nanos())).ok()?;
        Some(self.zone.to_datetime(moment))
    }

    /// When clocks there show a time: the first of two times, and the jump for a time that the
    /// clock jumps over. A later time never gives an earlier moment.
    pub fn moment(&self, civil: DateTime) -> Option<Timestamp> {
        let moment = match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok()?,
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok()?,
            AmbiguousOffset::Gap { before, .. } => {
                // By the clock of before the time lies at or behind the jump.
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
