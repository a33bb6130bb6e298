//! Rubrics: criteria for good work, dimension by dimension, stored as TOML files by users.

use sha2::{Digest, Sha256};

pub use crate::judge::rubric::difference::{Change, difference};
pub use crate::judge::rubric::fault::{Part, RubricError, RubricFault};
pub use crate::judge::rubric::shipped::{DEFAULT, shipped, shipped_file};

/// Validation errors.
mod fault;
/// Validation.
mod check;
/// File format.
mod file;
/// Built-in rubrics.
mod shipped;
/// Differences between two rubrics.
mod difference;
#[cfg(test)]
pub(crate) mod arbitrary;
#[cfg(test)]
mod tests;

/// The range of scores.
pub const MARKS: std::ops::RangeInclusive<f64> = 0.0..=1.0;

/// The name of the overall score; no dimension may have it.
pub const OVERALL: &str = "overall_quality";

/// Length of a fingerprint, in hexadecimal digits.
const FINGERPRINT_DIGITS: usize = 12;

/// A rubric: the dimensions that a judge scores, and how they combine to an overall score.
///
/// Invariants: at least one dimension, unique names, positive weights that add up to 1, grades that
/// rise from worst to best, and an aggregation that fits each scale. [`Rubric::parse`] guarantees
/// them; [`Rubric::faults`] checks a rubric constructed otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Rubric {
    /// For example `session-quality`.
    pub name: String,
    /// Any change of text that a judge reads needs a new version.
    pub version: u32,
    /// One sentence.
    pub description: String,
    pub dimensions: Vec<Dimension>,
    pub judge: JudgeSettings,
    pub critics: Critics,
}

/// How a model is asked about the dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Critics {
    /// About all of them in one call.
    #[default]
    Together,
    /// About each in a call of its own, all on the same evidence.
    PerDimension,
}

/// A dimension of quality.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Also the name of its scores: `task_completion`.
    pub name: String,
    /// Share of the overall score.
    pub weight: f64,
    pub scale: Scale,
    /// The judge's instructions for this dimension.
    pub criteria: String,
    pub aggregation: Aggregation,
}

/// The scale of a dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// A number from 0 to 1.
    Numeric,
    /// One of these grades, worst first.
    Ordered(Vec<Grade>),
}

/// A grade of an ordered scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Grade {
    /// For example `complete`.
    pub label: String,
    /// From 0 to 1.
    pub value: f64,
}

/// The aggregation of scores over chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// Mean weighted by the tokens that are new in a chunk. Numeric scales only.
    Mean,
    /// Majority vote weighted by confidence; ties go to the worse grade. Ordered scales only.
    Vote,
    /// Minimum: one violation is enough.
    Worst,
    /// The last chunk with a score: for dimensions about the outcome.
    Last,
}

/// Parameters of the judge model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeSettings {
    pub temperature: f64,
    pub max_output_tokens: u32,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self { temperature: 0.0, max_output_tokens: 4096 }
    }
}

impl Rubric {
    /// Parses a rubric file: TOML as in `rubrics/session-quality.toml`, which is commented.
    ///
    /// # Errors
    /// Returns all faults with line and field.
    pub fn parse(text: &str) -> Result<Self, RubricError> {
        file::parse(text)
    }

    /// Serializes to the TOML that [`Rubric::parse`] reads.
    pub fn to_toml(&self) -> String {
        file::write(self)
    }

    /// Returns all violated invariants; empty after [`Rubric::parse`].
    pub fn faults(&self) -> Vec<RubricFault> {
        check::faults(self)
    }

    /// Returns a dimension by name.
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// Returns the rubric of each critic: itself, or one for each dimension.
    pub fn critics(&self) -> Vec<Self> {
        match self.critics {
            Critics::Together => vec![self.clone()],
            Critics::PerDimension => {
                let critic = |dimension: &Dimension| {
                    let dimensions = vec![Dimension { weight: 1.0, ..dimension.clone() }];
                    Self { dimensions, ..self.clone() }
                };
                self.dimensions.iter().map(critic).collect()
            }
        }
    }

    /// Returns a short hash of everything that affects verdicts and the overall score: rubrics with
    /// the same fingerprint judge alike, whatever their names and versions.
    pub fn fingerprint(&self) -> String {
        let nameless = Self { name: String::new(), version: 1, ..self.clone() };
        let hash = Sha256::digest(nameless.to_toml());
        let digits = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        digits.chars().take(FINGERPRINT_DIGITS).collect()
    }
}

impl Scale {
    /// Returns a grade by label.
    pub fn grade(&self, label: &str) -> Option<&Grade> {
        self.grades().iter().find(|grade| grade.label == label)
    }

    /// Returns the grades, worst first; empty for a numeric scale.
    pub fn grades(&self) -> &[Grade] {
        match self {
            Self::Numeric => &[],
            Self::Ordered(grades) => grades,
        }
    }
}

impl Critics {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::PerDimension => "per-dimension",
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
