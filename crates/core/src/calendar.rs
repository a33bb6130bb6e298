mod zone;
mod week;

use jiff::tz::TimeZone;

use crate::time::Timestamp;
pub use week::{DateError, Week};
pub use zone::{UnknownZone, Zone};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The bucket width of a time series, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Granularity {
    Minute,
    Hour,
    Day,
    Week,
    /// A calendar month.
    Month,
}

impl Granularity {
    /// All widths, narrowest first.
    pub const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month];

    /// Returns the name used in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// Parses the name used in the API.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|width| width.as_str() == name)
    }

    /// Returns the width that splits a range into about fifty buckets.
    pub fn for_range(from: Timestamp, to: Timestamp) -> Self {
        match to.since(from) / HOUR {
            ..2 => Self::Minute,
            2..72 => Self::Hour,
            72..1_440 => Self::Day,
            1_440..8_760 => Self::Week,
            _ => Self::Month,
        }
    }

    /// Returns the start of the bucket that contains a timestamp.
    pub fn start_of(self, moment: Timestamp) -> Timestamp {
        let floor = |width: i64| {
            let rest = moment.nanos().rem_euclid(width);
            Timestamp::from_nanos(moment.nanos().saturating_sub(rest))
        };
        match self {
            Self::Minute => floor(MINUTE),
            Self::Hour => floor(HOUR),
            Self::Day => floor(DAY),
            // The epoch was a Thursday: three days after a Monday.
            Self::Week => {
                let rest = moment.nanos().saturating_add(3 * DAY).rem_euclid(7 * DAY);
                Timestamp::from_nanos(moment.nanos().saturating_sub(rest))
            }
            Self::Month => month_of(moment, 0),
        }
    }

    /// Returns the start of the bucket after the one that contains a timestamp.
    pub fn next(self, moment: Timestamp) -> Timestamp {
        let start = self.start_of(moment);
        match self {
            Self::Minute => start.plus_nanos(MINUTE),
            Self::Hour => start.plus_nanos(HOUR),
            Self::Day => start.plus_nanos(DAY),
            Self::Week => start.plus_nanos(7 * DAY),
            Self::Month => month_of(moment, 1),
        }
    }
}

/// Formats the UTC date of a timestamp as `YYYY-MM-DD`.
pub fn day(moment: Timestamp) -> String {
    date(moment).map_or_else(String::new, |date| date.to_string())
}

/// Formats the UTC month of a timestamp as `YYYY-MM`.
pub fn month(moment: Timestamp) -> String {
    date(moment).map_or_else(String::new, |date| format!("{:04}-{:02}", date.year(), date.month()))
}

fn date(moment: Timestamp) -> Option<jiff::civil::Date> {
    let moment = jiff::Timestamp::from_nanosecond(i128::from(moment.nanos())).ok()?;
    Some(moment.to_zoned(TimeZone::UTC).date())
}

/// Returns the start of the month `later` months after the timestamp's, saturating at the range of
/// `Timestamp`.
fn month_of(moment: Timestamp, later: i64) -> Timestamp {
    let start = || {
        let first = date(moment)?.first_of_month();
        let first = first.checked_add(jiff::Span::new().try_months(later).ok()?).ok()?;
        let start = TimeZone::UTC.to_timestamp(first.at(0, 0, 0, 0)).ok()?;
        i64::try_from(start.as_nanosecond()).ok()
    };
    let edge = if later == 0 { i64::MIN } else { i64::MAX };
    Timestamp::from_nanos(start().unwrap_or(edge))
}

#[cfg(test)]
mod tests {
    use jiff::civil::Weekday;
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(width: Granularity, moment: &str, start: &str, next: &str) {
        let moment = Timestamp::parse(moment).unwrap();
        assert_eq!(width.start_of(moment).to_string(), start);
        assert_eq!(width.next(moment).to_string(), next);
    }

    #[test]
    fn steps_begin_where_the_calendar_says() {
        let sunday = "2026-11-15T10:20:30Z";
        let [minute, hour, day, week, month] = Granularity::ALL;
        check(minute, sunday, "2026-11-15T10:20:00.000Z", "2026-11-15T10:21:00.000Z");
        check(hour, sunday, "2026-11-15T10:00:00.000Z", "2026-11-15T11:00:00.000Z");
        check(day, sunday, "2026-11-15T00:00:00.000Z", "2026-11-16T00:00:00.000Z");
        check(week, sunday, "2026-11-09T00:00:00.000Z", "2026-11-16T00:00:00.000Z");
        check(month, sunday, "2026-11-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z");
        let leap = "2024-02-29T23:59:59Z";
        check(month, leap, "2024-02-01T00:00:00.000Z", "2024-03-01T00:00:00.000Z");
        let early = "1969-12-31T23:00:00Z";
        check(week, early, "1969-12-29T00:00:00.000Z", "1970-01-05T00:00:00.000Z");
    }

    #[test]
    fn a_range_has_about_fifty_steps() {
        let from = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        for (hours, expected) in [
            (1, Granularity::Minute),
            (2, Granularity::Hour),
            (71, Granularity::Hour),
            (72, Granularity::Day),
            (24 * 60, Granularity::Week),
            (24 * 365, Granularity::Month),
        ] {
            assert_eq!(Granularity::for_range(from, from.plus_nanos(hours * HOUR)), expected);
        }
    }

    #[test]
    fn days_and_months_are_written_out() {
        let moment = Timestamp::parse("2026-03-05T23:59:59Z").unwrap();
        assert_eq!((day(moment).as_str(), month(moment).as_str()), ("2026-03-05", "2026-03"));
    }

    proptest! {
        #[test]
        fn a_moment_lies_in_its_step(nanos in any::<i64>(), width in prop::sample::select(&Granularity::ALL[..])) {
            let moment = Timestamp::from_nanos(nanos);
            let (start, next) = (width.start_of(moment), width.next(moment));
            prop_assert!(start <= moment && moment <= next);
            prop_assert_eq!(width.start_of(start), start);
            let is_edge = next.nanos() == i64::MAX;
            prop_assert!(is_edge || next > moment);
        }
    }

    #[test]
    fn weeks_begin_on_mondays() {
        let moment = Timestamp::parse("2026-11-15T10:20:30Z").unwrap();
        let monday = date(Granularity::Week.start_of(moment)).unwrap();
        assert_eq!(monday.weekday(), Weekday::Monday);
    }
}
