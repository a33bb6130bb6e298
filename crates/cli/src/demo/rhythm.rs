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

/// Seven days that end now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Week {
    pub(crate) end: Timestamp,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rhythm {
    /// People at home: busy in the evening, and at the weekend too.
    Home,
    /// People at work: busy before and after lunch, quiet at the weekend.
    Office,
}

/// How busy each hour of a day is, against the busiest.
const HOME: [f64; 24] = [
    0.10, 0.06, 0.04, 0.03, 0.03, 0.05, 0.12, 0.28, 0.45, 0.60, 0.68, 0.70, 0.66, 0.62, 0.60, 0.62,
    0.70, 0.82, 0.94, 1.00, 0.96, 0.78, 0.48, 0.24,
];
const OFFICE: [f64; 24] = [
    0.02, 0.01, 0.01, 0.01, 0.01, 0.02, 0.06, 0.22, 0.62, 0.95, 1.00, 0.94, 0.55, 0.78, 0.98, 0.96,
    0.84, 0.58, 0.26, 0.14, 0.10, 0.08, 0.05, 0.03,
];

impl Week {
    /// A moment that many days before the end.
    pub(crate) fn days_ago(self, days: f64) -> Timestamp {
        #[expect(clippy::cast_possible_truncation, reason = "a week in nanoseconds fits")]
        let nanos = (days * 86_400e9) as i64;
        self.end.plus_nanos(-nanos)
    }

    /// A moment of the week, likelier when people are awake.
    pub(crate) fn moment(self, chance: &mut Chance, rhythm: Rhythm) -> Timestamp {
        loop {
            let days = chance.unit() * 7.0;
            let moment = self.days_ago(days);
            if chance.odds(rhythm.weight(moment)) {
                return moment;
            }
        }
    }
}

impl Rhythm {
    /// How busy that moment is, from 0 to 1.
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

    fn week() -> Week {
        Week { end: Timestamp::parse("2026-11-15T12:00:00Z").unwrap() }
    }

    #[test]
    fn every_moment_lies_in_the_week() {
        let mut chance = Chance::new(1);
        let week = week();
        for _ in 0..500 {
            let moment = week.moment(&mut chance, Rhythm::Home);
            assert!(week.days_ago(7.0) <= moment && moment <= week.end);
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
