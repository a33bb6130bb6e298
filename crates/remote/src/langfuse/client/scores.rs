use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::score::Score;

use super::ask::Ask;
use super::list::RawList;
use super::route::{Route, no_route};
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient, verdict};
use crate::langfuse::wire::score::ScoreView;
use crate::langfuse::wire::score::v3::TypedScore;

/// Page size; the maximum of all servers.
const SLICE: u64 = 100;

/// A filter for scores.
#[derive(Clone, Debug, Default)]
pub struct ScoresAsked {
    pub between: TimeWindow,
    /// Including its observations.
    pub trace: Option<TraceId>,
    pub session: Option<SessionId>,
}

impl LangfuseClient {
    /// Returns the scores of a time range, newest first.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn scores(
        &self,
        asked: &ScoresAsked,
        at: &Position,
    ) -> Result<Slice<Score>, ClientError> {
        let is_numbered = matches!(at, Position::Page(_));
        if !is_numbered {
            let ask =
                asking(Route::ScoresV3, asked, at).with("fields", "details,subject,annotation");
            let list = self.get_list::<RawList>(Route::ScoresV3, &ask).await?;
            if let Some(list) = list {
                return Ok(list.rows::<TypedScore>().map(verdict::newer));
            }
        }
        let ask = asking(Route::ScoresV2, asked, at);
        let list = self.get_list::<RawList>(Route::ScoresV2, &ask).await?;
        let list = list.ok_or_else(|| no_route("scores", &[Route::ScoresV3, Route::ScoresV2]))?;
        Ok(list.rows::<ScoreView>().map(verdict::older))
    }
}

fn asking(route: Route, asked: &ScoresAsked, at: &Position) -> Ask {
    Ask::get(route.path())
        .with("limit", &SLICE)
        .with_some("traceId", asked.trace.as_ref())
        .with_some("sessionId", asked.session.as_ref())
        .with_some("fromTimestamp", asked.between.from)
        .with_some("toTimestamp", asked.between.to)
        .at(at)
}
