//! Verdicts: the scores, rationales and citations of a judge for a session.

use std::collections::BTreeMap;

use crate::judge::offline::Signal;
use crate::judge::rubric::{Grade, Rubric};

pub use crate::judge::verdict::aggregate::{
    ChunkMark, ChunkMarks, ChunkVerdict, SessionVerdict, aggregate,
};
pub use crate::judge::verdict::find::MAX_ANSWER_BYTES;
pub use crate::judge::verdict::read::VerdictFault;
pub use crate::judge::verdict::schema::schema;

/// JSON Schema of an answer.
mod schema;
/// Extraction of the JSON object from an answer.
mod find;
/// Parsing and validation of answers.
mod read;
/// Aggregation of chunk verdicts.
mod aggregate;
/// JSON representation.
mod form;
#[cfg(test)]
mod tests;

/// The maximum length of a rationale. The prompt asks for a sentence or two.
pub const MAX_RATIONALE_CHARS: usize = 2_000;
/// The maximum number of cited traces per judgement.
pub const MAX_CITATIONS: usize = 50;

/// The verdict of a judge on a session or a chunk.
///
/// Invariant: exactly the rubric's dimensions, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub dimensions: Vec<Judgement>,
}

/// The verdict on one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub dimension: String,
    pub finding: Finding,
    /// A sentence or two.
    pub rationale: String,
    /// Numbers of the cited traces.
    pub evidence: Vec<u32>,
    /// The cited traces of each signal that the rationale names; empty for other judges than the
    /// offline one.
    pub signals: BTreeMap<Signal, Vec<u32>>,
    /// From 0 to 1.
    pub confidence: f64,
}

/// A score, or that it is not observable.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// From 0 to 1.
    Number(f64),
    /// A grade of the dimension's scale.
    Grade(Grade),
    /// The session does not show it. The rationale contains the reason.
    NotObservable,
}

impl Finding {
    /// Returns the score from 0 to 1; `None` where not observable.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Grade(grade) => Some(grade.value),
            Self::NotObservable => None,
        }
    }
}

/// The dimension that only reactions of users can show.
pub const USER_SATISFACTION: &str = "user_satisfaction";

impl Verdict {
    /// Makes user satisfaction unobservable, for a session in which no user reacted.
    pub fn forget_satisfaction(&mut self) {
        let of_users = |judgement: &&mut Judgement| judgement.dimension == USER_SATISFACTION;
        for judgement in self.dimensions.iter_mut().filter(of_users) {
            judgement.finding = Finding::NotObservable;
            "No user spoke a second time.".clone_into(&mut judgement.rationale);
            judgement.evidence.clear();
            judgement.confidence = 0.0;
        }
    }

    /// Returns the judgement of a dimension.
    pub fn judgement(&self, dimension: &str) -> Option<&Judgement> {
        self.dimensions.iter().find(|judgement| judgement.dimension == dimension)
    }

    /// Returns the overall score: the weighted mean. The weight of unobservable dimensions is
    /// distributed over the others; `None` where none is observable.
    pub fn overall(&self, rubric: &Rubric) -> Option<f64> {
        let weighed = rubric.dimensions.iter().filter_map(|dimension| {
            let value = self.judgement(&dimension.name)?.finding.value()?;
            Some((dimension.weight, value))
        });
        let (weight, sum) =
            weighed.fold((0.0, 0.0), |(weight, sum), (w, value)| (weight + w, sum + w * value));
        (weight > 0.0).then(|| (sum / weight).clamp(0.0, 1.0))
    }
}
