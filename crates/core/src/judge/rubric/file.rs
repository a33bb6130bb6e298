use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::{
    Aggregation, Critics, Dimension, Grade, JudgeSettings, Part, Rubric, RubricError, RubricFault,
    Scale,
};
use crate::document::{self, Malformed, line_at};

/// The maximum size of a rubric file.
const MAX_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: String,
    version: u32,
    description: String,
    #[serde(default)]
    critics: CriticsWord,
    #[serde(default)]
    judge: JudgeEntry,
    #[serde(default)]
    dimension: Vec<Spanned<DimensionEntry>>,
}

/// The serialized form, without source positions.
#[derive(Serialize)]
struct Written<'a> {
    name: &'a str,
    version: u32,
    description: &'a str,
    /// Left out if it is the default, so that fingerprints of older rubrics stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    critics: Option<CriticsWord>,
    judge: JudgeEntry,
    dimension: Vec<DimensionEntry>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum CriticsWord {
    #[default]
    Together,
    PerDimension,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct JudgeEntry {
    temperature: f64,
    max_output_tokens: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DimensionEntry {
    name: String,
    weight: f64,
    kind: Kind,
    aggregation: Option<AggregationWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grades: Option<Vec<GradeEntry>>,
    criteria: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Numeric,
    Ordered,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum AggregationWord {
    Mean,
    Vote,
    Worst,
    Last,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct GradeEntry {
    label: String,
    value: f64,
}

pub(super) fn parse(text: &str) -> Result<Rubric, RubricError> {
    if text.len() > MAX_BYTES {
        let problem = format!("{} bytes long, but {MAX_BYTES} are the most", text.len());
        return Err(RubricError { faults: vec![RubricFault::new(Part::File, problem)] });
    }
    let document: Document = document::read(text).map_err(|Malformed { line, problem }| {
        let fault = RubricFault { line: Some(line), ..RubricFault::new(Part::File, problem) };
        RubricError { faults: vec![fault] }
    })?;
    let (rubric, lines, misplaced) = settle(document, text);
    let faults: Vec<_> = misplaced.into_iter().chain(rubric.faults()).collect();
    if faults.is_empty() {
        return Ok(rubric);
    }
    let placed = faults.into_iter().map(|fault| {
        let number = fault.dimension.as_ref().map(|(number, _)| *number);
        let line = number.and_then(|number| lines.get(number.checked_sub(1)?).copied());
        RubricFault { line, ..fault }
    });
    Err(RubricError { faults: placed.collect() })
}

/// Converts a document to a rubric; also returns the first line of each dimension, and missing or
/// superfluous grades.
fn settle(document: Document, text: &str) -> (Rubric, Vec<usize>, Vec<RubricFault>) {
    let mut lines = Vec::new();
    let mut misplaced = Vec::new();
    let mut dimensions = Vec::new();
    for (number, spanned) in (1..).zip(document.dimension) {
        lines.push(line_at(text, spanned.span().start));
        let entry = spanned.into_inner();
        misplaced.extend(misplaced_grades(&entry).map(|problem| RubricFault {
            dimension: Some((number, entry.name.clone())),
            ..RubricFault::new(Part::Grades, problem)
        }));
        dimensions.push(dimension(entry));
    }
    let Document { name, version, description, critics, judge, dimension: _ } = document;
    let judge = JudgeSettings {
        temperature: judge.temperature,
        max_output_tokens: judge.max_output_tokens,
    };
    let critics = match critics {
        CriticsWord::Together => Critics::Together,
        CriticsWord::PerDimension => Critics::PerDimension,
    };
    (Rubric { name, version, description, dimensions, judge, critics }, lines, misplaced)
}

fn misplaced_grades(entry: &DimensionEntry) -> Option<&'static str> {
    let is_numeric = entry.kind == Kind::Numeric;
    (is_numeric && entry.grades.is_some())
        .then_some("a numeric dimension has none; say kind = \"ordered\" or leave them out")
}

fn dimension(entry: DimensionEntry) -> Dimension {
    let DimensionEntry { name, weight, kind, aggregation, grades, criteria } = entry;
    let grade = |GradeEntry { label, value }| Grade { label, value };
    let (scale, usual) = match kind {
        Kind::Numeric => (Scale::Numeric, AggregationWord::Mean),
        Kind::Ordered => {
            let grades = grades.unwrap_or_default().into_iter().map(grade).collect();
            (Scale::Ordered(grades), AggregationWord::Vote)
        }
    };
    let aggregation = match aggregation.unwrap_or(usual) {
        AggregationWord::Mean => Aggregation::Mean,
        AggregationWord::Vote => Aggregation::Vote,
        AggregationWord::Worst => Aggregation::Worst,
        AggregationWord::Last => Aggregation::Last,
    };
    Dimension { name, weight, scale, criteria, aggregation }
}

pub(super) fn write(rubric: &Rubric) -> String {
    let written = Written {
        name: &rubric.name,
        version: rubric.version,
        description: &rubric.description,
        critics: match rubric.critics {
            Critics::Together => None,
            Critics::PerDimension => Some(CriticsWord::PerDimension),
        },
        judge: rubric.judge.into(),
        dimension: rubric.dimensions.iter().map(entry).collect(),
    };
    // Strings and numbers always serialize to TOML.
    toml::to_string_pretty(&written).unwrap_or_default()
}

fn entry(dimension: &Dimension) -> DimensionEntry {
    let grade = |Grade { label, value }: &Grade| GradeEntry { label: label.clone(), value: *value };
    let (kind, grades) = match &dimension.scale {
        Scale::Numeric => (Kind::Numeric, None),
        Scale::Ordered(grades) => (Kind::Ordered, Some(grades.iter().map(grade).collect())),
    };
    let aggregation = match dimension.aggregation {
        Aggregation::Mean => AggregationWord::Mean,
        Aggregation::Vote => AggregationWord::Vote,
        Aggregation::Worst => AggregationWord::Worst,
        Aggregation::Last => AggregationWord::Last,
    };
    DimensionEntry {
        name: dimension.name.clone(),
        weight: dimension.weight,
        kind,
        aggregation: Some(aggregation),
        grades,
        criteria: dimension.criteria.clone(),
    }
}

impl From<JudgeSettings> for JudgeEntry {
    fn from(judge: JudgeSettings) -> Self {
        let JudgeSettings { temperature, max_output_tokens } = judge;
        Self { temperature, max_output_tokens }
    }
}

impl Default for JudgeEntry {
    fn default() -> Self {
        JudgeSettings::default().into()
    }
}
