use axum::extract::Query;
use axum::http::Uri;
use serde::de::DeserializeOwned;

use crate::error::{ApiError, ApiResult};

/// Default page size.
const DEFAULT_LIMIT: u64 = 50;
/// Maximum page size.
const MAX_LIMIT: u64 = 1_000;

/// The page size of a request.
pub(super) fn page_size(limit: Option<u64>) -> ApiResult<u64> {
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::Invalid(format!("limit: from 1 to {MAX_LIMIT}")));
    }
    Ok(limit)
}

/// Parses the query string; errors have the same form as all others.
pub(super) fn asked<T: DeserializeOwned>(uri: &Uri) -> ApiResult<T> {
    let read = Query::try_from_uri(uri);
    read.map(|Query(asked)| asked).map_err(|why| ApiError::Invalid(format!("query: {why}")))
}
