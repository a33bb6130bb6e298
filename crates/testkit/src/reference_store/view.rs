//! Converts merged patches to public types.

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::record::merge::Metadata;
use ratchet_core::record::observation::{Observation, ObservationPatch};
use ratchet_core::record::score::{Score, ScorePatch};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::{Content, Trace, TracePatch, TraceSummary};
use ratchet_core::time::Timestamp;

use super::{Model, PatchLog, home};

pub(super) fn observation(recorded: &PatchLog<ObservationPatch>) -> Observation {
    let patch = recorded.patch.clone();
    let start = patch.start.0.or(patch.end.0).unwrap_or(recorded.first_at);
    let counted = patch.has_counted_usage();
    Observation {
        trace: home(&patch),
        id: patch.id,
        kind: patch.kind.into_value().unwrap_or_default(),
        name: patch.name.into_value(),
        parent: patch.parent.into_value(),
        app_root: patch.app_root,
        start,
        end: patch.end.0.map(|end| end.max(start)),
        completion_start: patch.completion_start.into_value(),
        level: patch.level.into_value().unwrap_or_default(),
        status_message: patch.status_message.into_value(),
        version: patch.version.into_value(),
        environment: patch.environment.into_value().unwrap_or_default(),
        agent: patch.agent.into_value(),
        model: patch.model.into_value(),
        model_parameters: patch.model_parameters.into_value(),
        usage: patch.usage.into_value().unwrap_or_default(),
        counted,
        cost: patch.cost.into_value(),
        // The reference store has no prices.
        pricing_tier: None,
        prompt: patch.prompt.into_value(),
        created_at: recorded.first_at,
        updated_at: recorded.last_at,
        content: Some(Content {
            input: patch.input.into_value(),
            output: patch.output.into_value(),
            metadata: pairs(&patch.metadata),
        }),
    }
}

pub(super) fn trace(model: &Model, id: TraceId) -> Trace {
    let recorded = model.traces.get(&id);
    let of_trace = |recorded: &&PatchLog<ObservationPatch>| home(&recorded.patch) == id;
    let steps: Vec<_> = model.observations.values().filter(of_trace).collect();
    let seen: Vec<_> = steps.iter().map(|recorded| observation(recorded)).collect();
    let patch =
        recorded.map_or_else(|| TracePatch::new(id.clone()), |recorded| recorded.patch.clone());
    let heard = recorded.into_iter().map(|recorded| recorded.first_at);
    let first_at = heard.chain(steps.iter().map(|recorded| recorded.first_at)).min().unwrap();
    let heard = recorded.into_iter().map(|recorded| recorded.last_at);
    let last_at = heard.chain(steps.iter().map(|recorded| recorded.last_at)).max().unwrap();
    let summary = TraceSummary::of(&seen);
    let content = content(&patch, &seen);
    Trace {
        id,
        timestamp: patch.timestamp.0.or(summary.start).unwrap_or(first_at),
        agent: patch.agent.value().or(patch.name.value()).cloned(),
        name: patch.name.into_value(),
        user: patch.user.into_value(),
        session: patch.session.into_value(),
        release: patch.release.into_value(),
        version: patch.version.into_value(),
        environment: patch.environment.into_value().unwrap_or_default(),
        tags: patch.tags.into_iter().collect(),
        public: patch.public.into_value().unwrap_or_default(),
        bookmarked: patch.bookmarked.into_value().unwrap_or_default(),
        summary,
        created_at: first_at,
        updated_at: last_at,
        content: Some(content),
    }
}

/// The trace's own input and output; where it has none, its root observation's.
fn content(patch: &TracePatch, steps: &[Observation]) -> Content {
    let root = steps.iter().find(|step| Some(&step.id) == patch.root.value());
    let of_root = root.and_then(|step| step.content.clone()).unwrap_or_default();
    Content {
        input: patch.input.value().cloned().or(of_root.input),
        output: patch.output.value().cloned().or(of_root.output),
        metadata: pairs(&patch.metadata),
    }
}

pub(super) fn session(id: SessionId, traces: &[Trace]) -> Session {
    let times = || traces.iter().map(|trace| trace.timestamp);
    // Of traces that start together, the one with the lowest environment: independent of order.
    let first = traces.iter().min_by_key(|trace| (trace.timestamp, trace.environment.clone()));
    let costs: Vec<Money> = traces.iter().filter_map(|trace| trace.summary.cost).collect();
    Session {
        id,
        created_at: times().min().unwrap_or(Timestamp::from_nanos(0)),
        last_at: times().max().unwrap_or(Timestamp::from_nanos(0)),
        environment: first.unwrap().environment.clone(),
        traces: traces.len() as u64,
        errors: traces.iter().map(|trace| trace.summary.levels.error).sum(),
        total_tokens: traces.iter().map(|trace| trace.summary.total_tokens).sum(),
        cost: (!costs.is_empty()).then(|| costs.into_iter().sum()),
        approximate_cost: traces.iter().map(|trace| trace.summary.approximate_cost).sum(),
    }
}

pub(super) fn score(recorded: &PatchLog<ScorePatch>) -> Option<Score> {
    let patch = recorded.patch.clone();
    Some(Score {
        id: patch.id,
        target: patch.target.into_value()?,
        name: patch.name.into_value()?,
        value: patch.value.into_value()?,
        source: patch.source.into_value().unwrap_or_default(),
        timestamp: patch.timestamp.0.unwrap_or(recorded.first_at),
        environment: patch.environment.into_value().unwrap_or_default(),
        comment: patch.comment.into_value(),
        author: patch.author.into_value(),
        config: patch.config.into_value(),
        queue: patch.queue.into_value(),
        metadata: pairs(&patch.metadata),
        created_at: recorded.first_at,
        updated_at: recorded.last_at,
    })
}

fn pairs(metadata: &Metadata) -> Vec<(String, Json)> {
    metadata.values().map(|(key, json)| (key.to_owned(), json.clone())).collect()
}
