//! A server's records as ingestion events that recreate them.
//!
//! An event has the time of the record's last change, and an id derived from it: sending it twice
//! is idempotent, and sending it again after a change updates the copy.

use ratchet_core::payload::Payload;
use ratchet_core::record::field::WriteKind;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::score::{Score, ScoreTarget, ScoreValue};
use ratchet_core::time::Timestamp;
use serde::Serialize;
use serde_json::value::to_raw_value;

use super::wire::ingestion::{
    Envelope, EventType, ObservationBody, ScoreBody, ScoreInput, TraceBody,
};
use super::wire::json::{Raw, object, payload as wire_payload};
use super::wire::maybe::Maybe;
use super::wire::observation::ObservationView;
use super::wire::observation_v2::ObservationV2View;
use super::wire::time::Time;
use super::wire::trace::TraceView;
use super::wire::wire_name::WireName;
use ratchet_core::issue::Issue;

/// Returns the event that recreates a trace.
///
/// # Errors
/// Fails only if the record cannot be serialized.
pub fn of_trace(view: TraceView) -> Result<Envelope, Issue> {
    let at = view.updated_at.unwrap_or(view.timestamp).0;
    let body = TraceBody {
        id: Maybe::Value(view.id.clone()),
        timestamp: Maybe::Value(view.timestamp),
        name: value_or_absent(view.name),
        user_id: value_or_absent(view.user_id),
        input: payload(view.input),
        output: payload(view.output),
        session_id: value_or_absent(view.session_id),
        release: value_or_absent(view.release),
        version: value_or_absent(view.version),
        metadata: payload(view.metadata),
        tags: Maybe::Value(view.tags),
        environment: Maybe::Value(view.environment),
        public: Maybe::Value(view.public),
        bookmarked: Maybe::Value(view.bookmarked),
    };
    event(EventType::Trace, &view.id, at, &body)
}

/// Returns the event that recreates an observation.
///
/// # Errors
/// Fails only if the record cannot be serialized.
pub fn of_observation(mut view: ObservationView) -> Result<Envelope, Issue> {
    // Counted usage is omitted, so that the receiver counts it again: sent, it would pass for a
    // client's value.
    if view.usage_approximate {
        view.usage_details.clear();
        view.usage.total = 0;
    }
    if view.cost_approximate {
        view.cost_details.clear();
    }
    let at = view.updated_at.unwrap_or(view.start_time).0;
    let older = (view.usage_details.is_empty() && view.usage.total > 0).then_some(&view.usage);
    let body = ObservationBody {
        id: Maybe::Value(view.id.clone()),
        trace_id: value_or_absent(view.trace_id),
        kind: Maybe::Absent,
        name: value_or_absent(view.name),
        start_time: Maybe::Value(view.start_time),
        end_time: value_or_absent(view.end_time),
        completion_start_time: value_or_absent(view.completion_start_time),
        model: value_or_absent(view.model),
        model_parameters: payload(view.model_parameters),
        input: payload(view.input),
        output: payload(view.output),
        metadata: payload(view.metadata),
        usage: older.map_or(Ok(Maybe::Absent), json)?,
        usage_details: json(&view.usage_details)?,
        cost_details: json(&view.cost_details)?,
        level: Maybe::Value(view.level),
        status_message: value_or_absent(view.status_message),
        parent_observation_id: value_or_absent(view.parent_observation_id),
        version: value_or_absent(view.version),
        environment: Maybe::Value(view.environment),
        prompt_name: value_or_absent(view.prompt_name),
        prompt_version: value_or_absent(view.prompt_version),
    };
    event(EventType::Observation(Some(view.kind.0), WriteKind::Create), &view.id, at, &body)
}

/// Returns the events that recreate an observation of a server without traces: the trace fields it
/// contains, and the observation.
///
/// # Errors
/// Reports invalid values.
pub fn of_newer_observation(mut view: ObservationV2View) -> Result<Vec<Envelope>, Issue> {
    if view.usage_approximate {
        view.usage_details = Maybe::Absent;
    }
    if view.cost_approximate {
        view.cost_details = Maybe::Absent;
    }
    let kind = ObservationKind::parse(&view.kind)
        .ok_or_else(|| Issue::at("type", format!("{} is no type we know", view.kind)))?;
    let at = view.updated_at.as_value().copied().unwrap_or(view.start_time).0;
    let mut events: Vec<Envelope> = trace_in_passing(&view, at)?.into_iter().collect();
    let body = ObservationBody {
        id: Maybe::Value(view.id.clone()),
        trace_id: value_or_absent(view.trace_id),
        kind: Maybe::Absent,
        name: present(view.name),
        start_time: Maybe::Value(view.start_time),
        end_time: value_or_absent(view.end_time),
        completion_start_time: present(view.completion_start_time),
        model: value_or_absent(view.provided_model_name.value().or(view.model.value())),
        model_parameters: payload(view.model_parameters.value()),
        input: value_or_absent(view.input.value().as_deref().map(text)),
        output: value_or_absent(view.output.value().as_deref().map(text)),
        metadata: json(&view.metadata.value().unwrap_or_default())?,
        usage: Maybe::Absent,
        usage_details: json(&view.usage_details.value().unwrap_or_default())?,
        cost_details: json(&view.cost_details.value().unwrap_or_default())?,
        level: present(view.level),
        status_message: present(view.status_message),
        parent_observation_id: value_or_absent(view.parent_observation_id),
        version: present(view.version),
        environment: present(view.environment),
        prompt_name: present(view.prompt_name),
        prompt_version: present(view.prompt_version),
    };
    events.push(event(EventType::Observation(Some(kind), WriteKind::Create), &view.id, at, &body)?);
    Ok(events)
}

/// Returns a trace event with the trace fields of an observation. The root observation has more of
/// them.
fn trace_in_passing(view: &ObservationV2View, at: Timestamp) -> Result<Option<Envelope>, Issue> {
    let Some(trace) = &view.trace_id else {
        return Ok(None);
    };
    let is_root = view.is_root_observation.as_value().copied().unwrap_or_default()
        || view.parent_observation_id.is_none();
    let of_root =
        |value_or_absent: &Maybe<String>| value_or_absent.as_value().filter(|_| is_root).cloned();
    let body = TraceBody {
        id: Maybe::Value(trace.clone()),
        timestamp: Maybe::Value(view.start_time),
        name: present(view.trace_name.clone()),
        user_id: present(view.user_id.clone()),
        input: value_or_absent(of_root(&view.input).as_deref().map(text)),
        output: value_or_absent(of_root(&view.output).as_deref().map(text)),
        session_id: present(view.session_id.clone()),
        release: present(view.release.clone()),
        version: Maybe::Absent,
        metadata: Maybe::Absent,
        tags: present(view.tags.clone()),
        environment: value_or_absent(of_root(&view.environment)),
        public: value_or_absent(view.public.as_value().copied().filter(|is_public| *is_public)),
        bookmarked: value_or_absent(
            view.bookmarked.as_value().copied().filter(|is_marked| *is_marked),
        ),
    };
    event(EventType::Trace, trace, at, &body).map(Some)
}

/// Converts a payload that is text.
fn text(text: &str) -> Raw {
    wire_payload(&Payload::Text(text.into()))
}

fn present<T>(value_or_absent: Maybe<T>) -> Maybe<T> {
    match value_or_absent {
        Maybe::Null => Maybe::Absent,
        value_or_absent => value_or_absent,
    }
}

/// Returns the event that recreates a score.
///
/// # Errors
/// Fails only if the record cannot be serialized.
pub fn of_score(score: &Score) -> Result<Envelope, Issue> {
    let (trace, observation, session, run) = match &score.target {
        ScoreTarget::Trace(trace) => (Some(trace.to_string()), None, None, None),
        ScoreTarget::Observation(trace, observation) => {
            (Some(trace.to_string()), Some(observation.to_string()), None, None)
        }
        ScoreTarget::Session(session) => (None, None, Some(session.to_string()), None),
        ScoreTarget::DatasetRun(run) => (None, None, None, Some(run.clone())),
    };
    let id = score.id.to_string();
    let body = ScoreBody {
        id: Maybe::Value(id.clone()),
        trace_id: value_or_absent(trace),
        observation_id: value_or_absent(observation),
        session_id: value_or_absent(session),
        dataset_run_id: value_or_absent(run),
        name: Maybe::Value(score.name.clone()),
        value: Maybe::Value(score_input(&score.value)),
        data_type: Maybe::Value(WireName(score.value.data_type())),
        source: Maybe::Value(WireName(score.source)),
        timestamp: Maybe::Value(Time(score.timestamp)),
        environment: Maybe::Value(score.environment.to_string()),
        comment: value_or_absent(score.comment.clone()),
        config_id: value_or_absent(score.config.clone()),
        queue_id: value_or_absent(score.queue.clone()),
        metadata: payload(Some(object(&score.metadata))),
    };
    event(EventType::Score, &id, score.updated_at, &body)
}

fn score_input(value: &ScoreValue) -> ScoreInput {
    match value {
        ScoreValue::Numeric(number) => ScoreInput::Number(*number),
        ScoreValue::Boolean(yes) => ScoreInput::Bool(*yes),
        ScoreValue::Categorical { label, .. } => ScoreInput::Text(label.clone()),
        ScoreValue::Text(text) | ScoreValue::Correction(text) => ScoreInput::Text(text.clone()),
    }
}

/// Creates an event about one record.
///
/// # Errors
/// Fails only if the body cannot be serialized.
pub fn event(
    kind: EventType,
    record: &str,
    at: Timestamp,
    body: &impl Serialize,
) -> Result<Envelope, Issue> {
    let what = match kind {
        EventType::Trace => "trace",
        EventType::Score => "score",
        EventType::Observation(_, _) => "observation",
        EventType::SdkLog => "log",
    };
    // Event ids have a length limit, which a record id alone may reach.
    let named: String = record.chars().take(SHOWN_CHARS).collect();
    Ok(Envelope {
        id: format!("import:{what}:{named}"),
        timestamp: Time(at),
        kind: WireName(kind),
        body: raw(body)?,
    })
}

/// The length of a record id in an event id.
const SHOWN_CHARS: usize = 180;

/// Missing fields are absent in the event, not null: a copy never clears a field.
pub(super) fn value_or_absent<T>(value: Option<T>) -> Maybe<T> {
    value.map_or(Maybe::Absent, Maybe::Value)
}

fn payload(value: Option<Raw>) -> Maybe<Raw> {
    value_or_absent(value.filter(|raw| raw.get() != "null"))
}

fn json(value: &impl Serialize) -> Result<Maybe<Raw>, Issue> {
    raw(value).map(Maybe::Value)
}

fn raw(value: &impl Serialize) -> Result<Raw, Issue> {
    let issue = |why: serde_json::Error| Issue { path: Vec::new(), message: why.to_string() };
    to_raw_value(value).map(Raw::from).map_err(issue)
}
