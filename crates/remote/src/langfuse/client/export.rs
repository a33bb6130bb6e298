//! What a server holds, as the events that would record it elsewhere, slice by slice.

use super::ask::Ask;
use super::list::RawList;
use super::route::{Route, no_route};
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient, ObservationsAsked, ScoresAsked, observations};
use crate::langfuse::replay;
use crate::langfuse::wire::ingestion::Envelope;
use crate::langfuse::wire::observation::ObservationView;
use crate::langfuse::wire::trace::TraceView;

/// Records in a slice; older servers give no more.
const SLICE: u64 = 100;

impl LangfuseClient {
    /// The traces that began in some time. Where traces cannot be read there are none: then
    /// observations tell what there is to know of them.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub async fn trace_events(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Vec<Envelope>>, ClientError> {
        let ask = Ask::get(Route::Traces.path())
            .with("limit", &SLICE)
            .with("fields", "core,io")
            .with_some("fromTimestamp", between.from)
            .with_some("toTimestamp", between.to)
            .at(at);
        let list = self.get_list::<RawList>(Route::Traces, &ask).await?;
        let Some(list) = list else {
            let (rows, unreadable) = (Vec::new(), Vec::new());
            return Ok(Slice { rows, unreadable, next: None, total: None });
        };
        Ok(list.rows::<TraceView>().map(|view| Ok(vec![replay::of_trace(view)?])))
    }

    /// The observations that began in some time.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub async fn observation_events(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Vec<Envelope>>, ClientError> {
        let ask = Ask::get(Route::Observations.path())
            .with("limit", &SLICE)
            .with_some("fromStartTime", between.from)
            .with_some("toStartTime", between.to)
            .at(at);
        let is_newer = matches!(at, Position::Cursor(_));
        let list = if is_newer { None } else { self.get_list(Route::Observations, &ask).await? };
        if let Some(list) = list {
            let rows = RawList::rows::<ObservationView>(list);
            return Ok(rows.map(|view| Ok(vec![replay::of_observation(view)?])));
        }
        let asked = ObservationsAsked { between: *between, trace: None };
        let slice = self.newer_observations(&observations::newer(&asked), at).await?;
        let slice = slice.ok_or_else(|| {
            no_route("observations", &[Route::Observations, Route::ObservationsV2])
        })?;
        Ok(slice.map(replay::of_newer_observation))
    }

    /// The scores that were given in some time.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub async fn score_events(
        &self,
        between: &TimeWindow,
        at: &Position,
    ) -> Result<Slice<Vec<Envelope>>, ClientError> {
        let asked = ScoresAsked { between: *between, ..ScoresAsked::default() };
        let scores = self.scores(&asked, at).await?;
        Ok(scores.map(|score| Ok(vec![replay::of_score(&score)?])))
    }
}
