use std::fmt;

use jiff::civil::{Date, Weekday};

use super::Zone;
use crate::time::Timestamp;

/// A week, from Sunday 00:00 to Sunday 00:00 in a time zone, named by its first day.
///
/// ```
/// use ratchet_core::calendar::{Week, Zone};
/// let week = Week::parse("2026-11-18", &Zone::utc()).unwrap();
/// assert_eq!(week.to_string(), "2026-11-15");
/// assert_eq!(week.start().to_string(), "2026-11-15T00:00:00.000Z");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Week {
    sunday: Date,
    zone: Zone,
}

/// Error of parsing a date, or a date out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a day of the years 1678 to 2261, such as 2026-11-15")]
pub struct DateError(pub String);

/// Years whose weeks fit into a `Timestamp`.
const YEARS: std::ops::RangeInclusive<i16> = 1_678..=2_261;

impl Week {
    /// Returns the week that contains a timestamp, saturating at the range.
    pub fn of(moment: Timestamp, zone: &Zone) -> Self {
        let date =
            zone.civil(moment).map_or(Date::constant(1970, 1, 1), jiff::civil::DateTime::date);
        let (first, last) = (Date::constant(1678, 1, 9), Date::constant(2261, 12, 20));
        Self::around(date.clamp(first, last), zone)
    }

    /// Returns the last week that has ended at a timestamp.
    pub fn last_ended(moment: Timestamp, zone: &Zone) -> Self {
        Self::of(moment, zone).before()
    }

    /// Parses a date such as `2026-11-15` and returns its week.
    ///
    /// # Errors
    /// Fails on anything but a date.
    pub fn parse(day: &str, zone: &Zone) -> Result<Self, DateError> {
        let is_day = day.len() == 10;
        let date = day.parse::<Date>().ok().filter(|date| is_day && YEARS.contains(&date.year()));
        date.map(|date| Self::around(date, zone)).ok_or_else(|| DateError(day.to_owned()))
    }

    fn around(date: Date, zone: &Zone) -> Self {
        let days = date.weekday().since(Weekday::Sunday);
        let sunday = date.checked_sub(jiff::Span::new().days(days)).unwrap_or(date);
        Self { sunday, zone: zone.clone() }
    }

    /// Returns the previous week.
    #[must_use]
    pub fn before(&self) -> Self {
        self.moved(-7)
    }

    /// Returns the next week.
    #[must_use]
    pub fn after(&self) -> Self {
        self.moved(7)
    }

    fn moved(&self, days: i64) -> Self {
        let sunday = self.sunday.checked_add(jiff::Span::new().days(days)).unwrap_or(self.sunday);
        Self { sunday, zone: self.zone.clone() }
    }

    /// Returns the start.
    pub fn start(&self) -> Timestamp {
        self.midnight(self.sunday)
    }

    /// Returns the exclusive end.
    pub fn end(&self) -> Timestamp {
        self.midnight(self.after().sunday)
    }

    /// Returns the time zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the first and the last day, formatted.
    pub fn days(&self) -> (String, String) {
        let last = self.sunday.checked_add(jiff::Span::new().days(6)).unwrap_or(self.sunday);
        (self.sunday.to_string(), last.to_string())
    }

    fn midnight(&self, date: Date) -> Timestamp {
        self.zone.moment(date.at(0, 0, 0, 0)).unwrap_or_default()
    }
}

/// Prints its first day.
impl fmt::Display for Week {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.sunday)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(day: &str, zone: &str, start: &str, end: &str) {
        let week = Week::parse(day, &Zone::parse(zone).unwrap()).unwrap();
        assert_eq!([week.start().to_string(), week.end().to_string()], [start, end]);
    }

    #[test]
    fn weeks_go_from_sunday_to_sunday_by_their_own_clocks() {
        check("2026-11-15", "UTC", "2026-11-15T00:00:00.000Z", "2026-11-22T00:00:00.000Z");
        check("2026-11-21", "UTC", "2026-11-15T00:00:00.000Z", "2026-11-22T00:00:00.000Z");
        // A week with an extra hour, and one whose first day has no midnight.
        let berlin = "Europe/Berlin";
        check("2026-10-26", berlin, "2026-10-24T22:00:00.000Z", "2026-10-31T23:00:00.000Z");
        let chile = "America/Santiago";
        check("2026-09-06", chile, "2026-09-06T04:00:00.000Z", "2026-09-13T03:00:00.000Z");
    }

    #[test]
    fn the_last_week_has_ended() {
        let now = Timestamp::parse("2026-11-15T02:00:00Z").unwrap();
        assert_eq!(Week::last_ended(now, &Zone::utc()).to_string(), "2026-11-08");
        // Still Saturday in that zone.
        let zone = Zone::parse("America/New_York").unwrap();
        assert_eq!(Week::last_ended(now, &zone).to_string(), "2026-11-01");
    }

    #[test]
    fn what_is_not_a_day_is_refused() {
        for text in ["", "2026-11", "2026-11-31", "1600-01-01", "today", "2026-11-15T00:00:00Z"] {
            assert_eq!(Week::parse(text, &Zone::utc()), Err(DateError(text.to_owned())));
        }
    }

    proptest! {
        #[test]
        fn every_moment_lies_in_its_week(
            millis in -9_000_000_000_000_i64..9_000_000_000_000,
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "America/Santiago", "Asia/Kolkata"]),
        ) {
            let (moment, zone) = (Timestamp::from_millis(millis), Zone::parse(zone).unwrap());
            let week = Week::of(moment, &zone);
            prop_assert!(week.start() <= moment && moment < week.end());
            prop_assert_eq!(week.after().start(), week.end());
            prop_assert_eq!(&week.before().after(), &week);
            prop_assert_eq!(Week::parse(&week.to_string(), &zone), Ok(week));
        }
    }
}
