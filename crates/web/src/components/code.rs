//! Syntax highlighting by a small lexer: good enough for reading, and it can
//! neither fail nor lose a character.

/// What one must know of languages.
mod language;

use language::{LANGUAGES, Language};
use maud::{Markup, html};

/// Longer texts are shown without colours.
const MAX_BYTES: usize = 60_000;

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Plain,
    Keyword,
    Text,
    Comment,
    Number,
}

impl Token {
    const fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Keyword => Some("tk"),
            Self::Text => Some("ts"),
            Self::Comment => Some("tc"),
            Self::Number => Some("tn"),
        }
    }
}

/// Draws a block of code; in plain letters where the language is not known.
pub(crate) fn code(language: &str, text: &str) -> Markup {
    let known = LANGUAGES.iter().find(|known| known.has_name(language));
    html! {
        pre.code-block tabindex="0" {
            code {
                @match known.filter(|_| text.len() <= MAX_BYTES) {
                    None => { (text) },
                    Some(language) => {
                        @for (token, piece) in lex(language, text) {
                            @match token.class() {
                                Some(class) => { span class=(class) { (piece) } },
                                None => { (piece) },
                            }
                        }
                    },
                }
            }
        }
    }
}

/// Cuts a text into tokens; together they are the text.
fn lex<'a>(language: &Language, text: &'a str) -> Vec<(Token, &'a str)> {
    let mut tokens: Vec<(Token, &str)> = Vec::new();
    let (mut rest, mut plain_from, mut at) = (text, 0, 0);
    while let Some(first) = rest.chars().next() {
        let (token, len) = next(language, rest, first);
        let (piece, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        if token != Token::Plain {
            tokens.extend(
                text.get(plain_from..at)
                    .filter(|plain| !plain.is_empty())
                    .map(|plain| (Token::Plain, plain)),
            );
            tokens.push((token, piece));
            plain_from = at + piece.len();
        }
        at += piece.len();
        rest = after;
    }
    tokens.extend(
        text.get(plain_from..).filter(|plain| !plain.is_empty()).map(|plain| (Token::Plain, plain)),
    );
    tokens
}

/// The token that a text begins with, and its length in bytes: at least one character.
fn next(language: &Language, text: &str, first: char) -> (Token, usize) {
    if language.line_comments.iter().any(|mark| text.starts_with(mark)) {
        return (Token::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if let Some((open, close)) = language.block_comment
        && let Some(inside) = text.strip_prefix(open)
    {
        let len = inside.find(close).map(|at| open.len() + at + close.len());
        return (Token::Comment, len.unwrap_or(text.len()));
    }
    if language.quotes.contains(&first) {
        return (Token::Text, quoted(text, first));
    }
    let word =
        |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    if first.is_ascii_digit() {
        return (Token::Number, word(text));
    }
    if first.is_alphabetic() || first == '_' {
        let len = word(text);
        let name = text.get(..len).unwrap_or_default();
        let is_keyword = language.has_keyword(name);
        return (if is_keyword { Token::Keyword } else { Token::Plain }, len);
    }
    (Token::Plain, first.len_utf8())
}

/// The length of a text in quotes. One without an end stops at the end of its line.
fn quoted(text: &str, quote: char) -> usize {
    let triple: String = [quote; 3].iter().collect();
    if let Some(inside) = text.strip_prefix(&triple) {
        return inside.find(&triple).map_or(text.len(), |at| at + 6);
    }
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\n' if quote != '`' => return at,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(language: &str, text: &str, expected: &str) {
        let shown = code(language, text).into_string();
        let inside = shown.split_once("<code>").unwrap().1.split_once("</code>").unwrap().0;
        assert_eq!(inside, expected);
    }

    #[test]
    fn words_are_told_apart() {
        check(
            "py",
            "def f(): # hi\n  return \"a\\\"b\" + 12",
            "<span class=\"tk\">def</span> f(): <span class=\"tc\"># hi</span>\n  \
             <span class=\"tk\">return</span> <span class=\"ts\">&quot;a\\&quot;b&quot;</span> + \
             <span class=\"tn\">12</span>",
        );
        check("SQL", "LIMIT 1", "<span class=\"tk\">LIMIT</span> <span class=\"tn\">1</span>");
        check(
            "rust",
            "/* a */ fn",
            "<span class=\"tc\">/* a */</span> <span class=\"tk\">fn</span>",
        );
    }

    #[test]
    fn what_is_not_known_is_escaped_all_the_same() {
        check("", "<script>", "&lt;script&gt;");
        check("html", "<script>\"x\"", "&lt;script&gt;<span class=\"ts\">&quot;x&quot;</span>");
    }

    proptest! {
        #[test]
        fn no_character_is_lost(text in "[a-z\"'`#/*\\\\\\n<é日0-9_-]{0,80}", which in 0..LANGUAGES.len()) {
            let together: String = lex(&LANGUAGES[which], &text).into_iter().map(|(_, piece)| piece).collect();
            prop_assert_eq!(together, text);
        }
    }
}
