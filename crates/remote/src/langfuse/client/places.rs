//! Where traces stand, without what they carry: cheap to walk, however large the traces are.

use ratchet_core::environment::Environment;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::time::Timestamp;
use serde::Deserialize;

use super::ask::Ask;
use super::list::RawList;
use super::observations_v2::{Fields, NewerAsked};
use super::record::{id, some_id};
use super::route::{Route, no_route};
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::error::Issue;
use crate::langfuse::wire::observation_v2::ObservationV2View;
use crate::langfuse::wire::time::Time;

/// Places in a slice; no server gives more.
const SLICE: u64 = 100;

/// Where a trace stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlace {
    pub trace: TraceId,
    pub session: Option<SessionId>,
    pub timestamp: Timestamp,
    pub environment: Environment,
}

/// Which places.
#[derive(Clone, Debug, Default)]
pub struct PlacesAsked {
    pub between: TimeWindow,
    /// Of this session only.
    pub session: Option<SessionId>,
    /// Of this user only.
    pub user: Option<String>,
    /// In this environment only.
    pub environment: Option<String>,
    /// With this tag only.
    pub tag: Option<String>,
}

/// All that a list is read for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlaceView {
    id: String,
    timestamp: Time,
    session_id: Option<String>,
    environment: Option<String>,
}

impl LangfuseClient {
    /// Returns where the traces stand that began in some time, newest first. A server that has no
    /// list of traces names one several times.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub async fn places(
        &self,
        asked: &PlacesAsked,
        at: &Position,
    ) -> Result<Slice<TracePlace>, ClientError> {
        let ask = Ask::get(Route::Traces.path())
            .with("limit", &SLICE)
            .with("fields", "core")
            .with_some("sessionId", asked.session.as_ref())
            .with_some("userId", asked.user.as_ref())
            .with_some("environment", asked.environment.as_ref())
            .with_some("tags", asked.tag.as_ref())
            .with_some("fromTimestamp", asked.between.from)
            .with_some("toTimestamp", asked.between.to)
            .at(at);
        let is_walk = matches!(at, Position::Cursor(_));
        let list = if is_walk { None } else { self.get_list(Route::Traces, &ask).await? };
        match list {
            Some(list) => Ok(RawList::rows::<PlaceView>(list).map(|view| place(&view))),
            None => self.walked_places(asked, at).await,
        }
    }

    async fn walked_places(
        &self,
        asked: &PlacesAsked,
        at: &Position,
    ) -> Result<Slice<TracePlace>, ClientError> {
        let question = NewerAsked {
            between: asked.between,
            trace: None,
            session: asked.session.clone(),
            // Tags and users come with the context of the trace only.
            fields: Fields::Sums,
            limit: SLICE,
        };
        let walked = self.newer_observations(&question, at).await?;
        let mut walked =
            walked.ok_or_else(|| no_route("traces", &[Route::Traces, Route::ObservationsV2]))?;
        walked.rows.retain(|view| is_asked(view, asked));
        Ok(walked.map(|view| walked_place(&view)))
    }
}

fn is_asked(view: &ObservationV2View, asked: &PlacesAsked) -> bool {
    let is = |wanted: &Option<String>, found: Option<&String>| {
        wanted.as_ref().is_none_or(|wanted| found == Some(wanted))
    };
    let has_tag = |tag: &String| view.tags.as_value().is_some_and(|tags| tags.contains(tag));
    is(&asked.user, view.user_id.as_value())
        && is(&asked.environment, view.environment.as_value())
        && asked.tag.as_ref().is_none_or(has_tag)
}

fn place(view: &PlaceView) -> Result<TracePlace, Issue> {
    Ok(TracePlace {
        trace: id("id", &view.id)?,
        session: some_id("sessionId", view.session_id.as_ref())?,
        timestamp: view.timestamp.0,
        environment: Environment::normalise(view.environment.as_deref().unwrap_or_default()),
    })
}

fn walked_place(view: &ObservationV2View) -> Result<TracePlace, Issue> {
    let environment = view.environment.as_value().map(String::as_str).unwrap_or_default();
    Ok(TracePlace {
        trace: id("traceId", view.trace_id.as_ref().unwrap_or(&view.id))?,
        session: some_id("sessionId", view.session_id.as_value())?,
        timestamp: view.start_time.0,
        environment: Environment::normalise(environment),
    })
}
