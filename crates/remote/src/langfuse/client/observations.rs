use ratchet_core::id::TraceId;
use ratchet_core::observation::Observation;

use super::ask::Ask;
use super::list::RawList;
use super::record;
use super::route::{Route, no_route};
use super::slice::{Between, Position, Slice};
use super::{ClientError, LangfuseClient};
use crate::langfuse::wire::observation::ObservationView;

/// Observations in a slice; older servers give no more.
const SLICE: u64 = 100;

/// Which observations.
#[derive(Clone, Debug, Default)]
pub struct ObservationsAsked {
    /// Begun when.
    pub between: Between,
    /// Of this trace only.
    pub trace: Option<TraceId>,
}

impl LangfuseClient {
    /// Returns the observations that began in some time, newest first.
    ///
    /// # Errors
    /// Fails if the server cannot be asked.
    pub async fn observations(
        &self,
        asked: &ObservationsAsked,
        at: &Position,
    ) -> Result<Slice<Observation>, ClientError> {
        let ask = Ask::get(Route::Observations.path())
            .with("limit", &SLICE)
            .with_some("traceId", asked.trace.as_ref())
            .with_some("fromStartTime", asked.between.from)
            .with_some("toStartTime", asked.between.to)
            .at(at);
        let Some(list) = self.get_list::<RawList>(Route::Observations, &ask).await? else {
            return Err(no_route("observations", &[Route::Observations]));
        };
        Ok(list.rows::<ObservationView>().map(record::observation))
    }
}
