use std::collections::BTreeMap;
use std::time::Duration;

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
    let newest = scores_before.iter().find(|score| is_quality(score));
    let evaluator = newest.and_then(version_of);
    let is_comparable = |score: &&Score| !is_quality(score) || version_of(score) == evaluator;
    let old = Sessions::of(&before, scores_before.iter().filter(is_comparable));
    let mut new = Sessions::of(&after, scores_after.iter().filter(is_comparable));
    // A session that began before the promotion got both versions.
    new.order.retain(|key| !old.found.contains_key(key));
    Ok(WatchResult { evaluator, ..WatchResult::compare(&old.marks(), &new.marks()) })
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
                Condition::equals(TraceColumn::Environment, &promotion.environment),
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

/// Thumbs and online scores of traces, newest first per page of traces.
pub(super) async fn scores(
    store: &Store,
    project: &ProjectId,
    traces: &[Trace],
) -> StoreResult<Vec<Score>> {
    let mut all = Vec::new();
    for some in traces.chunks(SCORED) {
        let ids: Vec<String> = some.iter().map(|trace| trace.id.to_string()).collect();
        let names = vec![QUALITY.to_owned(), THUMBS.to_owned()];
        let mut cursor = None;
        loop {
            let query = ScoreQuery {
                project: project.clone(),
                range: TimeRange::default(),
                on: ScoresOn::Anything,
                conditions: vec![
                    Condition { column: ScoreColumn::Trace, test: Test::AnyOf(ids.clone()) },
                    Condition { column: ScoreColumn::Name, test: Test::AnyOf(names.clone()) },
                ],
                paging: Paging::After { cursor, limit: SCORES },
            };
            let page = store.telemetry.scores(query).await?;
            all.extend(page.rows);
            cursor = page.cursor;
            if cursor.is_none() || all.len() > MAX_TRACES * 4 {
                break;
            }
        }
    }
    Ok(all)
}

/// An online evaluator's score; people's answers are not part of the watch.
pub(super) fn is_quality(score: &Score) -> bool {
    score.name == QUALITY && score.source != ScoreSource::Annotation
}

pub(super) fn version_of(score: &Score) -> Option<String> {
    let entry = score.metadata.iter().find(|(key, _)| key == EVALUATOR_VERSION);
    entry.map(|(_, value)| value.as_str().trim_matches('"').to_owned())
}

#[derive(Default)]
struct Sessions {
    /// In the order of their first trace that was read.
    order: Vec<String>,
    found: BTreeMap<String, Sums>,
}

/// Sums over the traces of a session.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    has_error: bool,
    /// Sum and number.
    quality: (f64, f64),
    thumbs: (f64, f64),
    latency: (f64, f64),
    cost: (f64, f64),
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
            if !sessions.found.contains_key(&key) {
                sessions.order.push(key.clone());
            }
            sessions.found.entry(key).or_default().add(trace);
        }
        for score in scores {
            let (ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _)) = &score.target
            else {
                continue;
            };
            let sums = keys.get(&trace.to_string()).and_then(|key| sessions.found.get_mut(key));
            if let Some(sums) = sums {
                sums.add_score(score);
            }
        }
        sessions
    }

    fn marks(&self) -> Vec<SessionMarks> {
        self.order.iter().filter_map(|key| self.found.get(key)).map(Sums::marks).collect()
    }
}

impl Sums {
    /// Adds thumbs, or an online score from 0 to 1.
    pub(super) fn add_score(&mut self, score: &Score) {
        let value = score.value.number().filter(|value| (0.0..=1.0).contains(value));
        let Some(value) = value else { return };
        let to = if score.name == THUMBS { &mut self.thumbs } else { &mut self.quality };
        if score.name == THUMBS || is_quality(score) {
            *to = (to.0 + value, to.1 + 1.0);
        }
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
