use serde::{Deserialize, Serialize};

use super::{EXCELLENT, POOR, SessionMarks, trouble};

/// The maximum number of characters of a reason.
const MAX_CHARS: usize = 160;

/// An outlier session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlier {
    pub session: String,
    pub overall: f64,
    /// Of its lowest dimension, or of its highest for a high outlier.
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
pub(super) fn excellent(sessions: &[&SessionMarks]) -> Vec<Outlier> {
    outliers(sessions, |overall| -overall, |overall| overall > EXCELLENT)
}

/// Low outliers, worst first.
pub(super) fn poor(sessions: &[&SessionMarks]) -> Vec<Outlier> {
    outliers(sessions, |overall| overall, |overall| overall < POOR)
}

fn outliers(
    sessions: &[&SessionMarks],
    order: impl Fn(f64) -> f64,
    is_outlier: impl Fn(f64) -> bool,
) -> Vec<Outlier> {
    let mut found: Vec<Outlier> = sessions
        .iter()
        .filter(|session| is_outlier(session.overall))
        .map(|session| Outlier {
            session: session.session.to_string(),
            overall: session.overall,
            reason: reason(session, &order),
        })
        .collect();
    found.sort_by(|one, other| {
        let by_overall = order(one.overall).total_cmp(&order(other.overall));
        by_overall.then_with(|| one.session.cmp(&other.session))
    });
    found
}

/// What the judge says of the dimension that stands out most.
fn reason(session: &SessionMarks, order: impl Fn(f64) -> f64) -> Option<Reason> {
    let is_poor = session.overall < POOR;
    let said = session.marks.iter().filter(|(_, mark)| !mark.rationale.trim().is_empty());
    let (dimension, mark) =
        said.min_by(|(_, one), (_, other)| order(one.value).total_cmp(&order(other.value)))?;
    let sentences: Vec<String> = super::issue::sentences(&mark.rationale).collect();
    let telling = sentences.iter().find(|sentence| trouble::is_named(sentence) == is_poor);
    let text: String = telling.or(sentences.first())?.chars().take(MAX_CHARS).collect();
    Some(Reason { dimension: dimension.clone(), text, turn: mark.evidence.first().copied() })
}
