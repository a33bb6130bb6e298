use std::fmt;

/// Which part of a rubric is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The file as a whole.
    File,
    Name,
    Version,
    Description,
    /// How freely a model chooses its words.
    Temperature,
    /// The most tokens an answer may have.
    MaxOutputTokens,
    /// Which dimensions there are, and in what order.
    Dimensions,
    /// A dimension's share of the whole.
    Weight,
    Grades,
    /// What a judge is told.
    Criteria,
    /// How the marks of chunks become one.
    Aggregation,
}

impl Part {
    /// What the part is called in a rubric file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Name => "name",
            Self::Version => "version",
            Self::Description => "description",
            Self::Temperature => "judge.temperature",
            Self::MaxOutputTokens => "judge.max_output_tokens",
            Self::Dimensions => "dimensions",
            Self::Weight => "weight",
            Self::Grades => "grades",
            Self::Criteria => "criteria",
            Self::Aggregation => "aggregation",
        }
    }
}

/// One thing that is wrong with a rubric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricFault {
    /// The line of the file, or the line its dimension begins on; `None` if there is no file.
    pub line: Option<usize>,
    /// The dimension by number, from 1, and by name.
    pub dimension: Option<(usize, String)>,
    pub part: Part,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl RubricFault {
    pub(super) fn new(part: Part, problem: impl Into<String>) -> Self {
        Self { line: None, dimension: None, part, problem: problem.into() }
    }
}

impl fmt::Display for RubricFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map(|line| format!("line {line}"));
        let dimension = self.dimension.as_ref().map(|(number, name)| match name.as_str() {
            "" => format!("dimension {number}"),
            name => format!("dimension {name}"),
        });
        let part = (self.part != Part::File).then(|| self.part.as_str().to_owned());
        let place: Vec<_> = [line, dimension, part].into_iter().flatten().collect();
        if place.is_empty() {
            return out.write_str(&self.problem);
        }
        write!(out, "{}: {}", place.join(", "), self.problem)
    }
}

/// Why a file is not a rubric: everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(faults))]
pub struct RubricError {
    /// What is wrong, in the order of the file; never empty.
    pub faults: Vec<RubricFault>,
}

fn list(faults: &[RubricFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
