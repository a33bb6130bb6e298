use proptest::prelude::*;

use super::*;
use crate::cmd::chat::sanitize::columns;

const PAGE: &str = "\
# A page

Some **bold words**, *others*, `code` and a [link](https://example.com/a).
A second line that is rather long and must be broken somewhere because the terminal is narrow.

## Lists

- one
- two **important** things that need more room than there is in a line
  - below
    1. far below
2. second
   goes on

> quoted words that are long enough to be broken in two

```rust
fn main() {
\tprintln!(\"**not bold**\");
}
```

| Name | Count | About |
|:-----|------:|:-----:|
| `a`  |     1 | short |
| 日本 |  1234 | a longer text that wraps in its cell |

---
unclosed **bold and `code
";

fn whole(text: &str, width: usize, style: Style) -> String {
    let mut markdown = Markdown::new(width, style);
    let shown = markdown.push(text);
    shown + &markdown.finish()
}

#[test]
fn a_page_reads_well_without_colours() {
    insta::assert_snapshot!(whole(PAGE, 48, Style::Plain));
}

#[test]
fn a_page_reads_well_with_colours() {
    let shown = whole("# Head\n**bold** and `code`, [a](http://b)\n", 60, Style::Colours);
    let shown = shown.replace('\u{1b}', "^");
    insta::assert_snapshot!(shown, @r"
    ^[1;4mHead^[0m
    ^[1mbold^[0m and ^[36mcode^[0m, ^[4ma^[0m ^[2m(http://b)^[0m
    ");
}

#[test]
fn words_are_shown_as_soon_as_they_cannot_change() {
    let mut markdown = Markdown::new(80, Style::Plain);
    assert_eq!(markdown.push("Let me lo"), "Let me");
    assert_eq!(markdown.push("ok **at "), " look");
    assert_eq!((markdown.push("th"), markdown.column()), (String::new(), 11));
    assert_eq!(markdown.push("is** now "), " at this now");
    assert_eq!(markdown.finish(), "\n");
    assert_eq!(markdown.finish(), "");
}

/// Texts with much of what means something.
fn written() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("**".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("```\n".to_owned()),
        Just("| a | b |\n".to_owned()),
        Just("|---|---|\n".to_owned()),
        Just("\u{1b}[2J\u{202e}".to_owned()),
        "[#>*_`~\\[\\]()|!<\\-0-9. \n日é👍]{1,6}",
        "[a-z ]{1,12}",
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn it_does_not_matter_how_a_text_was_cut(
        text in written(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        width in 20_usize..90,
    ) {
        let chars: Vec<char> = text.chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
        places.extend([0, chars.len()]);
        places.sort_unstable();
        let mut markdown = Markdown::new(width, Style::Colours);
        let mut shown = String::new();
        for pair in places.windows(2) {
            let piece: String = chars[pair[0]..pair[1]].iter().collect();
            shown.push_str(&markdown.push(&piece));
        }
        shown.push_str(&markdown.finish());
        prop_assert_eq!(shown, whole(&text, width, Style::Colours));
    }

    #[test]
    fn nothing_but_text_comes_out_and_no_line_is_too_wide(text in written(), width in 20_usize..90) {
        let shown = whole(&text, width, Style::Plain);
        prop_assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{:?}", shown);
        for line in shown.lines() {
            prop_assert!(columns(line) < width || line.contains('│'), "{line:?}");
        }
        let painted = whole(&text, width, Style::Colours);
        let seen: Vec<usize> = painted.lines().map(seen_columns).collect();
        prop_assert_eq!(seen, shown.lines().map(columns).collect::<Vec<_>>());
    }

    #[test]
    fn words_are_neither_lost_nor_doubled(text in "[a-z]{1,9}( [a-z]{1,9}){0,30}", width in 20_usize..60) {
        let shown = whole(&text, width, Style::Plain);
        let words: Vec<&str> = shown.split_whitespace().collect();
        prop_assert_eq!(words.join(" "), text);
    }
}
