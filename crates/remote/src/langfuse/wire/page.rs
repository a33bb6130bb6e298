use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Paged<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Where we are.
    pub meta: PageMeta,
}

/// Where a page stands in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageMeta {
    /// The page's number, from 1.
    pub page: u64,
    /// Rows on a page.
    pub limit: u64,
    /// Rows in all.
    pub total_items: u64,
    /// Pages in all.
    pub total_pages: u64,
}

impl PageMeta {
    /// Works out the number of pages.
    pub fn new(page: u64, limit: u64, total_items: u64) -> Self {
        Self { page, limit, total_items, total_pages: total_items.div_ceil(limit.max(1)) }
    }
}

/// One slice of a list that goes on behind a cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Sliced<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Where to go on.
    pub meta: SliceMeta,
}

/// Where a slice ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SliceMeta {
    /// Rows at most.
    pub limit: u64,
    /// What to ask for next; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cursor: Option<String>,
}

/// What was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeletedId {
    /// Its id.
    pub id: String,
}
