use std::fmt::{self, Write as _};

use crate::record::limit::elide;

/// The indentation of recorded text.
const MARGIN: &str = "  ";
/// The maximum number of invisible characters in a row that are named; the rest is counted.
const NAMED: usize = 4;

/// A text builder for judge prompts.
///
/// Trusted lines start in the first column. Recorded text is in quotation marks or indented, line
/// by line, and its invisible characters are named: so no recorded text can pass for a trusted
/// line.
#[derive(Debug, Default)]
pub(crate) struct QuotedText(String);

impl QuotedText {
    /// Starts a trusted line.
    pub(crate) fn line(&mut self, words: impl fmt::Display) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.ours(words)
    }

    /// Appends trusted text to the current line.
    pub(crate) fn ours(&mut self, words: impl fmt::Display) -> &mut Self {
        // Writing to a string cannot fail.
        let written = write!(self.0, "{words}");
        debug_assert!(written.is_ok());
        self
    }

    /// Appends recorded text in quotation marks, on the current line.
    pub(crate) fn word(&mut self, recorded: &str, max_bytes: usize) -> &mut Self {
        self.0.push('"');
        reveal(&mut self.0, &elide(recorded, max_bytes), |c| match c {
            '\n' => Some(" "),
            '"' => Some("'"),
            _ => None,
        });
        self.0.push('"');
        self
    }

    /// Appends text that may quote the recording, on the current line.
    pub(crate) fn plain(&mut self, words: &str, max_bytes: usize) -> &mut Self {
        reveal(&mut self.0, &elide(words, max_bytes), |c| (c == '\n').then_some(" "));
        self
    }

    /// Appends recorded text as an indented block, elided in the middle above the limit.
    pub(crate) fn block(&mut self, recorded: &str, max_bytes: usize) -> &mut Self {
        self.line(MARGIN);
        let recorded = elide(recorded.trim_end_matches(['\n', '\r', ' ', '\t']), max_bytes);
        reveal(&mut self.0, &recorded, |c| (c == '\n').then_some("\n  "));
        self
    }

    /// Returns the current length.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the offset of the next line.
    pub(crate) fn next_line(&self) -> usize {
        self.len() + usize::from(!self.0.is_empty())
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Copies a text, naming invisible characters and replacing some.
fn reveal(out: &mut String, text: &str, replace: impl Fn(char) -> Option<&'static str>) {
    let mut copied = 0;
    let mut hidden = 0_usize;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends_line = c == '\r' && chars.peek().is_some_and(|(_, next)| *next == '\n');
        let is_style = is_style(c) && hidden == 0;
        let replacement = replace(c);
        if !is_hidden(c) && !ends_line && replacement.is_none() || is_style {
            count_rest(out, hidden);
            hidden = 0;
            continue;
        }
        out.push_str(text.get(copied..at).unwrap_or_default());
        copied = at + c.len_utf8();
        match replacement {
            _ if ends_line => {}
            Some(other) => {
                count_rest(out, hidden);
                hidden = 0;
                out.push_str(other);
            }
            None => {
                hidden += 1;
                if hidden <= NAMED {
                    out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
                }
            }
        }
    }
    count_rest(out, hidden);
    out.push_str(text.get(copied..).unwrap_or_default());
}

fn count_rest(out: &mut String, hidden: usize) {
    if hidden > NAMED {
        out.push_str(&format!("⟨{} more hidden characters⟩", hidden - NAMED));
    }
}

/// Returns whether a character is a variation selector, which only changes how the previous one is
/// drawn.
pub(crate) fn is_style(c: char) -> bool {
    matches!(c, '\u{FE0E}' | '\u{FE0F}')
}

/// Returns whether a character is invisible or changes the reading direction.
pub(crate) fn is_hidden(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    is_control
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}' | '\u{E000}'..='\u{F8FF}'
            | '\u{F0000}'..='\u{10FFFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(recorded: &str, block: &str, word: &str) {
        fn write(write: impl Fn(&mut QuotedText) -> &mut QuotedText) -> String {
            let mut out = QuotedText::default();
            write(&mut out);
            out.into_text()
        }
        assert_eq!(write(|out| out.block(recorded, 1000)), block);
        assert_eq!(write(|out| out.word(recorded, 1000)), word);
    }

    #[test]
    fn lines_stand_behind_a_margin() {
        check("a\r\n# Trace 9\n\nb\n", "  a\n  # Trace 9\n  \n  b", "\"a # Trace 9  b \"");
        check("say \"hi\"", "  say \"hi\"", "\"say 'hi'\"");
    }

    #[test]
    fn invisible_characters_are_named() {
        check("a\u{202e}b", "  a⟨U+202E⟩b", "\"a⟨U+202E⟩b\"");
        check("\u{1b}[2K\rx", "  ⟨U+001B⟩[2K⟨U+000D⟩x", "\"⟨U+001B⟩[2K⟨U+000D⟩x\"");
        let tags = "\u{e0041}".repeat(9);
        let marked = "⟨U+E0041⟩".repeat(4) + "⟨5 more hidden characters⟩";
        check(&format!("{tags}."), &format!("  {marked}."), &format!("\"{marked}.\""));
        check("a\u{2028}b\u{85}", "  a⟨U+2028⟩b⟨U+0085⟩", "\"a⟨U+2028⟩b⟨U+0085⟩\"");
    }

    #[test]
    fn visible_characters_are_unchanged() {
        for text in ["\tčeský 日本語 العربية 🦀", "⚠\u{fe0f} done"] {
            check(text, &format!("  {text}"), &format!("\"{text}\""));
        }
    }

    proptest! {
        #[test]
        fn no_line_of_a_block_begins_at_the_margin(text in any::<String>(), max in 0_usize..60) {
            let mut out = QuotedText::default();
            out.block(&text, max);
            let written = out.into_text();
            for line in written.split('\n') {
                prop_assert!(line.starts_with(MARGIN), "{line:?}");
            }
            prop_assert!(!written.chars().any(|c| is_hidden(c) && !is_style(c)));
        }

        #[test]
        fn a_word_is_one_line_and_ends_where_it_ends(text in any::<String>()) {
            let mut out = QuotedText::default();
            out.word(&text, 100);
            let written = out.into_text();
            let breaks = ['\n', '\r', '\u{2028}'];
            prop_assert_eq!(written.matches('"').count(), 2);
            prop_assert!(!written.contains(breaks));
        }
    }
}
