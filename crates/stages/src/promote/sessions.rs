use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ratchet_core::promotion::runtime::names_of_environment;
use ratchet_core::promotion::watch::{SessionMarks, WatchResult};
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::StoredPromotion;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
    TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::review_signals::{QUALITY, THUMBS};
use ratchet_store::{Store, StoreResult};

/// How far back sessions before a promotion are looked for.
const LOOK_BACK: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How long after its last trace a session counts, with the scores that it has by then. What
/// arrives later would change evidence that was looked at before.
pub(super) const SETTLES_AFTER: Duration = Duration::from_secs(60 * 60);
/// Traces that are read on each side.
pub(super) const MAX_TRACES: usize = 6_000;
/// Traces per query.
const PAGE: u64 = 500;
/// Traces per query for scores.
pub(super) const SCORED: usize = 200;
/// Scores per query.
const SCORES: u64 = 2_000;
/// Metadata of a score that names its evaluator's version.
const EVALUATOR_VERSION: &str = "evaluator_version";

/// Compares production before and after a promotion, session by session.
pub(super) async fn compare(
    store: &Store,
    stored: &StoredPromotion,
    (live_at, now): (Timestamp, Timestamp),
) -> StoreResult<WatchResult> {
    let back = i64::try_from(LOOK_BACK.as_nanos()).unwrap_or(i64::MAX);
    let range = |from: Timestamp, to: Timestamp| TimeRange { from: Some(from), to: Some(to) };
    let before = range(live_at.plus_nanos(-back), live_at);
    let before = traces(store, stored, (before, Direction::Descending)).await?;
    // Now is part of the range.
    let after = range(live_at, now.plus_nanos(1));
    let after = traces(store, stored, (after, Direction::Ascending)).await?;
    let scores_before = scores(store, &stored.project, &before).await?;
    let scores_after = scores(store, &stored.project, &after).await?;
    // Scores of different evaluator versions say nothing about the agent.
    let known = scores_before.iter().filter(|one| is_quality(one) && one.timestamp <= live_at);
    let evaluator = known.max_by_key(|one| one.timestamp).and_then(version_of);
    let is_comparable = |score: &&Score| !is_quality(score) || version_of(score) == evaluator;
    let old = Sessions::of(&before, scores_before.iter().filter(is_comparable));
    let mut new = Sessions::of(&after, scores_after.iter().filter(is_comparable));
    // A session that began before the promotion got both versions.
    new.found.retain(|key, _| !old.found.contains_key(key));
    let mut then = old.settled(live_at);
    then.reverse();
    Ok(WatchResult { evaluator, ..WatchResult::compare(&then, &new.settled(now)) })
}

async fn traces(
    store: &Store,
    stored: &StoredPromotion,
    (range, direction): (TimeRange, Direction),
) -> StoreResult<Vec<Trace>> {
    let promotion = &stored.promotion;
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let query = TraceQuery {
            project: stored.project.clone(),
            range,
            conditions: vec![
                Condition::equals(TraceColumn::Agent, &promotion.agent),
                Condition {
                    column: TraceColumn::Environment,
                    test: Test::AnyOf(names_of_environment(&promotion.environment)),
                },
            ],
            order: (TraceOrder::Timestamp, direction),
            paging: Paging::After { cursor, limit: PAGE },
            detail: Detail::Row,
        };
        let page = store.telemetry.traces(query).await?;
        all.extend(page.rows);
        cursor = page.cursor;
        if cursor.is_none() || all.len() >= MAX_TRACES {
            return Ok(all);
        }
    }
}

/// Thumbs and online scores of traces, of their observations and of their sessions.
pub(super) async fn scores(
    store: &Store,
    project: &ProjectId,
    traces: &[Trace],
) -> StoreResult<Vec<Score>> {
    let ids: Vec<String> = traces.iter().map(|trace| trace.id.to_string()).collect();
    let sessions: BTreeSet<String> =
        traces.iter().filter_map(|trace| Some(trace.session.as_ref()?.to_string())).collect();
    let sessions: Vec<String> = sessions.into_iter().collect();
    let mut all = Vec::new();
    for (column, ids) in [(ScoreColumn::Trace, ids), (ScoreColumn::Session, sessions)] {
        for some in ids.chunks(SCORED) {
            let on = Condition { column, test: Test::AnyOf(some.to_vec()) };
            all.extend(scores_on(store, project, on).await?);
        }
    }
    Ok(all)
}

async fn scores_on(
    store: &Store,
    project: &ProjectId,
    on: Condition<ScoreColumn>,
) -> StoreResult<Vec<Score>> {
    let names = Test::AnyOf(vec![QUALITY.to_owned(), THUMBS.to_owned()]);
    let names = Condition { column: ScoreColumn::Name, test: names };
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let query = ScoreQuery {
            project: project.clone(),
            range: TimeRange::default(),
            on: ScoresOn::Anything,
            conditions: vec![on.clone(), names.clone()],
            paging: Paging::After { cursor, limit: SCORES },
        };
        let page = store.telemetry.scores(query).await?;
        all.extend(page.rows);
        cursor = page.cursor;
        if cursor.is_none() || all.len() > MAX_TRACES * 4 {
            return Ok(all);
        }
    }
}

/// An online evaluator's score; people's answers are not part of the watch.
pub(super) fn is_quality(score: &Score) -> bool {
    score.name == QUALITY && score.source != ScoreSource::Annotation
}

pub(super) fn version_of(score: &Score) -> Option<String> {
    let entry = score.metadata.iter().find(|(key, _)| key == EVALUATOR_VERSION);
    entry.map(|(_, value)| value.as_str().trim_matches('"').to_owned())
}

/// Traces and scores by session.
#[derive(Default)]
struct Sessions {
    found: BTreeMap<String, SessionRecord>,
}

/// What is known about a session.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionRecord {
    pub(super) turns: Vec<SessionTurn>,
    pub(super) scores: Vec<GivenScore>,
}

/// A trace of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionTurn {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) sums: Sums,
}

/// A score from 0 to 1, and when it was given.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenScore {
    pub(super) at: Timestamp,
    pub(super) is_thumb: bool,
    pub(super) value: f64,
}

/// Sums over the traces of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    has_error: bool,
    /// Sum and number.
    quality: (f64, f64),
    thumbs: (f64, f64),
    latency: (f64, f64),
    cost: (f64, f64),
}

impl SessionRecord {
    /// Returns when the session counts, and its marks. Both never change later: a session ends with
    /// its first pause, and scores that are given after it counts are left out.
    fn settled(&self) -> Option<(Timestamp, SessionMarks)> {
        let mut turns = self.turns.clone();
        turns.sort_by_key(|turn| turn.start);
        let mut end = turns.first()?.end;
        let mut sums = Sums::default();
        for turn in turns {
            if turn.start >= end.plus(SETTLES_AFTER) {
                break;
            }
            end = end.max(turn.end);
            sums.merge(turn.sums);
        }
        let at = end.plus(SETTLES_AFTER);
        for score in self.scores.iter().filter(|score| score.at <= at) {
            sums.add_given(*score);
        }
        Some((at, sums.marks()))
    }
}

/// The marks of the sessions that count at a time, in the order in which they ended.
pub(super) fn settled<'a>(
    sessions: impl IntoIterator<Item = &'a SessionRecord>,
    now: Timestamp,
) -> Vec<SessionMarks> {
    let known = sessions.into_iter().filter_map(SessionRecord::settled);
    let mut known: Vec<_> = known.filter(|(at, _)| *at <= now).collect();
    known.sort_by_key(|(at, _)| *at);
    known.into_iter().map(|(_, marks)| marks).collect()
}

impl Sessions {
    fn of<'a>(traces: &[Trace], scores: impl Iterator<Item = &'a Score>) -> Self {
        let mut sessions = Self::default();
        let mut keys = BTreeMap::new();
        for trace in traces {
            // A trace without a session is one of its own.
            let session = trace.session.as_ref().map(|session| format!("s:{session}"));
            let key = session.unwrap_or_else(|| format!("t:{}", trace.id));
            keys.insert(trace.id.to_string(), key.clone());
            let mut sums = Sums::default();
            sums.add(trace);
            let (start, end) = (trace.timestamp, trace.summary.end.unwrap_or(trace.timestamp));
            sessions.found.entry(key).or_default().turns.push(SessionTurn { start, end, sums });
        }
        for score in scores {
            let key = match &score.target {
                ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => {
                    keys.get(&trace.to_string()).cloned()
                }
                ScoreTarget::Session(session) => Some(format!("s:{session}")),
                ScoreTarget::DatasetRun(_) => None,
            };
            let record = key.and_then(|key| sessions.found.get_mut(&key));
            if let (Some(record), Some(given)) = (record, GivenScore::of(score)) {
                record.scores.push(given);
            }
        }
        sessions
    }

    fn settled(&self, now: Timestamp) -> Vec<SessionMarks> {
        settled(self.found.values(), now)
    }
}

impl GivenScore {
    /// Thumbs, or an online score from 0 to 1.
    fn of(score: &Score) -> Option<Self> {
        let is_thumb = score.name == THUMBS;
        let value = score.value.number().filter(|value| (0.0..=1.0).contains(value))?;
        let given = Self { at: score.timestamp, is_thumb, value };
        (is_thumb || is_quality(score)).then_some(given)
    }
}

impl Sums {
    /// Adds thumbs, or an online score from 0 to 1.
    pub(super) fn add_score(&mut self, score: &Score) {
        if let Some(given) = GivenScore::of(score) {
            self.add_given(given);
        }
    }

    fn add_given(&mut self, given: GivenScore) {
        let to = if given.is_thumb { &mut self.thumbs } else { &mut self.quality };
        *to = (to.0 + given.value, to.1 + 1.0);
    }

    fn merge(&mut self, other: Self) {
        let sum = |one: &mut (f64, f64), other: (f64, f64)| {
            *one = (one.0 + other.0, one.1 + other.1);
        };
        self.has_error |= other.has_error;
        sum(&mut self.quality, other.quality);
        sum(&mut self.thumbs, other.thumbs);
        sum(&mut self.latency, other.latency);
        sum(&mut self.cost, other.cost);
    }

    pub(super) fn add(&mut self, trace: &Trace) {
        let summary = &trace.summary;
        self.has_error |= summary.levels.error > 0;
        if let Some(nanos) = summary.latency() {
            let seconds = Duration::from_nanos(nanos.unsigned_abs()).as_secs_f64();
            self.latency = (self.latency.0 + seconds, self.latency.1 + 1.0);
        }
        if let Some(cost) = summary.cost {
            self.cost = (self.cost.0 + cost.dollars(), self.cost.1 + 1.0);
        }
    }

    pub(super) fn marks(&self) -> SessionMarks {
        let mean = |(sum, n): (f64, f64)| (n > 0.0).then(|| sum / n);
        [
            mean(self.quality),
            mean(self.thumbs),
            Some(if self.has_error { 0.0 } else { 1.0 }),
            mean(self.latency),
            mean(self.cost),
        ]
    }
}
