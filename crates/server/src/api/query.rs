use axum::extract::Query;
use axum::http::Uri;
use serde::de::DeserializeOwned;

use crate::error::{ApiError, ApiResult};

/// Reads what an address asks for; what is wrong with it is told as every other fault.
pub(super) fn asked<T: DeserializeOwned>(uri: &Uri) -> ApiResult<T> {
    let read = Query::try_from_uri(uri);
    read.map(|Query(asked)| asked).map_err(|why| ApiError::Invalid(format!("query: {why}")))
}
