use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use ratchet_core::id::Id;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::{ApiError, ApiResult};

/// The id at the end of a path, decoded.
pub(super) struct PathId<Of>(pub(super) Id<Of>);

impl<Of> FromRequestParts<App> for PathId<Of> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let text = Path::<String>::from_request_parts(parts, app).await;
        let Path(text) = text.map_err(|why| ApiError::Invalid(format!("id in path: {why}")))?;
        // A malformed id cannot exist.
        Id::parse(&text).map(Self).map_err(|why| ApiError::NotFound(format!("not found: {why}")))
    }
}

/// The decoded parameters of a path: one name, or several in order.
pub(super) struct PathOf<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for PathOf<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let held = Path::<T>::from_request_parts(parts, app).await;
        held.map(|Path(held)| Self(held)).map_err(|why| ApiError::Invalid(format!("path: {why}")))
    }
}
