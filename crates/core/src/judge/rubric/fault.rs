use std::fmt;

/// A part of a rubric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The file as a whole.
    File,
    Name,
    Version,
    Description,
    Critics,
    Temperature,
    MaxOutputTokens,
    /// The list of dimensions and its order.
    Dimensions,
    Weight,
    Grades,
    Criteria,
    Aggregation,
}

impl Part {
    /// Returns the key in a rubric file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Name => "name",
            Self::Version => "version",
            Self::Description => "description",
            Self::Critics => "critics",
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

/// A validation error of a rubric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricFault {
    /// The line in the file, or the first line of the dimension; `None` without a file.
    pub line: Option<usize>,
    /// Number, from 1, and name.
    pub dimension: Option<(usize, String)>,
    pub part: Part,
    /// The problem and its correction.
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

/// Error of parsing a rubric: all its faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", list(faults))]
pub struct RubricError {
    /// In file order; never empty.
    pub faults: Vec<RubricFault>,
}

fn list(faults: &[RubricFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
