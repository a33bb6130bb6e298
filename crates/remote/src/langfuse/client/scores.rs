use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::score::{Score, ScoreSource};

use super::list::RawList;
use super::request::ApiRequest;
use super::route::{Route, no_route};
use super::slice::{Position, Slice, TimeWindow};
use super::{ClientError, LangfuseClient, verdict};
use crate::langfuse::wire::score::ScoreView;
use crate::langfuse::wire::score::v3::TypedScore;

/// Page size; the maximum of all servers.
const PAGE_SIZE: u64 = 100;

/// A filter for scores.
#[derive(Clone, Debug, Default)]
pub struct ScoreFilter {
    pub between: TimeWindow,
    /// Including its observations.
    pub trace: Option<TraceId>,
    pub session: Option<SessionId>,
    /// Only scores of this name.
    pub name: Option<String>,
    pub source: Option<ScoreSource>,
}

impl LangfuseClient {
    /// Returns the scores of a time range, newest first.
    ///
    /// # Errors
    /// Fails if the request fails.
    pub async fn scores(
        &self,
        query: &ScoreFilter,
        at: &Position,
    ) -> Result<Slice<Score>, ClientError> {
        let is_numbered = matches!(at, Position::Page(_));
        if !is_numbered {
            let request = score_request(Route::ScoresV3, query, at)
                .with("fields", "details,subject,annotation");
            let list = self.get_list::<RawList>(Route::ScoresV3, &request).await?;
            if let Some(list) = list {
                return Ok(list.rows::<TypedScore>().map(verdict::newer));
            }
        }
        let request = score_request(Route::ScoresV2, query, at);
        let list = self.get_list::<RawList>(Route::ScoresV2, &request).await?;
        let list = list.ok_or_else(|| no_route("scores", &[Route::ScoresV3, Route::ScoresV2]))?;
        Ok(list.rows::<ScoreView>().map(verdict::older))
    }
}

fn score_request(route: Route, query: &ScoreFilter, at: &Position) -> ApiRequest {
    ApiRequest::get(route.path())
        .with("limit", &PAGE_SIZE)
        .with_some("traceId", query.trace.as_ref())
        .with_some("sessionId", query.session.as_ref())
        .with_some("name", query.name.as_ref())
        .with_some("source", query.source.map(ScoreSource::as_str))
        .with_some("fromTimestamp", query.between.from)
        .with_some("toTimestamp", query.between.to)
        .at(at)
}
