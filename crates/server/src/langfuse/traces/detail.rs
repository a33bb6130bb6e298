//! One trace with its observations and scores. A long one is streamed, so that it takes the memory
//! of a slice, not of the whole.

use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::try_unfold;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::score::Score;
use ratchet_core::record::trace::Trace;
use ratchet_remote::langfuse::wire::score::ScoreView;
use ratchet_remote::langfuse::wire::trace::{
    DetailedTrace, TraceDetails, TraceView, TraceWithDetails, TraceWithFullDetails,
};
use ratchet_store::project::ProjectId;
use ratchet_store::trace_stream::{ObservationCursor, ScoreCursor, StreamedRows};
use serde::Serialize;

use super::query::{Group, Groups, Unknown};
use crate::app::App;
use crate::error::{ApiError, ApiResult};
use crate::langfuse::prompt_ids::PromptIds;
use crate::langfuse::scores::v1;
use crate::langfuse::{observations, response};

/// A trace to return, and the client's restrictions.
pub(super) struct Whole {
    pub(super) app: App,
    pub(super) project: ProjectId,
    pub(super) trace: Trace,
    pub(super) groups: Groups,
    pub(super) headers: HeaderMap,
}

type Observations = StreamedRows<Observation, ObservationCursor>;
type Scores = StreamedRows<Score, ScoreCursor>;

impl Whole {
    /// Responds: at once, or streamed if there is more than a slice.
    ///
    /// # Errors
    /// Fails when the database does. An error after the start of the response aborts it.
    pub(super) async fn answer(self) -> ApiResult<Response> {
        let observations = self.first_observations().await?;
        let scores = self.first_scores().await?;
        if observations.rest.is_some() || scores.rest.is_some() {
            return self.stream(observations, scores);
        }
        self.at_once(observations.rows, scores.rows).await
    }

    async fn first_observations(&self) -> ApiResult<Observations> {
        if !self.groups.has(Group::Observations) {
            return Ok(StreamedRows { rows: Vec::new(), rest: None });
        }
        let (trace, detail) = (self.trace.id.clone(), self.groups.detail());
        let walk = ObservationCursor::new(self.project.clone(), trace, detail);
        Ok(self.app.store.telemetry.observations_after(walk).await?)
    }

    async fn first_scores(&self) -> ApiResult<Scores> {
        if !self.groups.has(Group::Scores) {
            return Ok(StreamedRows { rows: Vec::new(), rest: None });
        }
        let walk = ScoreCursor::new(self.project.clone(), self.trace.id.clone());
        Ok(self.app.store.telemetry.scores_after(walk).await?)
    }

    async fn at_once(self, steps: Vec<Observation>, scores: Vec<Score>) -> ApiResult<Response> {
        let Self { app, project, trace, groups, headers } = self;
        let contents = steps.iter().map(|row| row.content.as_ref());
        let size = response::size(contents.chain([trace.content.as_ref()]));
        let (unknown, prices) = (Unknown::for_client(&headers), app.store.prices(&project));
        let prompts = PromptIds::of(&app, &project, &steps).await?;
        let view = move || {
            let mut details = TraceDetails::new(&trace, project.as_str());
            let show = |row| observations::view(row, &prices, &prompts);
            details.observations = steps.iter().map(show).collect();
            let fits = |score: &&Score| v1::fits(score, &headers);
            details.scores = scores.iter().filter(fits).map(ScoreView::new).collect();
            groups.hide_numbers(&mut details, unknown);
            let view: TraceWithFullDetails =
                DetailedTrace { trace: TraceView::new(&trace, project.as_str()), details };
            view
        };
        response::json(&app, size, view).await
    }

    fn stream(self, observations: Observations, scores: Scores) -> ApiResult<Response> {
        let frame = self.frame()?;
        let Self { app, project, headers, .. } = self;
        let prices = app.store.prices(&project);
        let writer = Writer { app, project, headers, prices, is_first: true };
        let observations = Box::new(observations);
        let part = Part::Observations { frame, observations, scores, is_begun: false };
        let pieces = try_unfold((writer, part), |(mut writer, part)| async move {
            let piece = writer.piece(part).await;
            // The status is sent already; all that is left is to abort, and to log the reason.
            let piece = piece.inspect_err(|error| drop(error.client_message()))?;
            Ok::<_, ApiError>(piece.map(|(bytes, part)| (bytes, (writer, part))))
        });
        Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(pieces)).into_response())
    }

    /// The response without its two lists.
    fn frame(&self) -> ApiResult<Frame> {
        let mut details = TraceDetails::new(&self.trace, self.project.as_str());
        self.groups.hide_numbers(&mut details, Unknown::for_client(&self.headers));
        // No text of the trace can contain a random id.
        let mark = uuid::Uuid::new_v4();
        let (here, there) = (format!("observations {mark}"), format!("scores {mark}"));
        details.observations.push(here.clone());
        details.scores.push(there.clone());
        let trace = TraceView::new(&self.trace, self.project.as_str());
        let view: TraceWithDetails = DetailedTrace { trace, details };
        let text = serde_json::to_string(&view).map_err(|why| ApiError::Internal(Box::new(why)))?;
        let parts = text.split_once(&format!("\"{here}\"")).and_then(|(head, rest)| {
            let (middle, tail) = rest.split_once(&format!("\"{there}\""))?;
            Some(Frame { head: head.into(), middle: middle.into(), tail: tail.into() })
        });
        parts.ok_or_else(|| ApiError::internal("a trace was written without its lists"))
    }
}

/// The text before, between and after the two lists of a trace.
struct Frame {
    head: String,
    middle: String,
    tail: String,
}

/// The part to write next.
enum Part {
    Observations { frame: Frame, observations: Box<Observations>, scores: Scores, is_begun: bool },
    Scores { tail: String, scores: Scores },
    Nothing,
}

/// Streams a trace.
struct Writer {
    app: App,
    project: ProjectId,
    headers: HeaderMap,
    prices: Arc<PriceTable>,
    /// Whether the list is still empty.
    is_first: bool,
}

impl Writer {
    /// The next chunk, and the part after it.
    async fn piece(&mut self, part: Part) -> ApiResult<Option<(Bytes, Part)>> {
        match part {
            Part::Observations { frame, observations, scores, is_begun } => {
                let StreamedRows { rows, rest } = *observations;
                let mut bytes = if is_begun { Vec::new() } else { frame.head.clone().into_bytes() };
                bytes.extend(self.observations(rows).await?);
                let Some(walk) = rest else {
                    bytes.extend(frame.middle.into_bytes());
                    self.is_first = true;
                    return Ok(Some((bytes.into(), Part::Scores { tail: frame.tail, scores })));
                };
                let observations = self.app.store.telemetry.observations_after(walk).await?;
                let observations = Box::new(observations);
                let part = Part::Observations { frame, observations, scores, is_begun: true };
                Ok(Some((bytes.into(), part)))
            }
            Part::Scores { tail, scores } => {
                let mut bytes = self.scores(scores.rows).await?;
                let Some(walk) = scores.rest else {
                    bytes.extend(tail.into_bytes());
                    return Ok(Some((bytes.into(), Part::Nothing)));
                };
                let scores = self.app.store.telemetry.scores_after(walk).await?;
                Ok(Some((bytes.into(), Part::Scores { tail, scores })))
            }
            Part::Nothing => Ok(None),
        }
    }

    async fn observations(&mut self, rows: Vec<Observation>) -> ApiResult<Vec<u8>> {
        let size = response::size(rows.iter().map(|row| row.content.as_ref()));
        let prompts = PromptIds::of(&self.app, &self.project, &rows).await?;
        let prices = self.prices.clone();
        let write = move |is_first| {
            list(is_first, rows.iter().map(|row| observations::view(row, &prices, &prompts)))
        };
        self.write(size, write).await
    }

    async fn scores(&mut self, rows: Vec<Score>) -> ApiResult<Vec<u8>> {
        let size = response::size(rows.iter().map(|_| None));
        let headers = self.headers.clone();
        let write = move |is_first| {
            let fits = |score: &&Score| v1::fits(score, &headers);
            list(is_first, rows.iter().filter(fits).map(ScoreView::new))
        };
        self.write(size, write).await
    }

    async fn write(
        &mut self,
        size: usize,
        write: impl FnOnce(bool) -> ApiResult<Vec<u8>> + Send + 'static,
    ) -> ApiResult<Vec<u8>> {
        let is_first = self.is_first;
        let bytes = self.app.workers.run_sized(size, move || write(is_first)).await??;
        self.is_first &= bytes.is_empty();
        Ok(bytes)
    }
}

/// Items of a list, separated from the previous ones by commas.
fn list<T: Serialize>(is_first: bool, items: impl Iterator<Item = T>) -> ApiResult<Vec<u8>> {
    let mut bytes = Vec::new();
    for item in items {
        if !is_first || !bytes.is_empty() {
            bytes.push(b',');
        }
        serde_json::to_writer(&mut bytes, &item)
            .map_err(|why| ApiError::Internal(Box::new(why)))?;
    }
    Ok(bytes)
}
