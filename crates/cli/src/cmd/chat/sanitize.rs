//! Output of agents and tools may contain characters that move the cursor, recolour or retitle the
//! terminal, or paste into it. None of them reaches it.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Replacement of a removed character.
const STAND_IN: char = '\u{fffd}';

/// Replaces a character that could control a terminal.
pub(crate) fn safe(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        // Bidirectional controls make a command read as another one.
        '\u{061C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}' => STAND_IN,
        // Others are invisible, or line breaks in some terminals.
        '\u{00AD}'
        | '\u{200B}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2064}'
        | '\u{FEFF}' => STAND_IN,
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' => STAND_IN,
        c if c.is_control() => STAND_IN,
        c => c,
    }
}

/// Text without terminal control characters.
pub(crate) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").chars().map(safe).collect()
}

/// The same on one line.
pub(crate) fn plain_line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

/// Display width of a text.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// Maximum display width of a character: one that turns the last into an emoji adds one.
pub(crate) fn char_columns(c: char) -> usize {
    if c == '\u{FE0F}' { 1 } else { c.width().unwrap_or(0) }
}

/// The start of a text that fits, with an ellipsis.
pub(crate) fn fitted(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(1);
    let (mut fitting, mut taken) = (String::new(), 0);
    for c in text.chars() {
        taken += char_columns(c);
        if taken > room {
            break;
        }
        fitting.push(c);
    }
    if most > 0 {
        fitting.push('…');
    }
    fitting
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_replaced() {
        let text = "a\u{1b}[31mb\u{9b}2Kc\u{7}d\u{202e}e\u{200b}f\r\ng\rh";
        assert_eq!(plain(text), "a�[31mb�2Kc�d�e�f\ng�h");
        assert_eq!(plain_line("a\nb\tc"), "a b c");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!((columns("日本"), columns("e\u{301}"), columns("👍")), (4, 1, 2));
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(fitted("日本語", 4), "日…");
        assert_eq!(fitted("abc", 3), "abc");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_it_may_be(text in any::<String>(), most in 0_usize..40) {
            prop_assert!(columns(&fitted(&plain_line(&text), most)) <= most);
        }
    }
}
