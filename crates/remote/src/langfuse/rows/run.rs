//! A run in one row: who asked what, what came back, what it cost, how good it was.

use std::collections::BTreeMap;

use crate::langfuse::replay::event;
use crate::langfuse::wire::ingestion::{
    Envelope, EventType, ObservationBody, ScoreBody, ScoreInput, TraceBody,
};
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use crate::langfuse::wire::read::read;
use crate::langfuse::wire::time::Time;
use crate::langfuse::wire::wire_name::WireName;
use ratchet_core::issue::{Issue, PathStep};
use ratchet_core::record::field::WriteKind;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::to_raw_value;

use super::exported;
use super::fields::Fields;
use crate::langfuse::events::derived_id;

/// What an exported trace says beyond itself.
const NOT_OURS: [&str; 7] =
    ["htmlPath", "latency", "totalCost", "projectId", "createdAt", "updatedAt", "externalId"];

/// A score within a row.
#[derive(Deserialize)]
struct RowScore {
    name: String,
    value: ScoreInput,
    #[serde(default)]
    comment: Option<String>,
}

/// The events that record a run: the run itself, its model call if it tells of one, its scores.
pub(super) fn events(mut fields: Fields, row: &str, at: Timestamp) -> Result<Vec<Envelope>, Issue> {
    let id = fields.take_text(&["id", "traceId"])?;
    let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| derived_id(row));
    let start = fields.take_time(&["timestamp", "startTime", "time"])?.unwrap_or(at);
    let stamp = fields.time("updatedAt").unwrap_or(start);
    let hanging = hanging(&mut fields, &id, stamp)?;
    let (input, output) = (fields.take(&["input"]), fields.take(&["output"]));
    let call = call(&mut fields, Beginning { id: &id, start, input: &input, output: &output })?;
    let body = TraceBody {
        id: Maybe::Value(id.clone()),
        timestamp: Maybe::Value(Time(start)),
        name: said(fields.take_text(&["name"])?),
        user_id: said(fields.take_text(&["user", "userId", "user_id"])?),
        session_id: said(fields.take_text(&["session", "sessionId", "session_id"])?),
        release: said(fields.take_text(&["release"])?),
        version: said(fields.take_text(&["version"])?),
        environment: said(fields.take_text(&["environment"])?),
        tags: said(tags(&mut fields)?),
        public: said(fields.take_as(&["public"])?),
        bookmarked: said(fields.take_as(&["bookmarked"])?),
        metadata: metadata(fields)?,
        input: said(input),
        output: said(output),
    };
    let trace = event(EventType::Trace, &id, stamp, &body)?;
    Ok([trace].into_iter().chain(call).chain(hanging).collect())
}

/// A list, or a text with commas.
fn tags(fields: &mut Fields) -> Result<Option<Vec<String>>, Issue> {
    let Some(raw) = fields.take(&["tags"]) else {
        return Ok(None);
    };
    if raw.get().starts_with('"') {
        let text: String = read(raw.get()).map_err(|issue| issue.inside("tags"))?;
        let tags = text.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        return Ok(Some(tags.map(str::to_owned).collect()));
    }
    read(raw.get()).map(Some).map_err(|issue| issue.inside("tags"))
}

/// The metadata, and in it every field that means nothing to us: nothing of a row is lost.
fn metadata(mut fields: Fields) -> Result<Maybe<Raw>, Issue> {
    let own = fields.take(&["metadata"]);
    fields.forget(&NOT_OURS);
    let mut entries = fields.into_rest();
    if let Some(own) = own {
        let is_object = own.get().starts_with('{');
        if is_object {
            let own: BTreeMap<String, Raw> =
                read(own.get()).map_err(|issue| issue.inside("metadata"))?;
            entries.extend(own);
        } else {
            entries.insert("metadata".to_owned(), own);
        }
    }
    if entries.is_empty() {
        return Ok(Maybe::Absent);
    }
    raw(&entries).map(Maybe::Value)
}

/// What is known of a run before its call is read.
#[derive(Clone, Copy)]
struct Beginning<'a> {
    id: &'a str,
    start: Timestamp,
    input: &'a Option<Raw>,
    output: &'a Option<Raw>,
}

/// The model call that a run consists of, if the row tells anything about one.
fn call(fields: &mut Fields, run: Beginning<'_>) -> Result<Option<Envelope>, Issue> {
    let model = fields.take_text(&["model"])?;
    let usage = fields.take(&["usage", "usageDetails"]);
    let cost = fields.take(&["cost", "costDetails"]);
    let ended = fields.take_time(&["endTime"])?;
    let lasted: Option<f64> = fields.take_as(&["durationSeconds"])?;
    let level: Option<WireName<Level>> = fields.take_as(&["level"])?;
    let tells_of_call = model.is_some() || usage.is_some() || cost.is_some();
    let tells_of_step = ended.is_some() || lasted.is_some() || level.is_some();
    if !tells_of_call && !tells_of_step {
        return Ok(None);
    }
    let kind = if tells_of_call { ObservationKind::Generation } else { ObservationKind::Span };
    let name = if tells_of_call { "model call" } else { "run" };
    let end = ended.or_else(|| Some(plus_seconds(run.start, lasted?)));
    let id = format!("{}-{}", run.id, if tells_of_call { "call" } else { "run" });
    let body = ObservationBody {
        id: Maybe::Value(id.clone()),
        trace_id: Maybe::Value(run.id.to_owned()),
        name: Maybe::Value(name.to_owned()),
        start_time: Maybe::Value(Time(run.start)),
        end_time: said(end.map(Time)),
        input: said(run.input.clone()),
        output: said(run.output.clone()),
        model: said(model),
        model_parameters: said(fields.take(&["modelParameters"])),
        usage_details: said(usage),
        cost_details: said(cost.map(|cost| costs(&cost)).transpose()?),
        level: said(level),
        status_message: said(fields.take_text(&["statusMessage", "error"])?),
        prompt_name: said(fields.take_text(&["promptName"])?),
        prompt_version: said(fields.take_as(&["promptVersion"])?),
        ..ObservationBody::default()
    };
    event(EventType::Observation(Some(kind), WriteKind::Create), &id, run.start, &body).map(Some)
}

#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range stops at its edge")]
fn plus_seconds(start: Timestamp, seconds: f64) -> Timestamp {
    start.plus_nanos((seconds.max(0.0) * 1e9) as i64)
}

/// Dollars by kind, or one amount for all.
fn costs(cost: &Raw) -> Result<Raw, Issue> {
    if cost.get().starts_with('{') {
        return Ok(cost.clone());
    }
    let total: f64 = read(cost.get()).map_err(|issue| issue.inside("cost"))?;
    raw(&json!({ "total": total }))
}

/// Scores by name or in a list, and the observations of a trace that was exported whole.
fn hanging(fields: &mut Fields, run: &str, at: Timestamp) -> Result<Vec<Envelope>, Issue> {
    let mut hanging = Vec::new();
    if let Some(scores) = fields.take(&["scores"]) {
        hanging = scores_of(&scores, run, at).map_err(|issue| issue.inside("scores"))?;
    }
    let Some(observations) = fields.take(&["observations"]) else {
        return Ok(hanging);
    };
    for (index, row) in list(&observations, "observations")?.iter().enumerate() {
        // A list of traces names its observations and nothing more.
        if row.get().starts_with('{') {
            let at_place = |issue| inside(issue, "observations", index);
            let fields = Fields::read(row.get()).map_err(at_place)?;
            hanging.push(exported::observation(row.get(), &fields, at).map_err(at_place)?);
        }
    }
    Ok(hanging)
}

fn scores_of(scores: &Raw, run: &str, at: Timestamp) -> Result<Vec<Envelope>, Issue> {
    if scores.get().starts_with('{') {
        let by_name: BTreeMap<String, ScoreInput> = read(scores.get())?;
        let scores = by_name
            .into_iter()
            .map(|(name, value)| score(RowScore { name, value, comment: None }, run, at));
        return scores.collect();
    }
    let mut events = Vec::new();
    for (index, row) in read::<Vec<Raw>>(scores.get())?.iter().enumerate() {
        let at_place = |mut issue: Issue| {
            issue.path.insert(0, PathStep::Index(index));
            issue
        };
        if !row.get().starts_with('{') {
            continue;
        }
        let fields = Fields::read(row.get()).map_err(at_place)?;
        let is_exported = fields.has("id") && fields.has("source");
        events.push(if is_exported {
            exported::score(row.get(), &fields, at).map_err(at_place)?
        } else {
            score(read(row.get()).map_err(at_place)?, run, at)?
        });
    }
    Ok(events)
}

fn score(score: RowScore, run: &str, at: Timestamp) -> Result<Envelope, Issue> {
    let id = format!("{run}-{}", score.name);
    let body = ScoreBody {
        id: Maybe::Value(id.clone()),
        trace_id: Maybe::Value(run.to_owned()),
        name: Maybe::Value(score.name),
        value: Maybe::Value(score.value),
        comment: said(score.comment),
        timestamp: Maybe::Value(Time(at)),
        ..ScoreBody::default()
    };
    event(EventType::Score, &id, at, &body)
}

fn list(raw: &Raw, field: &str) -> Result<Vec<Raw>, Issue> {
    read(raw.get()).map_err(|issue| issue.inside(field))
}

fn inside(mut issue: Issue, field: &str, index: usize) -> Issue {
    issue.path.insert(0, PathStep::Index(index));
    issue.inside(field)
}

fn said<T>(value: Option<T>) -> Maybe<T> {
    value.map_or(Maybe::Absent, Maybe::Value)
}

fn raw(value: &impl Serialize) -> Result<Raw, Issue> {
    let raw = to_raw_value(value).map(Raw::from);
    raw.map_err(|why| Issue { path: Vec::new(), message: why.to_string() })
}
