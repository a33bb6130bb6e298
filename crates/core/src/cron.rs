//! Cron expressions with five fields, evaluated in a time zone.
//!
//! Daylight saving changes never skip or repeat a run. A run in the skipped hour happens once, at
//! the transition; a run in the repeated hour happens the first time only.

/// Parsing of single fields.
mod field;

use std::fmt;

use jiff::civil::{Date, DateTime};

use crate::calendar::Zone;
use crate::time::Timestamp;
pub use field::CronField;
use field::Numbers;

/// The search horizon for the next run: 29 February may be eight years away, across 2100.
const MAX_DAYS: u32 = 8 * 366 + 1;

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// A cron expression. Invariant: at least one day matches.
///
/// Where both day of month and day of week are restricted, matching either is enough, as in Vixie
/// cron.
///
/// ```
/// use ratchet_core::calendar::Zone;
/// use ratchet_core::cron::Cron;
/// use ratchet_core::time::Timestamp;
/// let weekly: Cron = Cron::parse("0 2 * * SUN").unwrap();
/// let sunday = Timestamp::parse("2026-11-15T10:00:00Z").unwrap();
/// let next = weekly.next(sunday, &Zone::utc()).unwrap();
/// assert_eq!(next.to_string(), "2026-11-22T02:00:00.000Z");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: Numbers,
    hours: Numbers,
    days: Numbers,
    months: Numbers,
    weekdays: Numbers,
}

/// Error of parsing a cron expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// Not five fields.
    #[error(
        "a schedule has five fields (minute, hour, day of month, month, day of week), not {0}; \
         every Sunday at 02:00 is `0 2 * * SUN`"
    )]
    Fields(usize),
    /// An unknown `@` shorthand.
    #[error("unknown schedule {0}; there are @hourly, @daily, @weekly, @monthly and @yearly")]
    Word(String),
    /// A field with an invalid value.
    #[error("{field} {text:?}: {why}")]
    Field { field: CronField, text: String, why: String },
    /// A day that occurs in none of the months, such as 31 February.
    #[error("day of month {0:?}: none of the months has such a day")]
    NoSuchDay(String),
}

impl Cron {
    /// Parses five fields or a shorthand such as `@weekly`.
    ///
    /// # Errors
    /// Names the invalid field and the reason.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let text = text.trim();
        let fields = match text.strip_prefix('@') {
            Some(_) => meaning(text).ok_or_else(|| CronError::Word(text.to_owned()))?,
            None => text,
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(CronError::Fields(fields.len()));
        };
        let cron = Self {
            text: fields_or_word(text),
            minutes: Numbers::parse(CronField::Minute, minute)?,
            hours: Numbers::parse(CronField::Hour, hour)?,
            days: Numbers::parse(CronField::Day, day)?,
            months: Numbers::parse(CronField::Month, month)?,
            weekdays: Numbers::parse(CronField::Weekday, weekday)?,
        };
        if cron.has_a_day() { Ok(cron) } else { Err(CronError::NoSuchDay((*day).to_owned())) }
    }

    /// Returns the first run after a timestamp; `None` only beyond the range of `Timestamp`.
    pub fn next(&self, after: Timestamp, zone: &Zone) -> Option<Timestamp> {
        let start = zone.civil(after)?;
        let mut date = start.date();
        for _ in 0..MAX_DAYS {
            if self.runs_on(date) {
                let times = self.times(date).filter(|time| *time >= start);
                let mut moments = times.filter_map(|time| zone.moment(time));
                if let Some(found) = moments.find(|moment| *moment > after) {
                    return Some(found);
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// Returns the last run in `(after, until]`: the one that is due, however many were missed.
    pub fn latest(&self, after: Timestamp, until: Timestamp, zone: &Zone) -> Option<Timestamp> {
        // Windows grow, so that the first one with a run contains few runs to iterate.
        for window in [HOUR, DAY, 32 * DAY, i64::MAX] {
            let from = after.max(until.plus_nanos(window.saturating_neg()));
            let runs = std::iter::successors(self.next(from, zone), |run| self.next(*run, zone));
            let last = runs.take_while(|run| *run <= until).last();
            if last.is_some() || from == after {
                return last;
            }
        }
        None
    }

    fn runs_on(&self, date: Date) -> bool {
        let of_month = self.days.has(of(date.day()));
        let of_week = self.weekdays.has(of(date.weekday().to_sunday_zero_offset()));
        let is_day = match (self.days.is_free, self.weekdays.is_free) {
            (false, false) => of_month || of_week,
            _ => of_month && of_week,
        };
        is_day && self.months.has(of(date.month()))
    }

    fn times(&self, date: Date) -> impl Iterator<Item = DateTime> {
        let hours = (0_i8..24).filter(|hour| self.hours.has(of(*hour)));
        hours.flat_map(move |hour| {
            let minutes = (0_i8..60).filter(|minute| self.minutes.has(of(*minute)));
            minutes.map(move |minute| date.at(hour, minute, 0, 0))
        })
    }

    fn has_a_day(&self) -> bool {
        if self.days.is_free || !self.weekdays.is_free {
            return true;
        }
        const LONGEST: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let months = (1..).zip(LONGEST).filter(|(month, _)| self.months.has(*month));
        months.into_iter().any(|(_, days)| (1..=days).any(|day| self.days.has(day)))
    }
}

/// Prints the expression as it was entered.
impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn meaning(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "@hourly" => Some("0 * * * *"),
        "@daily" | "@midnight" => Some("0 0 * * *"),
        "@weekly" => Some("0 0 * * 0"),
        "@monthly" => Some("0 0 1 * *"),
        "@yearly" | "@annually" => Some("0 0 1 1 *"),
        _ => None,
    }
}

fn fields_or_word(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of(number: i8) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

#[cfg(test)]
mod tests;
