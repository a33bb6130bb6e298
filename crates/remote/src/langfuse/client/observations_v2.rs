//! `v2/observations`: the only list of v4 servers. Traces and sessions are rebuilt from it.

use std::collections::BTreeSet;

use ratchet_core::environment::Environment;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::observation::{Observation, ObservationKind};
use ratchet_core::record::trace::{Content, Trace, TraceSummary};
use ratchet_core::record::usage::Usage;

use super::list::RawList;
use super::record::{agent, cost, id, object, prompt, root_agent, some_id};
use super::request::ApiRequest;
use super::route::Route;
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::observation_v2::ObservationV2View;
use crate::langfuse::wire::read::read;
use ratchet_core::issue::Issue;

/// The length to which servers truncate metadata values.
const TRUNCATED_CHARS: usize = 200;

/// A filter for observations, with field groups.
#[derive(Clone, Debug)]
pub(super) struct ObservationV2Query {
    pub(super) between: TimeWindow,
    pub(super) trace: Option<TraceId>,
    pub(super) session: Option<SessionId>,
    pub(super) fields: Fields,
    pub(super) limit: u64,
}

/// The field groups to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fields {
    Place,
    /// The fields that sums are computed from.
    Sums,
    All,
}

impl Fields {
    const fn groups(self) -> &'static str {
        match self {
            Self::Place => "core,basic",
            Self::Sums => "core,basic,time,usage,trace_context",
            Self::All => "core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context",
        }
    }
}

impl LangfuseClient {
    /// Returns a page of observations, newest first; `None` if the server has no such list.
    pub(super) async fn newer_observations(
        &self,
        query: &ObservationV2Query,
        at: &Position,
    ) -> Result<Option<Slice<ObservationV2View>>, ClientError> {
        let request = ApiRequest::get(Route::ObservationsV2.path())
            .with("fields", query.fields.groups())
            .with("limit", &query.limit)
            .with_some("traceId", query.trace.as_ref())
            .with_some("sessionId", query.session.as_ref())
            .with_some("fromStartTime", query.between.from)
            .with_some("toStartTime", query.between.to)
            .at(at);
        let list = self.get_list::<RawList>(Route::ObservationsV2, &request).await?;
        let Some(slice) = list.map(RawList::rows::<ObservationV2View>) else {
            return Ok(None);
        };
        let cut = cut_keys(&slice.rows);
        if cut.is_empty() {
            return Ok(Some(slice));
        }
        // Untruncated values must be requested by key, and keys are only known from a first
        // response.
        let keys: Vec<String> = cut.into_iter().collect();
        let whole = request.with("expandMetadata", &keys.join(","));
        let list = self.get_list::<RawList>(Route::ObservationsV2, &whole).await?;
        Ok(list.map(RawList::rows))
    }

    /// Returns all observations of a trace or a session, newest first; `None` if the server has no
    /// such list.
    pub(super) async fn all_newer(
        &self,
        query: &ObservationV2Query,
    ) -> Result<Option<Vec<ObservationV2View>>, ClientError> {
        let mut rows = Vec::new();
        let mut next = Some(Position::Start);
        while let Some(at) = next {
            let Some(slice) = self.newer_observations(query, &at).await? else {
                return Ok(None);
            };
            rows.extend(slice.rows);
            next = slice.next;
        }
        Ok(Some(rows))
    }
}

/// Returns the keys whose values may be truncated. A key with a comma cannot be requested.
fn cut_keys(rows: &[ObservationV2View]) -> BTreeSet<String> {
    let entries = rows.iter().filter_map(|row| row.metadata.as_value()).flatten();
    let is_cut = |value: &str| {
        value.len() >= TRUNCATED_CHARS
            && read::<String>(value).is_ok_and(|text| text.chars().count() >= TRUNCATED_CHARS)
    };
    let cut = entries.filter(|(key, value)| !key.contains(',') && is_cut(value.get()));
    cut.map(|(key, _)| key.clone()).collect()
}

pub(super) fn observation(view: &ObservationV2View) -> Result<Observation, Issue> {
    let own_id = id("id", &view.id)?;
    let kind = ObservationKind::parse(&view.kind)
        .ok_or_else(|| Issue::at("type", format!("{} is no type we know", view.kind)))?;
    let metadata: Vec<(String, Json)> = view.metadata.as_value().map_or_else(Vec::new, |entries| {
        entries.iter().map(|(key, value)| (key.clone(), Json::from_raw(value))).collect()
    });
    let start = view.start_time.0;
    let is_root = view.is_root_observation.as_value().copied().unwrap_or_default();
    let costs = view.cost_details.as_value().cloned().unwrap_or_default();
    let name = view.name.as_value();
    let environment = view.environment.as_value().map(String::as_str).unwrap_or_default();
    Ok(Observation {
        trace: some_id("traceId", view.trace_id.as_ref())?.unwrap_or_else(|| own_id.cast()),
        id: own_id,
        kind,
        name: name.cloned(),
        parent: some_id("parentObservationId", view.parent_observation_id.as_ref())?,
        app_root: is_root && view.parent_observation_id.is_some(),
        start,
        end: view.end_time.map(|time| time.0),
        completion_start: view.completion_start_time.as_value().map(|time| time.0),
        level: view.level.as_value().map(|word| word.0).unwrap_or_default(),
        status_message: view.status_message.as_value().cloned(),
        version: view.version.as_value().cloned(),
        environment: Environment::normalise(environment),
        agent: agent(kind, name, &metadata),
        model: view.provided_model_name.as_value().or(view.model.as_value()).cloned(),
        model_parameters: view.model_parameters.as_value().and_then(|raw| object(raw)),
        usage: Usage::new(view.usage_details.as_value().cloned().unwrap_or_default()),
        cost: cost(&costs, view.total_cost.as_value().copied()),
        counted: view.usage_approximate,
        pricing_tier: view.usage_pricing_tier_name.as_value().cloned(),
        prompt: prompt(
            view.prompt_name.as_value().cloned(),
            view.prompt_version.as_value().copied(),
        ),
        created_at: view.created_at.as_value().map_or(start, |time| time.0),
        updated_at: view.updated_at.as_value().map_or(start, |time| time.0),
        content: Some(Content {
            input: view.input.as_value().map(|text| Payload::Text(text.as_str().into())),
            output: view.output.as_value().map(|text| Payload::Text(text.as_str().into())),
            metadata,
        }),
    })
}

/// Rebuilds a trace from all its observations: their trace fields and sums. `None` without
/// observations.
pub(super) fn trace(
    views: &[ObservationV2View],
    observations: &[Observation],
) -> Result<Option<Trace>, Issue> {
    let oldest = || views.iter().rev();
    let Some(first) = oldest().next() else {
        return Ok(None);
    };
    let is_root = |view: &&ObservationV2View| {
        view.is_root_observation.as_value().copied().unwrap_or_default()
            || view.parent_observation_id.is_none()
    };
    let root = oldest().find(is_root).unwrap_or(first);
    let root_step = observations.iter().find(|step| step.id.to_string() == root.id);
    let summary = TraceSummary::of(observations);
    let start = summary.start.unwrap_or(first.start_time.0);
    let name = oldest().find_map(|view| view.trace_name.as_value()).cloned();
    let session = oldest().find_map(|view| view.session_id.as_value());
    let tags: BTreeSet<&String> =
        views.iter().filter_map(|view| view.tags.as_value()).flatten().collect();
    let environment = root.environment.as_value().map(String::as_str).unwrap_or_default();
    let own_id = first.trace_id.as_ref().unwrap_or(&first.id);
    Ok(Some(Trace {
        id: id("traceId", own_id)?,
        timestamp: start,
        agent: root_agent(observations).or_else(|| name.clone()),
        name,
        user: oldest().find_map(|view| view.user_id.as_value()).cloned(),
        session: some_id("sessionId", session)?,
        release: oldest().find_map(|view| view.release.as_value()).cloned(),
        version: root.version.as_value().cloned(),
        environment: Environment::normalise(environment),
        tags: tags.into_iter().cloned().collect(),
        public: views.iter().any(|view| view.public.as_value() == Some(&true)),
        bookmarked: views.iter().any(|view| view.bookmarked.as_value() == Some(&true)),
        summary,
        created_at: observations.iter().map(|step| step.created_at).min().unwrap_or(start),
        updated_at: observations.iter().map(|step| step.updated_at).max().unwrap_or(start),
        content: root_step.and_then(|step| step.content.clone()),
    }))
}
