use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Paged<T> {
    /// Rows.
    pub data: Vec<T>,
    /// Pagination.
    pub meta: PageMeta,
}

/// The position of a page in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageMeta {
    /// Page number, from 1.
    pub page: u64,
    /// Page size.
    pub limit: u64,
    /// Total number of rows.
    pub total_items: u64,
    /// Total number of pages.
    pub total_pages: u64,
}

impl PageMeta {
    /// Computes the number of pages.
    pub fn new(page: u64, limit: u64, total_items: u64) -> Self {
        Self { page, limit, total_items, total_pages: total_items.div_ceil(limit.max(1)) }
    }
}

/// A page of a list with cursor pagination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sliced<T> {
    /// Rows.
    pub data: Vec<T>,
    /// Pagination.
    pub meta: SliceMeta,
}

/// Cursor pagination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SliceMeta {
    /// Maximum number of rows.
    pub limit: u64,
    /// Cursor of the next page; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cursor: Option<String>,
}

/// The response to a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedId {
    /// Unique id.
    pub id: String,
}
