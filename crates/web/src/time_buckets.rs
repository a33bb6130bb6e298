//! Time buckets for charts over time.

use ratchet_core::calendar::Granularity;
use ratchet_core::time::Timestamp;
use ratchet_store::aggregate::Step;

use crate::viewer_time::ViewerTime;

/// Maximum number of buckets; only the last ones are kept.
const MAX_STEPS: usize = 200;

/// Consecutive time buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeBuckets {
    width: Granularity,
    starts: Vec<Timestamp>,
    /// How hours are labelled. Days are those of UTC, as rollups have them.
    time: ViewerTime,
}

impl TimeBuckets {
    /// Buckets that cover a time range, as many as a chart can show.
    pub(crate) fn between(from: Timestamp, to: Timestamp) -> Self {
        Self::by(width(from, to), from, to)
    }

    /// Buckets of at least one hour, for hourly rollups.
    pub(crate) fn by_hour(from: Timestamp, to: Timestamp) -> Self {
        Self::by(width(from, to).max(Granularity::Hour), from, to)
    }

    /// Daily buckets, or weeks or months for long ranges.
    pub(crate) fn by_day(from: Timestamp, to: Timestamp) -> Self {
        Self::by(width(from, to).max(Granularity::Day), from, to)
    }

    /// Buckets of a fixed width.
    pub(crate) fn by(width: Granularity, from: Timestamp, to: Timestamp) -> Self {
        let mut starts = vec![width.start_of(from)];
        while let Some(last) = starts.last().copied() {
            let next = width.next(last);
            if next > to || next <= last {
                break;
            }
            starts.push(next);
            if starts.len() > MAX_STEPS {
                starts.remove(0);
            }
        }
        Self { width, starts, time: ViewerTime::utc(to) }
    }

    /// The same, with labels of hours in the viewer's zone.
    pub(crate) fn shown_to(self, time: &ViewerTime) -> Self {
        Self { time: time.clone(), ..self }
    }

    /// Bucket index of a time, if it is in range.
    pub(crate) fn step_of(&self, moment: Timestamp) -> Option<usize> {
        self.starts.binary_search(&self.width.start_of(moment)).ok()
    }

    /// Granularity of the aggregate query.
    pub(crate) const fn sums_by(&self) -> Step {
        match self.width {
            Granularity::Minute | Granularity::Hour => Step::Hour,
            Granularity::Day | Granularity::Week | Granularity::Month => Step::Day,
        }
    }

    /// Width of each bucket.
    pub(crate) const fn width(&self) -> Granularity {
        self.width
    }

    /// Start of the first bucket.
    pub(crate) fn start(&self) -> Option<Timestamp> {
        self.starts.first().copied()
    }

    /// Start and end of each bucket.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        self.starts.iter().map(|start| (*start, self.width.next(*start)))
    }

    /// Number of buckets.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Bucket labels.
    pub(crate) fn names(&self) -> Vec<String> {
        self.starts.iter().map(|start| self.name(*start)).collect()
    }

    fn name(&self, start: Timestamp) -> String {
        let fits_a_day = self.starts.len() <= 25;
        let last = self.starts.last().copied().unwrap_or(start);
        let time = match self.width {
            Granularity::Minute | Granularity::Hour => self.time.at(last),
            Granularity::Day | Granularity::Week | Granularity::Month => ViewerTime::utc(last),
        };
        let whole = time.short(start);
        // The day, with its year where the steps go on into the next one, and the time of day.
        let (day, clock) = whole.rsplit_once(' ').unwrap_or_default();
        let clock: String = clock.chars().take(5).collect();
        match self.width {
            Granularity::Minute => clock,
            Granularity::Hour if fits_a_day => clock,
            Granularity::Hour => format!("{day} {clock}"),
            Granularity::Day | Granularity::Week => day.to_owned(),
            Granularity::Month => ratchet_core::calendar::month(start),
        }
    }

    /// Mean per bucket.
    pub(crate) fn means(&self, values: impl Iterator<Item = (Timestamp, f64)>) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0.0); self.len()];
        for (at, value) in values {
            if let Some((sum, count)) = self.step_of(at).and_then(|step| sums.get_mut(step)) {
                *sum += value;
                *count += 1.0;
            }
        }
        sums.into_iter().map(|(sum, count)| (count > 0.0).then(|| sum / count)).collect()
    }

    /// Sum per bucket.
    pub(crate) fn sums(&self, values: impl Iterator<Item = (Timestamp, f64)>) -> Vec<Option<f64>> {
        let mut sums = vec![0.0; self.len()];
        for (at, value) in values {
            if let Some(sum) = self.step_of(at).and_then(|step| sums.get_mut(step)) {
                *sum += value;
            }
        }
        sums.into_iter().map(Some).collect()
    }
}

/// Bucket width that gives about 12 to 100 buckets.
pub(crate) fn width(from: Timestamp, to: Timestamp) -> Granularity {
    const HOUR: i64 = 3_600 * 1_000_000_000;
    match to.since(from) / HOUR {
        ..2 => Granularity::Minute,
        2..73 => Granularity::Hour,
        73..2_400 => Granularity::Day,
        2_400..17_520 => Granularity::Week,
        _ => Granularity::Month,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn a_week_has_days() {
        let course =
            TimeBuckets::between(moment("2026-11-09T10:00:00Z"), moment("2026-11-15T10:00:00Z"));
        assert_eq!(course.len(), 7);
        assert_eq!(course.names().first().map(String::as_str), Some("9 Nov"));
        assert_eq!(course.step_of(moment("2026-11-10T23:59:59Z")), Some(1));
        assert_eq!(course.step_of(moment("2026-11-16T00:00:00Z")), None);
    }

    #[test]
    fn hours_are_labelled_in_the_zone_of_the_viewer_and_days_in_utc() {
        let (from, to) = (moment("2026-11-09T10:00:00Z"), moment("2026-11-09T20:00:00Z"));
        let tokyo = ViewerTime::in_zone("Asia/Tokyo", to);
        let hours = TimeBuckets::between(from, to).shown_to(&tokyo);
        assert_eq!(hours.names().first().map(String::as_str), Some("19:00"));
        let days = TimeBuckets::by_day(from, to.plus_nanos(86_400_000_000_000)).shown_to(&tokyo);
        assert_eq!(days.names().first().map(String::as_str), Some("9 Nov"));
    }

    #[test]
    fn values_fall_into_their_steps() {
        let at = moment("2026-11-09T10:00:00Z");
        let course = TimeBuckets::by_day(at, at.plus_nanos(86_400_000_000_000));
        let values = [(at, 1.0), (at, 3.0)];
        assert_eq!(course.means(values.into_iter()), [Some(2.0), None]);
        assert_eq!(course.sums(values.into_iter()), [Some(4.0), Some(0.0)]);
    }

    #[test]
    fn any_two_moments_make_a_course() {
        let (first, last) = (Timestamp::from_nanos(i64::MIN), Timestamp::from_nanos(i64::MAX));
        for (from, to) in [(first, last), (last, first), (last, last), (first, first)] {
            assert!((1..=MAX_STEPS).contains(&TimeBuckets::between(from, to).len()));
        }
    }
}
