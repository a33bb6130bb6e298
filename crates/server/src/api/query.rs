use axum::extract::Query;
use axum::http::Uri;
use serde::de::DeserializeOwned;

use crate::error::{ApiError, ApiResult};

/// Parses the query string; errors have the same form as all others.
pub(super) fn asked<T: DeserializeOwned>(uri: &Uri) -> ApiResult<T> {
    let read = Query::try_from_uri(uri);
    read.map(|Query(asked)| asked).map_err(|why| ApiError::Invalid(format!("query: {why}")))
}
