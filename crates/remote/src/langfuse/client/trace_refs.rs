//! Trace ids and times without content: cheap to list, however large the traces are.

use ratchet_core::environment::Environment;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;
use serde::Deserialize;

use super::list::RawList;
use super::observations_v2::{Fields, ObservationV2Query};
use super::record::{id, some_id};
use super::request::ApiRequest;
use super::route::{Route, no_route};
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::observation_v2::ObservationV2View;
use crate::langfuse::wire::time::Time;
use ratchet_core::issue::Issue;

/// Page size; the maximum of all servers.
const PAGE_SIZE: u64 = 100;

/// A trace without content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRef {
    pub trace: TraceId,
    pub session: Option<SessionId>,
    pub timestamp: Timestamp,
    pub environment: Environment,
    /// Its agent. A server's list does not say what metadata names: it is the trace's name then.
    pub agent: Option<String>,
    pub user: Option<String>,
    pub release: Option<String>,
    pub tags: Vec<String>,
    /// `None` where it is unknown, as in a server's list.
    pub cost: Option<Money>,
    /// Observations; `None` where their number is unknown.
    pub observations: Option<u64>,
}

/// A filter for traces.
#[derive(Clone, Debug, Default)]
pub struct TraceRefFilter {
    pub between: TimeWindow,
    pub session: Option<SessionId>,
    /// The agent; on a server the name of the trace.
    pub agent: Option<String>,
    pub release: Option<String>,
    pub user: Option<String>,
    pub environment: Option<String>,
    pub tag: Option<String>,
}

/// The fields read from a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlaceView {
    id: String,
    timestamp: Time,
    session_id: Option<String>,
    environment: Option<String>,
    name: Option<String>,
    user_id: Option<String>,
    release: Option<String>,
    tags: Option<Vec<String>>,
}

impl LangfuseClient {
    /// Returns the traces of a time range without content, newest first. A server without a list of
    /// traces returns one several times.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn trace_refs(
        &self,
        query: &TraceRefFilter,
        at: &Position,
    ) -> Result<Slice<TraceRef>, ClientError> {
        let request = ApiRequest::get(Route::Traces.path())
            .with("limit", &PAGE_SIZE)
            .with("fields", "core")
            .with_some("sessionId", query.session.as_ref())
            .with_some("name", query.agent.as_ref())
            .with_some("release", query.release.as_ref())
            .with_some("userId", query.user.as_ref())
            .with_some("environment", query.environment.as_ref())
            .with_some("tags", query.tag.as_ref())
            .with_some("fromTimestamp", query.between.from)
            .with_some("toTimestamp", query.between.to)
            .at(at);
        let is_walk = matches!(at, Position::Cursor(_));
        let list = if is_walk { None } else { self.get_list(Route::Traces, &request).await? };
        match list {
            Some(list) => Ok(RawList::rows::<PlaceView>(list).map(|view| trace_ref(&view))),
            None => self.walked_places(query, at).await,
        }
    }

    async fn walked_places(
        &self,
        query: &TraceRefFilter,
        at: &Position,
    ) -> Result<Slice<TraceRef>, ClientError> {
        let question = ObservationV2Query {
            between: query.between,
            trace: None,
            session: query.session.clone(),
            // Tags and users are only in the trace context group.
            fields: Fields::Sums,
            limit: PAGE_SIZE,
        };
        let walked = self.newer_observations(&question, at).await?;
        let mut walked =
            walked.ok_or_else(|| no_route("traces", &[Route::Traces, Route::ObservationsV2]))?;
        walked.rows.retain(|view| is_asked(view, query));
        Ok(walked.map(|view| walked_place(&view)))
    }
}

fn is_asked(view: &ObservationV2View, query: &TraceRefFilter) -> bool {
    let is = |wanted: &Option<String>, found: Option<&String>| {
        wanted.as_ref().is_none_or(|wanted| found == Some(wanted))
    };
    let has_tag = |tag: &String| view.tags.as_value().is_some_and(|tags| tags.contains(tag));
    is(&query.user, view.user_id.as_value())
        && is(&query.agent, view.trace_name.as_value())
        && is(&query.release, view.release.as_value())
        && is(&query.environment, view.environment.as_value())
        && query.tag.as_ref().is_none_or(has_tag)
}

fn trace_ref(view: &PlaceView) -> Result<TraceRef, Issue> {
    Ok(TraceRef {
        trace: id("id", &view.id)?,
        session: some_id("sessionId", view.session_id.as_ref())?,
        timestamp: view.timestamp.0,
        environment: Environment::normalise(view.environment.as_deref().unwrap_or_default()),
        agent: view.name.clone(),
        user: view.user_id.clone(),
        release: view.release.clone(),
        tags: view.tags.clone().unwrap_or_default(),
        cost: None,
        observations: None,
    })
}

fn walked_place(view: &ObservationV2View) -> Result<TraceRef, Issue> {
    let environment = view.environment.as_value().map(String::as_str).unwrap_or_default();
    Ok(TraceRef {
        trace: id("traceId", view.trace_id.as_ref().unwrap_or(&view.id))?,
        session: some_id("sessionId", view.session_id.as_value())?,
        timestamp: view.start_time.0,
        environment: Environment::normalise(environment),
        agent: view.trace_name.as_value().cloned(),
        user: view.user_id.as_value().cloned(),
        release: view.release.as_value().cloned(),
        tags: view.tags.as_value().cloned().unwrap_or_default(),
        cost: None,
        observations: None,
    })
}
