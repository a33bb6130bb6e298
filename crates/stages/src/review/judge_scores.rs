use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{Rubric, Scale};
use ratchet_core::quality::calibration::{Marks, OVERALL, mark_of};
use ratchet_core::quality::synthesis::JudgeVersion;
use ratchet_core::record::score::{Score, ScoreSource};

use crate::score::Scored;
use crate::score::attach::{scores_about, session_of};
use crate::source::{Source, SourceResult};

/// The scores of one verdict on a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgeScore {
    /// The marks by dimension, and the overall one.
    pub marks: Marks,
    pub reasons: BTreeMap<String, String>,
    pub judge: String,
    /// The same, with versions.
    pub by: JudgeVersion,
    /// The version of the rubric.
    pub version: u32,
    /// The first verdict on the session, the second …
    pub generation: u32,
}

/// The marks of a verdict that was just given: by dimension, and the overall one.
pub(super) fn marks(scored: &Scored) -> Marks {
    let dimensions = scored.verdict().dimensions.iter();
    let given = dimensions.filter_map(|it| Some((it.dimension.clone(), it.finding.value()?)));
    given.chain(scored.overall.map(|overall| (OVERALL.to_owned(), overall))).collect()
}

impl JudgeScore {
    /// Whether a judge gave it, by its name or with its versions in words.
    pub fn is_by(&self, judge: &str) -> bool {
        self.judge == judge || self.by.exact_words() == judge
    }
}

/// Reads all verdicts on a session, oldest first.
///
/// What other programs scored under the names of the rubric counts as the first verdict.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn verdicts(
    source: &Source,
    session: &SessionId,
    rubric: &Rubric,
) -> SourceResult<Vec<JudgeScore>> {
    let scores = scores_about(source, session).await?;
    Ok(grouped(&scores, session, rubric))
}

fn grouped(scores: &[Score], session: &SessionId, rubric: &Rubric) -> Vec<JudgeScore> {
    let mut verdicts: BTreeMap<u32, JudgeScore> = BTreeMap::new();
    for score in scores {
        let is_on_session = session_of(score).as_ref() == Some(session);
        let by_rubric = text(score, "rubric").is_none_or(|name| name == rubric.name);
        let Some(mark) = mark(score, rubric) else { continue };
        if score.source == ScoreSource::Annotation || !is_on_session || !by_rubric {
            continue;
        }
        let generation = count(score, "generation").unwrap_or(1);
        let spoken = verdicts.entry(generation).or_insert_with(|| JudgeScore {
            judge: text(score, "judge").unwrap_or_else(|| "unknown".to_owned()),
            by: JudgeVersion::of(score),
            version: count(score, "rubric_version").unwrap_or(1),
            generation,
            ..JudgeScore::default()
        });
        spoken.marks.insert(score.name.clone(), mark);
        spoken.reasons.extend(score.comment.clone().map(|why| (score.name.clone(), why)));
    }
    verdicts.into_values().collect()
}

/// The mark that a score gives, if its name is one of the rubric's.
fn mark(score: &Score, rubric: &Rubric) -> Option<f64> {
    if score.name == OVERALL {
        return mark_of(&Scale::Numeric, score.value.number()?);
    }
    let scale = &rubric.dimension(&score.name)?.scale;
    let grade = score.value.text().and_then(|label| scale.grade(label));
    match grade {
        Some(grade) => Some(grade.value),
        None => mark_of(scale, score.value.number()?),
    }
}

/// A metadata value of a score.
pub(super) fn text(score: &Score, key: &str) -> Option<String> {
    let (_, value) = score.metadata.iter().find(|(name, _)| name == key)?;
    serde_json::from_str(value.as_str()).ok()
}

pub(super) fn count(score: &Score, key: &str) -> Option<u32> {
    let (_, value) = score.metadata.iter().find(|(name, _)| name == key)?;
    // Some servers keep numbers of metadata as texts.
    value.as_str().trim_matches('"').parse().ok()
}
