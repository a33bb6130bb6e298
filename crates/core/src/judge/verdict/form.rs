use serde_json::{Map, Value, json};

use super::{ChunkMarks, Finding, Judgement, SessionVerdict, Verdict};
use crate::judge::rubric::{OVERALL, Rubric};

impl Finding {
    /// Returns the number or label as JSON; null where not observable.
    pub fn score(&self) -> Value {
        match self {
            Self::Number(value) => json!(value),
            Self::Grade(grade) => json!(grade.label),
            Self::NotObservable => Value::Null,
        }
    }
}

impl Verdict {
    /// Serializes to the answer format that [`Verdict::read`] parses.
    pub fn to_json(&self) -> Value {
        let entry = |judgement: &Judgement| {
            let Judgement { finding, rationale, evidence, confidence, .. } = judgement;
            let words = word_for_why(finding);
            let said = json!({
                "score": finding.score(),
                words: rationale,
                "evidence": evidence,
                "confidence": confidence,
            });
            (judgement.dimension.clone(), said)
        };
        Value::Object(self.dimensions.iter().map(entry).collect())
    }
}

impl SessionVerdict {
    /// Serializes for API clients: `session_id`, `overall_quality` and `dimensions`, each with `score`, `value`,
    /// `rationale` (`reason` where not observable), `evidence` and `confidence`; with the scores of its chunks,
    /// if there are several.
    pub fn to_json(&self, session: &str, rubric: &Rubric) -> Value {
        let pairs = self.verdict.dimensions.iter().zip(&self.marks);
        let dimensions: Map<_, _> =
            pairs.map(|(one, marks)| (one.dimension.clone(), dimension(one, marks))).collect();
        json!({
            "session_id": session,
            OVERALL: self.verdict.overall(rubric),
            "dimensions": dimensions,
        })
    }
}

fn dimension(judgement: &Judgement, marks: &ChunkMarks) -> Value {
    let Judgement { finding, rationale, evidence, confidence, .. } = judgement;
    let mut said = json!({
        "score": finding.score(),
        "value": finding.value(),
        word_for_why(finding): rationale,
        "evidence": evidence,
        "confidence": confidence,
    });
    let has_chunks = marks.findings.len() > 1;
    if let Some(said) = said.as_object_mut().filter(|_| has_chunks) {
        let scores: Vec<_> = marks.findings.iter().map(Finding::score).collect();
        said.insert("chunk_scores".to_owned(), json!(scores));
        said.insert("min".to_owned(), json!(marks.min));
        said.insert("max".to_owned(), json!(marks.max));
        said.insert("variance".to_owned(), json!(marks.variance));
        said.insert("tie".to_owned(), json!(marks.is_tie));
    }
    said
}

fn word_for_why(finding: &Finding) -> &'static str {
    match finding {
        Finding::Number(_) | Finding::Grade(_) => "rationale",
        Finding::NotObservable => "reason",
    }
}
