use ratchet_core::calendar::{Week, Zone};
use ratchet_core::time::Timestamp;

use super::seeded_random::Chance;

/// A second, in nanoseconds.
pub(crate) const SECOND: i64 = 1_000_000_000;
/// A minute, in nanoseconds.
pub(crate) const MINUTE: i64 = 60 * SECOND;
/// An hour, in nanoseconds.
pub(crate) const HOUR: i64 = 60 * MINUTE;
/// A day, in nanoseconds.
pub(crate) const DAY: i64 = 24 * HOUR;

/// The last two full weeks, and the part of the current one until the end.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) first: Week,
    pub(crate) second: Week,
    pub(crate) end: Timestamp,
}

/// When the users of an agent are active.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rhythm {
    /// Busy in the evening, and at the weekend too.
    Home,
    /// Busy before and after lunch, quiet at the weekend.
    Office,
}

/// How busy each hour of a day is, relative to the busiest.
const HOME: [f64; 24] = [
    0.10, 0.06, 0.04, 0.03, 0.03, 0.05, 0.12, 0.28, 0.45, 0.60, 0.68, 0.70, 0.66, 0.62, 0.60, 0.62,
    0.70, 0.82, 0.94, 1.00, 0.96, 0.78, 0.48, 0.24,
];
const OFFICE: [f64; 24] = [
    0.02, 0.01, 0.01, 0.01, 0.01, 0.02, 0.06, 0.22, 0.62, 0.95, 1.00, 0.94, 0.55, 0.78, 0.98, 0.96,
    0.84, 0.58, 0.26, 0.14, 0.10, 0.08, 0.05, 0.03,
];

impl Timeline {
    pub(crate) fn new(end: Timestamp, zone: &Zone) -> Self {
        let second = Week::last_ended(end, zone);
        Self { first: second.before(), second, end }
    }

    pub(crate) fn start(&self) -> Timestamp {
        self.first.start()
    }

    /// Returns the number of days from the start to the end.
    pub(crate) fn days(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "three weeks in nanoseconds")]
        let nanos = self.end.since(self.start()) as f64;
        nanos / 86_400e9
    }

    /// Returns a moment so many hours after the second week began.
    pub(crate) fn at_hour(&self, hours: i64) -> Timestamp {
        self.second.start().plus_nanos(hours * HOUR)
    }

    /// Returns a random moment, likelier when people are active.
    pub(crate) fn moment(&self, chance: &mut Chance, rhythm: Rhythm) -> Timestamp {
        loop {
            #[expect(clippy::cast_possible_truncation, reason = "three weeks in nanoseconds")]
            let nanos = (chance.unit() * self.days() * 86_400e9) as i64;
            let moment = self.start().plus_nanos(nanos);
            if chance.odds(rhythm.weight(moment)) {
                return moment;
            }
        }
    }

    /// Returns 1 or 2 for the full weeks and 3 for the current one.
    pub(crate) fn week_of(&self, moment: Timestamp) -> u8 {
        match moment {
            early if early < self.second.start() => 1,
            middle if middle < self.second.end() => 2,
            _ => 3,
        }
    }
}

impl Rhythm {
    /// Returns how busy that moment is, from 0 to 1.
    fn weight(self, moment: Timestamp) -> f64 {
        let hour_of_day = moment.nanos().rem_euclid(DAY) / HOUR;
        let (hours, weekend) = match self {
            Self::Home => (&HOME, 0.85),
            Self::Office => (&OFFICE, 0.12),
        };
        let hour = usize::try_from(hour_of_day).ok().and_then(|hour| hours.get(hour).copied());
        let day = if is_weekend(moment) { weekend } else { 1.0 };
        hour.unwrap_or(1.0) * day
    }
}

fn is_weekend(moment: Timestamp) -> bool {
    // The epoch was a Thursday, so day 2 was a Saturday.
    let day_of_week = moment.nanos().div_euclid(DAY).rem_euclid(7);
    matches!(day_of_week, 2 | 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(end: &str) -> Timeline {
        Timeline::new(Timestamp::parse(end).unwrap(), &Zone::parse("UTC").unwrap())
    }

    #[test]
    fn two_full_weeks_come_before_the_current_one() {
        // A Tuesday.
        let timeline = timeline("2026-11-17T12:00:00Z");
        assert_eq!(timeline.first.days().0, "2026-11-01");
        assert_eq!(timeline.second.days(), ("2026-11-08".to_owned(), "2026-11-14".to_owned()));
        assert_eq!(timeline.week_of(timeline.end), 3);
        let mut chance = Chance::new(1);
        for _ in 0..500 {
            let moment = timeline.moment(&mut chance, Rhythm::Home);
            assert!(timeline.start() <= moment && moment <= timeline.end);
        }
    }

    #[test]
    fn offices_are_quiet_at_the_weekend() {
        let at = |text: &str| Rhythm::Office.weight(Timestamp::parse(text).unwrap());
        // 2026-11-15 is a Sunday.
        assert!(at("2026-11-15T10:00:00Z") < 0.2);
        assert!(at("2026-11-12T10:00:00Z") > 0.9);
        assert!(at("2026-11-12T03:00:00Z") < 0.05);
    }
}
