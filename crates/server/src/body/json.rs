use axum::extract::{FromRequest, Request};
use ratchet_core::json_size::JsonSize;
use serde::de::DeserializeOwned;

use super::{Received, take};
use crate::app::{App, Limits};
use crate::error::{ApiError, ApiResult};

/// A whole JSON body, decompressed and decoded.
#[derive(Clone, Copy, Debug)]
pub struct JsonBody<T>(pub T);

/// What a JSON body is read into, which says how much memory its values take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Values stay texts, each at its place in a list at most.
    Texts,
    /// Values may become a tree.
    Tree,
}

impl Received {
    /// Reads a JSON body, after it was seen to be small enough to be parsed. Takes real CPU time
    /// when it is long.
    ///
    /// # Errors
    /// 413 if it holds more values than any body may, or needs more memory; 503 when other bodies
    /// have the memory; 400 if it is not text; and what `read` finds.
    pub(crate) fn read_json<T>(
        self,
        limits: &Limits,
        weight: Weight,
        read: impl FnOnce(&str) -> ApiResult<T>,
    ) -> ApiResult<T> {
        let mut size = JsonSize::default();
        let body = self.unpack_watched(limits, |piece| {
            size.push(piece);
            check_values(&size, limits.values)
        })?;
        take(&body.room, weight.of(&size))?;
        let text = str::from_utf8(&body)
            .map_err(|why| ApiError::Invalid(format!("the body is not UTF-8: {why}")))?;
        read(text)
    }

    /// The same, beside the async runtime when the body is long.
    ///
    /// # Errors
    /// See [`Self::read_json`].
    pub(crate) async fn parse_json<T: Send + 'static>(
        self,
        app: &App,
        weight: Weight,
        read: impl FnOnce(&str) -> ApiResult<T> + Send + 'static,
    ) -> ApiResult<T> {
        let worker = app.clone();
        let work = move |received: Self| received.read_json(&worker.settings.limits, weight, read);
        app.workers.run(self.effort(), move || work(self)).await
    }
}

impl Weight {
    fn of(self, size: &JsonSize) -> usize {
        match self {
            Self::Texts => size.list_bytes(),
            Self::Tree => size.tree_bytes(),
        }
    }
}

fn check_values(size: &JsonSize, limit: usize) -> ApiResult<()> {
    if size.values() <= limit {
        return Ok(());
    }
    Err(ApiError::TooLarge(format!(
        "the body holds more than {limit} JSON values; send smaller batches"
    )))
}

fn parse<T: DeserializeOwned>(text: &str) -> ApiResult<T> {
    serde_json::from_str(text)
        .map_err(|error| ApiError::Invalid(format!("the body is not the JSON expected: {error}")))
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let received = Received::from_request(request, app).await?;
        received.parse_json(app, Weight::Tree, parse).await.map(Self)
    }
}
