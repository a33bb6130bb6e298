use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::Trace;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::task::JoinSet;

use super::list::RawList;
use super::request::ApiRequest;
use super::route::Route;
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient, record};
use crate::langfuse::wire::observation::ObservationView;
use crate::langfuse::wire::trace::DetailedTrace;
use ratchet_core::issue::Issue;

/// Page size: each trace is read in full.
const PAGE_SIZE: u64 = 20;

/// A trace with all its observations, by start.
#[derive(Clone, Debug)]
pub struct WholeTrace {
    pub trace: Trace,
    pub observations: Vec<Observation>,
}

/// A filter for traces.
#[derive(Clone, Debug, Default)]
pub struct TraceFilter {
    pub between: TimeWindow,
    pub session: Option<SessionId>,
}

/// The only field read from a list; the rest is read per trace.
#[derive(Debug, Deserialize)]
struct OnlyId {
    id: String,
}

impl LangfuseClient {
    /// Returns the traces of a time range, newest first.
    ///
    /// Each trace is read in full, because its sums are computed from its observations.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn traces(
        &self,
        query: &TraceFilter,
        at: &Position,
    ) -> Result<Slice<WholeTrace>, ClientError> {
        let request = ApiRequest::get(Route::Traces.path())
            .with("limit", &PAGE_SIZE)
            .with("fields", "core")
            .with_some("sessionId", query.session.as_ref())
            .with_some("fromTimestamp", query.between.from)
            .with_some("toTimestamp", query.between.to)
            .at(at);
        let is_walk = matches!(at, Position::Cursor(_));
        let list = if is_walk { None } else { self.get_list(Route::Traces, &request).await? };
        let Some(list): Option<RawList> = list else {
            return self.rebuilt_traces(query, at).await;
        };
        let listed: Slice<OnlyId> = list.rows();
        let mut whole = self.in_order(&listed.rows).await?;
        whole.unreadable.splice(0..0, listed.unreadable);
        Ok(Slice { next: listed.next, total: listed.total, ..whole })
    }

    /// Returns a trace with all its observations; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn trace(&self, id: &TraceId) -> Result<Option<WholeTrace>, ClientError> {
        let request = ApiRequest::get(&["traces", &id.to_string()]);
        match self.get::<DetailedTrace<ObservationView, IgnoredAny>>(&request).await {
            Ok(found) => {
                let whole = whole(found).map_err(|issue| self.unreadable(&request, issue))?;
                Ok(Some(whole))
            }
            Err(error) if error.status() == Some(404) => {
                // Either the trace or the route does not exist.
                if self.has_route(Route::Traces).await? {
                    return Ok(None);
                }
                self.rebuilt_trace(id).await
            }
            Err(error) => Err(error),
        }
    }

    /// Reads traces concurrently and returns them in order. Traces deleted meanwhile are skipped.
    async fn in_order(&self, ids: &[OnlyId]) -> Result<Slice<WholeTrace>, ClientError> {
        let mut reading = JoinSet::new();
        let mut unreadable = Vec::new();
        for (index, row) in ids.iter().enumerate() {
            match record::id("id", &row.id) {
                Ok(id) => {
                    let client = self.clone();
                    reading.spawn(async move { (index, client.trace(&id).await) });
                }
                Err(issue) => unreadable.push(issue),
            }
        }
        let mut found: Vec<(usize, WholeTrace)> = Vec::with_capacity(ids.len());
        while let Some(read) = reading.join_next().await {
            // A panic was logged by its task; dropping the set cancels the others.
            let Ok((index, trace)) = read else { continue };
            found.extend(trace?.map(|trace| (index, trace)));
        }
        found.sort_by_key(|(index, _)| *index);
        let rows = found.into_iter().map(|(_, trace)| trace).collect();
        Ok(Slice { rows, unreadable, next: None, total: None })
    }
}

fn whole(found: DetailedTrace<ObservationView, IgnoredAny>) -> Result<WholeTrace, Issue> {
    let DetailedTrace { trace, details } = found;
    let observations = details.observations.into_iter().map(record::observation);
    let mut observations = observations.collect::<Result<Vec<_>, _>>()?;
    observations.sort_by(|a, b| (a.start, &a.id).cmp(&(b.start, &b.id)));
    let trace = record::trace(trace, &observations)?;
    Ok(WholeTrace { trace, observations })
}
