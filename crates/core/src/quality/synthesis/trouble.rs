//! Keyword classification of phrases as problems.
//!
//! Rationales also contain neutral facts ("it took 12 steps") and praise ("all tests passed").
//! Neither is an issue, however frequent.

/// Prefixes of words that indicate a problem.
const PROBLEM_PREFIXES: &[&str] = &[
    "abandon",
    "aborted",
    "absent",
    "annoy",
    "assum",
    "avoidabl",
    "blind",
    "blocked",
    "careless",
    "clumsy",
    "complain",
    "confus",
    "contradict",
    "correction",
    "corrected",
    "costly",
    "crash",
    "danger",
    "delay",
    "denied",
    "deviat",
    "disappoint",
    "dissatisf",
    "drifted",
    "duplicat",
    "error",
    "excess",
    "exposed",
    "fail",
    "flaw",
    "forget",
    "forgot",
    "fragile",
    "frustrat",
    "guess",
    "hallucinat",
    "hardcod",
    "harmed",
    "harmful",
    "hasty",
    "ignor",
    "inaccura",
    "incomplet",
    "inconsist",
    "incorrect",
    "ineffic",
    "insecure",
    "insufficien",
    "interrupt",
    "invalid",
    "invented",
    "irrelevant",
    "lack",
    "leak",
    "misread",
    "missed",
    "missing",
    "mistak",
    "misunder",
    "needless",
    "neglect",
    "obsolete",
    "omit",
    "outdated",
    "overlook",
    "overwr",
    "partial",
    "premature",
    "problem",
    "redid",
    "redo",
    "redund",
    "regress",
    "reject",
    "repeat",
    "repetit",
    "reread",
    "retried",
    "retries",
    "retry",
    "revert",
    "rework",
    "rewrote",
    "risk",
    "rushed",
    "secret",
    "skip",
    "stall",
    "superfl",
    "truncat",
    "unabl",
    "unanswer",
    "unasked",
    "unauthori",
    "unclear",
    "undone",
    "unfinish",
    "unhandl",
    "unmet",
    "unnecess",
    "unneeded",
    "unrelat",
    "unrequest",
    "unresolv",
    "unsafe",
    "unstated",
    "untested",
    "unused",
    "unverif",
    "vague",
    "verbose",
    "violat",
    "vulnerab",
    "wander",
    "wast",
];
const PROBLEM_WORDS: &[&str] = &[
    "again", "against", "bad", "badly", "broke", "broken", "bug", "bugs", "empty", "false",
    "falsely", "gave", "late", "left", "lost", "poor", "poorly", "slow", "slowly", "still",
    "stopped", "stuck", "taken", "third", "too", "weak", "worse", "wrong", "wrongly",
];
/// Negations.
const NEGATIONS: &[&str] = &[
    "no", "not", "never", "without", "nothing", "nobody", "none", "neither", "nor", "cannot",
    "hardly", "barely", "zero", "0", "instead", "rather",
];
/// Prefixes of words that indicate a resolved problem.
const RESOLVED_PREFIXES: &[&str] = &[
    "good",
    "recover",
    "fixed",
    "resolved",
    "solved",
    "passed",
    "passing",
    "handled",
    "avoided",
    "prevented",
    "caught",
    "cleanly",
    "gracefully",
    "thanks",
    "thanked",
];
/// The maximum distance between a negation and the negated word.
const NEGATION_REACH: usize = 4;
/// Conjunctions that split a sentence into clauses.
const CONJUNCTIONS: &[&str] = &["but", "however", "although", "though", "whereas", "nevertheless"];

/// Splits a sentence at its conjunctions: `it passed but took long` has two clauses.
pub(super) fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    let mut cuts = vec![0];
    let mut at = 0;
    for word in sentence.split_inclusive(char::is_whitespace) {
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric()).to_lowercase();
        if CONJUNCTIONS.contains(&bare.as_str()) {
            cuts.extend([at, at + word.len()]);
        }
        at += word.len();
    }
    cuts.push(sentence.len());
    // Every other piece is the conjunction itself.
    let pieces = cuts.chunks_exact(2).filter_map(|cut| sentence.get(*cut.first()?..*cut.get(1)?));
    let pieces: Vec<&str> = pieces.filter(|piece| piece.contains(char::is_alphanumeric)).collect();
    let is_gap = |char: char| char.is_whitespace() || ",:–—-".contains(char);
    pieces.into_iter().map(move |piece| piece.trim_matches(is_gap))
}

/// Returns whether a clause indicates a problem.
pub(super) fn is_named(clause: &str) -> bool {
    let words = tokens(clause);
    let is_negation = |word: &str| NEGATIONS.contains(&word) || word.ends_with("n't");
    // Preceded by a negation within reach.
    let is_negated = |at: usize| {
        let before = words.get(at.saturating_sub(NEGATION_REACH)..at).unwrap_or_default();
        before.iter().any(|word| is_negation(word))
    };
    let starts = |list: &[&str], word: &str| list.iter().any(|stem| word.starts_with(stem));
    let is_problem_word =
        |word: &str| starts(PROBLEM_PREFIXES, word) || PROBLEM_WORDS.contains(&word);
    let is_redeemed = words
        .iter()
        .enumerate()
        .any(|(at, word)| starts(RESOLVED_PREFIXES, word) && !is_negated(at));
    if is_redeemed {
        return false;
    }
    let has_problem =
        words.iter().enumerate().any(|(at, word)| is_problem_word(word) && !is_negated(at));
    let lacks_good = words.iter().enumerate().any(|(at, word)| {
        let after =
            words.get(at + 1..(at + 1 + NEGATION_REACH).min(words.len())).unwrap_or_default();
        is_negation(word) && !after.iter().any(|word| is_problem_word(word))
    });
    has_problem || lacks_good || is_excessive(&words)
}

/// Returns whether a sentence says that something went well.
pub(super) fn is_praise(sentence: &str) -> bool {
    let words = tokens(sentence);
    let starts = |word: &String| RESOLVED_PREFIXES.iter().any(|stem| word.starts_with(stem));
    let is_negation = |word: &String| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't");
    words.iter().any(starts) && !words.iter().any(is_negation)
}

/// Matches `it took longer than 80% of its peers`: more than most, or more than needed.
fn is_excessive(words: &[String]) -> bool {
    let more = words.iter().position(|word| word == "more" || word == "longer");
    let Some(rest) = more.and_then(|at| words.get(at + 1..)) else { return false };
    if !rest.iter().any(|word| word == "than") {
        return false;
    }
    let share = rest.iter().find_map(|word| word.parse::<f64>().ok());
    let is_of_others = rest.iter().any(|word| word.starts_with("peer"));
    let is_of_all = rest.iter().any(|word| word == "all");
    !is_of_others || is_of_all || share.is_some_and(|share| share > 50.0)
}

/// Returns lower-case tokens without quotations.
fn tokens(clause: &str) -> Vec<String> {
    let unquoted: Vec<&str> = clause.split(['`', '"']).step_by(2).collect();
    let straight = unquoted.join(" ").replace('’', "'").to_lowercase();
    let words = straight.split(|char: char| !(char.is_alphanumeric() || char == '\''));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::offline::{Signal, SignalSet};

    #[test]
    fn problems_are_distinguished_from_facts_and_praise() {
        for issue in [
            "The tests were never run after the last edit",
            "It guessed two paths that do not exist",
            "The agent didn't read the file before editing it",
            "The user had to ask three times before it stopped",
            "It used far more calls than the task needed",
            "One failure was not made good",
            "Claims success without any check",
            "It took longer than all of its peers",
            "It cost more than 80% of its peers",
        ] {
            assert!(is_named(issue), "{issue}");
        }
        for other in [
            "It took 12 steps",
            "All tests passed at the end",
            "There were no errors and no retries",
            "Nothing went wrong",
            "The agent fixed the failing test",
            "Unremarkable: 4 tool calls (`find_order`)",
            "The user said thanks twice",
            "It never failed",
            "It took longer than 20% of its peers",
        ] {
            assert!(!is_named(other), "{other}");
        }
    }

    #[test]
    fn a_sentence_is_split_at_conjunctions() {
        let parts: Vec<&str> = clauses("It found the cause, but never ran the tests").collect();
        assert_eq!(parts, ["It found the cause", "never ran the tests"]);
        assert_eq!(clauses("However, it failed").collect::<Vec<_>>(), ["it failed"]);
        assert_eq!(clauses("").count(), 0);
    }

    /// Rationales of the offline judge: signals that only raise a score are praise, those that only
    /// report an amount are facts.
    #[test]
    fn the_offline_judge_is_understood() {
        const FACTS: [Signal; 5] = [
            Signal::AgentSaid,
            Signal::ToolCall,
            Signal::Length,
            Signal::ChangeSize,
            Signal::Handover,
        ];
        for (signal, text, effects) in SignalSet::shipped().texts() {
            let text = text.replace("{n}", "12").replace("{p}", "90");
            let lowers = effects.iter().any(|effect| *effect < 0.0);
            let lifts = effects.iter().any(|effect| *effect > 0.0);
            if lowers && lifts {
                continue;
            }
            let expected = lowers && !FACTS.contains(&signal);
            assert_eq!(is_named(&text), expected, "{text}");
        }
    }
}
