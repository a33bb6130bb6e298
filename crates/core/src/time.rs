use std::fmt;
use std::time::Duration;

use jiff::fmt::temporal::DateTimePrinter;

/// A point in time, in nanoseconds since 1970-01-01 UTC, as OTLP sends it.
///
/// Input is not rounded. The range is 1677 to 2262.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Error of parsing a timestamp.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not an RFC 3339 date and time.
    #[error("not an ISO 8601 date and time with an offset, such as 2026-01-31T12:00:00Z")]
    Malformed,
    /// A valid date outside the range of `Timestamp`.
    #[error("outside the years 1678 to 2261")]
    OutOfRange,
}

const MILLI: i64 = 1_000_000;
const MICRO: i64 = 1_000;

impl Timestamp {
    /// Creates a timestamp from nanoseconds since the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Creates a timestamp from milliseconds since the epoch, saturating at the range.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(MILLI))
    }

    /// Returns nanoseconds since the epoch.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Returns whole milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(MILLI)
    }

    /// Parses an ISO 8601 date and time; a missing offset means UTC.
    ///
    /// # Errors
    /// Fails on malformed text and on dates out of range.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        let parsed = text.parse::<jiff::Timestamp>().or_else(|_| {
            let civil = text.parse::<jiff::civil::DateTime>()?;
            jiff::tz::TimeZone::UTC.to_timestamp(civil)
        });
        let nanos = parsed.map_err(|_| TimeError::Malformed)?.as_nanosecond();
        i64::try_from(nanos).map(Self).map_err(|_| TimeError::OutOfRange)
    }

    /// Parses an HTTP date: `Sun, 15 Nov 2026 12:00:00 GMT`.
    pub fn parse_http_date(text: &str) -> Option<Self> {
        let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
        i64::try_from(zoned.timestamp().as_nanosecond()).ok().map(Self)
    }

    /// Returns the nanoseconds since `earlier`, negative if that is later.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Adds a duration, saturating at the range.
    #[must_use]
    pub fn plus(self, wait: Duration) -> Self {
        self.plus_nanos(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Adds nanoseconds, saturating at the range.
    #[must_use]
    pub const fn plus_nanos(self, nanos: i64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

/// Prints RFC 3339 in UTC: milliseconds, or microseconds when there are any.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0.rem_euclid(MILLI) < MICRO { 3 } else { 6 };
        let moment =
            jiff::Timestamp::from_nanosecond(i128::from(self.0)).map_err(|_| fmt::Error)?;
        let printer = DateTimePrinter::new().precision(Some(digits));
        printer.print_timestamp(&moment, jiff::fmt::StdFmtWrite(f)).map_err(|_| fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Timestamp::parse(text).unwrap().to_string(), expected);
    }

    #[test]
    fn offsets_become_utc() {
        check("2026-11-15T10:00:00+02:00", "2026-11-15T08:00:00.000Z");
        check("2026-11-15T10:00:00Z", "2026-11-15T10:00:00.000Z");
    }

    #[test]
    fn no_offset_means_utc() {
        check("2026-11-15T10:00:00.5", "2026-11-15T10:00:00.500Z");
    }

    #[test]
    fn microseconds_are_kept_and_shown() {
        check("2026-11-15T10:00:00.123456Z", "2026-11-15T10:00:00.123456Z");
    }

    #[test]
    fn times_before_the_epoch_print() {
        assert_eq!(Timestamp::from_nanos(-1).to_string(), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn http_dates_are_read() {
        let date = |text| Timestamp::parse_http_date(text).map(|time| time.to_string());
        let expected = Some("2026-11-15T12:00:00.000Z".to_owned());
        assert_eq!(date("Sun, 15 Nov 2026 12:00:00 GMT"), expected);
        assert_eq!(date("2026-11-15T12:00:00Z"), None);
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Timestamp::parse("yesterday"), Err(TimeError::Malformed));
        assert_eq!(Timestamp::parse("9000-01-01T00:00:00Z"), Err(TimeError::OutOfRange));
    }
}
