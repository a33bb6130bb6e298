//! Hourly sums of what is in scope, and what is summed from records where hours do not tell.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::time::Timestamp;
use ratchet_store::aggregate::{AggregateQuery, Dimension, Group, Step, Sums};
use ratchet_store::query::{Condition, ObservationColumn, TimeRange};

use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::time_buckets::TimeBuckets;
use crate::web::Web;

/// Records that one page reads to sum what hourly sums do not keep apart.
pub(crate) const READ: i64 = 20_000;
const HOUR: i64 = 3_600 * 1_000_000_000;

/// Sums over the observations of the chosen environment and agent, by time and dimension.
///
/// The environment is grouped by and picked out rather than filtered by: hourly sums answer the
/// one, and only a scan the other. They do not keep agents apart, so that those of one agent are
/// read record by record, as far back as a page reads; `agent_reach` tells how far.
///
/// # Errors
/// Fails only when the database does.
pub async fn groups(
    web: &Web,
    place: &RequestContext,
    range: TimeRange,
    step: Step,
    by: &[Dimension],
) -> PageResult<Vec<Group>> {
    let agent = place.scope.agent.as_deref();
    let conditions: Vec<_> =
        agent.map(|agent| Condition::equals(ObservationColumn::Agent, agent)).into_iter().collect();
    let range = match agent_reach(web, place, range).await? {
        Reach::All => range,
        Reach::Since(from) => TimeRange { from: Some(from), ..range },
    };
    grouped(
        web,
        place,
        AggregateQuery { project: place.project_id(), range, by: by.to_vec(), step, conditions },
    )
    .await
}

async fn grouped(
    web: &Web,
    place: &RequestContext,
    question: AggregateQuery,
) -> PageResult<Vec<Group>> {
    let chosen = place.scope.environment.as_deref();
    let environment = chosen.map(|_| Dimension::Environment);
    let by = environment.into_iter().chain(question.by).collect();
    let question = AggregateQuery { by, ..question };
    let groups = web.store.telemetry.aggregate(question).await?.groups;
    let Some(chosen) = chosen else { return Ok(groups) };
    let is_chosen =
        |group: &Group| group.key.first().is_some_and(|key| key.as_deref() == Some(chosen));
    let mut groups: Vec<Group> = groups.into_iter().filter(is_chosen).collect();
    for group in &mut groups {
        group.key.remove(0);
    }
    Ok(groups)
}

/// Sums over all of it.
///
/// # Errors
/// Fails only when the database does.
pub async fn whole(web: &Web, place: &RequestContext, range: TimeRange) -> PageResult<Sums> {
    let groups = groups(web, place, range, Step::Whole, &[]).await?;
    Ok(groups.into_iter().next().map(|group| group.sums).unwrap_or_default())
}

/// Sums of each key, step by step.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) course: TimeBuckets,
    /// Each key and its sums, the busiest first.
    pub(crate) keys: Vec<KeySums>,
}

/// The sums of one key.
#[derive(Clone, Debug)]
pub(crate) struct KeySums {
    /// Its words; none where nothing is split.
    pub(crate) key: Vec<Option<String>>,
    /// One for each step; `None` where nothing was recorded.
    pub(crate) steps: Vec<Option<Sums>>,
    pub(crate) whole: Sums,
}

impl Timed {
    /// Everything together, step by step.
    pub(crate) fn all(&self) -> Vec<Option<Sums>> {
        let at = |step: usize| {
            let found = self.keys.iter().filter_map(|key| key.steps.get(step)?.as_ref());
            found.fold(None, |sum: Option<Sums>, next| {
                let mut sum = sum.unwrap_or_default();
                sum.add(next);
                Some(sum)
            })
        };
        (0..self.course.len()).map(at).collect()
    }

    pub(crate) fn whole(&self) -> Sums {
        let mut whole = Sums::default();
        self.keys.iter().for_each(|key| whole.add(&key.whole));
        whole
    }
}

/// Sums over time, split by a dimension or not.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn over_time(
    web: &Web,
    place: &RequestContext,
    range: TimeRange,
    by: &[Dimension],
) -> PageResult<Timed> {
    let to = range.to.unwrap_or(place.now);
    let known = range.from.map(|from| TimeBuckets::by_hour(from, to));
    let step = known.as_ref().map_or(Step::Hour, TimeBuckets::sums_by);
    let groups = groups(web, place, range, step, by).await?;
    let first = groups.iter().filter_map(|group| group.at).min();
    let course = known.unwrap_or_else(|| TimeBuckets::by_hour(first.unwrap_or(to), to));
    Ok(timed(course, groups))
}

/// Keys that a page keeps apart step by step. Each takes memory for every step of the time.
const KEYS: usize = 1_000;
/// What the keys beyond are called together.
const OTHER: &str = "(other)";

fn timed(course: TimeBuckets, groups: Vec<Group>) -> Timed {
    let mut keys: BTreeMap<Vec<Option<String>>, KeySums> = BTreeMap::new();
    let rare = rare_keys(&groups);
    for Group { at, mut key, sums } in groups {
        if rare.contains(&key) {
            key.fill(Some(OTHER.to_owned()));
        }
        let empty = || KeySums {
            key: key.clone(),
            steps: vec![None; course.len()],
            whole: Sums::default(),
        };
        let known = keys.entry(key.clone()).or_insert_with(empty);
        known.whole.add(&sums);
        if let Some(slot) = at.and_then(|at| known.steps.get_mut(course.step_of(at)?)) {
            slot.get_or_insert_default().add(&sums);
        }
    }
    let mut keys: Vec<KeySums> = keys.into_values().collect();
    keys.sort_by_key(|key| -key.whole.count);
    Timed { course, keys }
}

/// The keys that there is no room for: all but the busiest.
fn rare_keys(groups: &[Group]) -> BTreeSet<Vec<Option<String>>> {
    let mut counts: BTreeMap<&[Option<String>], i64> = BTreeMap::new();
    for group in groups {
        *counts.entry(&group.key).or_default() += group.sums.count;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| -count);
    counts.into_iter().skip(KEYS).map(|(key, _)| key.to_vec()).collect()
}

/// How much of a time can be read record by record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    All,
    Since(Timestamp),
}

/// How far back a page reads within a time, so that it takes no more than [`READ`] records.
/// Hourly sums tell how many there are in each hour.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn reach(
    web: &Web,
    place: &RequestContext,
    range: TimeRange,
) -> PageResult<Reach> {
    let (project, by, step) = (place.project_id(), Vec::new(), Step::Hour);
    let question = AggregateQuery { project, range, by, step, conditions: Vec::new() };
    let hours = grouped(web, place, question).await?;
    Ok(reach_of(&hours, range.to.unwrap_or(place.now)))
}

/// How far back the sums of one agent go; all the way where no agent is chosen, or where the
/// address asks to read all.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn agent_reach(
    web: &Web,
    place: &RequestContext,
    range: TimeRange,
) -> PageResult<Reach> {
    match place.scope.agent {
        Some(_) if place.params.get("all").is_none() => reach(web, place, range).await,
        Some(_) | None => Ok(Reach::All),
    }
}

fn reach_of(hours: &[Group], to: Timestamp) -> Reach {
    let mut read = 0;
    let mut hours: Vec<(Timestamp, i64)> =
        hours.iter().filter_map(|group| Some((group.at?, group.sums.count))).collect();
    hours.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, count) in hours {
        let room = READ - read;
        read += count;
        if read <= READ {
            continue;
        }
        // The hour does not fit whole: as much of it as there is room for, spread evenly.
        let end = at.plus_nanos(HOUR).min(to.max(at));
        let length = end.since(at) / count.max(1) * room.max(1);
        return Reach::Since(end.plus_nanos(-length));
    }
    Reach::All
}

/// A time before with less than one step in so many tells nothing of how things were.
const TOO_LITTLE: i64 = 20;

/// Whether enough happened in the time before to compare with it.
pub fn is_comparable(now: &Sums, before: &Sums) -> bool {
    before.count > 0 && before.count >= now.count / TOO_LITTLE
}

/// A count as people know it: sums can be subtracted, so they are signed.
pub fn natural(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

/// The same count as a number to draw and compare with.
#[expect(clippy::cast_precision_loss, reason = "drawn and compared, never summed")]
pub fn float(n: i64) -> f64 {
    n as f64
}

/// A count that was drawn, as a count again.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no less than none")]
pub fn whole_number(n: f64) -> u64 {
    n.round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(hour: i64, key: &[&str], count: i64) -> Group {
        let key = key.iter().map(|word| Some((*word).to_owned())).collect();
        let at = Some(Timestamp::from_nanos(hour * HOUR));
        Group { at, key, sums: Sums { count, ..Sums::default() } }
    }

    #[test]
    fn sums_fall_into_steps_and_the_busiest_key_is_first() {
        let at = |hour: i64| Timestamp::from_nanos(hour * HOUR);
        let course = TimeBuckets::by_hour(at(0), at(5));
        let groups = vec![group(0, &["a"], 1), group(2, &["a"], 2), group(2, &["b"], 9)];
        let timed = timed(course, groups);
        let counts = |sums: &[Option<Sums>]| -> Vec<Option<i64>> {
            sums.iter().map(|sums| sums.as_ref().map(|sums| sums.count)).collect()
        };
        assert_eq!(timed.keys[0].key, [Some("b".to_owned())]);
        assert_eq!(counts(&timed.keys[1].steps), [Some(1), None, Some(2), None, None, None]);
        assert_eq!(counts(&timed.all())[2], Some(11));
        assert_eq!(timed.whole().count, 12);
    }

    #[test]
    fn keys_beyond_the_busiest_are_one() {
        let course =
            TimeBuckets::by_hour(Timestamp::from_nanos(0), Timestamp::from_nanos(5 * HOUR));
        let name = |n: usize| format!("name {n}");
        let mut groups: Vec<_> = (0..KEYS + 3).map(|n| group(0, &[&name(n)], 1)).collect();
        groups.push(group(1, &[&name(KEYS + 2)], 1));
        let timed = timed(course, groups);
        assert_eq!(timed.keys.len(), KEYS + 1);
        let of = |key: &str| timed.keys.iter().find(|sums| sums.key[0].as_deref() == Some(key));
        assert_eq!(of(OTHER).unwrap().whole.count, 3);
        assert_eq!(of(&name(KEYS + 2)).unwrap().whole.count, 2, "a busy one is kept apart");
    }

    #[test]
    fn a_page_reads_back_as_far_as_it_has_room() {
        let now = Timestamp::from_nanos(10 * HOUR);
        assert_eq!(reach_of(&[group(1, &[], READ)], now), Reach::All);
        let many = [group(9, &[], READ / 2), group(7, &[], READ)];
        let half_past_seven = Timestamp::from_nanos(7 * HOUR + HOUR / 2);
        let Reach::Since(since) = reach_of(&many, now) else { panic!("all of it") };
        assert!(since.since(half_past_seven).abs() < HOUR / 100, "{since}");
    }

    #[test]
    fn one_hour_with_more_than_a_page_reads_is_cut_too() {
        let now = Timestamp::from_nanos(10 * HOUR);
        let Reach::Since(since) = reach_of(&[group(9, &[], i64::MAX / 2)], now) else {
            panic!("all of it")
        };
        assert!(since <= now && since >= Timestamp::from_nanos(9 * HOUR), "{since}");
    }
}
