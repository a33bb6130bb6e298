use axum::extract::{FromRequest, Request};
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json;
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_remote::langfuse::wire::read::read_object;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::body::{Received, Weight};
use crate::error::{ApiError, ApiResult};

/// A JSON object as request body, with errors by field.
pub(super) struct JsonFields<T>(pub(super) T);

/// Like [`JsonFields`], for long bodies: processed on the CPU pool.
pub(super) struct LongJsonFields<T> {
    sent: T,
    /// Size of the whole body.
    bytes: usize,
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for JsonFields<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        LongJsonFields::from_request(request, app).await.map(|long| Self(long.sent))
    }
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<App> for LongJsonFields<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let received = Received::from_request(request, app).await?;
        let read = |text: &str| {
            let sent = read_object(text).map_err(|issue| ApiError::InvalidFields(vec![issue]))?;
            Ok(Self { sent, bytes: text.len() })
        };
        received.parse_json(app, Weight::Tree, read).await
    }
}

impl<T: Send + 'static> LongJsonFields<T> {
    pub(super) fn map<U>(self, see: impl FnOnce(T) -> U) -> LongJsonFields<U> {
        LongJsonFields { sent: see(self.sent), bytes: self.bytes }
    }

    /// Converts it.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) async fn read<N: Send + 'static>(
        self,
        app: &App,
        read: fn(T) -> ApiResult<N>,
    ) -> ApiResult<N> {
        app.workers.run_sized(self.bytes, move || read(self.sent)).await?
    }
}

/// Accepts JSON that is stored verbatim.
///
/// # Errors
/// 400 if it nests too deep for clients to read back.
pub(super) fn kept(field: &str, sent: Option<Raw>) -> ApiResult<Option<Json>> {
    let Some(sent) = sent else { return Ok(None) };
    let json = Json::parse(sent.get());
    let too_deep = || ApiError::InvalidFields(vec![Issue::at(field, "nests too deep")]);
    json.map(Some).ok_or_else(too_deep)
}
