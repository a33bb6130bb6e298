use std::str;

use axum::extract::{FromRequest, Request};
use ratchet_core::payload::Json;
use ratchet_remote::langfuse::wire::error::Issue;
use ratchet_remote::langfuse::wire::json::Raw;
use ratchet_remote::langfuse::wire::read::read_object;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::body::Received;
use crate::error::{ApiError, ApiResult};

/// A JSON object as the body of a request; what is wrong with it is told field by field.
pub(super) struct Sent<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for Sent<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let received = Received::from_request(request, app).await?;
        let body = received.unpack(&app.settings.limits)?;
        let text = str::from_utf8(&body)
            .map_err(|why| ApiError::Invalid(format!("the body is not UTF-8: {why}")))?;
        read_object(text).map(Self).map_err(|issue| ApiError::InvalidFields(vec![issue]))
    }
}

/// Takes JSON that is to be kept as it came.
///
/// # Errors
/// 400 if it nests too deep for clients to read back.
pub(super) fn kept(field: &str, sent: Option<Raw>) -> ApiResult<Option<Json>> {
    let Some(sent) = sent else { return Ok(None) };
    let json = Json::parse(sent.get());
    let too_deep = || ApiError::InvalidFields(vec![Issue::at(field, "nests too deep")]);
    json.map(Some).ok_or_else(too_deep)
}
