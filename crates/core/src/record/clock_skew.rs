//! Clock skew: limits the stamps of patches to the time of receipt. A stamp in the future would win
//! over every later update until its time has come.
//!
//! Only stamps, which decide merges, are changed. Times that are data (start of an observation,
//! time of a score) stay as sent.

use crate::record::field::{Field, Stamp};
use crate::record::merge::Metadata;
use crate::record::observation::ObservationPatch;
use crate::record::score::ScorePatch;
use crate::record::trace::TracePatch;
use crate::time::Timestamp;

/// The maximum lead of a stored stamp over the last write of its record: clocks are set back at
/// times.
const MAX_AHEAD_NANOS: i64 = 24 * 3_600 * 1_000_000_000;

/// A patch whose fields have stamps.
pub trait Stamped {
    /// Visits the stamp of every set field.
    fn each_stamp(&mut self, visit: &mut dyn FnMut(&mut Stamp));
}

/// All patches of one record type in a request.
impl<T: Stamped> Stamped for Vec<T> {
    fn each_stamp(&mut self, visit: &mut dyn FnMut(&mut Stamp)) {
        for patch in self {
            patch.each_stamp(visit);
        }
    }
}

/// Moves stamps in the future back to the time of receipt. Their relative order is preserved, a
/// nanosecond apart, so that the last update of a client with a fast clock still wins.
///
/// ```
/// use ratchet_core::record::field::{Field, Stamp, WriteKind};
/// use ratchet_core::id::ScoreId;
/// use ratchet_core::record::clock_skew;
/// use ratchet_core::record::score::ScorePatch;
/// use ratchet_core::time::Timestamp;
///
/// let stamp = |at| Stamp::stated(Timestamp::from_nanos(at), WriteKind::Create);
/// let mut patch = ScorePatch::new(ScoreId::parse("s")?);
/// patch.comment = Field::new("for ever".to_owned(), stamp(i64::MAX));
/// clock_skew::clamp(&mut [&mut patch], Timestamp::from_nanos(5));
/// assert_eq!(patch.comment.stamp(), Some(stamp(6)));
/// # Ok::<(), ratchet_core::id::IdError>(())
/// ```
pub fn clamp(patches: &mut [&mut dyn Stamped], received_at: Timestamp) {
    let mut later = Vec::new();
    for patch in &mut *patches {
        patch.each_stamp(&mut |stamp| later.extend(Some(stamp.at).filter(|at| *at > received_at)));
    }
    if later.is_empty() {
        return;
    }
    later.sort_unstable();
    later.dedup();
    for patch in patches {
        patch.each_stamp(&mut |stamp| {
            if let Ok(rank) = later.binary_search(&stamp.at) {
                // After stamps that equal the time of receipt.
                let rank = i64::try_from(rank).unwrap_or(i64::MAX).saturating_add(1);
                stamp.at = received_at.plus_nanos(rank);
            }
        });
    }
}

/// Moves the stamps of a stored record that are far after its last write back to that write. They
/// were stored before stamps were limited at receipt.
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

// Destructures every field, so that a new one cannot be forgotten.

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
