//! Whether the clock can be believed before anything is deleted by it.
//!
//! A clock that jumps ten years ahead makes every record too old at once. So the server remembers
//! when it last found the clock in order. If it is now far beyond that, nothing is deleted by age
//! until the new time has held for a day with records that agree, or a person confirms it.

use ratchet_core::time::Timestamp;
use ratchet_store::catalog::ClockMark;
use ratchet_store::{Store, StoreResult};

const DAY: i64 = 86_400_000_000_000;
/// How far the clock may be beyond what is known without anyone wondering: a server may have been
/// off for some weeks.
const FAR: i64 = 30 * DAY;
/// Time for which an unconfirmed clock must have been stable.
const PROBATION: i64 = DAY;

/// Why nothing is deleted by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockHold {
    pub now: Timestamp,
    /// When it was last in order, or when the newest record is from.
    pub known: Timestamp,
    /// Since when nothing is deleted.
    pub since: Timestamp,
}

impl std::fmt::Display for ClockHold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { now, known, since } = self;
        let days = now.since(*known) / DAY;
        write!(
            f,
            "retention is paused since {since}: the clock says {now}, {days} days after this \
             server last ran or recorded ({known}); set the clock, or run `ratchet projects \
             confirm-clock` if it is right"
        )
    }
}

/// What is to be done, and what is to be remembered of it.
fn judge(
    now: Timestamp,
    mark: Option<ClockMark>,
    newest: Option<Timestamp>,
) -> (ClockMark, Option<ClockHold>) {
    let in_order = ClockMark { seen_at: now, held_since: None };
    // What a client dated into the future is no evidence, and neither is a mark of a clock that
    // was set back since.
    let known = mark.map(|mark| mark.seen_at).or(newest).filter(|known| *known <= now);
    let Some(known) = known.filter(|known| now.since(*known) > FAR) else {
        return (in_order, None);
    };
    let since = mark.and_then(|mark| mark.held_since).filter(|since| *since <= now);
    let since = since.unwrap_or(now);
    let agrees = newest.is_some_and(|newest| newest >= since && newest <= now);
    if agrees && now.since(since) >= PROBATION {
        return (in_order, None);
    }
    let mark = ClockMark { seen_at: known, held_since: Some(since) };
    (mark, Some(ClockHold { now, known, since }))
}

/// Checks the clock, records the result, and returns why retention is paused.
///
/// # Errors
/// Fails only when the database does.
pub async fn check(store: &Store, now: Timestamp) -> StoreResult<Option<ClockHold>> {
    let known = store.catalog.clock_mark().await?;
    let newest = store.telemetry.newest_time(now).await?;
    let (mark, hold) = judge(now, known, newest);
    if known != Some(mark) {
        store.catalog.set_clock_mark(mark).await?;
    }
    Ok(hold)
}

/// Says why nothing is deleted by age, if that is so, without looking anew.
///
/// # Errors
/// Fails only when the database does.
pub async fn held(store: &Store, now: Timestamp) -> StoreResult<Option<ClockHold>> {
    let mark = store.catalog.clock_mark().await?;
    Ok(mark.and_then(|ClockMark { seen_at: known, held_since }| {
        Some(ClockHold { now, known, since: held_since? })
    }))
}

/// Takes a person's word that the clock is right.
///
/// # Errors
/// Fails only when the database does.
pub async fn confirm(store: &Store, now: Timestamp) -> StoreResult<()> {
    store.catalog.set_clock_mark(ClockMark { seen_at: now, held_since: None }).await
}

#[cfg(test)]
mod tests {
    use ratchet_testkit::seeded_random::SeededRandom;
    use ratchet_testkit::soak::scaled;

    use super::*;

    const YEAR: i64 = 365 * DAY;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(50 * YEAR + nanos)
    }

    fn seen(nanos: i64) -> Option<ClockMark> {
        Some(ClockMark { seen_at: at(nanos), held_since: None })
    }

    /// Since when deleting is held, in nanoseconds.
    fn hold(now: i64, mark: Option<ClockMark>, newest: Option<i64>) -> Option<i64> {
        let (mark, hold) = judge(at(now), mark, newest.map(at));
        assert_eq!(mark.held_since, hold.map(|hold| hold.since));
        hold.map(|hold| hold.since.nanos() - 50 * YEAR)
    }

    #[test]
    fn time_that_passes_while_the_server_runs_is_believed() {
        assert_eq!(hold(FAR, seen(0), Some(-YEAR)), None, "a quiet project grows old all the same");
        assert_eq!(hold(0, None, None), None, "a new folder");
        assert_eq!(hold(0, None, Some(-DAY)), None, "a folder of an earlier version");
    }

    #[test]
    fn a_clock_far_beyond_what_is_known_deletes_nothing() {
        assert_eq!(hold(10 * YEAR, seen(0), Some(-DAY)), Some(10 * YEAR));
        assert_eq!(hold(10 * YEAR, None, Some(0)), Some(10 * YEAR));
        let live = Some(10 * YEAR);
        assert_eq!(hold(10 * YEAR, seen(0), live), Some(10 * YEAR), "records of the same clock");
    }

    #[test]
    fn a_new_time_is_believed_after_a_day_with_records_that_agree() {
        let held = |since| Some(ClockMark { seen_at: at(0), held_since: Some(at(since)) });
        let later = YEAR + DAY;
        assert_eq!(hold(later - 1, held(YEAR), Some(later - 2)), Some(YEAR), "too early");
        assert_eq!(hold(later, held(YEAR), Some(0)), Some(YEAR), "nothing agrees");
        assert_eq!(hold(later, held(YEAR), Some(later - 2)), None);
        assert_eq!(hold(DAY, held(YEAR), Some(0)), None, "the clock was set right again");
    }

    #[test]
    fn a_clock_that_was_set_back_holds_nothing_up() {
        assert_eq!(hold(0, seen(YEAR), Some(YEAR)), None);
    }

    /// However the clock jumps, by its own records or without any: between two sweeps that delete,
    /// it goes forward by a month at most, unless it has held for a day in which nothing was
    /// deleted.
    #[test]
    fn no_jump_deletes_anything_at_once() {
        const HOUR: i64 = DAY / 24;
        let mut chance = SeededRandom::from_environment("a clock that jumps");
        let (mut offset, mut mark, mut newest) = (0, None, None);
        // A new folder knows no time to compare its first one with.
        let (mut last_delete, mut held_from) = (None, None);
        for hour in 0..scaled(5_000, 500_000) {
            if chance.once_in(40) {
                offset = (i64::try_from(chance.below(40)).unwrap() - 20) * YEAR / 10;
            }
            let now = hour * HOUR + offset;
            if chance.once_in(2) {
                newest = Some(at(now));
            }
            let evidence = newest.filter(|newest| *newest <= at(now));
            let (remembered, hold) = judge(at(now), mark, evidence);
            mark = Some(remembered);
            match hold {
                Some(_) => held_from = held_from.filter(|from| *from <= now).or(Some(now)),
                None => {
                    let has_held = held_from.is_some_and(|from| now - from >= PROBATION);
                    let forward = now - last_delete.unwrap_or(now);
                    assert!(forward <= FAR || has_held, "at {now}, {forward} after the last");
                    (last_delete, held_from) = (Some(now), None);
                }
            }
        }
    }
}
