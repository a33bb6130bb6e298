use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::issue_title::FoundSignal;
use super::{BELOW_TARGET, Mark, SessionMarks, plain_title, shown, trouble};
use crate::judge::offline::success::EXPLANATION;

/// The Jaccard similarity from which two phrases count as the same.
const MIN_SIMILARITY: f64 = 0.5;
/// The share of common sessions from which two issues of signals are one.
const MIN_OVERLAP: f64 = 0.75;
/// The maximum number of issues in a report.
const MAX_ISSUES: usize = 10;
/// The maximum number of phrases compared.
const MAX_PHRASES: usize = 4_000;
/// The maximum number of phrases per rationale, and of characters per phrase.
const MAX_PHRASES_PER_RATIONALE: usize = 8;
const MAX_PHRASE_CHARS: usize = 300;
/// The minimum number of content tokens in a phrase.
const MIN_STEMS: usize = 2;

/// A problem that occurs in more than one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonIssue {
    /// The dimension in which it occurs most often.
    pub dimension: String,
    /// What goes wrong: by the signals of the offline judge, else a representative phrase of a
    /// rationale.
    pub title: String,
    /// Titles of other issues of nearly the same sessions.
    #[serde(default)]
    pub also: Vec<String>,
    /// Occurrences.
    pub count: usize,
    pub sessions: Vec<String>,
    pub example: Example,
    /// The common stems of its phrases, sorted: its identity across weeks.
    pub key: String,
    /// The agents in which it occurs, the largest share first.
    #[serde(default)]
    pub agents: Vec<IssueShare>,
    /// The traces of these sessions that show it, at least.
    #[serde(default)]
    pub traces: usize,
}

/// The sessions of an agent in an environment with an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueShare {
    pub agent: Option<String>,
    /// Empty in old reports, whose shares are of all environments.
    #[serde(default)]
    pub environment: String,
    pub sessions: usize,
    /// All its scored sessions in the week.
    pub of: usize,
}

/// The common issues of a week.
#[derive(Debug)]
pub(super) struct FoundIssues {
    pub(super) issues: Vec<CommonIssue>,
    /// Sessions whose rationales were compared, the lowest ones, of all below the threshold; `None`
    /// where these are all.
    pub(super) compared: Option<[usize; 2]>,
}

/// A rationale that contains an issue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    pub session: String,
    /// The full text.
    pub rationale: String,
    /// The number of the trace that shows it, the first trace of the session being 1.
    #[serde(default)]
    pub turn: Option<u32>,
}

/// A phrase of a rationale with its stems.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Phrase<'a> {
    dimension: usize,
    words: BTreeSet<String>,
    text: String,
    /// `None` in rationales of other judges than the offline one.
    signal: Option<FoundSignal>,
    session: String,
    rationale: &'a str,
    /// The traces that show it, where they are known.
    shown: Vec<u32>,
    evidence: &'a [u32],
    agent: (Option<&'a str>, &'a str),
}

/// Finds the common issues of sessions under the threshold.
///
/// Phrases are sorted first, so that the order of sessions does not matter.
pub(super) fn common(dimensions: &[&str], sessions: &[&SessionMarks]) -> FoundIssues {
    let (mut phrases, compared) = phrases_of_lowest(dimensions, sessions, MAX_PHRASES);
    phrases.sort();
    let mut groups: Vec<Vec<Phrase<'_>>> = Vec::new();
    for phrase in phrases {
        let found = groups
            .iter_mut()
            .find(|group| group.first().is_some_and(|leader| leader.is_like(&phrase)));
        match found {
            Some(group) => group.push(phrase),
            None => groups.push(vec![phrase]),
        }
    }
    let mut issues: Vec<RankedIssue> =
        groups.iter().filter_map(|group| issue(dimensions, group, sessions)).collect();
    issues.sort_by(|one, other| {
        let by_sessions = other.issue.sessions.len().cmp(&one.issue.sessions.len());
        by_sessions
            .then(other.issue.count.cmp(&one.issue.count))
            .then(one.dimension.cmp(&other.dimension))
            .then_with(|| one.issue.key.cmp(&other.issue.key))
    });
    FoundIssues { issues: merged(issues).into_iter().take(MAX_ISSUES).collect(), compared }
}

/// The phrases of the sessions under the threshold, of the lowest ones where they are too many; then
/// also of how many of how many sessions.
fn phrases_of_lowest<'a>(
    dimensions: &[&str],
    sessions: &[&'a SessionMarks],
    max: usize,
) -> (Vec<Phrase<'a>>, Option<[usize; 2]>) {
    let mut low: Vec<&SessionMarks> =
        sessions.iter().copied().filter(|session| session.overall < BELOW_TARGET).collect();
    low.sort_by(|one, other| {
        one.overall.total_cmp(&other.overall).then_with(|| one.session.cmp(&other.session))
    });
    let (mut all, mut compared) = (Vec::new(), 0);
    for session in &low {
        let its = phrases(dimensions, session);
        if all.len() + its.len() > max {
            break;
        }
        all.extend(its);
        compared += 1;
    }
    (all, (compared < low.len()).then_some([compared, low.len()]))
}

/// An issue with what it is ordered by.
struct RankedIssue {
    /// Place of the dimension in the rubric.
    dimension: usize,
    /// Place of the signal among causes; the last for rationales of other judges.
    cause: usize,
    issue: CommonIssue,
}

/// Joins issues of nearly the same sessions: one cause has many consequences.
fn merged(issues: Vec<RankedIssue>) -> Vec<CommonIssue> {
    let mut groups: Vec<Vec<RankedIssue>> = Vec::new();
    for issue in issues {
        let is_same = |group: &&mut Vec<RankedIssue>| {
            let of_signals = |one: &RankedIssue| one.cause < usize::MAX;
            group.first().is_some_and(|first| {
                of_signals(first)
                    && of_signals(&issue)
                    && overlap(&first.issue.sessions, &issue.issue.sessions) >= MIN_OVERLAP
            })
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(issue),
            None => groups.push(vec![issue]),
        }
    }
    let join = |mut group: Vec<RankedIssue>| {
        group.sort_by_key(|one| one.cause);
        let mut all = group.into_iter().map(|one| one.issue);
        let first = all.next()?;
        Some(CommonIssue { also: all.map(|one| one.title).collect(), ..first })
    };
    groups.into_iter().filter_map(join).collect()
}

/// The share of sessions that two issues have in common.
fn overlap(one: &[String], other: &[String]) -> f64 {
    let (one, other): (BTreeSet<&String>, BTreeSet<&String>) =
        (one.iter().collect(), other.iter().collect());
    likeness(&one, &other)
}

fn phrases<'a>(dimensions: &[&str], session: &'a SessionMarks) -> Vec<Phrase<'a>> {
    let low = dimensions.iter().enumerate().filter_map(|(dimension, name)| {
        let mark = session.marks.get(*name).filter(|mark| mark.value < BELOW_TARGET)?;
        Some((dimension, mark))
    });
    let agent = agent_of(session);
    let of_rationale = |(dimension, mark): (usize, &'a Mark)| {
        let (rationale, evidence) = (mark.rationale.as_str(), mark.evidence.as_slice());
        let found = rationale.split(EXPLANATION).next().unwrap_or_default();
        let said = sentences(found).flat_map(|sentence| {
            let signal = FoundSignal::of(&sentence);
            let shown = shown::traces(mark, &sentence);
            let troubled = trouble::clauses(&sentence).filter(|clause| trouble::is_named(clause));
            let found = |clause| (titled(clause), signal.clone(), shown.clone());
            troubled.map(found).collect::<Vec<_>>()
        });
        let said = said.take(MAX_PHRASES_PER_RATIONALE).filter_map(move |(text, signal, shown)| {
            let words = words(&text);
            let session = session.session.to_string();
            let says_something = words.len() >= MIN_STEMS;
            says_something.then_some(Phrase {
                dimension,
                words,
                text,
                signal,
                session,
                rationale,
                shown,
                evidence,
                agent,
            })
        });
        said.collect::<Vec<_>>()
    };
    low.flat_map(of_rationale).collect()
}

/// Converts a clause to a title without counts, which differ between sessions.
fn titled(clause: &str) -> String {
    let counted = clause.trim_start_matches(|char: char| char.is_ascii_digit());
    let is_count = counted.len() < clause.len() && counted.starts_with(' ');
    let mut chars = if is_count { counted.trim_start() } else { clause }.chars();
    chars.next().map(char::to_uppercase).into_iter().flatten().chain(chars).collect()
}

/// Splits a text at sentence ends and semicolons.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let ends = match char {
            '\n' | ';' => true,
            '.' | '!' | '?' => chars.peek().is_none_or(|next| next.is_whitespace()),
            _ => false,
        };
        match parts.last_mut() {
            Some(part) if !ends => part.push(char),
            _ => parts.push(String::new()),
        }
    }
    let cut = |part: String| part.trim().chars().take(MAX_PHRASE_CHARS).collect::<String>();
    parts.into_iter().map(cut).filter(|part| !part.is_empty())
}

/// Returns the stems of a phrase, without numbers, file names, quotations and stop words.
fn words(phrase: &str) -> BTreeSet<String> {
    let unquoted: String = phrase.split(['`', '"']).step_by(2).collect::<Vec<_>>().join(" ");
    let is_name = |word: &&str| {
        let inner = word.trim_matches(|char: char| !char.is_alphanumeric());
        inner.contains(['/', '.', '_', '\\', ':', '=']) || inner.contains(|c: char| c.is_numeric())
    };
    let plain = unquoted.split_whitespace().filter(|word| !is_name(word));
    let words = plain.flat_map(|word| word.split(|char: char| !char.is_alphanumeric()));
    let lower = words.map(str::to_lowercase);
    let significant =
        lower.filter(|word| word.chars().count() > 2 && !STOP_WORDS.contains(&word.as_str()));
    significant.map(|word| stem(&word)).collect()
}

/// Stems a token.
fn stem(word: &str) -> String {
    for ending in ["ings", "ing", "ies", "ied", "ed", "es", "s"] {
        if let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.chars().count() > 2) {
            return if matches!(ending, "ies" | "ied") {
                format!("{stem}y")
            } else {
                undouble(stem)
            };
        }
    }
    undouble(word)
}

/// Normalises stems: `runn` of `running` to `run`, and the silent e of `create` as in `creating`.
fn undouble(stem: &str) -> String {
    let mut chars = stem.chars().rev();
    match (chars.next(), chars.next()) {
        (Some('e'), Some(_)) => stem.strip_suffix('e').unwrap_or(stem).to_owned(),
        (Some(last), Some(before)) if last == before && !"lsz".contains(last) => {
            stem.strip_suffix(last).unwrap_or(stem).to_owned()
        }
        _ => stem.to_owned(),
    }
}

/// Stop words.
const STOP_WORDS: [&str; 52] = [
    "the", "and", "was", "were", "with", "for", "that", "this", "from", "are", "its", "has", "had",
    "have", "but", "not", "all", "any", "one", "two", "out", "into", "than", "then", "they",
    "them", "their", "there", "which", "when", "while", "also", "only", "some", "more", "most",
    "very", "been", "being", "did", "does", "will", "would", "could", "should", "session", "trace",
    "traces", "agent", "user", "after", "before",
];

impl Phrase<'_> {
    /// Whether both are about the same issue.
    fn is_like(&self, other: &Self) -> bool {
        match (&self.signal, &other.signal) {
            (None, None) => likeness(&self.words, &other.words) >= MIN_SIMILARITY,
            (one, other) => one == other,
        }
    }
}

fn likeness<T: Ord>(one: &BTreeSet<T>, other: &BTreeSet<T>) -> f64 {
    let shared = one.intersection(other).count();
    let all = one.len() + other.len() - shared;
    if all == 0 { 0.0 } else { crate::stats::float(shared) / crate::stats::float(all) }
}

/// Summarises a group of phrases; `None` if it occurs in a single session.
fn issue(dimensions: &[&str], group: &[Phrase<'_>], all: &[&SessionMarks]) -> Option<RankedIssue> {
    let sessions: BTreeSet<&str> = group.iter().map(|phrase| phrase.session.as_str()).collect();
    if sessions.len() < 2 {
        return None;
    }
    let mut said: BTreeMap<&BTreeSet<String>, usize> = BTreeMap::new();
    for phrase in group {
        *said.entry(&phrase.words).or_default() += 1;
    }
    // The most frequent stems; among equals the shortest phrase, then the first by alphabet.
    let best = group.iter().max_by(|one, other| {
        let count = |phrase: &Phrase<'_>| said.get(&phrase.words).copied().unwrap_or_default();
        let by_length = || other.text.len().cmp(&one.text.len());
        let by_text = || (&other.text, &other.session).cmp(&(&one.text, &one.session));
        count(one).cmp(&count(other)).then_with(by_length).then_with(by_text)
    })?;
    // One cause can lower several dimensions: count it where it occurs most often.
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    for phrase in group {
        *places.entry(phrase.dimension).or_default() += 1;
    }
    let most = places.values().copied().max()?;
    let index = places.into_iter().find(|(_, count)| *count == most).map(|(index, _)| index)?;
    let traces: BTreeSet<(&str, Option<u32>)> = group
        .iter()
        .flat_map(|phrase| {
            let known = if phrase.shown.is_empty() { phrase.evidence } else { &phrase.shown };
            let shown = known.iter().copied().map(Some);
            let shown: Vec<Option<u32>> = shown.collect();
            let unknown = shown.is_empty().then_some(None);
            shown.into_iter().chain(unknown).map(|turn| (phrase.session.as_str(), turn))
        })
        .collect();
    let issue = CommonIssue {
        dimension: (*dimensions.get(index)?).to_owned(),
        title: best.signal.as_ref().map_or_else(|| plain_title::of(&best.text), FoundSignal::title),
        also: Vec::new(),
        count: group.len(),
        sessions: clearest_first(group, sessions, all),
        example: example(group, best)?,
        agents: shares(group, all),
        traces: traces.len(),
        key: best.words.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
    };
    let cause = best.signal.as_ref().map_or(usize::MAX, |signal| signal.place);
    Some(RankedIssue { dimension: index, cause, issue })
}

/// Orders sessions by what they show: those with a trace that shows the issue first, then the lowest
/// overall score.
fn clearest_first(
    group: &[Phrase<'_>],
    sessions: BTreeSet<&str>,
    all: &[&SessionMarks],
) -> Vec<String> {
    let mut overall: BTreeMap<String, f64> = BTreeMap::new();
    for one in all {
        let lowest = overall.entry(one.session.to_string()).or_insert(one.overall);
        *lowest = lowest.min(one.overall);
    }
    let shows = |session: &str| {
        group.iter().any(|phrase| phrase.session == session && !phrase.shown.is_empty())
    };
    let mut ranked: Vec<(bool, f64, &str)> = sessions
        .into_iter()
        .map(|id| (!shows(id), overall.get(id).copied().unwrap_or(1.0), id))
        .collect();
    ranked.sort_by(|one, other| {
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then(one.2.cmp(other.2))
    });
    ranked.into_iter().map(|(.., id)| id.to_owned()).collect()
}

/// The clearest example: one that leads to a trace that shows the issue, in the words of the title,
/// with the fewest traces and words: a rationale that says little else shows this issue.
fn example(group: &[Phrase<'_>], best: &Phrase<'_>) -> Option<Example> {
    let clearest = group.iter().min_by_key(|phrase| {
        let is_other = phrase.words != best.words;
        let traces = phrase.evidence.len();
        (phrase.shown.is_empty(), is_other, traces, phrase.rationale.len(), &phrase.session)
    })?;
    Some(Example {
        session: clearest.session.clone(),
        rationale: clearest.rationale.to_owned(),
        turn: clearest.shown.first().copied(),
    })
}

/// The agent and the environment of a session.
pub(super) fn agent_of(session: &SessionMarks) -> (Option<&str>, &str) {
    (session.facts.agent.as_deref(), session.facts.environment.as_str())
}

/// How many sessions of each agent have an issue.
fn shares(group: &[Phrase<'_>], all: &[&SessionMarks]) -> Vec<IssueShare> {
    let mut affected: BTreeMap<(Option<&str>, &str), BTreeSet<&str>> = BTreeMap::new();
    for phrase in group {
        affected.entry(phrase.agent).or_default().insert(&phrase.session);
    }
    shares_of(affected.into_iter().map(|(agent, sessions)| (agent, sessions.len())), all)
}

/// The counts of sessions as shares of all sessions of these agents, the larger share first.
pub(super) fn shares_of<'a>(
    counts: impl Iterator<Item = ((Option<&'a str>, &'a str), usize)>,
    all: &[&SessionMarks],
) -> Vec<IssueShare> {
    let share = |(agent, sessions): ((Option<&str>, &str), usize)| IssueShare {
        agent: agent.0.map(str::to_owned),
        environment: agent.1.to_owned(),
        sessions,
        of: all.iter().filter(|one| agent_of(one) == agent).count(),
    };
    let mut shares: Vec<IssueShare> = counts.map(share).collect();
    // Compared without division.
    shares.sort_by(|one, other| (other.sessions * one.of).cmp(&(one.sessions * other.of)));
    shares
}

/// Returns the stems of a text, in the order of the alphabet.
pub(crate) fn stems(text: &str) -> BTreeSet<String> {
    words(text)
}

/// Returns whether two texts say about the same, by their stems.
pub(crate) fn is_alike(one: &str, other: &str) -> bool {
    likeness(&words(one), &words(other)) >= MIN_SIMILARITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(phrase: &str, expected: &str) {
        let words: Vec<String> = words(phrase).into_iter().collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn what_differs_from_session_to_session_is_left_out() {
        check("The tests failed 3 times in src/main.rs", "fail test tim");
        check("Tests were failing in `lib.rs` (trace 12)", "fail test");
        check("It retried \"cargo build\" with no change", "chang retry");
    }

    #[test]
    fn sentences_end_where_they_end() {
        let text = "Ran 1.5 times. Failed; gave up!\nNo test";
        let parts: Vec<String> = sentences(text).collect();
        assert_eq!(parts, ["Ran 1.5 times", "Failed", "gave up", "No test"]);
    }
}
