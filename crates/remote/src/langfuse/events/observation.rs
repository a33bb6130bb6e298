use crate::langfuse::wire::ingestion::ObservationBody;
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json;
use ratchet_core::record::field::{Authority, Field, Stamp, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest};
use ratchet_core::record::observation::{ObservationKind, ObservationPatch, PromptLink};
use ratchet_core::record::trace::TracePatch;

use super::{Saying, parse_id, usage};

/// What an event says about an observation of a kind; of the kind it names itself when `None`.
pub(super) fn patch(
    body: ObservationBody,
    kind: Option<ObservationKind>,
    saying: &Saying<'_>,
) -> Result<ObservationPatch, Issue> {
    let is_new = saying.stamp.act == WriteKind::Create;
    let kind = kind.or(body.kind.value().map(|word| word.0));
    if kind.is_none() && is_new {
        let message = "an observation-create event must say what type of observation it creates";
        return Err(Issue::at("type", message));
    }
    let started = body.start_time.value().map(|time| time.0);
    let trace_id = body.trace_id.value().filter(|text| !text.is_empty());
    let metadata = saying.metadata(body.metadata);
    let is_agent = kind == Some(ObservationKind::Agent);
    let named = saying.agent(&metadata);
    let is_nameless = named.value().is_none();
    let agent = if is_agent && is_nameless { saying.label(body.name.clone()) } else { named };
    let (usage, cost) = usage::read(&body.usage, &body.usage_details, &body.cost_details)?;
    Ok(ObservationPatch {
        // Only spans say so.
        app_root: false,
        id: saying.id(&body.id)?,
        trace: trace_id.map(|text| parse_id("traceId", &text)).transpose()?,
        kind: Field::if_some(kind, kind_stamp(saying.stamp)),
        name: saying.text(body.name),
        parent: saying.reference("parentObservationId", body.parent_observation_id)?,
        start: Earliest(started.or(is_new.then_some(saying.stamp.at))),
        end: Latest(body.end_time.value().map(|time| time.0)),
        completion_start: saying.field(body.completion_start_time.map(|time| time.0)),
        level: saying.field(body.level.map(|word| word.0)),
        status_message: saying.text(body.status_message),
        version: saying.text(body.version),
        environment: saying.environment(body.environment),
        agent,
        model: saying.label(body.model),
        model_parameters: model_parameters(body.model_parameters, saying)?,
        usage: Field::if_some(usage, saying.stamp),
        cost: Field::if_some(cost, saying.stamp),
        prompt: prompt(body.prompt_name, body.prompt_version, saying),
        input: saying.payload(body.input),
        output: saying.payload(body.output),
        metadata,
    })
}

/// What an event about an observation lets us know of its trace: that it is there, where it ran,
/// and which agent. The observation the trace began with knows best.
pub(super) fn trace_patch(observation: &ObservationPatch, stamp: Stamp) -> Option<TracePatch> {
    let is_root = stamp.act == WriteKind::Create && observation.parent.value().is_none();
    let authority = if is_root { Authority::Root } else { Authority::Child };
    let implied = Stamp { authority, ..stamp };
    let agent = observation.agent.value().filter(|_| is_root).cloned();
    let environment = observation.environment.value().cloned();
    Some(TracePatch {
        environment: Field::if_some(environment, implied),
        agent: Field::if_some(agent, implied),
        ..TracePatch::new(observation.trace.clone()?)
    })
}

/// An update repeats a kind, and some clients update everything as a span: the create event knows
/// better, whichever comes first.
fn kind_stamp(stamp: Stamp) -> Stamp {
    match stamp.act {
        WriteKind::Create => stamp,
        WriteKind::Update => Stamp { authority: Authority::Root, ..stamp },
    }
}

fn model_parameters(sent: Maybe<Raw>, saying: &Saying<'_>) -> Result<Field<Json>, Issue> {
    let Some(raw) = sent.value() else {
        return Ok(Field::unset());
    };
    if !raw.get().starts_with('{') {
        return Err(Issue::at("modelParameters", "not a JSON object"));
    }
    Ok(Field::new(saying.json(&raw), saying.stamp))
}

/// A prompt's name and version only make sense together.
fn prompt(name: Maybe<String>, version: Maybe<u32>, saying: &Saying<'_>) -> Field<PromptLink> {
    match (name, version) {
        (Maybe::Value(name), Maybe::Value(version)) => {
            Field::new(PromptLink { name, version }, saying.stamp)
        }
        (Maybe::Null, Maybe::Null) => Field::cleared(saying.stamp),
        _ => Field::unset(),
    }
}
