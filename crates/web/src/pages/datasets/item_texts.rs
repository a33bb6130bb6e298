//! What the items of a dataset ask and expect, as far as pages show it.

use std::collections::BTreeMap;

use ratchet_core::record::limit::elide;
use ratchet_store::catalog::{Dataset, DatasetItemPreview};

use super::results::{RunResult, shortened};
use super::{PREVIEW, as_read};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Items of a dataset that are read.
const ITEMS: u64 = 2_000;
/// Characters that are read of their texts.
const ITEM_CHARACTERS: u64 = 4_000;
/// Bytes of the longest escape in a JSON text.
const MAX_ESCAPE: usize = 12;

/// What an item asks and expects, as people read it.
#[derive(Clone, Debug)]
pub(in crate::pages) struct ItemTexts {
    input: Option<String>,
    expected: Option<String>,
}

/// The current items of a dataset, by id.
pub(in crate::pages) async fn items(
    web: &Web,
    ctx: &RequestContext,
    dataset: &Dataset,
) -> PageResult<BTreeMap<String, ItemTexts>> {
    let at_most = (ITEMS, ITEM_CHARACTERS);
    let items =
        web.store.catalog.dataset_item_previews(ctx.project_id(), dataset.id.clone(), at_most);
    let texts = |item: DatasetItemPreview| {
        let input = item.input.as_deref().map(opening);
        let expected = item.expected_output.as_deref().map(opening);
        (item.id, ItemTexts { input, expected })
    };
    Ok(items.await?.into_iter().map(texts).collect())
}

/// The beginning of a JSON text that may end anywhere.
fn opening(json: &str) -> String {
    // A text that is cut has no closing quote, and may be cut within an escape.
    let closed = |end: usize| {
        let text = format!("{}\"", json.get(..end)?);
        serde_json::from_str::<String>(&text).ok()
    };
    let is_cut_text = json.starts_with('"') && as_read(json) == json;
    let text = (json.len().saturating_sub(MAX_ESCAPE)..=json.len()).rev().find_map(closed);
    match text.filter(|_| is_cut_text) {
        Some(text) => elide(&text, PREVIEW * 4).into_owned(),
        None => shortened(json),
    }
}

/// The input of an item.
pub(in crate::pages) fn input_of(item: Option<&ItemTexts>) -> Option<String> {
    item?.input.clone()
}

/// The expected output of an item: as it was when it ran, else as it is now.
pub(in crate::pages) fn expected_of(
    result: Option<&RunResult>,
    item: Option<&ItemTexts>,
) -> Option<String> {
    let then = result.and_then(|result| result.expected.clone());
    then.or_else(|| item?.expected.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_is_read_as_a_text() {
        let whole = r#""a \u00e4 \"b\" \ud83d\ude00 c""#;
        assert_eq!(opening(whole), "a \u{e4} \"b\" \u{1f600} c");
        for end in 1..whole.len() {
            let shown = opening(whole.get(..end).unwrap());
            assert!("a \u{e4} \"b\" \u{1f600} c".starts_with(&shown), "{end}: {shown}");
        }
        assert_eq!(opening(r#"{"a": "b"#), r#"{"a": "b"#);
        assert!(opening(&format!("\"{}", "x".repeat(4_000))).len() < PREVIEW * 5);
    }
}
