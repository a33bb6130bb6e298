//! Export of a server's records as ingestion events, page by page.

use super::list::RawList;
use super::request::ApiRequest;
use super::route::{Route, no_route};
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient, ObservationFilter, ScoreFilter, observations};
use crate::langfuse::replay;
use crate::langfuse::wire::ingestion::Envelope;
use crate::langfuse::wire::observation::ObservationView;
use crate::langfuse::wire::trace::TraceView;

/// Page size; the maximum of older servers.
const PAGE_SIZE: u64 = 100;

impl LangfuseClient {
    /// Returns trace events of a time range. A server without a list of traces returns none:
    /// observations then contain the trace's fields.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn trace_events(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Vec<Envelope>>, ClientError> {
        let request = ApiRequest::get(Route::Traces.path())
            .with("limit", &PAGE_SIZE)
            .with("fields", "core,io")
            .with_some("fromTimestamp", between.from)
            .with_some("toTimestamp", between.to)
            .at(at);
        let list = self.get_list::<RawList>(Route::Traces, &request).await?;
        let Some(list) = list else {
            let (rows, unreadable) = (Vec::new(), Vec::new());
            return Ok(Slice { rows, unreadable, next: None, total: None });
        };
        Ok(list.rows::<TraceView>().map(|view| Ok(vec![replay::of_trace(view)?])))
    }

    /// Returns observation events of a time range.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn observation_events(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Vec<Envelope>>, ClientError> {
        let request = ApiRequest::get(Route::Observations.path())
            .with("limit", &PAGE_SIZE)
            .with_some("fromStartTime", between.from)
            .with_some("toStartTime", between.to)
            .at(at);
        let is_newer = matches!(at, Position::Cursor(_));
        let list =
            if is_newer { None } else { self.get_list(Route::Observations, &request).await? };
        if let Some(list) = list {
            let rows = RawList::rows::<ObservationView>(list);
            return Ok(rows.map(|view| Ok(vec![replay::of_observation(view)?])));
        }
        let query = ObservationFilter { between: *between, trace: None };
        let slice = self.newer_observations(&observations::newer(&query), at).await?;
        let slice = slice.ok_or_else(|| {
            no_route("observations", &[Route::Observations, Route::ObservationsV2])
        })?;
        Ok(slice.map(replay::of_newer_observation))
    }

    /// Returns score events of a time range.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn score_events(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Vec<Envelope>>, ClientError> {
        let query = ScoreFilter { between: *between, ..ScoreFilter::default() };
        let scores = self.scores(&query, at).await?;
        Ok(scores.map(|score| Ok(vec![replay::of_score(&score)?])))
    }
}
