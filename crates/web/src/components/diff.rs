//! What changed between two texts, line by line and word by word.

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

/// Texts beyond this many bytes are compared by lines alone.
const WORDS_UP_TO: usize = 200_000;

/// Draws both texts as one: what went is struck through, what came is underlined.
pub fn diff(old: &str, new: &str) -> Markup {
    if old == new {
        return html! { p.muted { "No difference." } };
    }
    let is_short = old.len() + new.len() <= WORDS_UP_TO;
    let diff =
        if is_short { TextDiff::from_words(old, new) } else { TextDiff::from_lines(old, new) };
    html! {
        pre.diff tabindex="0" {
            @for change in diff.iter_all_changes() {
                @match change.tag() {
                    ChangeTag::Equal => { (change.value()) },
                    ChangeTag::Delete => { del { (change.value()) } },
                    ChangeTag::Insert => { ins { (change.value()) } },
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_changed_are_marked_and_escaped() {
        let shown = diff("Be <b>brief</b> please", "Be <i>kind</i> please").into_string();
        assert!(shown.contains("<del>") && shown.contains("<ins>"), "{shown}");
        assert!(!shown.contains("<b>") && shown.contains("please"), "{shown}");
    }
}
