//! Metrics per version of a prompt: calls, traces, cost, latency, errors and scores.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use maud::{Markup, html};
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::quality::synthesis::{JudgeVersion, is_superseded};
use ratchet_core::record::observation::{Level, Observation};
use ratchet_core::record::score::{Score, ScoreTarget, ScoreValue};
use ratchet_core::stats::bounded;
use ratchet_core::stats::interval::{self, Estimate};
use ratchet_store::catalog::Prompt;
use ratchet_store::deadline_query::DeadlinePage;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, ScoreColumn,
    ScoreQuery, ScoresOn, Test, TimeRange,
};

use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// Newest model calls that are read.
const CALLS: u64 = 2_000;
/// Scores that are read at once.
const SCORES: u64 = 2_000;
/// Scores that are read at most.
const MAX_SCORES: usize = 40_000;
/// Traces or sessions whose scores are asked for at once.
const TARGETS: usize = 400;
/// Score names with a column, those with the most scores first.
const SHOWN_SCORES: usize = 3;

/// The table of all versions that were called in the time range.
pub(super) async fn metrics(
    web: &Web,
    ctx: &RequestContext,
    prompt: &Prompt,
) -> PageResult<Markup> {
    let found = calls(web, ctx, &prompt.name).await?;
    let rows = &found.page.rows;
    if rows.is_empty() {
        return Ok(html! {
            p.muted { "No model calls used this prompt in the " (ctx.scope.span.label()) ". "
                a href=(ctx.here().with("range", "all")) { "Show all time" } }
        });
    }
    let users = Users::of(web, ctx, rows).await?;
    let (scores, is_all) = users.scores(web, ctx).await?;
    let versions = by_version(rows, &users, &scores);
    let is_cut = found.page.cursor.is_some();
    Ok(html! {
        (draw(ctx, prompt, &versions))
        p.muted {
            (figure::grouped(rows.len() as u64)) " model calls in the " (ctx.scope.span.label())
            @if is_cut { ", the newest" }
            @if let Some(reached) = found.reached { ", searched back to " (figure::when(reached, &ctx.time)) }
            @if !is_all { ", with " (figure::grouped(scores.len() as u64)) " of their scores" }
            ". Intervals are 95% CI. Scores of a trace or session count where it used one version only."
        }
    })
}

async fn calls(
    web: &Web,
    ctx: &RequestContext,
    name: &str,
) -> PageResult<DeadlinePage<Observation>> {
    let environment = ctx.scope.environment.as_deref();
    let environment =
        environment.map(|name| Condition::equals(ObservationColumn::Environment, name));
    let named = Condition::equals(ObservationColumn::PromptName, name);
    let query = ObservationQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        trace: None,
        conditions: std::iter::once(named).chain(environment).collect(),
        direction: Direction::Descending,
        paging: Paging::After { cursor: None, limit: CALLS },
        detail: Detail::Row,
    };
    Ok(web.store.telemetry.seek_observations(query, ctx.query_timeout).await?)
}

/// The version that each scored record used; `None` if it used several.
#[derive(Default)]
struct Users {
    observations: HashMap<ObservationId, u32>,
    traces: HashMap<TraceId, Option<u32>>,
    sessions: HashMap<SessionId, Option<u32>>,
}

impl Users {
    async fn of(web: &Web, ctx: &RequestContext, calls: &[Observation]) -> PageResult<Self> {
        let mut users = Self::default();
        for (call, version) in versions(calls) {
            users.observations.insert(call.id.clone(), version);
            note(&mut users.traces, call.trace.clone(), Some(version));
        }
        let ids: Vec<TraceId> = users.traces.keys().cloned().collect();
        for trace in web.store.telemetry.find_traces(ctx.project_id(), ids).await? {
            let version = users.traces.get(&trace.id).copied().flatten();
            if let Some(session) = trace.session {
                note(&mut users.sessions, session, version);
            }
        }
        Ok(users)
    }

    /// All scores of the calls, their traces and sessions, whenever they were given, and whether these
    /// are all.
    async fn scores(&self, web: &Web, ctx: &RequestContext) -> PageResult<(Vec<Score>, bool)> {
        let traces: Vec<String> = self.traces.keys().map(ToString::to_string).collect();
        let sessions: Vec<String> = self.sessions.keys().map(ToString::to_string).collect();
        let targets = traces.chunks(TARGETS).map(|ids| (ScoreColumn::Trace, ids));
        let targets =
            targets.chain(sessions.chunks(TARGETS).map(|ids| (ScoreColumn::Session, ids)));
        let mut scores = Vec::new();
        for (column, ids) in targets {
            let mut next = Some(None);
            while let Some(cursor) = next.take() {
                if scores.len() >= MAX_SCORES {
                    return Ok((scores, false));
                }
                let query = ScoreQuery {
                    project: ctx.project_id(),
                    range: TimeRange::default(),
                    on: ScoresOn::Anything,
                    conditions: vec![Condition { column, test: Test::AnyOf(ids.to_vec()) }],
                    paging: Paging::After { cursor, limit: SCORES },
                };
                let page = web.store.telemetry.scores(query).await?;
                next = page.cursor.map(Some);
                scores.extend(page.rows);
            }
        }
        Ok((scores, true))
    }

    fn version(&self, target: &ScoreTarget) -> Option<u32> {
        match target {
            ScoreTarget::Observation(_, id) => self.observations.get(id).copied(),
            ScoreTarget::Trace(id) => self.traces.get(id).copied().flatten(),
            ScoreTarget::Session(id) => self.sessions.get(id).copied().flatten(),
            ScoreTarget::DatasetRun(_) => None,
        }
    }
}

fn note<K: std::hash::Hash + Eq>(map: &mut HashMap<K, Option<u32>>, key: K, version: Option<u32>) {
    let known = map.entry(key).or_insert(version);
    if *known != version {
        *known = None;
    }
}

fn versions(calls: &[Observation]) -> impl Iterator<Item = (&Observation, u32)> {
    calls.iter().filter_map(|call| Some((call, call.prompt.as_ref()?.version)))
}

/// The metrics of one version.
#[derive(Debug, Default)]
struct VersionMetrics {
    calls: u64,
    errors: u64,
    traces: BTreeSet<TraceId>,
    /// In dollars, of calls with a known cost.
    costs: Vec<f64>,
    approximate_cost: Money,
    /// In nanoseconds, ascending.
    latencies: Vec<i64>,
    /// Values by name and judge.
    scores: BTreeMap<JudgedName, Vec<f64>>,
}

/// The name of scores, with the class and the version of their judge.
type JudgedName = (String, &'static str, JudgeVersion);

fn by_version(
    calls: &[Observation],
    users: &Users,
    scores: &[Score],
) -> BTreeMap<u32, VersionMetrics> {
    let mut versions_found: BTreeMap<u32, VersionMetrics> = BTreeMap::new();
    for (call, version) in versions(calls) {
        let metrics = versions_found.entry(version).or_default();
        metrics.calls += 1;
        metrics.errors += u64::from(call.level == Level::Error);
        metrics.traces.insert(call.trace.clone());
        metrics.costs.extend(call.cost.as_ref().map(|cost| cost.total().dollars()));
        metrics.approximate_cost = metrics.approximate_cost + call.approximate_cost();
        metrics.latencies.extend(call.latency());
    }
    for score in scores.iter().filter(|score| !is_superseded(&score.metadata)) {
        let value = match &score.value {
            ScoreValue::Numeric(value) => *value,
            ScoreValue::Boolean(value) => f64::from(u8::from(*value)),
            ScoreValue::Categorical { .. } | ScoreValue::Text(_) | ScoreValue::Correction(_) => {
                continue;
            }
        };
        let metrics = users.version(&score.target).and_then(|it| versions_found.get_mut(&it));
        if let Some(metrics) = metrics {
            let class = score_summary::decider(score).class();
            let key = (score.name.clone(), class, JudgeVersion::of(score));
            metrics.scores.entry(key).or_default().push(value);
        }
    }
    for metrics in versions_found.values_mut() {
        metrics.latencies.sort_unstable();
    }
    versions_found
}

/// Names of scores with the most values, each with who judged.
fn score_columns(versions: &BTreeMap<u32, VersionMetrics>) -> Vec<JudgedName> {
    let mut counts: BTreeMap<&JudgedName, usize> = BTreeMap::new();
    for (key, values) in versions.values().flat_map(|version| &version.scores) {
        *counts.entry(key).or_default() += values.len();
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    // Overall quality says most; then those with the most values.
    counts
        .sort_by_key(|((name, ..), count)| (name != "overall_quality", std::cmp::Reverse(*count)));
    counts.into_iter().take(SHOWN_SCORES).map(|(key, _)| key.clone()).collect()
}

fn draw(ctx: &RequestContext, prompt: &Prompt, versions: &BTreeMap<u32, VersionMetrics>) -> Markup {
    let scores = score_columns(versions);
    let mut columns = vec![
        Column::text("Version"),
        Column::number("Calls"),
        Column::number("Traces"),
        Column::number("Cost per call"),
        Column::number("p50 latency"),
        Column::number("p95 latency"),
        Column::number("Errors"),
    ];
    let column = |(name, class, judge): &JudgedName| {
        let who = score_summary::judge_words(judge).map(|judge| format!(", {}", judge.plain));
        Column::wide(&format!("{name} ({class}{})", who.unwrap_or_default()))
    };
    columns.extend(scores.iter().map(column));
    let row = |(version, metrics): (&u32, &VersionMetrics)| {
        let mut cells = vec![
            html! { "v" (version) },
            html! { (figure::grouped(metrics.calls)) },
            html! { (figure::grouped(metrics.traces.len() as u64)) },
            cost(metrics),
            latency(&metrics.latencies, 50),
            latency(&metrics.latencies, 95),
            errors(metrics),
        ];
        let values = |key| metrics.scores.get(key).map(Vec::as_slice).unwrap_or_default();
        cells.extend(scores.iter().map(|key| mean(values(key), key.1)));
        let link = ctx.to(&["prompts", &prompt.name]).with("version", version.to_string());
        Row { id: format!("v{version}"), link: Some(link), cells, failed: false }
    };
    let rows = versions.iter().rev().map(row).collect();
    let caption = "Metrics per version".to_owned();
    table::table(&Table { caption, columns, rows, select_for: None })
}

fn cost(metrics: &VersionMetrics) -> Markup {
    let Ok(mut mean) = interval::mean(&metrics.costs) else {
        return html! { span.muted { "unknown" } };
    };
    // The interval of a few very different costs would reach below nothing.
    if let Some(interval) = &mut mean.interval {
        interval.lower = interval.lower.max(0.0);
    }
    let is_approximate = metrics.approximate_cost.pico() > 0;
    html! {
        span title=(interval_words(&mean, figure::exact_dollars)) {
            @if is_approximate { "≈" } (figure::dollars(mean.value))
        }
    }
}

fn latency(ascending: &[i64], percent: usize) -> Markup {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    let value = ascending.get(rank - 1).copied().map(figure::duration);
    html! { (value.unwrap_or_else(|| "–".to_owned())) }
}

fn errors(metrics: &VersionMetrics) -> Markup {
    let share = interval::share(metrics.errors, metrics.calls);
    html! {
        @if let Some(share) = share {
            span title=(interval_words(&share, figure::percent)) { (figure::percent(share.value)) }
        }
    }
}

/// The mean with its interval and number; who judged is its colour and in the column's name.
fn mean(values: &[f64], judge: &str) -> Markup {
    let Ok(mean) = bounded::mean_of_scores(values) else {
        return html! { span.muted { "–" } };
    };
    html! {
        span class=(judge) { (format!("{:.2}", mean.value)) }
        small.muted.below { (interval_words(&mean, |value| format!("{value:.2}"))) }
    }
}

fn interval_words(estimate: &Estimate, shown: impl Fn(f64) -> String) -> String {
    let n = figure::grouped(estimate.n);
    match estimate.interval {
        Some(interval) => {
            format!("{} to {}, n = {n}", shown(interval.lower), shown(interval.upper))
        }
        None => format!("no interval, n = {n}"),
    }
}
