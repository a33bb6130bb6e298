//! What good work looks like, dimension by dimension: a document that users keep as a TOML file.

use sha2::{Digest, Sha256};

pub use crate::judge::rubric::difference::{Change, difference};
pub use crate::judge::rubric::fault::{Part, RubricError, RubricFault};
pub use crate::judge::rubric::shipped::{DEFAULT, shipped, shipped_file};

/// What is wrong with a rubric, and where.
mod fault;
/// What every rubric holds to.
mod check;
/// The form people write rubrics in.
mod file;
/// The rubrics that come with Ratchet.
mod shipped;
/// What changed from one rubric to another.
mod difference;
#[cfg(test)]
pub(crate) mod arbitrary;
#[cfg(test)]
mod tests;

/// The least and the greatest mark.
pub const MARKS: std::ops::RangeInclusive<f64> = 0.0..=1.0;

/// What the scores of the whole are called; no dimension may be called so.
pub const OVERALL: &str = "overall_quality";

/// How many hexadecimal digits a fingerprint has.
const FINGERPRINT_DIGITS: usize = 12;

/// A rubric: what a judge looks at, and how its marks become one number.
///
/// Invariants: there is a dimension, names differ, weights are positive and add up to 1, grades
/// rise from worst to best, and every dimension's aggregation fits its scale. [`Rubric::parse`]
/// gives no other; [`Rubric::faults`] tells of one that was put together by hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Rubric {
    /// What it is called: `session-quality`.
    pub name: String,
    /// Which version of it; a change of anything that a judge reads is a new one.
    pub version: u32,
    /// What it is for, in a sentence.
    pub description: String,
    /// What is looked at, in order.
    pub dimensions: Vec<Dimension>,
    pub judge: JudgeSettings,
}

/// One thing to look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// What its scores are called: `task_completion`.
    pub name: String,
    /// Its share of the overall mark.
    pub weight: f64,
    pub scale: Scale,
    /// What a judge is told to look for.
    pub criteria: String,
    /// How the marks of several chunks become one.
    pub aggregation: Aggregation,
}

/// The marks that a dimension gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// A number from 0 to 1.
    Numeric,
    /// One of these, from worst to best.
    Ordered(Vec<Grade>),
}

/// One of the marks of an ordered scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Grade {
    /// What people say: `complete`.
    pub label: String,
    /// What it counts for, from 0 to 1.
    pub value: f64,
}

/// How the marks of several chunks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// The mean, each chunk counting by its tokens. Numbers only.
    Mean,
    /// What most say, each chunk counting by its confidence; between equals the worse. Grades only.
    Vote,
    /// The worst of them: one violation is one too many.
    Worst,
    /// What the last chunk says that could tell: how it ended is what counts.
    Last,
}

/// How judges are asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeSettings {
    /// How freely the model chooses its words.
    pub temperature: f64,
    /// The most tokens an answer may have.
    pub max_output_tokens: u32,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self { temperature: 0.0, max_output_tokens: 4096 }
    }
}

impl Rubric {
    /// Reads a rubric file: TOML as in `rubrics/session-quality.toml`, which explains itself.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line and place.
    pub fn parse(text: &str) -> Result<Self, RubricError> {
        file::parse(text)
    }

    /// The file that says this rubric: what [`Rubric::parse`] reads back.
    pub fn to_toml(&self) -> String {
        file::write(self)
    }

    /// Everything that breaks an invariant; empty for what [`Rubric::parse`] gives.
    pub fn faults(&self) -> Vec<RubricFault> {
        check::faults(self)
    }

    /// The dimension of that name.
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// A short hash of all that a judge reads and all that makes up the overall mark: two rubrics
    /// with the same one judge alike, whatever their names and versions say.
    pub fn fingerprint(&self) -> String {
        let nameless = Self { name: String::new(), version: 1, ..self.clone() };
        let hash = Sha256::digest(nameless.to_toml());
        let digits = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        digits.chars().take(FINGERPRINT_DIGITS).collect()
    }
}

impl Scale {
    /// The grade of that label.
    pub fn grade(&self, label: &str) -> Option<&Grade> {
        self.grades().iter().find(|grade| grade.label == label)
    }

    /// The grades from worst to best; none where marks are numbers.
    pub fn grades(&self) -> &[Grade] {
        match self {
            Self::Numeric => &[],
            Self::Ordered(grades) => grades,
        }
    }
}

impl Aggregation {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Vote => "vote",
            Self::Worst => "worst",
            Self::Last => "last",
        }
    }
}
