//! Titles of issues that a model found: a sentence of its rationale without what belongs to one
//! session.

use std::sync::LazyLock;

use regex::Regex;

/// Characters of a title.
const MAX_CHARS: usize = 100;

/// "in trace 3", "(turns 3 and 5)", `[2]`.
static CITATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let numbers = r"\d{1,6}(?:(?:\s*,\s*|\s+and\s+)\d{1,6})*";
    let named = format!(r"(?:traces?|turns?|steps?)\s+{numbers}");
    Regex::new(&format!(
        r"(?i)\s*[(\[](?:(?:in|at|see|during)\s+)?(?:{named}|{numbers})[)\]]|,?\s*\b(?:in|at|during)\s+{named}"
    ))
    .ok()
});

/// Words before a statement that join it to another one.
static JOINT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(?:however|but|and|also|then|additionally|furthermore|moreover|overall|instead|in addition|at one point|as a result|unfortunately|still|yet)\b,?\s+",
    )
    .ok()
});

/// Who did it, where what was done follows.
static SUBJECT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(?:the\s+(?:agent|assistant|bot|model)|it)\s+(?<verb>\w+ed|did|made|gave|ran|took|left|kept|lost|chose|wrote|never|repeatedly)\b",
    )
    .ok()
});

/// Returns a title for a sentence of a rationale.
pub(super) fn of(sentence: &str) -> String {
    let without = |regex: &LazyLock<Option<Regex>>, text: &str| match regex.as_ref() {
        Some(regex) => regex.replace_all(text, "").trim().to_owned(),
        None => text.to_owned(),
    };
    let text = without(&JOINT, &without(&CITATION, sentence));
    let text = text.trim_start_matches([',', ':', ' ']);
    let text = match SUBJECT.as_ref() {
        Some(regex) => regex.replace(text, "$verb").into_owned(),
        None => text.to_owned(),
    };
    shortened(&capitalised(text.trim_end_matches([',', ':', ' ', '.'])))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(char::to_uppercase).into_iter().flatten().chain(chars).collect()
}

/// Cuts a long text between words.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    let cut: String = text.chars().take(MAX_CHARS).collect();
    let end = cut.rfind(char::is_whitespace).unwrap_or(cut.len());
    let cut = cut.get(..end).unwrap_or(&cut);
    format!("{}…", cut.trim_end_matches([',', ':', ' ', ';']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sentence: &str, expected: &str) {
        assert_eq!(of(sentence), expected);
    }

    #[test]
    fn a_title_is_about_no_single_session() {
        check(
            "However, the agent retried the failing call unchanged in traces 3 and 5",
            "Retried the failing call unchanged",
        );
        check("In turn 4, the refund was booked twice [2]", "The refund was booked twice");
        check(
            "The assistant never asked for the order number (trace 1)",
            "Never asked for the order number",
        );
        check("It was slow to answer", "It was slow to answer");
        check("Trace 3 shows a failed lookup", "Trace 3 shows a failed lookup");
        check("Wrong totals were reported", "Wrong totals were reported");
        let long = of(&"the customer was given a wrong answer ".repeat(5));
        assert!(long.chars().count() <= MAX_CHARS + 1 && long.ends_with('…'), "{long}");
        assert!(!long.contains("  ") && long.starts_with("The customer"), "{long}");
    }
}
