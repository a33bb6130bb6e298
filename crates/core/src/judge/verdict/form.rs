use serde_json::{Map, Value, json};

use super::{ChunkMark, ChunkMarks, Finding, Judgement, SessionVerdict, Verdict};
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
        let entry = |judgement: &Judgement| (judgement.dimension.clone(), judgement.to_json());
        Value::Object(self.dimensions.iter().map(entry).collect())
    }
}

impl Judgement {
    /// Serializes to the value of its dimension in an answer.
    fn to_json(&self) -> Value {
        let Self { finding, rationale, evidence, confidence, .. } = self;
        json!({
            "score": finding.score(),
            rationale_key(finding): rationale,
            "evidence": evidence,
            "confidence": confidence,
        })
    }
}

impl ChunkMarks {
    /// Serializes how the verdicts on the chunks became one, for API clients and for the metadata
    /// of a score; empty for a single chunk.
    pub fn entries(&self) -> Vec<(&'static str, Value)> {
        if self.verdicts.len() < 2 {
            return Vec::new();
        }
        let scores = self.verdicts.iter().map(|mark| mark.judgement.finding.score());
        let verdict = |mark: &ChunkMark| {
            let mut sent = mark.judgement.to_json();
            sent["new_tokens"] = json!(mark.new_tokens);
            sent
        };
        vec![
            ("chunk_scores", Value::Array(scores.collect())),
            ("chunk_verdicts", self.verdicts.iter().map(verdict).collect()),
            ("min", json!(self.min)),
            ("max", json!(self.max)),
            ("variance", json!(self.variance)),
            ("tie", json!(!self.tied_with.is_empty())),
            ("tied_with", json!(self.tied_with)),
        ]
    }
}

impl SessionVerdict {
    /// Serializes for API clients: `session_id`, `overall_quality` and `dimensions`, each with
    /// `score`, `value`, `rationale` (`reason` where not observable), `evidence` and `confidence`;
    /// with the verdicts on its chunks, if there are several.
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
    if let Some(sent) = sent.as_object_mut() {
        sent.extend(marks.entries().into_iter().map(|(key, value)| (key.to_owned(), value)));
    }
    sent
}

fn rationale_key(finding: &Finding) -> &'static str {
    match finding {
        Finding::Number(_) | Finding::Grade(_) => "rationale",
        Finding::NotObservable => "reason",
    }
}
