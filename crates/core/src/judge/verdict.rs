//! What a judge says of a session.

use crate::judge::rubric::{Grade, Rubric};

pub use crate::judge::verdict::aggregate::{ChunkMarks, ChunkVerdict, SessionVerdict, aggregate};
pub use crate::judge::verdict::find::MAX_ANSWER_BYTES;
pub use crate::judge::verdict::read::VerdictFault;
pub use crate::judge::verdict::schema::schema;

/// The form that a judge must answer in.
mod schema;
/// Where in an answer the verdict stands.
mod find;
/// Answers into verdicts, or everything that is wrong with them.
mod read;
/// Verdicts on chunks into one on the session.
mod aggregate;
/// Verdicts as JSON.
mod form;
#[cfg(test)]
mod tests;

/// The most characters a rationale may have. A sentence or two is asked for.
pub const MAX_RATIONALE_CHARS: usize = 2_000;
/// The most traces one judgement may cite.
pub const MAX_CITATIONS: usize = 50;

/// What a judge says of one session, or of one chunk of it.
///
/// Invariant: exactly the rubric's dimensions, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What it says of each dimension.
    pub dimensions: Vec<Judgement>,
}

/// What a judge says of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub dimension: String,
    /// The mark, or why there is none.
    pub finding: Finding,
    /// Why, in a sentence or two.
    pub rationale: String,
    /// The numbers of the traces that show it, as the evidence numbers them.
    pub evidence: Vec<u32>,
    /// How sure the judge is, from 0 to 1.
    pub confidence: f64,
}

/// A mark, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A number from 0 to 1.
    Number(f64),
    /// A grade of the dimension's scale.
    Grade(Grade),
    /// The session does not show it. The rationale says why.
    NotObservable,
}

impl Finding {
    /// What it counts for, from 0 to 1; `None` where nothing was to be seen.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Grade(grade) => Some(grade.value),
            Self::NotObservable => None,
        }
    }
}

impl Verdict {
    /// What is said of a dimension.
    pub fn judgement(&self, dimension: &str) -> Option<&Judgement> {
        self.dimensions.iter().find(|judgement| judgement.dimension == dimension)
    }

    /// The overall quality: the marks by their weights. What was not observable shares its weight
    /// among the others; `None` where nothing was.
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
