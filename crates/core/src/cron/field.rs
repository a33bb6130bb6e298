use std::fmt;
use std::ops::RangeInclusive;

use super::CronError;

/// One of the five cron fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CronField {
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    Day,
    /// 1 to 12, or JAN to DEC.
    Month,
    /// 0 to 7, both ends Sunday, or SUN to SAT.
    Weekday,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl CronField {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day of month",
            Self::Month => "month",
            Self::Weekday => "day of week",
        }
    }

    const fn range(self) -> RangeInclusive<u32> {
        match self {
            Self::Minute => 0..=59,
            Self::Hour => 0..=23,
            Self::Day => 1..=31,
            Self::Month => 1..=12,
            Self::Weekday => 0..=7,
        }
    }

    /// Parses a month or weekday name.
    fn named(self, text: &str) -> Option<u32> {
        let (names, first): (&[&str], u32) = match self {
            Self::Month => (&MONTHS, 1),
            Self::Weekday => (&WEEKDAYS, 0),
            Self::Minute | Self::Hour | Self::Day => (&[], 0),
        };
        (first..).zip(names).find(|(_, name)| name.eq_ignore_ascii_case(text)).map(|(at, _)| at)
    }
}

impl fmt::Display for CronField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The set of numbers that a field allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Bit n is set when n is allowed.
    set: u64,
    /// Whether it starts with a star, and so does not restrict the other day field.
    pub(super) is_free: bool,
}

impl Numbers {
    /// Parses a list of numbers, names, ranges and steps.
    pub(super) fn parse(field: CronField, text: &str) -> Result<Self, CronError> {
        let mut set = 0_u64;
        for part in text.split(',') {
            let wrong = |why: String| CronError::Field { field, text: part.to_owned(), why };
            for number in part_of(field, part).map_err(wrong)? {
                // 7 is Sunday too.
                let is_seventh = field == CronField::Weekday && number == 7;
                set |= 1 << if is_seventh { 0 } else { number };
            }
        }
        Ok(Self { set, is_free: text.starts_with('*') })
    }

    /// Returns whether a number is allowed.
    pub(super) const fn has(self, number: u32) -> bool {
        number < u64::BITS && self.set & (1 << number) != 0
    }
}

/// Parses one item of a list: `*`, `7`, `MON-FRI`, `*/15`, `10-40/5`.
fn part_of(field: CronField, part: &str) -> Result<Vec<u32>, String> {
    let (range, step) = match part.split_once('/') {
        None => (part, None),
        Some((range, step)) => (range, Some(stride(step)?)),
    };
    let (first, last) = (*field.range().start(), *field.range().end());
    let (from, to) = match range.split_once('-') {
        _ if range == "*" => (first, if field == CronField::Weekday { 6 } else { last }),
        None => {
            let from = number(field, range)?;
            // With a step, a single number means from there to the end.
            (from, if step.is_some() { last } else { from })
        }
        Some((from, to)) => (number(field, from)?, number(field, to)?),
    };
    if from > to {
        return Err(format!("a range goes from low to high; write {range} as two"));
    }
    Ok((from..=to).step_by(step.unwrap_or(1)).collect())
}

fn stride(text: &str) -> Result<usize, String> {
    let stride = text.parse().ok().filter(|step| (1..=59).contains(step));
    stride.ok_or_else(|| format!("a step is a number from 1 to 59, not {text:?}"))
}

fn number(field: CronField, text: &str) -> Result<u32, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { text.parse().ok() } else { field.named(text) };
    let range = field.range();
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let names = match field {
            CronField::Month => " or a name from JAN to DEC",
            CronField::Weekday => " or a name from SUN to SAT",
            CronField::Minute | CronField::Hour | CronField::Day => "",
        };
        format!("must be from {} to {}{names}", range.start(), range.end())
    })
}
