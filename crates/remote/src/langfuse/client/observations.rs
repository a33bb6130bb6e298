use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;

use super::list::RawList;
use super::observations_v2;
use super::observations_v2::{Fields, ObservationV2Query};
use super::record;
use super::request::ApiRequest;
use super::route::{Route, no_route};
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::observation::ObservationView;

/// Page size; the maximum of older servers.
const PAGE_SIZE: u64 = 100;

/// A filter for observations.
#[derive(Clone, Debug, Default)]
pub struct ObservationFilter {
    pub between: TimeWindow,
    pub trace: Option<TraceId>,
}

impl LangfuseClient {
    /// Returns the observations of a time range, newest first.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn observations(
        &self,
        query: &ObservationFilter,
        at: &Position,
    ) -> Result<Slice<Observation>, ClientError> {
        let request = ApiRequest::get(Route::Observations.path())
            .with("limit", &PAGE_SIZE)
            .with_some("traceId", query.trace.as_ref())
            .with_some("fromStartTime", query.between.from)
            .with_some("toStartTime", query.between.to)
            .at(at);
        // Where a server has both lists, the older one is better: its payloads are JSON, not text.
        let is_newer = matches!(at, Position::Cursor(_));
        let list =
            if is_newer { None } else { self.get_list(Route::Observations, &request).await? };
        if let Some(list) = list {
            return Ok(RawList::rows::<ObservationView>(list).map(record::observation));
        }
        let slice = self.newer_observations(&newer(query), at).await?.ok_or_else(|| {
            no_route("observations", &[Route::Observations, Route::ObservationsV2])
        })?;
        Ok(slice.map(|view| observations_v2::observation(&view)))
    }
}

/// Converts the filter for the newer list.
pub(super) fn newer(query: &ObservationFilter) -> ObservationV2Query {
    ObservationV2Query {
        between: query.between,
        trace: query.trace.clone(),
        session: None,
        fields: Fields::All,
        limit: PAGE_SIZE,
    }
}
