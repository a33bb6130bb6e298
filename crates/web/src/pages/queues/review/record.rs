use maud::{Markup, html};
use ratchet_core::catalog::annotation::{CommentedKind, ItemKind};
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_core::record::trace::{Content, Trace};
use ratchet_stages::review::answer::Reviewed;
use ratchet_store::catalog::QueueItem;
use ratchet_store::experiment::StoredExperimentItem;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, Paging, ScoreQuery,
    ScoresOn, Test, TimeRange,
};

use crate::components::{badge, figure};
use crate::message_preview::{self, Side, one_line};
use crate::page_error::{PageError, PageResult};
use crate::pages::datasets::as_read;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Calls of tools and sub-agents that are shown.
const MAX_CALLS: u64 = 40;
const MAX_SCORES: u64 = 200;
/// Characters of a call's input and output.
const PREVIEW: usize = 160;
const NAME: usize = 40;
/// Bytes of an expected output.
const EXPECTED: usize = 20_000;

/// What an item is about, with all that a reviewer needs to see.
pub(super) struct Record {
    pub(super) trace: Trace,
    observation: Option<Observation>,
    calls: Vec<Observation>,
    /// Why it was drawn for review.
    pub(super) reason: Option<String>,
    pub(super) scores: Vec<Score>,
    /// The item of an experiment that it is the run of.
    pub(super) experiment: Option<StoredExperimentItem>,
}

/// A tool or sub-agent with its calls.
pub(super) struct ToolUse {
    pub(super) name: String,
    pub(super) first: ObservationId,
    pub(super) calls: u64,
}

impl Record {
    pub(super) async fn load(
        web: &Web,
        ctx: &RequestContext,
        item: &QueueItem,
    ) -> PageResult<Self> {
        let telemetry = &web.store.telemetry;
        let observation = match item.kind {
            ItemKind::Observation => {
                let id = ObservationId::parse(&item.object)
                    .map_err(|_| PageError::not_there("observation"))?;
                let found = telemetry.observation(ctx.project_id(), id).await?;
                Some(found.ok_or_else(|| PageError::not_there("observation"))?)
            }
            ItemKind::Trace | ItemKind::Session => None,
        };
        let id = match &observation {
            Some(observation) => observation.trace.clone(),
            None => TraceId::parse(&item.object).map_err(|_| PageError::not_there("trace"))?,
        };
        let trace = telemetry.trace(ctx.project_id(), id.clone()).await?;
        let trace = trace.ok_or_else(|| PageError::not_there("trace"))?;
        let scores = ScoreQuery {
            project: ctx.project_id(),
            range: TimeRange::default(),
            on: ScoresOn::Trace(id.clone()),
            conditions: Vec::new(),
            paging: Paging::After { cursor: None, limit: MAX_SCORES },
        };
        let scores = telemetry.scores(scores).await?.rows;
        let reason = super::reason(web, ctx, id.to_string()).await?;
        let own = observation.as_ref().map(|observation| &observation.id);
        let items = telemetry.experiment_items_of_traces(ctx.project_id(), vec![id.clone()]);
        let experiment = items
            .await?
            .into_iter()
            .rfind(|item| own.is_none() || item.observation.as_ref() == own);
        let calls = calls(web, ctx, id).await?;
        Ok(Self { trace, observation, calls, reason, scores, experiment })
    }

    /// The target of the answer's scores.
    pub(super) fn reviewed(&self) -> Reviewed {
        Reviewed {
            trace: self.trace.id.clone(),
            observation: self.observation.as_ref().map(|observation| observation.id.clone()),
            environment: self.trace.environment.clone(),
        }
    }

    fn content(&self) -> Option<&Content> {
        match &self.observation {
            Some(observation) => observation.content.as_ref(),
            None => self.trace.content.as_ref(),
        }
    }

    pub(super) fn input(&self) -> Option<Json> {
        self.content()?.input.as_ref().map(Payload::to_json)
    }

    pub(super) fn output(&self) -> Option<Json> {
        self.content()?.output.as_ref().map(Payload::to_json)
    }

    /// Scores on the reviewed record, newest first.
    pub(super) fn own_scores(&self) -> Vec<Score> {
        let own = self.observation.as_ref().map(|observation| &observation.id);
        let is_own = |score: &&Score| match &score.target {
            ScoreTarget::Trace(_) => own.is_none(),
            ScoreTarget::Observation(_, id) => own == Some(id),
            _ => false,
        };
        self.scores.iter().filter(is_own).cloned().collect()
    }

    /// What comments on the reviewed record are about.
    pub(super) fn commented(&self) -> (CommentedKind, String) {
        match &self.observation {
            Some(observation) => (CommentedKind::Observation, observation.id.to_string()),
            None => (CommentedKind::Trace, self.trace.id.to_string()),
        }
    }

    /// Tools and sub-agents, in the order of their first calls.
    pub(super) fn tools(&self) -> Vec<ToolUse> {
        let mut tools: Vec<ToolUse> = Vec::new();
        for call in &self.calls {
            let name = call.name.clone().unwrap_or_else(|| "unnamed".to_owned());
            match tools.iter_mut().find(|tool| tool.name == name) {
                Some(tool) => tool.calls += 1,
                None => tools.push(ToolUse { name, first: call.id.clone(), calls: 1 }),
            }
        }
        tools
    }

    /// The conversation, and the calls that led to the answer.
    pub(super) fn show(&self, ctx: &RequestContext) -> Markup {
        let trace = &self.trace;
        let side = |payload: Option<&Payload>, side: Side| {
            html! {
                @match payload {
                    Some(payload) => { (message_preview::show_folded(payload.as_str(), side, &trace.id, ctx)) },
                    None => { p.muted { "No " (side.as_str()) " recorded." } },
                }
            }
        };
        let content = self.content();
        html! {
            p.review-facts.muted {
                b { bdi { (elide(trace.user.as_deref().unwrap_or("unknown user"), NAME)) } }
                @if let Some(agent) = &trace.agent { " asked " bdi { (elide(agent, NAME)) } }
                ", " (figure::when(trace.timestamp, &ctx.time)) ", " (trace.environment.as_str())
                @if let Some(latency) = trace.summary.latency() { ", " (figure::duration(latency)) }
                @if trace.summary.levels.error > 0 { " " (badge::level(Level::Error)) }
                @if ctx.viewer.can_read() {
                    " " a href=(ctx.to(&["traces", &trace.id.to_string()])) { "Open trace" }
                }
            }
            div.words { (side(content.and_then(|content| content.input.as_ref()), Side::Input)) }
            @if !self.calls.is_empty() { (self.call_list(ctx)) }
            div.words { (side(content.and_then(|content| content.output.as_ref()), Side::Output)) }
            @if let Some(item) = &self.experiment { (expected(item)) }
        }
    }

    fn call_list(&self, _ctx: &RequestContext) -> Markup {
        html! {
            h2.review-calls-head { "Tool calls and sub-agents" }
            ol.review-calls {
                @for call in &self.calls {
                    li.failed[call.level == Level::Error] {
                        details {
                            summary {
                                (badge::glyph(call.kind)) " "
                                b { bdi { (elide(call.name.as_deref().unwrap_or("unnamed"), NAME)) } } " "
                                span.muted { bdi { (preview(call, Side::Input)) } }
                                @if call.level == Level::Error { " " (badge::level(call.level)) }
                            }
                            dl {
                                dt { "Input" } dd { bdi { (long(call, Side::Input)) } }
                                dt { "Output" } dd { bdi { (long(call, Side::Output)) } }
                                @if let Some(status) = &call.status_message { dt { "Status" } dd { bdi { (elide(status, 500)) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the item of an experiment expects.
fn expected(item: &StoredExperimentItem) -> Markup {
    html! {
        section.review-expected aria-label="Expected output" {
            h2.review-calls-head {
                "Expected output, run " bdi { (elide(&item.experiment.name, NAME)) }
            }
            @match &item.expected_output {
                Some(expected) => pre.words { bdi { (elide(&as_read(expected.as_str()), EXPECTED)) } },
                None => p.muted { "The item has no expected output." },
            }
        }
    }
}

fn payload(call: &Observation, side: Side) -> &str {
    let content = call.content.as_ref();
    let payload = content.and_then(|content| match side {
        Side::Input => content.input.as_ref(),
        Side::Output => content.output.as_ref(),
    });
    payload.map(Payload::as_str).unwrap_or_default()
}

fn preview(call: &Observation, side: Side) -> String {
    one_line(payload(call, side), PREVIEW)
}

fn long(call: &Observation, side: Side) -> String {
    elide(payload(call, side), 4_000).into_owned()
}

/// Calls of tools, retrievers and sub-agents, in order, with content.
async fn calls(web: &Web, ctx: &RequestContext, trace: TraceId) -> PageResult<Vec<Observation>> {
    let kinds = [ObservationKind::Tool, ObservationKind::Retriever, ObservationKind::Agent];
    let kinds = kinds.map(|kind| kind.as_str().to_owned()).to_vec();
    let query = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        trace: Some(trace),
        conditions: vec![Condition { column: ObservationColumn::Kind, test: Test::AnyOf(kinds) }],
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: MAX_CALLS },
        detail: Detail::Content,
    };
    let mut calls = web.store.telemetry.observations(query).await?.rows;
    // The agent at the root is the one under review, not a sub-agent.
    calls.retain(|call| call.kind != ObservationKind::Agent || call.parent.is_some());
    Ok(calls)
}
