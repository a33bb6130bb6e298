use serde::{Deserialize, Serialize};

use super::{EXCELLENT, Mark, POOR, SessionMarks, shown, trouble};

/// The maximum number of characters of a reason.
const MAX_CHARS: usize = 160;
/// Scores that differ by less are nearly equal.
const NEARLY: f64 = 0.15;

/// An outlier session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlier {
    pub session: String,
    pub overall: f64,
    #[serde(default)]
    pub agent: Option<String>,
    /// Empty in old reports.
    #[serde(default)]
    pub environment: String,
    /// Against its lowest dimension, or for its highest for a high outlier.
    #[serde(default)]
    pub reason: Option<Reason>,
}

/// Why a session has its score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    pub dimension: String,
    /// A sentence of the judge's rationale.
    pub text: String,
    /// The number of the trace that shows it, the first trace of the session being 1.
    pub turn: Option<u32>,
}

/// High outliers, best first.
pub(super) fn excellent(dimensions: &[&str], sessions: &[&SessionMarks]) -> Vec<Outlier> {
    outliers(
        sessions,
        |overall| -overall,
        |one| (one.overall > EXCELLENT).then(|| praise(dimensions, one)),
    )
}

/// Low outliers, worst first.
pub(super) fn poor(dimensions: &[&str], sessions: &[&SessionMarks]) -> Vec<Outlier> {
    outliers(
        sessions,
        |overall| overall,
        |one| (one.overall < POOR).then(|| problem(dimensions, one)),
    )
}

/// Sessions for which `of` returns something, and the reason that it returns.
fn outliers(
    sessions: &[&SessionMarks],
    order: impl Fn(f64) -> f64,
    of: impl Fn(&SessionMarks) -> Option<Option<Reason>>,
) -> Vec<Outlier> {
    let outlier = |session: &&SessionMarks| {
        let facts = &session.facts;
        let (agent, environment) = (facts.agent.clone(), facts.environment.to_string());
        let (reason, overall) = (of(session)?, session.overall);
        Some(Outlier { session: session.session.to_string(), overall, agent, environment, reason })
    };
    let mut found: Vec<Outlier> = sessions.iter().filter_map(outlier).collect();
    found.sort_by(|one, other| {
        let by_overall = order(one.overall).total_cmp(&order(other.overall));
        by_overall.then_with(|| one.session.cmp(&other.session))
    });
    found
}

/// What the judge says against the lowest dimension; of nearly equal ones, the first of the rubric.
fn problem(dimensions: &[&str], session: &SessionMarks) -> Option<Reason> {
    let said: Vec<(&str, &Mark)> = with_rationale(dimensions, session).collect();
    let lowest = said.iter().map(|(_, mark)| mark.value).fold(f64::INFINITY, f64::min);
    let low = || said.iter().filter(|(_, mark)| mark.value <= lowest + NEARLY);
    let named = low().find_map(|(name, mark)| reason(name, mark, trouble::is_named));
    named.or_else(|| low().find_map(|(name, mark)| reason(name, mark, |_| true)))
}

/// What the judge says for a dimension, the highest first; `None` where it found only nothing
/// against them.
fn praise(dimensions: &[&str], session: &SessionMarks) -> Option<Reason> {
    let mut said: Vec<(&str, &Mark)> = with_rationale(dimensions, session).collect();
    said.sort_by(|(_, one), (_, other)| other.value.total_cmp(&one.value));
    said.iter().find_map(|(name, mark)| reason(name, mark, trouble::is_praise))
}

/// Marks with a rationale, in the rubric's order.
fn with_rationale<'a>(
    dimensions: &'a [&str],
    session: &'a SessionMarks,
) -> impl Iterator<Item = (&'a str, &'a Mark)> {
    let all = dimensions.iter().filter_map(|name| Some((*name, session.marks.get(*name)?)));
    all.filter(|(_, mark)| !mark.rationale.trim().is_empty())
}

/// The first sentence of a rationale that is wanted.
fn reason(dimension: &str, mark: &Mark, is_wanted: impl Fn(&str) -> bool) -> Option<Reason> {
    let sentence = super::issue::sentences(&mark.rationale).find(|sentence| is_wanted(sentence))?;
    let text = sentence.chars().take(MAX_CHARS).collect();
    let turn = shown::traces(mark, &sentence).first().copied();
    Some(Reason { dimension: dimension.to_owned(), text, turn })
}
