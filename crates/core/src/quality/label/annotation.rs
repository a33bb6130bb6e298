use std::collections::BTreeMap;

use super::{Label, Mark};
use crate::id::SessionId;
use crate::judge::rubric::{Dimension, Rubric};
use crate::quality::calibration::mark_of;
use crate::record::score::{Score, ScoreSource};

/// The metadata key of an annotation score that belongs to a label: the id of its dataset item.
pub const LABEL: &str = "label";
/// Who gave an annotation score without an author.
const UNKNOWN: &str = "annotation";

/// Returns the labels that annotation scores on sessions amount to: one for each session and author,
/// with the newest score of each dimension. A person chose these sessions, so none counts as drawn.
///
/// Scores that belong to a label in a dataset are left out: the label is counted there.
pub fn labels<'a>(
    scores: impl IntoIterator<Item = (SessionId, &'a Score)>,
    rubric: &Rubric,
) -> Vec<Label> {
    let mut labels: BTreeMap<(SessionId, String), Label> = BTreeMap::new();
    let mut scores: Vec<_> = scores.into_iter().filter(|(_, score)| is_free(score)).collect();
    scores.sort_by_key(|(_, score)| score.timestamp);
    for (session, score) in scores {
        let dimension = rubric.dimension(&score.name);
        let Some(mark) = dimension.and_then(|dimension| mark(score, dimension)) else { continue };
        let by = score.author.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let label = labels.entry((session.clone(), by.clone())).or_insert_with(|| Label {
            session,
            by,
            at: score.timestamp,
            why: None,
            rubric: rubric.name.clone(),
            marks: BTreeMap::new(),
            drawn: None,
            judged: None,
        });
        label.at = score.timestamp;
        label.why = score.comment.clone().or_else(|| label.why.take());
        label.marks.insert(score.name.clone(), mark);
    }
    labels.into_values().collect()
}

/// Whether a score is a person's and belongs to no label yet.
fn is_free(score: &Score) -> bool {
    let has_label = score.metadata.iter().any(|(key, _)| key == LABEL);
    score.source == ScoreSource::Annotation && !has_label
}

fn mark(score: &Score, dimension: &Dimension) -> Option<Mark> {
    let scale = &dimension.scale;
    let grade = score.value.text().and_then(|label| scale.grade(label));
    match grade {
        Some(grade) => Some(Mark::Grade(grade.label.clone())),
        None => {
            let number = score.value.number()?;
            mark_of(scale, number).map(|_| Mark::Number(number))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::id::ScoreId;
    use crate::judge::rubric;
    use crate::payload::Json;
    use crate::record::score::{ScoreTarget, ScoreValue};
    use crate::time::Timestamp;

    fn score(name: &str, value: ScoreValue, author: Option<&str>, at: i64) -> Score {
        Score {
            id: ScoreId::parse(&format!("{name}-{at}")).unwrap(),
            target: ScoreTarget::Session(SessionId::parse("s").unwrap()),
            name: name.to_owned(),
            value,
            source: ScoreSource::Annotation,
            timestamp: Timestamp::from_millis(at),
            environment: Environment::default(),
            comment: None,
            author: author.map(str::to_owned),
            config: None,
            queue: None,
            metadata: Vec::new(),
            created_at: Timestamp::default(),
            updated_at: Timestamp::default(),
        }
    }

    fn read(scores: &[Score]) -> Vec<Label> {
        let rubric = rubric::shipped().next().unwrap();
        let session = SessionId::parse("s").unwrap();
        labels(scores.iter().map(|score| (session.clone(), score)), rubric)
    }

    #[test]
    fn annotations_of_a_session_are_a_label_that_was_chosen() {
        let done = |label: &str| ScoreValue::Categorical { label: label.to_owned(), number: None };
        let labels = read(&[
            score("task_completion", done("complete"), Some("ada"), 2),
            score("task_completion", done("partial"), Some("ada"), 1),
            score("tool_mastery", ScoreValue::Numeric(0.5), Some("ada"), 1),
            score("tool_mastery", ScoreValue::Numeric(0.25), None, 1),
            score("something else", ScoreValue::Numeric(0.5), Some("ada"), 1),
        ]);
        let found: Vec<_> = labels.iter().map(|label| (label.by.as_str(), &label.drawn)).collect();
        assert_eq!(found, [("ada", &None), (UNKNOWN, &None)]);
        assert_eq!(labels[0].marks["task_completion"], Mark::Grade("complete".to_owned()));
        assert_eq!(labels[0].marks["tool_mastery"], Mark::Number(0.5));
        assert_eq!(labels[0].marks.len(), 2, "only what the rubric asks");
    }

    #[test]
    fn scores_of_judges_and_of_known_labels_are_no_labels() {
        let given = score("tool_mastery", ScoreValue::Numeric(0.5), Some("ada"), 1);
        let judged = Score { source: ScoreSource::Eval, ..given.clone() };
        let metadata = vec![(LABEL.to_owned(), Json::from_value(&"label-1".into()))];
        let known = Score { metadata, ..given.clone() };
        let wrong = Score { value: ScoreValue::Numeric(7.0), ..given };
        assert!(read(&[judged, known, wrong]).is_empty());
    }
}
