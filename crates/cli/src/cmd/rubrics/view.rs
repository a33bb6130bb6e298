use std::path::Path;

use ratchet_core::judge::rubric::{
    Change, Dimension, Part, Rubric, RubricError, RubricFault, Scale,
};
use ratchet_stages::score::rubrics::RubricFile;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// A rubric in a list.
#[derive(Debug, Serialize)]
pub(super) struct RubricEntry {
    pub(super) name: String,
    pub(super) version: u32,
    description: String,
    pub(super) dimensions: Vec<String>,
    pub(super) fingerprint: String,
    pub(super) from: String,
}

impl RubricEntry {
    pub(super) fn new(shelved: &RubricFile) -> Self {
        let Rubric { name, version, description, dimensions, .. } = &shelved.rubric;
        Self {
            name: name.clone(),
            version: *version,
            description: description.clone(),
            dimensions: dimensions.iter().map(|dimension| dimension.name.clone()).collect(),
            fingerprint: shelved.rubric.fingerprint(),
            from: shelved.origin(),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct RubricView {
    name: String,
    version: u32,
    description: String,
    critics: &'static str,
    judge: JudgeView,
    dimensions: Vec<DimensionView>,
    fingerprint: String,
    from: String,
}

#[derive(Debug, Serialize)]
struct JudgeView {
    temperature: f64,
    max_output_tokens: u32,
}

#[derive(Debug, Serialize)]
struct DimensionView {
    name: String,
    weight: f64,
    kind: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grades: Vec<GradeView>,
    aggregation: &'static str,
    criteria: String,
}

#[derive(Debug, Serialize)]
struct GradeView {
    label: String,
    value: f64,
}

impl RubricView {
    pub(super) fn new(shelved: &RubricFile) -> Self {
        let Rubric { name, version, description, dimensions, judge, critics } = &shelved.rubric;
        Self {
            name: name.clone(),
            version: *version,
            description: description.clone(),
            judge: JudgeView {
                temperature: judge.temperature,
                max_output_tokens: judge.max_output_tokens,
            },
            critics: critics.as_str(),
            dimensions: dimensions.iter().map(DimensionView::new).collect(),
            fingerprint: shelved.rubric.fingerprint(),
            from: shelved.origin(),
        }
    }
}

impl DimensionView {
    fn new(dimension: &Dimension) -> Self {
        let grades = dimension.scale.grades().iter();
        Self {
            name: dimension.name.clone(),
            weight: dimension.weight,
            kind: match &dimension.scale {
                Scale::Numeric => "numeric",
                Scale::Ordered(_) => "ordered",
            },
            grades: grades
                .map(|grade| GradeView { label: grade.label.clone(), value: grade.value })
                .collect(),
            aggregation: dimension.aggregation.as_str(),
            criteria: dimension.criteria.clone(),
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, Serialize)]
pub(super) struct CheckView {
    file: String,
    valid: bool,
    faults: Vec<FaultView>,
}

#[derive(Debug, Serialize)]
struct FaultView {
    line: Option<usize>,
    dimension: Option<String>,
    part: &'static str,
    problem: String,
}

impl CheckView {
    pub(super) fn new(file: &Path, checked: &Result<Rubric, RubricError>) -> Self {
        let fault = |fault: &RubricFault| FaultView {
            line: fault.line,
            dimension: fault.dimension.as_ref().map(|(_, name)| name.clone()),
            part: fault.part.as_str(),
            problem: fault.problem.clone(),
        };
        let faults = checked.as_ref().err().map(|error| error.faults.iter().map(fault).collect());
        Self {
            file: file.display().to_string(),
            valid: checked.is_ok(),
            faults: faults.unwrap_or_default(),
        }
    }
}

/// One difference.
#[derive(Debug, Serialize)]
pub(super) struct ChangeView {
    dimension: Option<String>,
    part: &'static str,
    before: Option<String>,
    after: Option<String>,
    #[serde(skip)]
    is_prose: bool,
}

impl ChangeView {
    pub(super) fn new(change: &Change) -> Self {
        Self {
            dimension: change.dimension.clone(),
            part: change.part.as_str(),
            before: change.before.clone(),
            after: change.after.clone(),
            is_prose: matches!(change.part, Part::Criteria | Part::Description),
        }
    }

    /// The difference for people: texts line by line, anything else in a line.
    pub(super) fn text(&self) -> String {
        let place = match &self.dimension {
            Some(dimension) => format!("{dimension} {}", self.part),
            None => self.part.to_owned(),
        };
        let dimension = self.dimension.as_deref().unwrap_or_default();
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if self.is_prose => {
                format!("{place}:\n{}", lines(before, after))
            }
            (Some(before), Some(after)) => format!("{place}: {before} -> {after}\n"),
            (Some(before), None) => format!("- dimension {dimension}: {before}\n"),
            (None, Some(after)) => format!("+ dimension {dimension}: {after}\n"),
            (None, None) => String::new(),
        }
    }
}

/// Both texts as one, with what went and what came marked at the beginning of its lines.
fn lines(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let line = |change: similar::Change<&str>| {
        let sign = match change.tag() {
            ChangeTag::Delete => "-",
            ChangeTag::Insert => "+",
            ChangeTag::Equal => " ",
        };
        let line = format!("  {sign} {}", change.value());
        format!("{}\n", line.trim_end())
    };
    diff.iter_all_changes().map(line).collect()
}
