//! What changed between two texts, line by line and word by word.

use std::time::Duration;

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

/// Texts beyond this many bytes are compared by lines alone.
const WORDS_UP_TO: usize = 200_000;
/// Texts up to this many bytes are compared in no time.
const QUICK_UP_TO: usize = 10_000;
/// How long the least difference is looked for; after that a greater one will do.
const TIME: Duration = Duration::from_millis(300);

/// Draws both texts as one, beside the runtime if they are long.
pub async fn beside(old: String, new: String) -> Markup {
    if old.len() + new.len() <= QUICK_UP_TO {
        return diff(&old, &new);
    }
    let drawn = tokio::task::spawn_blocking(move || diff(&old, &new)).await;
    drawn.unwrap_or_else(|_| html! { p.muted { "These texts could not be compared." } })
}

/// Draws both texts as one: what went is struck through, what came is underlined.
pub fn diff(old: &str, new: &str) -> Markup {
    if old == new {
        return html! { p.muted { "No difference." } };
    }
    let is_short = old.len() + new.len() <= WORDS_UP_TO;
    let mut how = TextDiff::configure();
    how.timeout(TIME);
    let diff = if is_short { how.diff_words(old, new) } else { how.diff_lines(old, new) };
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

    /// Without a time to stop at, this takes minutes.
    #[test]
    fn long_texts_that_share_little_are_compared_too() {
        let text = |salt: usize| {
            let words = (0..14_000_usize).map(|n| (n * salt % 7_919).to_string());
            words.collect::<Vec<_>>().join(" ")
        };
        let shown = diff(&text(31), &text(6_007)).into_string();
        assert!(shown.contains("<del>") && shown.contains("<ins>"));
    }
}
