use std::collections::BTreeMap;

use ratchet_core::environment::Environment;
use ratchet_core::id::{IdError, ObservationId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::trace::TracePatch;
use ratchet_core::record::usage::Cost;
use ratchet_core::time::Timestamp;
use ratchet_store::project::ProjectId;
use ratchet_store::telemetry::Batch;
use serde_json::json;
use uuid::Uuid;

use super::feedback_agent::{AgentStep, FeedbackRun, StepKind};

/// The name of the traces.
const NAME: &str = "ratchet-feedback";

/// Returns the records of a run: a trace with an observation for each step, in the environment of
/// judges, which evaluators, samples and metrics leave out. Its id is that of `run`.
///
/// # Errors
/// Never in practice: the ids are hexadecimal.
pub fn records(
    run: &FeedbackRun,
    (key, week): (Uuid, &str),
    project: ProjectId,
    now: Timestamp,
) -> Result<Batch, IdError> {
    let trace = TraceId::parse(&key.simple().to_string())?;
    let stamp = Stamp::stated(now, WriteKind::Create);
    let mut batch = Batch::new(project, now);
    let root = id(key, 0)?;
    let times = || run.steps.iter().map(|step| (step.start, step.end));
    let start = times().map(|(start, _)| start).min().unwrap_or(now);
    let end = times().map(|(_, end)| end).max().unwrap_or(now);
    let text = |value| Field::new(Payload::Json(Json::from_value(&value)), stamp);
    let input = text(json!({"week": week}));
    let proposals: Vec<_> = run.proposals.iter().map(|it| &it.title).collect();
    let output = text(json!({"proposals": proposals, "refused": run.refused, "error": run.error}));
    let environment = Field::new(Environment::of_judges(), stamp);
    batch.observations.push(ObservationPatch {
        kind: Field::new(ObservationKind::Agent, stamp),
        name: Field::new(NAME.to_owned(), stamp),
        start: Earliest(Some(start)),
        end: Latest(Some(end)),
        environment: environment.clone(),
        input: input.clone(),
        output: output.clone(),
        ..ObservationPatch::new(root.clone(), Some(trace.clone()))
    });
    for (number, step) in (1..).zip(&run.steps) {
        let patch = ObservationPatch::new(id(key, number)?, Some(trace.clone()));
        let parent = Field::new(root.clone(), stamp);
        batch.observations.push(observation(step, ObservationPatch { parent, ..patch }, stamp));
    }
    batch.traces.push(TracePatch {
        timestamp: Earliest(Some(start)),
        name: Field::new(NAME.to_owned(), stamp),
        environment,
        input,
        output,
        root: Field::new(root, stamp),
        ..TracePatch::new(trace)
    });
    Ok(batch)
}

fn observation(step: &AgentStep, patch: ObservationPatch, stamp: Stamp) -> ObservationPatch {
    let patch = ObservationPatch {
        start: Earliest(Some(step.start)),
        end: Latest(Some(step.end)),
        environment: Field::new(Environment::of_judges(), stamp),
        input: Field::new(Payload::Json(Json::from_value(&step.input)), stamp),
        output: Field::new(Payload::Text(step.output.as_str().into()), stamp),
        ..patch
    };
    let total = |cost: Money| Cost::new(BTreeMap::from([("total".to_owned(), cost)]));
    match &step.kind {
        StepKind::Model { name, usage, cost } => ObservationPatch {
            kind: Field::new(ObservationKind::Generation, stamp),
            name: Field::new("model".to_owned(), stamp),
            model: Field::new(name.clone(), stamp),
            usage: Field::new(usage.clone(), stamp),
            cost: Field::if_some(cost.map(total), stamp),
            ..patch
        },
        StepKind::Tool { name, failed } => ObservationPatch {
            kind: Field::new(ObservationKind::Tool, stamp),
            name: Field::new(name.chars().take(200).collect::<String>(), stamp),
            level: Field::if_some(failed.then_some(Level::Error), stamp),
            ..patch
        },
    }
}

fn id(key: Uuid, number: u64) -> Result<ObservationId, IdError> {
    let (high, _) = key.as_u64_pair();
    ObservationId::parse(&format!("{:016x}", high ^ number))
}
