//! Timeline layout: position and lane of each observation.
//!
//! Pure: maps observations to positions in thousandths of the trace's duration.

use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::time::Timestamp;

use crate::trace_tree::TreeRow;

/// Width of the timeline in drawing units.
pub(crate) const WHOLE: u32 = 1_000;
/// Maximum number of lanes; the rest shares the last.
const MAX_LANES: usize = 8;

/// Time from first start to last end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeFrame {
    pub(crate) start: Timestamp,
    /// Duration in nanoseconds, at least 1.
    pub(crate) length: i64,
}

impl TimeFrame {
    /// Total time range of the observations.
    pub(crate) fn of(steps: &[Observation]) -> Self {
        let start = steps.iter().map(|step| step.start).min().unwrap_or_default();
        let end = steps.iter().map(|step| step.end.unwrap_or(step.start)).max();
        Self { start, length: end.map_or(1, |end| end.since(start)).max(1) }
    }

    /// Start and end of an observation, in thousandths.
    pub(crate) fn position(self, step: &Observation) -> (u32, u32) {
        let from = self.share(step.start);
        (from, step.end.map_or(from, |end| self.share(end)))
    }

    fn share(self, at: Timestamp) -> u32 {
        let nanos = i128::from(at.since(self.start).clamp(0, self.length));
        let share = nanos * i128::from(WHOLE) / i128::from(self.length);
        u32::try_from(share).unwrap_or(WHOLE)
    }
}

/// An observation in the strip: lane, start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeBar {
    pub(crate) step: usize,
    /// Lane, from 0.
    pub(crate) lane: usize,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// Assigns leaf observations to lanes, so that concurrent ones do not overlap. Leaves too short to
/// be visible are left out, unless they failed.
pub(crate) fn lanes(frame: TimeFrame, steps: &[Observation], rows: &[TreeRow]) -> Vec<TimeBar> {
    let works = |row: &&TreeRow| row.below == 0 && steps[row.step].kind != ObservationKind::Event;
    let mut leaves: Vec<usize> = rows.iter().filter(works).map(|row| row.step).collect();
    leaves.sort_by_key(|step| steps[*step].start);
    let mut free_from = [Timestamp::from_nanos(i64::MIN); MAX_LANES];
    let mut drawn_to: [Option<u32>; MAX_LANES] = [None; MAX_LANES];
    let mut bars = Vec::new();
    for leaf in leaves {
        let step = &steps[leaf];
        let lane = free_from.iter().position(|free| *free <= step.start).unwrap_or(MAX_LANES - 1);
        free_from[lane] = free_from[lane].max(step.end.unwrap_or(step.start));
        let (from, to) = frame.position(step);
        let to = to.max(from + 1);
        let is_hidden = drawn_to[lane].is_some_and(|drawn| to <= drawn);
        if is_hidden && step.level != Level::Error {
            continue;
        }
        drawn_to[lane] = drawn_to[lane].max(Some(to));
        bars.push(TimeBar { step: leaf, lane, from, to });
    }
    bars
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace_tree::assemble;
    use crate::trace_tree::tests::step;

    fn lasting(id: usize, from: i64, to: i64) -> Observation {
        Observation { end: Some(Timestamp::from_millis(to)), ..step(id, from, None) }
    }

    #[test]
    fn what_runs_at_once_stands_in_lanes() {
        let steps = [lasting(0, 0, 500), lasting(1, 100, 200), lasting(2, 500, 1_000)];
        let bars = lanes(TimeFrame::of(&steps), &steps, &assemble(&steps));
        let found: Vec<_> = bars.iter().map(|bar| (bar.step, bar.lane, bar.from, bar.to)).collect();
        assert_eq!(found, [(0, 0, 0, 500), (1, 1, 100, 200), (2, 0, 500, 1_000)]);
    }

    #[test]
    fn no_steps_take_no_time() {
        let frame = TimeFrame::of(&[]);
        assert_eq!((frame.length, lanes(frame, &[], &[]).len()), (1, 0));
    }

    #[test]
    fn many_short_steps_are_drawn_as_few() {
        let steps: Vec<Observation> = (0..10_000).map(|id| step(id, id as i64, None)).collect();
        let bars = lanes(TimeFrame::of(&steps), &steps, &assemble(&steps));
        assert!(bars.len() <= 2_000, "{}", bars.len());
    }

    proptest! {
        #[test]
        fn bars_lie_inside_and_do_not_overlap_in_lanes_but_the_last(
            times in proptest::collection::vec((0..1_000i64, 0..1_000i64), 1..40),
        ) {
            let steps: Vec<Observation> =
                times.iter().enumerate().map(|(id, (from, long))| lasting(id, *from, from + long)).collect();
            let bars = lanes(TimeFrame::of(&steps), &steps, &assemble(&steps));
            for bar in &bars {
                prop_assert!(bar.from < bar.to && bar.to <= WHOLE + 1);
            }
            for lane in 0..MAX_LANES - 1 {
                let in_lane: Vec<_> = bars.iter().filter(|bar| bar.lane == lane).collect();
                for pair in in_lane.windows(2) {
                    prop_assert!(steps[pair[0].step].end.unwrap() <= steps[pair[1].step].start);
                }
            }
        }
    }
}
