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
            let words = rationale_key(finding);
            let sent = json!({
                "score": finding.score(),
                words: rationale,
                "evidence": evidence,
                "confidence": confidence,
            });
            (judgement.dimension.clone(), sent)
        };
        Value::Object(self.dimensions.iter().map(entry).collect())
    }
}

impl SessionVerdict {
    /// Serializes for API clients: `session_id`, `overall_quality` and `dimensions`, each with
    /// `score`, `value`, `rationale` (`reason` where not observable), `evidence` and `confidence`;
    /// with the scores of its chunks, if there are several.
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
    let mut sent = json!({
        "score": finding.score(),
        "value": finding.value(),
        rationale_key(finding): rationale,
        "evidence": evidence,
        "confidence": confidence,
    });
    let has_chunks = marks.findings.len() > 1;
    if let Some(sent) = sent.as_object_mut().filter(|_| has_chunks) {
        let scores: Vec<_> = marks.findings.iter().map(Finding::score).collect();
        sent.insert("chunk_scores".to_owned(), json!(scores));
        sent.insert("min".to_owned(), json!(marks.min));
        sent.insert("max".to_owned(), json!(marks.max));
        sent.insert("variance".to_owned(), json!(marks.variance));
        sent.insert("tie".to_owned(), json!(marks.is_tie));
    }
    sent
}

fn rationale_key(finding: &Finding) -> &'static str {
    match finding {
        Finding::Number(_) | Finding::Grade(_) => "rationale",
        Finding::NotObservable => "reason",
    }
}
