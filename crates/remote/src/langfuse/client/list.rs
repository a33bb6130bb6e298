//! Page and cursor pagination. Rows are parsed one by one, so that an invalid row does not fail its
//! page.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::slice::{Position, Slice};
use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::read::read;
use ratchet_core::issue::{Issue, PathStep};

/// A list response, with either pagination.
#[derive(Debug, Deserialize)]
pub(super) struct RawList {
    data: Vec<Raw>,
    #[serde(default)]
    meta: RawMeta,
    #[serde(skip)]
    had_rows: bool,
}

/// Pagination fields of both kinds.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawMeta {
    page: Option<u64>,
    total_items: Option<u64>,
    total_pages: Option<u64>,
    cursor: Option<String>,
}

impl RawList {
    /// Filters the rows; the next position is unchanged.
    pub(super) fn keeping(mut self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let had_rows = !self.data.is_empty();
        self.data.retain(|row| is_wanted(row.get()));
        self.had_rows |= had_rows;
        self
    }

    /// Parses the rows, and returns the next position.
    pub(super) fn rows<T: DeserializeOwned>(self) -> Slice<T> {
        let next = self.next();
        let total = self.meta.total_items;
        let mut slice = Slice { rows: Vec::new(), unreadable: Vec::new(), next, total };
        for (index, row) in self.data.iter().enumerate() {
            match read(row.get()) {
                Ok(row) => slice.rows.push(row),
                Err(issue) => slice.unreadable.push(in_data(issue, index)),
            }
        }
        slice
    }

    fn next(&self) -> Option<Position> {
        if let Some(cursor) = self.meta.cursor.clone().filter(|cursor| !cursor.is_empty()) {
            return Some(Position::Cursor(cursor));
        }
        let (page, pages) = (self.meta.page?, self.meta.total_pages?);
        // A server with wrong counts must not cause endless requests of empty pages.
        (page < pages && (self.had_rows || !self.data.is_empty()))
            .then_some(Position::Page(page + 1))
    }
}

fn in_data(mut issue: Issue, index: usize) -> Issue {
    issue.path.insert(0, PathStep::Index(index));
    issue.inside("data")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(text: &str) -> Slice<u32> {
        read::<RawList>(text).unwrap().rows()
    }

    #[test]
    fn pages_go_on_until_the_last() {
        let page = |page| {
            let meta = format!(r#"{{"page":{page},"limit":2,"totalItems":5,"totalPages":3}}"#);
            slice(&format!(r#"{{"data":[1,2],"meta":{meta}}}"#)).next
        };
        assert_eq!(page(1), Some(Position::Page(2)));
        assert_eq!(page(3), None);
    }

    #[test]
    fn an_empty_page_is_the_last_whatever_is_counted() {
        let text = r#"{"data":[],"meta":{"page":1,"limit":2,"totalItems":5,"totalPages":3}}"#;
        assert_eq!(slice(text).next, None);
    }

    #[test]
    fn cursors_go_on_until_there_is_none() {
        let next = |meta| slice(&format!(r#"{{"data":[1],"meta":{meta}}}"#)).next;
        assert_eq!(next(r#"{"cursor":"abc"}"#), Some(Position::Cursor("abc".to_owned())));
        assert_eq!(next(r#"{"cursor":null,"limit":50}"#), None);
        assert_eq!(next("{}"), None);
    }

    #[test]
    fn an_invalid_row_does_not_fail_its_page() {
        let slice = slice(r#"{"data":[1,"two",3],"meta":{}}"#);
        assert_eq!(slice.rows, [1, 3]);
        assert_eq!(slice.unreadable.len(), 1);
        assert!(slice.unreadable[0].to_string().starts_with("data[1]: invalid type"));
    }
}
