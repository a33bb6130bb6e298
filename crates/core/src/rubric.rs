//! What good work looks like, dimension by dimension: a document that users keep as a TOML file.

/// The least and the greatest mark.
pub const MARKS: std::ops::RangeInclusive<f64> = 0.0..=1.0;

/// A rubric: what a judge looks at, and how its marks become one number.
///
/// Invariants: there is a dimension, names differ, weights are positive and add up to 1.
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
    /// How judges are asked.
    pub judge: JudgeSettings,
}

/// One thing to look at.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// What its scores are called: `task_completion`.
    pub name: String,
    /// Its share of the overall mark.
    pub weight: f64,
    /// What marks it gives.
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
    /// The mean, each chunk counting by its tokens.
    Mean,
    /// What most say, each chunk counting by its confidence; between equals the worse.
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

impl Rubric {
    /// The dimension of that name.
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|dimension| dimension.name == name)
    }
}

impl Scale {
    /// The grade of that label.
    pub fn grade(&self, label: &str) -> Option<&Grade> {
        match self {
            Self::Numeric => None,
            Self::Ordered(grades) => grades.iter().find(|grade| grade.label == label),
        }
    }
}
