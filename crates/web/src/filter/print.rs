use std::fmt;

use ratchet_core::record::field_table::{FieldKind, NumberUnit};
use ratchet_store::query::Compare;

use super::field::name;
use super::{Filter, Pattern, ScoreCondition, Term, TermCondition};

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minus = if self.negated { "-" } else { "" };
        write!(f, "{minus}{}", self.what)
    }
}

impl fmt::Display for TermCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::Word(field, pattern) => write!(f, "{}:{pattern}", name(*field)),
            Self::Number(field, how, number) => {
                let is_time = field.facts().kind == FieldKind::Number(NumberUnit::Seconds);
                let unit = if is_time { "s" } else { "" };
                write!(f, "{}{}{number}{unit}", name(*field), sign(*how))
            }
            Self::Score(name, verdict) => {
                let is_plain = |c: char| !c.is_whitespace() && !":=<>\"".contains(c);
                let name = if name.chars().all(is_plain) { name.clone() } else { quoted(name) };
                write!(f, "score.{name}{verdict}")
            }
            Self::Is(flag) => write!(f, "is:{}", name(*flag)),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exactly(words) => {
                let words: Vec<_> = words.iter().map(|text| word(text)).collect();
                f.write_str(&words.join(","))
            }
            Self::StartsWith(text) => write!(f, "{}*", word(text)),
            Self::EndsWith(text) => write!(f, "*{}", word(text)),
            Self::Contains(text) => write!(f, "*{}*", word(text)),
        }
    }
}

impl fmt::Display for ScoreCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(how, number) => write!(f, "{}{number}", sign(*how)),
            Self::Truth(truth) => write!(f, ":{truth}"),
            Self::Label(label) => {
                // In quotation marks, so that it cannot be taken for a number or a truth.
                write!(f, ":{}", quoted(label))
            }
        }
    }
}

const fn sign(how: Compare) -> &'static str {
    match how {
        // The language has no sign for this one; a term that means it is negated.
        Compare::Equal | Compare::Unequal => "=",
        Compare::Greater => ">",
        Compare::AtLeast => ">=",
        Compare::Less => "<",
        Compare::AtMost => "<=",
    }
}

/// A word as it is where it can stand so, in quotation marks where it cannot. A sign at its start
/// would be read as one.
fn word(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !",*\"".contains(c);
    let is_plain_word = !text.is_empty()
        && text.chars().all(is_plain)
        && !text.starts_with(|c: char| "=<>".contains(c));
    if is_plain_word { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}
