//! No statement is from later than its receipt. A stamp that claims to be would win over every
//! honest one until its time has come, so it counts as given when it came in.
//!
//! Only what is weighed against other statements changes. Times that are data (when an observation
//! began, when a score was given) stay as they were sent.

use crate::record::field::{Field, Stamp};
use crate::record::merge::Metadata;
use crate::record::observation::ObservationPatch;
use crate::record::score::ScorePatch;
use crate::record::trace::TracePatch;
use crate::time::Timestamp;

/// How far a stored stamp may lie after the last write of its record: clocks are set back at times.
const MAX_AHEAD_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

/// A statement about a record, whose fields carry stamps.
pub trait Stamped {
    /// Visits the stamp of every field that says something.
    fn each_stamp(&mut self, visit: &mut dyn FnMut(&mut Stamp));
}

/// What one request says about records of one kind, after another.
impl<T: Stamped> Stamped for Vec<T> {
    fn each_stamp(&mut self, visit: &mut dyn FnMut(&mut Stamp)) {
        for patch in self {
            patch.each_stamp(visit);
        }
    }
}

/// Moves stamps from after the receipt of a request back to it. Among themselves they keep their
/// order, a nanosecond apart, so that a client whose clock is ahead still has the last word last.
///
/// ```
/// use ratchet_core::record::field::{WriteKind, Field, Stamp};
/// use ratchet_core::id::ScoreId;
/// use ratchet_core::record::clock_skew;
/// use ratchet_core::record::score::ScorePatch;
/// use ratchet_core::time::Timestamp;
///
/// let stamp = |at| Stamp::stated(Timestamp::from_nanos(at), WriteKind::Create);
/// let mut patch = ScorePatch::new(ScoreId::parse("s")?);
/// patch.comment = Field::said("for ever".to_owned(), stamp(i64::MAX));
/// clock_skew::clamp(&mut [&mut patch], Timestamp::from_nanos(5));
/// assert_eq!(patch.comment.stamp(), Some(stamp(6)));
/// # Ok::<(), ratchet_core::id::IdError>(())
/// ```
pub fn clamp(said: &mut [&mut dyn Stamped], received_at: Timestamp) {
    let mut later = Vec::new();
    for patch in &mut *said {
        patch.each_stamp(&mut |stamp| later.extend(Some(stamp.at).filter(|at| *at > received_at)));
    }
    if later.is_empty() {
        return;
    }
    later.sort_unstable();
    later.dedup();
    for patch in said {
        patch.each_stamp(&mut |stamp| {
            if let Ok(rank) = later.binary_search(&stamp.at) {
                // Behind whatever was stamped with the moment of receipt itself.
                let rank = i64::try_from(rank).unwrap_or(i64::MAX).saturating_add(1);
                stamp.at = received_at.plus_nanos(rank);
            }
        });
    }
}

/// Moves the stamps of a stored record that lie far after its last write back to that write. They
/// were stored before stamps were clamped at their receipt, and would win until their time has come.
pub fn clamp_stored(stored: &mut dyn Stamped, written_at: Timestamp) {
    let latest = written_at.plus_nanos(MAX_AHEAD_NANOS);
    stored.each_stamp(&mut |stamp| {
        if stamp.at > latest {
            stamp.at = written_at;
        }
    });
}

fn field<T>(field: &mut Field<T>, visit: &mut dyn FnMut(&mut Stamp)) {
    if let Some(stamp) = field.stamp_mut() {
        visit(stamp);
    }
}

fn metadata(metadata: &mut Metadata, visit: &mut dyn FnMut(&mut Stamp)) {
    metadata.stamps_mut().for_each(visit);
}

// Every field by name, so that a new one cannot be forgotten.

impl Stamped for TracePatch {
    fn each_stamp(&mut self, visit: &mut dyn FnMut(&mut Stamp)) {
        let Self {
            id: _,
            timestamp: _,
            name,
            user,
            session,
            release,
            version,
            environment,
            agent,
            tags: _,
            public,
            bookmarked,
            metadata: keys,
            input,
            output,
            root,
        } = self;
        for text in [name, user, release, version, agent] {
            field(text, visit);
        }
        field(session, visit);
        field(environment, visit);
        field(public, visit);
        field(bookmarked, visit);
        metadata(keys, visit);
        field(input, visit);
        field(output, visit);
        field(root, visit);
    }
}

impl Stamped for ObservationPatch {
    fn each_stamp(&mut self, visit: &mut dyn FnMut(&mut Stamp)) {
        let Self {
            id: _,
            trace: _,
            kind,
            name,
            parent,
            app_root: _,
            start: _,
            end: _,
            completion_start,
            level,
            status_message,
            version,
            environment,
            agent,
            model,
            model_parameters,
            usage,
            cost,
            prompt,
            input,
            output,
            metadata: keys,
        } = self;
        for text in [name, status_message, version, agent, model] {
            field(text, visit);
        }
        field(kind, visit);
        field(parent, visit);
        field(completion_start, visit);
        field(level, visit);
        field(environment, visit);
        field(model_parameters, visit);
        field(usage, visit);
        field(cost, visit);
        field(prompt, visit);
        field(input, visit);
        field(output, visit);
        metadata(keys, visit);
    }
}

impl Stamped for ScorePatch {
    fn each_stamp(&mut self, visit: &mut dyn FnMut(&mut Stamp)) {
        let Self {
            id: _,
            target,
            name,
            value,
            source,
            timestamp: _,
            environment,
            comment,
            author,
            config,
            queue,
            metadata: keys,
        } = self;
        for text in [name, comment, author, config, queue] {
            field(text, visit);
        }
        field(target, visit);
        field(value, visit);
        field(source, visit);
        field(environment, visit);
        metadata(keys, visit);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{observation_patch, score_patch, trace_patch};
    use crate::record::merge::Merge;

    fn stamps(patch: &mut dyn Stamped) -> Vec<Stamp> {
        let mut stamps = Vec::new();
        patch.each_stamp(&mut |stamp| stamps.push(*stamp));
        stamps
    }

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    proptest! {
        #[test]
        fn no_stamp_is_from_after_its_receipt(
            mut trace in trace_patch(),
            mut observation in observation_patch(),
            mut score in score_patch(),
            received in -10_i64..10,
        ) {
            let before: Vec<_> = [
                stamps(&mut trace), stamps(&mut observation), stamps(&mut score)
            ].concat();
            clamp(&mut [&mut trace, &mut observation, &mut score], at(received));
            let after: Vec<_> = [
                stamps(&mut trace), stamps(&mut observation), stamps(&mut score)
            ].concat();
            let slack = i64::try_from(before.len()).unwrap();
            for (was, is) in before.iter().zip(&after) {
                prop_assert!(is.at <= at(received + slack));
                prop_assert!(was.at > at(received) || was == is);
            }
            for ((was_a, is_a), (was_b, is_b)) in
                before.iter().zip(&after).zip(before.iter().zip(&after).skip(1))
            {
                prop_assert_eq!(was_a.cmp(was_b), is_a.cmp(is_b), "the order within a request");
            }
        }

        #[test]
        fn within_a_request_the_same_statement_wins_as_before(
            mut patches in vec(score_patch(), 2..4), received in -10_i64..10,
        ) {
            let merge = |patches: &[ScorePatch]| {
                patches.iter().cloned().reduce(Merge::merge).map(|merged| merged.value.into_value())
            };
            let before = merge(&patches);
            clamp(&mut [&mut patches], at(received));
            prop_assert_eq!(merge(&patches), before);
        }
    }
}
