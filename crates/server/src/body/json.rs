use axum::extract::{FromRequest, Request};
use ratchet_core::json_size::JsonSize;
use serde::de::DeserializeOwned;

use super::{Received, take};
use crate::app::{App, Limits};
use crate::error::{ApiError, ApiResult};

/// A JSON body, decompressed and decoded.
#[derive(Clone, Copy, Debug)]
pub struct JsonBody<T>(pub T);

/// What a JSON body is parsed into, for the estimate of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Values stay raw texts.
    Texts,
    /// Values may become a tree.
    Tree,
}

impl Received {
    /// Parses a JSON body, after checking that it is small enough. CPU-bound if it is long.
    ///
    /// # Errors
    /// 413 if it has too many values, or needs too much memory; 503 if the memory budget is used
    /// up; 400 if it is not UTF-8; and the errors of `read`.
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
        take(&body.reservation, weight.of(&size))?;
        let text = str::from_utf8(&body)
            .map_err(|why| ApiError::Invalid(format!("the body is not UTF-8: {why}")))?;
        read(text)
    }

    /// Like [`Self::read_json`], on the CPU pool if the body is long.
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
        app.workers.run_sized(self.effort(), move || work(self)).await?
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
        "the body has more than {limit} JSON values; send smaller batches"
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
