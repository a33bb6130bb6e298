use std::sync::Arc;

use ratchet_core::catalog::annotation::{CommentedKind, ItemKind};
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::record::observation::Observation;
use ratchet_core::record::score::{Score, ScoreTarget};
use ratchet_core::record::trace::{Content, Trace};
use ratchet_store::query::{Detail, Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_store::trace_stream::ObservationCursor;

use super::kinds::UsageTotals;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::trace_cache::TraceSteps;
use crate::trace_tree::assemble;
use crate::web::Web;

/// Maximum number of observations shown.
const MAX_STEPS: usize = 20_000;
/// Maximum number of scores shown.
const MAX_SCORES: u64 = 1_000;

/// A trace with its observation tree and scores, without observation payloads.
#[derive(Debug)]
pub(super) struct TraceRun {
    pub(super) trace: Trace,
    pub(super) tree: Arc<TraceSteps>,
    pub(super) scores: Vec<Score>,
}

impl TraceRun {
    /// Reads the trace with its payload.
    pub(super) async fn load(web: &Web, ctx: &RequestContext, id: TraceId) -> PageResult<Self> {
        let trace = trace(web, ctx, id).await?;
        Self::of(web, ctx, trace).await
    }

    /// Reads the trace without its payload, for tree lines.
    pub(super) async fn load_bare(
        web: &Web,
        ctx: &RequestContext,
        id: TraceId,
    ) -> PageResult<Self> {
        let found = web.store.telemetry.find_traces(ctx.project_id(), vec![id]).await?;
        let trace = found.into_iter().next().ok_or_else(|| PageError::not_there("trace"))?;
        Self::of(web, ctx, trace).await
    }

    async fn of(web: &Web, ctx: &RequestContext, trace: Trace) -> PageResult<Self> {
        let telemetry = &web.store.telemetry;
        let tree = match web.trace_cache.of(telemetry, (&ctx.project.id, &trace)) {
            Some(kept) => kept,
            None => {
                let arrived = telemetry.arrived();
                let (steps, is_cut) = steps(web, ctx, &trace.id).await?;
                let tree = Arc::new(TraceSteps { rows: assemble(&steps), steps, is_cut });
                web.trace_cache.keep((ctx.project_id(), &trace), arrived, &tree);
                tree
            }
        };
        let scores = scores(web, ctx, ScoresOn::Trace(trace.id.clone())).await?;
        Ok(Self { trace, tree, scores })
    }

    /// Tokens and cost of all observations, by usage type.
    pub(super) fn spent(&self) -> UsageTotals {
        UsageTotals::by_steps(&self.tree.steps, self.tree.is_cut)
    }

    /// Index of an observation.
    pub(super) fn step_named(&self, id: Option<&str>) -> Option<usize> {
        let id = ObservationId::parse(id?).ok()?;
        self.tree.steps.iter().position(|step| step.id == id)
    }
}

pub(super) fn step_id(text: &str) -> PageResult<ObservationId> {
    ObservationId::parse(text).map_err(|_| PageError::not_there("observation"))
}

pub(super) async fn trace(web: &Web, ctx: &RequestContext, id: TraceId) -> PageResult<Trace> {
    let found = web.store.telemetry.trace(ctx.project_id(), id).await?;
    found.ok_or_else(|| PageError::not_there("trace"))
}

/// An observation of the trace with its content.
pub(super) async fn step(
    web: &Web,
    ctx: &RequestContext,
    trace: &TraceId,
    id: &ObservationId,
) -> PageResult<Observation> {
    let found = web.store.telemetry.observation(ctx.project_id(), id.clone()).await?;
    found.filter(|step| step.trace == *trace).ok_or_else(|| PageError::not_there("observation"))
}

async fn steps(
    web: &Web,
    ctx: &RequestContext,
    id: &TraceId,
) -> PageResult<(Vec<Observation>, bool)> {
    let mut steps = Vec::new();
    let mut next = Some(ObservationCursor::new(ctx.project_id(), id.clone(), Detail::Row));
    while steps.len() < MAX_STEPS
        && let Some(walk) = next.take()
    {
        let walked = web.store.telemetry.observations_after(walk).await?;
        steps.extend(walked.rows);
        next = walked.rest;
    }
    Ok((steps, next.is_some()))
}

async fn scores(web: &Web, ctx: &RequestContext, on: ScoresOn) -> PageResult<Vec<Score>> {
    let question = ScoreQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        on,
        conditions: Vec::new(),
        paging: Paging::After { cursor: None, limit: MAX_SCORES },
    };
    Ok(web.store.telemetry.scores(question).await?.rows)
}

/// The selected trace or observation with its content.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) trace: TraceId,
    pub(super) about: RecordDetail,
    pub(super) content: Content,
    pub(super) scores: Vec<Score>,
}

/// A trace or an observation.
#[derive(Debug)]
pub(super) enum RecordDetail {
    Trace(Box<Trace>, UsageTotals),
    Step(Box<Observation>),
}

impl Subject {
    pub(super) async fn trace(web: &Web, ctx: &RequestContext, run: &TraceRun) -> PageResult<Self> {
        let (mut trace, id) = (run.trace.clone(), run.trace.id.clone());
        let mut scores = scores(web, ctx, ScoresOn::Trace(id.clone())).await?;
        scores.retain(|score| matches!(score.target, ScoreTarget::Trace(_)));
        let content = trace.content.take().unwrap_or_default();
        Ok(Self {
            trace: id,
            about: RecordDetail::Trace(Box::new(trace), run.spent()),
            content,
            scores,
        })
    }

    pub(super) async fn step(
        web: &Web,
        ctx: &RequestContext,
        trace: &TraceId,
        id: &ObservationId,
    ) -> PageResult<Self> {
        let mut step = step(web, ctx, trace, id).await?;
        let on = ScoresOn::Observation(trace.clone(), id.clone());
        let scores = scores(web, ctx, on).await?;
        let content = step.content.take().unwrap_or_default();
        Ok(Self {
            trace: trace.clone(),
            about: RecordDetail::Step(Box::new(step)),
            content,
            scores,
        })
    }

    /// What comments on it refer to.
    pub(super) fn commented(&self) -> (CommentedKind, String) {
        match self.step_id() {
            Some(step) => (CommentedKind::Observation, step),
            None => (CommentedKind::Trace, self.trace.to_string()),
        }
    }

    /// What items of queues refer to.
    pub(super) fn queued(&self) -> (ItemKind, String) {
        match self.step_id() {
            Some(step) => (ItemKind::Observation, step),
            None => (ItemKind::Trace, self.trace.to_string()),
        }
    }

    /// Observation ID, if any.
    pub(super) fn step_id(&self) -> Option<String> {
        match &self.about {
            RecordDetail::Trace(..) => None,
            RecordDetail::Step(step) => Some(step.id.to_string()),
        }
    }
}
