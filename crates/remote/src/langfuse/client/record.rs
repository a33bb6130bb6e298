//! Conversion of wire types to records, for all client responses.

use std::collections::BTreeMap;

use ratchet_core::environment::Environment;
use ratchet_core::id::Id;
use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::observation::{Observation, ObservationKind, PromptLink};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::{Content, Trace, TraceSummary};
use ratchet_core::record::usage::{Cost, TOTAL, Usage};
use ratchet_core::time::Timestamp;
use serde_json::value::RawValue;

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::observation::{ObservationView, UsageView};
use crate::langfuse::wire::trace::TraceView;
use ratchet_core::issue::Issue;

/// The key of metadata that is not an object, as in recording.
const METADATA_KEY: &str = "metadata";

/// Parses an id of a server.
pub(super) fn id<Of>(field: &str, text: &str) -> Result<Id<Of>, Issue> {
    Id::parse(text).map_err(|why| Issue::at(field, why.to_string()))
}

pub(super) fn some_id<Of>(field: &str, text: Option<&String>) -> Result<Option<Id<Of>>, Issue> {
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| id(field, text)).transpose()
}

/// Converts an observation of a v3 server.
pub(super) fn observation(view: ObservationView) -> Result<Observation, Issue> {
    let own_id = id("id", &view.id)?;
    let metadata = metadata(view.metadata.as_deref());
    let kind = view.kind.0;
    let start = view.start_time.0;
    Ok(Observation {
        trace: some_id("traceId", view.trace_id.as_ref())?.unwrap_or_else(|| own_id.cast()),
        id: own_id,
        kind,
        parent: some_id("parentObservationId", view.parent_observation_id.as_ref())?,
        // Not in this API generation.
        app_root: false,
        start,
        end: view.end_time.map(|time| time.0),
        completion_start: view.completion_start_time.map(|time| time.0),
        level: view.level.0,
        status_message: view.status_message,
        version: view.version,
        environment: Environment::normalise(&view.environment),
        agent: agent(kind, view.name.as_ref(), &metadata),
        name: view.name,
        model: view.model,
        model_parameters: view.model_parameters.as_deref().and_then(object),
        usage: usage(view.usage_details, &view.usage),
        cost: cost(&view.cost_details, view.calculated_total_cost),
        counted: view.usage_approximate,
        // Not in this API generation.
        pricing_tier: None,
        prompt: prompt(view.prompt_name, view.prompt_version),
        created_at: view.created_at.map_or(start, |time| time.0),
        updated_at: view.updated_at.map_or(start, |time| time.0),
        content: Some(Content {
            input: view.input.as_deref().and_then(payload),
            output: view.output.as_deref().and_then(payload),
            metadata,
        }),
    })
}

/// Converts a trace of a v3 server, with sums over its observations.
pub(super) fn trace(view: TraceView, observations: &[Observation]) -> Result<Trace, Issue> {
    let metadata = metadata(view.metadata.as_deref());
    let timestamp = view.timestamp.0;
    let agent = named_agent(&metadata).or_else(|| root_agent(observations));
    Ok(Trace {
        id: id("id", &view.id)?,
        timestamp,
        agent: agent.or_else(|| view.name.clone()),
        name: view.name,
        user: view.user_id,
        session: some_id("sessionId", view.session_id.as_ref())?,
        release: view.release,
        version: view.version,
        environment: Environment::normalise(&view.environment),
        tags: view.tags,
        public: view.public,
        bookmarked: view.bookmarked,
        summary: TraceSummary::of(observations),
        created_at: view.created_at.map_or(timestamp, |time| time.0),
        updated_at: view.updated_at.map_or(timestamp, |time| time.0),
        content: Some(Content {
            input: view.input.as_deref().and_then(payload),
            output: view.output.as_deref().and_then(payload),
            metadata,
        }),
    })
}

/// A session, summed over its traces one by one.
#[derive(Debug)]
pub(super) struct SessionSum {
    session: Session,
    /// Determines the environment: that of the first trace, the lesser of ties.
    first: Option<(Timestamp, Environment)>,
}

impl SessionSum {
    /// Starts with an empty session.
    pub(super) fn new(session: Session) -> Self {
        Self { session, first: None }
    }

    pub(super) fn add(&mut self, trace: &Trace) {
        let Self { session, first } = self;
        let begun = (trace.timestamp, trace.environment.clone());
        if first.as_ref().is_none_or(|first| begun < *first) {
            session.created_at = begun.0;
            session.environment = begun.1.clone();
            *first = Some(begun);
        }
        session.last_at = session.last_at.max(trace.timestamp);
        session.traces += 1;
        session.errors = session.errors.saturating_add(trace.summary.levels.error);
        session.total_tokens = session.total_tokens.saturating_add(trace.summary.total_tokens);
        let costs = session.cost.into_iter().chain(trace.summary.cost);
        session.cost = costs.reduce(|sum, cost| sum + cost);
    }

    pub(super) fn into_session(self) -> Session {
        self.session
    }
}

/// Converts a payload; null is `None`.
fn payload(raw: &RawValue) -> Option<Payload> {
    (raw.get() != "null").then(|| Payload::Json(Json::from_raw(raw)))
}

pub(super) fn object(raw: &RawValue) -> Option<Json> {
    raw.get().starts_with('{').then(|| Json::from_raw(raw))
}

pub(super) fn metadata(raw: Option<&RawValue>) -> Vec<(String, Json)> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else {
        return Vec::new();
    };
    let keys = serde_json::from_str::<BTreeMap<String, Raw>>(raw.get());
    let keys =
        keys.unwrap_or_else(|_| BTreeMap::from([(METADATA_KEY.to_owned(), raw.to_owned().into())]));
    keys.into_iter().map(|(key, value)| (key, Json::from_raw(&value))).collect()
}

/// Returns the agent: an agent observation's name, or the one in the metadata.
pub(super) fn agent(
    kind: ObservationKind,
    name: Option<&String>,
    metadata: &[(String, Json)],
) -> Option<String> {
    let own = name.filter(|name| kind == ObservationKind::Agent && !name.is_empty());
    own.cloned().or_else(|| named_agent(metadata))
}

fn named_agent(metadata: &[(String, Json)]) -> Option<String> {
    let (_, json) = metadata.iter().find(|(key, _)| key == "agent")?;
    let name: Option<String> = serde_json::from_str(json.as_str()).ok();
    name.filter(|name| !name.is_empty())
}

/// Returns the agent of the root observation.
pub(super) fn root_agent(observations: &[Observation]) -> Option<String> {
    let roots = observations.iter().filter(|observation| observation.parent.is_none());
    roots.min_by_key(|root| root.start)?.agent.clone()
}

fn usage(details: BTreeMap<String, u64>, older: &UsageView) -> Usage {
    if !details.is_empty() || older.total == 0 {
        return Usage::new(details);
    }
    let kinds = [("input", older.input), ("output", older.output), (TOTAL, older.total)];
    Usage::new(kinds.map(|(kind, units)| (kind.to_owned(), units)).into())
}

/// Returns the cost by type, or only the total where the server sends no more. Absent is unknown,
/// not free.
pub(super) fn cost(details: &BTreeMap<String, f64>, total: Option<f64>) -> Option<Cost> {
    let known =
        |(kind, dollars): (&String, &f64)| Some((kind.clone(), Money::from_dollars(*dollars)?));
    let mut kinds: BTreeMap<String, Money> = details.iter().filter_map(known).collect();
    if kinds.is_empty() {
        kinds.insert(TOTAL.to_owned(), Money::from_dollars(total?)?);
    }
    Some(Cost::new(kinds))
}

/// Name and version of a prompt are only meaningful together.
pub(super) fn prompt(name: Option<String>, version: Option<u32>) -> Option<PromptLink> {
    Some(PromptLink { name: name?, version: version? })
}
