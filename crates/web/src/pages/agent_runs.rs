//! Agents that call agents: the runs of a session, or of a trace, on one page.

/// How often tools and sub-agents were right, and who judged.
pub(super) mod accuracy;
/// What callers chose, and how that was scored.
mod routing;

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::agent_runs::{
    AgentRun, CallEvidence, TraceSteps, agent_runs, in_call_order, references,
};
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_core::record::trace::Trace;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, ScoreColumn,
    ScoreQuery, ScoresOn, Test, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};

use crate::call_graph;
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, empty, figure, graph};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::score_summary;
use crate::web::Web;

/// Traces that are read.
const TRACES: u64 = 100;
/// Observations that are read.
const STEPS: u64 = 5_000;
/// Scores that are read.
const SCORES: u64 = 2_000;
/// Characters of a name that are shown.
const NAME: usize = 60;
/// Deeper calls are not indented further.
const MAX_INDENT: usize = 12;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/sessions/{session}/agents", get(of_session))
        .route("/project/{project}/traces/{trace}/agents", get(of_trace))
}

async fn of_session(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let id = SessionId::parse(&id).map_err(|_| PageError::not_there("session"))?;
    let known = web.store.telemetry.session(ctx.project_id(), id.clone()).await?;
    known.ok_or_else(|| PageError::not_there("session"))?;
    let traces = traces(&web, &ctx, (TraceColumn::Session, &id.to_string())).await?;
    let mut page = Page::new(Section::Sessions, "Agents of a session");
    page.crumbs = vec![
        ("Sessions".to_owned(), ctx.to(&["sessions"])),
        (elide(&id.to_string(), NAME).into_owned(), ctx.to(&["sessions", &id.to_string()])),
    ];
    shown(&web, &ctx, (page, "session"), traces).await
}

async fn of_trace(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let id = TraceId::parse(&id).map_err(|_| PageError::not_there("trace"))?.to_string();
    let traces = traces(&web, &ctx, (TraceColumn::Id, &id)).await?;
    if traces.is_empty() {
        return Err(PageError::not_there("trace"));
    }
    let mut page = Page::new(Section::Traces, "Agents of a trace");
    page.crumbs = vec![
        ("Traces".to_owned(), ctx.to(&["traces"])),
        (elide(&id, NAME).into_owned(), ctx.to(&["traces", &id])),
    ];
    shown(&web, &ctx, (page, "trace"), traces).await
}

async fn traces(
    web: &Web,
    ctx: &RequestContext,
    (column, value): (TraceColumn, &str),
) -> PageResult<Vec<Trace>> {
    let query = TraceQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        conditions: vec![Condition::equals(column, value)],
        order: (TraceOrder::Timestamp, Direction::Ascending),
        paging: Paging::After { cursor: None, limit: TRACES },
        detail: Detail::BoundedContent,
    };
    Ok(web.store.telemetry.traces(query).await?.rows)
}

async fn steps(
    web: &Web,
    ctx: &RequestContext,
    ids: &[String],
    (detail, only): (Detail, Option<Condition<ObservationColumn>>),
) -> PageResult<Vec<Observation>> {
    let of = Condition { column: ObservationColumn::Trace, test: Test::AnyOf(ids.to_vec()) };
    let query = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        trace: None,
        conditions: std::iter::once(of).chain(only).collect(),
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: STEPS },
        detail,
    };
    Ok(web.store.telemetry.observations(query).await?.rows)
}

/// Runs with all scores of their traces.
struct Called {
    runs: Vec<AgentRun>,
    scores: Vec<Score>,
    is_cut: bool,
}

impl Called {
    async fn read(web: &Web, ctx: &RequestContext, traces: &[Trace]) -> PageResult<Self> {
        let ids: Vec<String> = traces.iter().map(|trace| trace.id.to_string()).collect();
        let all = steps(web, ctx, &ids, (Detail::Row, None)).await?;
        // Where a trace comes from is in the metadata of its roots.
        let root = Condition { column: ObservationColumn::Root, test: Test::Is(true) };
        let roots = steps(web, ctx, &ids, (Detail::BoundedContent, Some(root))).await?;
        let with_steps: Vec<TraceSteps<'_>> = traces
            .iter()
            .map(|trace| {
                let roots = roots.iter().filter(|root| root.trace == trace.id);
                let contents = roots.filter_map(|root| root.content.as_ref());
                TraceSteps {
                    trace,
                    steps: all.iter().filter(|step| step.trace == trace.id).collect(),
                    references: trace.content.iter().chain(contents).flat_map(references).collect(),
                }
            })
            .collect();
        let is_cut = traces.len() as u64 >= TRACES || all.len() as u64 >= STEPS;
        Ok(Self { runs: agent_runs(&with_steps), scores: scores(web, ctx, ids).await?, is_cut })
    }

    /// The scores of a run: on its observation, or on the trace if it is the trace's own.
    fn scores_of(&self, run: &AgentRun) -> Vec<&Score> {
        let is_its = |score: &&Score| match &score.target {
            ScoreTarget::Trace(trace) => *trace == run.trace && !self.is_within(run),
            ScoreTarget::Observation(trace, id) => {
                *trace == run.trace && run.observation.as_ref() == Some(id)
            }
            ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => false,
        };
        self.scores.iter().filter(is_its).collect()
    }

    /// Whether a run is recorded within the trace of its caller.
    fn is_within(&self, run: &AgentRun) -> bool {
        let caller = run.caller.and_then(|(by, _)| self.runs.get(by));
        caller.is_some_and(|caller| caller.trace == run.trace)
    }
}

async fn scores(web: &Web, ctx: &RequestContext, ids: Vec<String>) -> PageResult<Vec<Score>> {
    let query = ScoreQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: vec![Condition { column: ScoreColumn::Trace, test: Test::AnyOf(ids) }],
        paging: Paging::After { cursor: None, limit: SCORES },
    };
    Ok(web.store.telemetry.scores(query).await?.rows)
}

async fn shown(
    web: &Web,
    ctx: &RequestContext,
    (mut page, what): (Page, &str),
    traces: Vec<Trace>,
) -> PageResult<Markup> {
    let called = Called::read(web, ctx, &traces).await?;
    let agents: BTreeSet<&str> = called.runs.iter().map(|run| run.agent.as_str()).collect();
    let calls = called.runs.iter().filter(|run| run.caller.is_some()).count();
    page.summary = html! {
        (figure::grouped(agents.len() as u64)) @if agents.len() == 1 { " agent, " } @else { " agents, " }
        (figure::grouped(calls as u64)) @if calls == 1 { " call of one by another" } @else { " calls of one by another" }
        " in " (figure::grouped(traces.len() as u64)) @if traces.len() == 1 { " trace." } @else { " traces." }
    };
    let callers: BTreeSet<&str> = called
        .runs
        .iter()
        .filter_map(|run| Some(called.runs.get(run.caller?.0)?.agent.as_str()))
        .collect();
    let judged = accuracy::accuracy(web, ctx, callers.iter().chain(&agents).copied()).await?;
    page.body = html! {
        @if calls == 0 { (nobody(what)) }
        (graph::graph(&call_graph::of_runs(what, &called.runs), |at| link(ctx, &called.runs[at]).to_string()))
        (runs(ctx, &called))
        (routing::routing(ctx, &called))
        (judged)
        @if called.is_cut { p.muted { "Only the first " (TRACES) " traces and " (figure::grouped(STEPS)) " observations are shown." } }
    };
    Ok(page.show(ctx))
}

fn nobody(what: &str) -> Markup {
    let how = html! {
        p { "An agent that calls another one nests it as an observation of type " code { "AGENT" } ", or hands "
            "it the header " code { "traceparent" } ": then its spans are in the same trace, or in one whose "
            "metadata names " code { "traceparent" } ". Traces of one session are connected by time." }
    };
    empty::empty(&format!("No agent called another one in this {what}"), &how)
}

fn link(ctx: &RequestContext, run: &AgentRun) -> Link {
    let trace = ctx.to(&["traces", &run.trace.to_string()]);
    match &run.observation {
        Some(step) => trace.with("observation", step.to_string()),
        None => trace,
    }
}

/// How a call is known, in words.
const fn known_by(evidence: CallEvidence) -> (&'static str, &'static str) {
    match evidence {
        CallEvidence::Nested => ("nested", "recorded within its caller"),
        CallEvidence::Traceparent => {
            ("traceparent", "its traceparent or a span link names the caller")
        }
        CallEvidence::Session => {
            ("session, likely", "it worked in the same session while the caller did")
        }
    }
}

fn runs(ctx: &RequestContext, called: &Called) -> Markup {
    let columns = vec![
        Column::wide("Agent"),
        Column::text("Called by"),
        Column::text("Known by"),
        Column::wide("Tools"),
        Column::text("Start"),
        Column::number("Duration"),
        Column::text("Status"),
        Column::wide("Scores"),
    ];
    let order = in_call_order(&called.runs);
    let rows = order.iter().map(|(at, depth)| row(ctx, called, (*at, *depth))).collect();
    let caption = "Who called whom".to_owned();
    html! {
        h2 { "Who called whom" }
        (table::table(&Table { caption, columns, rows, select_for: None }))
    }
}

fn row(ctx: &RequestContext, called: &Called, (at, depth): (usize, usize)) -> Row {
    let run = &called.runs[at];
    let caller = run.caller.map(|(by, evidence)| (&called.runs[by], known_by(evidence)));
    let scores = called.scores_of(run);
    Row {
        id: format!("run-{at}"),
        link: Some(link(ctx, run)),
        cells: vec![
            html! {
                @for _ in 0..depth.min(MAX_INDENT) { span.muted aria-hidden="true" { "  " } }
                @if depth > 0 { span.muted aria-hidden="true" { "└ " } }
                bdi { (elide(&run.agent, NAME)) }
            },
            html! { @match caller { Some((by, _)) => bdi { (elide(&by.agent, NAME)) }, None => "–" } },
            html! { @if let Some((_, (word, why))) = caller { span title=(why) { (word) } } },
            tools(&run.tools),
            html! { (figure::when(run.start, &ctx.time)) },
            html! { (figure::duration(run.end.since(run.start))) },
            badge::tag(if run.failed { "Error" } else { "OK" }),
            html! { span.badges { @for score in scores { (score_summary::chip(score, ctx)) } } },
        ],
        failed: run.failed,
    }
}

fn tools(tools: &BTreeMap<String, (u32, u32)>) -> Markup {
    html! {
        @for (nth, (name, (calls, failed))) in tools.iter().enumerate() {
            @if nth > 0 { ", " }
            bdi { (elide(name, NAME)) } " ×" (calls)
            @if *failed > 0 { " " small.muted { (failed) " failed" } }
        }
        @if tools.is_empty() { "–" }
    }
}
