//! Totals of the current scope: from hourly rollups, or from records where rollups lack a dimension.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::environment::Environment;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::time::Timestamp;
use ratchet_store::aggregate::{AggregateDimension, AggregateQuery, Group, Step, Sums};
use ratchet_store::query::{Condition, ObservationColumn, Test, TimeRange};

use crate::filter::{Filter, Pattern, RecordField, Term, TermCondition};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::time_buckets::TimeBuckets;
use crate::web::Web;

/// Maximum number of records a page scans for dimensions that rollups lack.
pub(crate) const READ: i64 = 20_000;
const HOUR: i64 = 3_600 * 1_000_000_000;

/// Sums over the observations of the chosen environment and agent, by time and dimension.
///
/// Without a chosen environment, those of judges and experiments are left out. The environment is
/// grouped by and selected afterwards rather than filtered by: rollups can answer a grouping, a
/// filter needs a scan. Rollups are not split by agent, so one agent is
/// scanned, as far back as a page reads; see `agent_scan_start`.
///
/// # Errors
/// Fails only when the database does.
pub async fn groups(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
    step: Step,
    by: &[AggregateDimension],
) -> PageResult<Vec<Group>> {
    let agent = ctx.scope.agent.as_deref();
    let conditions: Vec<_> =
        agent.map(|agent| Condition::equals(ObservationColumn::Agent, agent)).into_iter().collect();
    let range = match agent_scan_start(web, ctx, range).await? {
        ScanRange::All => range,
        ScanRange::Since(from) => TimeRange { from: Some(from), ..range },
    };
    grouped(
        web,
        ctx,
        AggregateQuery { project: ctx.project_id(), range, by: by.to_vec(), step, conditions },
    )
    .await
}

async fn grouped(
    web: &Web,
    ctx: &RequestContext,
    question: AggregateQuery,
) -> PageResult<Vec<Group>> {
    // A list of environments shows all of them.
    let is_by_environment = question.by.contains(&AggregateDimension::Environment);
    let by = std::iter::once(AggregateDimension::Environment).chain(question.by).collect();
    let question = AggregateQuery { by, ..question };
    let mut groups = web.store.telemetry.aggregate(question).await?.groups;
    let environment = |group: &Group| group.key.first().cloned().flatten().unwrap_or_default();
    match ctx.scope.environment.as_deref() {
        Some(chosen) => groups.retain(|group| environment(group) == chosen),
        None if is_by_environment => {}
        None => {
            let left_out = internal(groups.iter().map(environment));
            groups.retain(|group| !left_out.contains(&environment(group)));
        }
    }
    Ok(without_environment(groups))
}

/// Adds up the groups of all environments.
fn without_environment(groups: Vec<Group>) -> Vec<Group> {
    let mut places: BTreeMap<(Option<Timestamp>, Vec<Option<String>>), usize> = BTreeMap::new();
    let mut sums: Vec<Group> = Vec::new();
    for mut group in groups {
        group.key.remove(0);
        match places.entry((group.at, group.key.clone())) {
            Entry::Occupied(place) => {
                if let Some(known) = sums.get_mut(*place.get()) {
                    known.sums.add(&group.sums);
                }
            }
            Entry::Vacant(place) => {
                place.insert(sums.len());
                sums.push(group);
            }
        }
    }
    sums
}

/// The environments of judges and experiments among those with data: figures of all traffic leave
/// them out, unless there is no other.
fn internal(environments: impl Iterator<Item = String>) -> BTreeSet<String> {
    let all: BTreeSet<String> = environments.collect();
    let is_internal = |name: &String| !Environment::normalise(name).is_production_traffic();
    if all.iter().all(is_internal) {
        return BTreeSet::new();
    }
    all.into_iter().filter(is_internal).collect()
}

/// Environments of judges and experiments that figures of a time range leave out; none where one
/// environment was chosen.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn left_out(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
) -> PageResult<Vec<String>> {
    if ctx.scope.environment.is_some() {
        return Ok(Vec::new());
    }
    let question = AggregateQuery {
        project: ctx.project_id(),
        range,
        by: vec![AggregateDimension::Environment],
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let groups = web.store.telemetry.aggregate(question).await?.groups;
    let names = groups.into_iter().filter_map(|group| group.key.into_iter().next().flatten());
    Ok(internal(names).into_iter().collect())
}

/// The condition that leaves environments out; none for none.
pub(crate) fn without<C>(column: C, environments: Vec<String>) -> Option<Condition<C>> {
    let test = (!environments.is_empty()).then_some(Test::NoneOf(environments))?;
    Some(Condition { column, test })
}

/// The filter of lists behind such figures: it leaves the same environments out.
pub(crate) fn list_without(environments: &[String]) -> Filter {
    let pattern = || Pattern::Exactly(environments.to_vec());
    let term =
        || Term { negated: true, what: TermCondition::Word(RecordField::Environment, pattern()) };
    Filter { terms: (!environments.is_empty()).then(term).into_iter().collect() }
}

/// Totals of a time range.
///
/// # Errors
/// Fails only when the database does.
pub async fn whole(web: &Web, ctx: &RequestContext, range: TimeRange) -> PageResult<Sums> {
    let groups = groups(web, ctx, range, Step::Whole, &[]).await?;
    Ok(groups.into_iter().next().map(|group| group.sums).unwrap_or_default())
}

/// Totals of each group per time bucket.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) course: TimeBuckets,
    /// Groups in descending order of observations.
    pub(crate) keys: Vec<KeySums>,
}

/// Totals of one group.
#[derive(Clone, Debug)]
pub(crate) struct KeySums {
    /// Group key; empty without grouping.
    pub(crate) key: Vec<Option<String>>,
    /// One per time bucket; `None` without data.
    pub(crate) steps: Vec<Option<Sums>>,
    pub(crate) whole: Sums,
}

impl Timed {
    /// Totals of all groups per time bucket.
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

/// Totals over time, grouped or not.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn over_time(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
    by: &[AggregateDimension],
) -> PageResult<Timed> {
    let (course, groups) = groups_over_time(web, ctx, range, by).await?;
    Ok(timed(course, groups))
}

/// Totals over time of all observations, and of model calls alone.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn over_time_with_calls(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
    by: &[AggregateDimension],
) -> PageResult<(Timed, Timed)> {
    let with_kind: Vec<AggregateDimension> =
        by.iter().copied().chain([AggregateDimension::Kind]).collect();
    let is_by_kind = by.contains(&AggregateDimension::Kind);
    let by = if is_by_kind { by } else { &with_kind };
    let (course, mut groups) = groups_over_time(web, ctx, range, by).await?;
    let is_call = |group: &Group| {
        group.key.iter().zip(by).any(|(key, dimension)| {
            *dimension == AggregateDimension::Kind && key.as_deref() == Some(MODEL_CALL)
        })
    };
    let mut calls: Vec<Group> = groups.iter().filter(|group| is_call(group)).cloned().collect();
    if !is_by_kind {
        groups.iter_mut().chain(&mut calls).for_each(|group| {
            group.key.pop();
        });
    }
    Ok((timed(course.clone(), groups), timed(course, calls)))
}

const MODEL_CALL: &str = ObservationKind::Generation.as_str();

async fn groups_over_time(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
    by: &[AggregateDimension],
) -> PageResult<(TimeBuckets, Vec<Group>)> {
    let to = range.to.unwrap_or(ctx.now);
    let known = range.from.map(|from| TimeBuckets::by_hour(from, to));
    let step = known.as_ref().map_or(Step::Hour, TimeBuckets::sums_by);
    let groups = groups(web, ctx, range, step, by).await?;
    let first = groups.iter().filter_map(|group| group.at).min();
    let course = known.unwrap_or_else(|| TimeBuckets::by_hour(first.unwrap_or(to), to));
    Ok((course.shown_to(&ctx.time), groups))
}

/// Maximum number of groups per time bucket; bounds memory.
const KEYS: usize = 1_000;
/// Name of the group of all others.
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

/// Groups beyond the maximum.
fn rare_keys(groups: &[Group]) -> BTreeSet<Vec<Option<String>>> {
    let mut counts: BTreeMap<&[Option<String>], i64> = BTreeMap::new();
    for group in groups {
        *counts.entry(&group.key).or_default() += group.sums.count;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| -count);
    counts.into_iter().skip(KEYS).map(|(key, _)| key.to_vec()).collect()
}

/// How far back records can be scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanRange {
    All,
    Since(Timestamp),
}

/// Start of the range that contains at most [`READ`] records, by hourly counts.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn scan_start(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
) -> PageResult<ScanRange> {
    let (project, by, step) = (ctx.project_id(), Vec::new(), Step::Hour);
    let question = AggregateQuery { project, range, by, step, conditions: Vec::new() };
    let hours = grouped(web, ctx, question).await?;
    Ok(reach_of(&hours, range.to.unwrap_or(ctx.now)))
}

/// Start of the scan for one agent; the whole range without an agent, or with `all` in the URL.
///
/// # Errors
/// Fails only when the database does.
pub(crate) async fn agent_scan_start(
    web: &Web,
    ctx: &RequestContext,
    range: TimeRange,
) -> PageResult<ScanRange> {
    match ctx.scope.agent {
        Some(_) if ctx.params.get("all").is_none() => scan_start(web, ctx, range).await,
        Some(_) | None => Ok(ScanRange::All),
    }
}

fn reach_of(hours: &[Group], to: Timestamp) -> ScanRange {
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
        return ScanRange::Since(end.plus_nanos(-length));
    }
    ScanRange::All
}

/// Minimum ratio of the previous period's count for a comparison.
const TOO_LITTLE: i64 = 20;

/// Whether the previous period has enough data to compare.
pub fn is_comparable(now: &Sums, before: &Sums) -> bool {
    before.count > 0 && before.count >= now.count / TOO_LITTLE
}

/// Clamps a signed count to zero; rollups are signed because they can be subtracted.
pub fn natural(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

/// A count as a float, for charts and ratios.
#[expect(clippy::cast_precision_loss, reason = "drawn and compared, never summed")]
pub fn float(n: i64) -> f64 {
    n as f64
}

/// A float of a chart as a count.
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
        assert_eq!(reach_of(&[group(1, &[], READ)], now), ScanRange::All);
        let many = [group(9, &[], READ / 2), group(7, &[], READ)];
        let half_past_seven = Timestamp::from_nanos(7 * HOUR + HOUR / 2);
        let ScanRange::Since(since) = reach_of(&many, now) else { panic!("all of it") };
        assert!(since.since(half_past_seven).abs() < HOUR / 100, "{since}");
    }

    #[test]
    fn one_hour_with_more_than_a_page_reads_is_cut_too() {
        let now = Timestamp::from_nanos(10 * HOUR);
        let ScanRange::Since(since) = reach_of(&[group(9, &[], i64::MAX / 2)], now) else {
            panic!("all of it")
        };
        assert!(since <= now && since >= Timestamp::from_nanos(9 * HOUR), "{since}");
    }
}
