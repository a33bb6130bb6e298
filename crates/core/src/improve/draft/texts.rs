use std::collections::BTreeSet;

use super::ProposalDraft;
use crate::improve::observed::ObservedTrace;
use crate::improve::terms::words;

/// Characters of a title, and of each other text.
const MAX_TITLE: usize = 200;
const MAX_TEXT: usize = 4_000;
/// Words in a row that are copied from a trace.
const COPIED: usize = 7;
/// Stems of verbs that weaken what their sentence is about.
const WEAKENING: &[&str] = &[
    "delet",
    "remov",
    "drop",
    "disabl",
    "ignor",
    "bypass",
    "skip",
    "weaken",
    "relax",
    "overrid",
    "suspend",
    "circumvent",
    "omit",
    "erase",
];
/// Stems of what no proposal may weaken.
const PROTECTED: &[&str] = &[
    "safety",
    "guardrail",
    "security",
    "redact",
    "approv",
    "moderat",
    "privacy",
    "consent",
    "safeguard",
    "authenti",
    "authoriz",
    "audit",
    "permission",
    "confirmation",
    "previous",
];
const NEGATIONS: &[&str] = &["not", "never", "no", "don", "without"];

/// Returns what is wrong with the texts of a draft: they are data for people, not orders of traces.
pub(super) fn text_faults(draft: &ProposalDraft, traces: &[ObservedTrace]) -> Vec<String> {
    let insert = draft.insert.as_deref().unwrap_or_default();
    let texts = [
        ("title", draft.title.as_str(), MAX_TITLE),
        ("reason", draft.reason.as_str(), MAX_TEXT),
        ("change", draft.change.as_str(), MAX_TEXT),
        ("insert", insert, MAX_TEXT),
    ];
    let mut faults = Vec::new();
    for (name, text, most) in texts {
        let is_control = |c: char| c.is_control() && c != '\n';
        if text.trim().is_empty() && name != "insert" {
            faults.push(format!("{name}: it is empty"));
        } else if text.chars().count() > most {
            faults.push(format!("{name}: it has more than {most} characters"));
        } else if text.contains(is_control) {
            faults.push(format!("{name}: it has control characters"));
        }
        if weakens(text) {
            faults.push(format!("{name}: it would weaken a safeguard"));
        }
    }
    let known = copied_words(traces);
    for (name, text, _) in texts.iter().filter(|(name, ..)| *name != "reason") {
        let words: Vec<String> = words(text).collect();
        if words.windows(COPIED).any(|part| known.contains(&hash(part))) {
            faults.push(format!("{name}: it repeats text of a trace; say it in words of your own"));
        }
    }
    faults
}

/// Whether a sentence takes a safeguard away.
pub(super) fn weakens(text: &str) -> bool {
    let holds = |stems: &[&str], word: &str| stems.iter().any(|stem| word.starts_with(stem));
    text.split(['.', '!', '?', '\n', ';']).any(|sentence| {
        let words: Vec<String> = words(sentence).collect();
        let verb = words.iter().enumerate().any(|(at, word)| {
            let before = words.iter().take(at).rev().take(2);
            holds(WEAKENING, word) && !before.into_iter().any(|it| NEGATIONS.contains(&it.as_str()))
        });
        verb && words.iter().any(|word| holds(PROTECTED, word))
    })
}

/// Hashes of all runs of words in what users, agents and tools said.
fn copied_words(traces: &[ObservedTrace]) -> BTreeSet<u64> {
    let mut known = BTreeSet::new();
    for trace in traces {
        let outputs = trace.tools.iter().map(|call| call.output.as_str());
        let comments = trace.signals.comments.iter().map(String::as_str);
        for text in
            [trace.question.as_str(), &trace.answer].into_iter().chain(outputs).chain(comments)
        {
            let words: Vec<String> = words(text).collect();
            known.extend(words.windows(COPIED).map(hash));
        }
    }
    known
}

fn hash(words: &[String]) -> u64 {
    use std::hash::Hasher as _;
    let mut hasher = rustc_hash::FxHasher::default();
    for word in words {
        hasher.write(word.as_bytes());
        hasher.write_u8(0);
    }
    hasher.finish()
}
