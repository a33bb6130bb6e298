//! How often tools and sub-agents were right: answers of reviewers, and scores of evaluators on each
//! sub-agent, by who judged.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use ratchet_core::catalog::review::TOOL_USAGE;
use ratchet_core::quality::synthesis::{JudgeVersion, is_superseded};
use ratchet_core::record::limit::elide;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::stats::bounded;
use ratchet_core::stats::interval::{self, Estimate};
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TimeRange,
    TraceColumn, TraceOrder, TraceQuery,
};
use ratchet_store::score_stats::SampleQuery;

use super::NAME;
use crate::components::badge::{self, Decider};
use crate::components::figure;
use crate::components::table::{self, Column, Row, Table};
use crate::page_error::PageResult;
use crate::pages::scores;
use crate::request_context::RequestContext;
use crate::score_summary;
use crate::web::Web;

/// The newest scores of each kind that are counted.
const SCORES: u64 = 2_000;
/// Scores that are read for their names.
const NAMES: u64 = 1_000;
/// Traces per query.
const CHUNK: usize = 200;
/// Between the name of a score and the sub-agent that it is about.
const OF_AGENT: char = '@';

/// What was judged: tool or sub-agent, score, class of the judge and the judge.
type Judged = (String, String, &'static str, String);

/// A table of tools and sub-agents of these agents in the time range; empty without scores.
pub(in crate::pages) async fn accuracy<'a>(
    web: &Web,
    ctx: &RequestContext,
    agents: impl Iterator<Item = &'a str>,
) -> PageResult<Markup> {
    let agents: BTreeSet<String> = agents.map(str::to_owned).collect();
    let mut found = newest(web, ctx, vec![TOOL_USAGE.to_owned()]).await?;
    found.retain(|score| score.source == ScoreSource::Annotation);
    let of_agents = names_of_agents(web, ctx).await?;
    if !of_agents.is_empty() {
        found.extend(newest(web, ctx, of_agents).await?);
    }
    found.retain(|score| !is_superseded(&score.metadata));
    let own = traces_of(web, ctx, (agents.into_iter().collect(), &found)).await?;
    let mut values: BTreeMap<Judged, Vec<f64>> = BTreeMap::new();
    for score in found.iter().filter(|score| trace_of(score).is_some_and(|id| own.contains(&id))) {
        let (Some((what, name)), Some(value)) = (subject(score), score.value.number()) else {
            continue;
        };
        let judge = score_summary::judge_words(&JudgeVersion::of(score))
            .map_or_else(|| score_summary::judge_name(score), |judge| judge.plain);
        let key = (what, name, score_summary::decider(score).class(), judge);
        values.entry(key).or_default().push(value);
    }
    Ok(if values.is_empty() { Markup::default() } else { table_of(ctx, values) })
}

/// Names of scores on sub-agents in the time range.
async fn names_of_agents(web: &Web, ctx: &RequestContext) -> PageResult<Vec<String>> {
    let query = SampleQuery { scope: scores::scope(ctx), name: None, at_most: NAMES };
    let names = web.store.telemetry.score_samples(query).await?.into_iter().map(|one| one.name);
    Ok(names.filter(|name| name.contains(OF_AGENT)).collect())
}

/// The newest scores of some names.
async fn newest(web: &Web, ctx: &RequestContext, names: Vec<String>) -> PageResult<Vec<Score>> {
    let query = ScoreQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        on: ScoresOn::Anything,
        conditions: vec![Condition { column: ScoreColumn::Name, test: Test::AnyOf(names) }],
        paging: Paging::After { cursor: None, limit: SCORES },
    };
    Ok(web.store.telemetry.scores(query).await?.rows)
}

/// The tool or sub-agent of a score, and what the score is called.
fn subject(score: &Score) -> Option<(String, String)> {
    if score.name == TOOL_USAGE {
        let (_, value) = score.metadata.iter().find(|(key, _)| key == "tool")?;
        return Some((serde_json::from_str(value.as_str()).ok()?, score.name.clone()));
    }
    let (name, agent) = score.name.split_once(OF_AGENT)?;
    Some((agent.to_owned(), name.to_owned()))
}

fn trace_of(score: &Score) -> Option<String> {
    match &score.target {
        ScoreTarget::Trace(trace) | ScoreTarget::Observation(trace, _) => Some(trace.to_string()),
        ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => None,
    }
}

/// The traces of scores that are the agents'.
async fn traces_of(
    web: &Web,
    ctx: &RequestContext,
    (agents, scores): (Vec<String>, &[Score]),
) -> PageResult<BTreeSet<String>> {
    let ids: BTreeSet<String> = scores.iter().filter_map(trace_of).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let mut own = BTreeSet::new();
    for some in ids.chunks(CHUNK) {
        let query = TraceQuery {
            project: ctx.project_id(),
            range: TimeRange::default(),
            conditions: vec![
                Condition { column: TraceColumn::Id, test: Test::AnyOf(some.to_vec()) },
                Condition { column: TraceColumn::Agent, test: Test::AnyOf(agents.clone()) },
            ],
            order: (TraceOrder::Timestamp, Direction::Descending),
            paging: Paging::After { cursor: None, limit: CHUNK as u64 },
            detail: Detail::Row,
        };
        let found = web.store.telemetry.traces(query).await?.rows;
        own.extend(found.into_iter().map(|trace| trace.id.to_string()));
    }
    Ok(own)
}

/// The share of what was right; of scores that are not all right or wrong, the mean.
fn estimate(values: &[f64]) -> Option<Estimate> {
    let is_verdict = |value: &f64| *value == 0.0 || *value == 1.0;
    if values.iter().all(is_verdict) {
        let right = values.iter().filter(|value| **value >= 0.5).count() as u64;
        return interval::share(right, values.len() as u64);
    }
    bounded::mean_of_scores(values).ok()
}

fn table_of(ctx: &RequestContext, values: BTreeMap<Judged, Vec<f64>>) -> Markup {
    let columns = vec![
        Column::wide("Tool or sub-agent"),
        Column::text("Score"),
        Column::text("Judged by"),
        Column::number("Judged"),
        Column::number("Right"),
        Column::text("95% interval"),
    ];
    let row = |((what, name, class, judge), values): (Judged, Vec<f64>)| {
        let found = estimate(&values);
        let bounds = found.as_ref().and_then(|found| found.interval);
        Row {
            id: format!("{what} {name} {class} {judge}"),
            link: None,
            cells: vec![
                html! { bdi { (elide(&what, NAME)) } },
                html! { bdi { (elide(&name, NAME)) } },
                badge::decided(decider(class), &elide(&judge, NAME)),
                html! { (figure::grouped(values.len() as u64)) },
                html! { @if let Some(found) = &found { (figure::percent(found.value)) } },
                html! { @if let Some(bounds) = bounds {
                    (figure::percent(bounds.lower)) " to " (figure::percent(bounds.upper))
                } },
            ],
            failed: false,
        }
    };
    let rows = values.into_iter().map(row).collect();
    let caption = "Tools and sub-agents".to_owned();
    html! {
        h2 #tools { "Tools and sub-agents" }
        p.muted { "How calls of each tool and sub-agent were judged in the " (ctx.scope.span.label())
            ": shares of right ones, and means of scores." }
        (table::table(&Table { caption, columns, rows, select_for: None }))
    }
}

fn decider(class: &str) -> Decider {
    let all = [Decider::Code, Decider::Model, Decider::Human];
    all.into_iter().find(|decider| decider.class() == class).unwrap_or(Decider::Code)
}
