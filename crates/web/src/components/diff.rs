//! What changed between two texts, line by line and word by word.

use std::time::Duration;

use maud::{Markup, html};
use ratchet_store::blocking::run_blocking;
use similar::{ChangeTag, TextDiff};

/// Texts beyond this many bytes are compared by lines alone.
const WORDS_UP_TO: usize = 200_000;
/// Texts up to this many bytes are compared in no time.
const QUICK_UP_TO: usize = 10_000;
/// How long the least difference is looked for; after that a greater one will do.
const TIME: Duration = Duration::from_millis(300);

/// Up to so many equal words between two changes are shown as changed too.
const FEW: usize = 2;

/// Renders the diff, on a blocking thread if the texts are long.
pub async fn beside(old: String, new: String) -> Markup {
    if old.len() + new.len() <= QUICK_UP_TO {
        return diff(&old, &new);
    }
    let drawn = run_blocking(move || diff(&old, &new)).await;
    drawn.unwrap_or_else(|_| html! { p.muted { "The texts could not be compared." } })
}

/// Draws both texts as one: what went is struck through, what came is underlined.
pub fn diff(old: &str, new: &str) -> Markup {
    if old == new {
        return html! { p.muted { "No differences." } };
    }
    let is_short = old.len() + new.len() <= WORDS_UP_TO;
    let mut how = TextDiff::configure();
    how.timeout(TIME);
    let diff = if is_short { how.diff_words(old, new) } else { how.diff_lines(old, new) };
    let changes = diff.iter_all_changes().map(|change| (change.tag(), change.value()));
    html! {
        pre.diff tabindex="0" {
            @for piece in pieces(changes) {
                (piece.same)
                @if !piece.gone.is_empty() { del { (piece.gone) } }
                @if !piece.come.is_empty() { ins { (piece.come) } }
            }
        }
    }
}

/// Draws both texts beside each other: what went is marked in the old one, what came in the new.
pub fn columns(old: &str, new: &str) -> [Markup; 2] {
    let is_short = old.len() + new.len() <= WORDS_UP_TO;
    let mut how = TextDiff::configure();
    how.timeout(TIME);
    let diff = if is_short { how.diff_words(old, new) } else { how.diff_lines(old, new) };
    let changes = diff.iter_all_changes().map(|change| (change.tag(), change.value()));
    let pieces = pieces(changes);
    [
        html! { pre.diff tabindex="0" { @for piece in &pieces {
            (piece.same) @if !piece.gone.is_empty() { del { (piece.gone) } }
        } } },
        html! { pre.diff tabindex="0" { @for piece in &pieces {
            (piece.same) @if !piece.come.is_empty() { ins { (piece.come) } }
        } } },
    ]
}

/// What stayed, and what then went and came in its place.
#[derive(Debug, Default)]
struct Piece {
    same: String,
    gone: String,
    come: String,
}

/// Merges changes that are separated by only a few equal words, for readability.
fn pieces<'a>(changes: impl Iterator<Item = (ChangeTag, &'a str)>) -> Vec<Piece> {
    let mut done = Vec::new();
    let mut piece = Piece::default();
    let mut same = String::new();
    for (tag, text) in changes {
        if tag == ChangeTag::Equal {
            same.push_str(text);
            continue;
        }
        let has_changed = !piece.gone.is_empty() || !piece.come.is_empty();
        if !has_changed {
            piece.same.push_str(&same);
        } else if is_few_words(&same) {
            piece.gone.push_str(&same);
            piece.come.push_str(&same);
        } else {
            let next = Piece { same: same.clone(), ..Piece::default() };
            done.push(std::mem::replace(&mut piece, next));
        }
        same.clear();
        let side = if tag == ChangeTag::Delete { &mut piece.gone } else { &mut piece.come };
        side.push_str(text);
    }
    done.push(piece);
    done.push(Piece { same, ..Piece::default() });
    done
}

/// Whether there are too few equal words between two changes to separate them.
fn is_few_words(text: &str) -> bool {
    !text.contains('\n') && text.split_whitespace().count() <= FEW
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

    #[test]
    fn changes_that_a_word_parts_are_read_as_one() {
        let shown = diff("we use the old tools now", "we take the new ways now").into_string();
        assert!(
            shown.contains("<del>use the old tools</del><ins>take the new ways</ins>"),
            "{shown}"
        );
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
