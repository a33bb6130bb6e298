//! Labels: the ground truth that a judge is compared with.
//!
//! A label is a dataset item, so that any Langfuse server can store it: the session is its input,
//! the scores are its expected output, author, time and reason its metadata. Each person has one
//! label per session; labelling again updates it, and the dataset keeps earlier versions.

/// Annotation scores as labels.
pub mod annotation;
/// CSV import and export.
pub mod table;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::id::SessionId;
use crate::judge::rubric::{self, Dimension, Rubric, Scale};
use crate::quality::calibration::{Marks, mark_of};
use crate::review::session_sample::{Band, SampledSession};
use crate::time::Timestamp;

/// The default dataset of labels.
pub const DATASET: &str = "ground-truth";
pub const MAX_WHY: usize = 10_000;
/// The maximum length of a labeller's name.
pub const MAX_BY: usize = 200;

/// A person's label of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub session: SessionId,
    pub by: String,
    pub at: Timestamp,
    pub why: Option<String>,
    /// Name of the rubric.
    pub rubric: String,
    /// Scores by dimension.
    pub marks: BTreeMap<String, Mark>,
    /// The sampling design; `None` where a person chose the session.
    pub drawn: Option<LabelOrigin>,
    /// What the judge had said when the label was given; `None` where it had not.
    pub judged: Option<JudgedBefore>,
}

/// A judge's verdict at the time of a label: what the label is about stays known when the session
/// is scored again, or deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedBefore {
    pub judge: String,
    pub rubric_version: u32,
    /// Number of the verdict on the session, from 1.
    pub generation: u32,
    /// Scores by dimension, and the overall one.
    pub marks: Marks,
}

/// A score as a person gave it.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Number(f64),
    Grade(String),
    /// The session does not show it.
    NotObservable,
}

/// How a session was sampled for labelling.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelOrigin {
    /// The week, by its first day.
    pub week: String,
    /// Random seed.
    pub seed: String,
    /// The judge's score band at that time.
    pub band: Band,
    /// `None` where strata ignore agents.
    pub agent: Option<String>,
    /// Size of the stratum.
    pub population: u64,
    /// Sample size of the stratum.
    pub taken: u64,
}

/// The parts of a dataset item.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelItem {
    /// Deterministic: the same for the same person and session.
    pub id: String,
    pub input: Value,
    /// The label; `None` where there is none yet.
    pub expected_output: Option<Value>,
    pub metadata: Value,
}

impl Mark {
    /// Parses user input: a number from 0 to 1, a grade or a prefix of one, or a dash for not
    /// observable.
    ///
    /// # Errors
    /// Lists the valid inputs.
    pub fn parse(dimension: &Dimension, text: &str) -> Result<Self, String> {
        let text = text.trim();
        if matches!(text, "-" | "n/a" | "N/A" | "not observable") {
            return Ok(Self::NotObservable);
        }
        match &dimension.scale {
            Scale::Numeric => {
                let number = text.replace(',', ".").parse::<f64>().ok();
                let number = number.filter(|number| (0.0..=1.0).contains(number));
                number.map(Self::Number).ok_or_else(|| {
                    format!(
                        "{} must be a number from 0 to 1, or - if not observable",
                        dimension.name
                    )
                })
            }
            Scale::Ordered(grades) => {
                let wanted = text.to_lowercase();
                let exact = grades.iter().find(|grade| grade.label.to_lowercase() == wanted);
                let begun = || {
                    let begins = |label: &str| label.to_lowercase().starts_with(&wanted);
                    let mut fit = grades.iter().filter(|grade| begins(&grade.label));
                    fit.next().filter(|_| !wanted.is_empty() && fit.next().is_none())
                };
                let found = exact.or_else(begun);
                found.map(|grade| Self::Grade(grade.label.clone())).ok_or_else(|| {
                    let labels: Vec<&str> =
                        grades.iter().map(|grade| grade.label.as_str()).collect();
                    let labels = labels.join(", ");
                    format!("{} must be one of {labels}, or - if not observable", dimension.name)
                })
            }
        }
    }

    /// Formats the score as user input.
    pub fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Grade(label) => label.clone(),
            Self::NotObservable => "-".to_owned(),
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Number(number) => json!(number),
            Self::Grade(label) => json!(label),
            Self::NotObservable => Value::Null,
        }
    }

    /// Reads a score in any supported JSON form: bare, or in an object.
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::NotObservable),
            Value::Number(number) => number.as_f64().map(Self::Number),
            Value::String(label) => Some(Self::Grade(label.clone())),
            Value::Object(object) => object.get("score").and_then(Self::read),
            Value::Bool(_) | Value::Array(_) => None,
        }
    }
}

impl Label {
    /// Converts the label to an item of a dataset.
    pub fn item(&self, dataset: &str) -> LabelItem {
        let mut metadata = json!({
            "labeled_by": self.by,
            "labeled_at": self.at.to_string(),
            "rubric": self.rubric,
        });
        if let Some(object) = metadata.as_object_mut() {
            object.extend(self.why.as_ref().map(|why| ("why".to_owned(), json!(why))));
            object.extend(self.drawn.as_ref().map(|drawn| ("sample".to_owned(), drawn.to_json())));
            object.extend(self.judged.as_ref().map(|it| ("judged".to_owned(), it.to_json())));
        }
        let marks = self.marks.iter().map(|(name, mark)| (name.clone(), mark.to_json()));
        let session = self.session.to_string();
        let mut about = vec![session.as_str(), &self.by];
        // A person can label the same session by several rubrics.
        about.extend((self.rubric != rubric::DEFAULT).then_some(self.rubric.as_str()));
        about.extend(apart(dataset));
        LabelItem {
            id: item_id("label", &about),
            input: json!({ "session_id": self.session.to_string() }),
            expected_output: Some(Value::Object(marks.collect::<Map<_, _>>())),
            metadata,
        }
    }

    /// Parses a dataset item; `None` where it is not a label.
    pub fn read(input: &Value, expected_output: &Value, metadata: &Value) -> Option<Self> {
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::to_owned);
        let marks = expected_output.as_object()?.iter();
        let marks = marks.filter_map(|(name, value)| Some((name.clone(), Mark::read(value)?)));
        let at = text("labeled_at").and_then(|at| Timestamp::parse(&at).ok());
        Some(Self {
            session: SessionId::parse(input.get("session_id")?.as_str()?).ok()?,
            by: text("labeled_by").unwrap_or_else(|| "human".to_owned()),
            at: at.unwrap_or_default(),
            why: text("why"),
            rubric: text("rubric").unwrap_or_default(),
            marks: marks.collect(),
            drawn: metadata.get("sample").and_then(LabelOrigin::read),
            judged: metadata.get("judged").and_then(JudgedBefore::read),
        })
    }

    /// Returns whether the label is by a rubric, as far as is known.
    pub fn is_by(&self, rubric: &Rubric) -> bool {
        self.rubric.is_empty() || self.rubric == rubric.name
    }

    /// Returns the scores as numbers, for dimensions of the rubric.
    pub fn marks(&self, rubric: &Rubric) -> Marks {
        let of = |dimension: &Dimension| {
            let number = match self.marks.get(&dimension.name)? {
                Mark::Number(number) => mark_of(&dimension.scale, *number)?,
                Mark::Grade(label) => dimension.scale.grade(label)?.value,
                Mark::NotObservable => return None,
            };
            Some((dimension.name.clone(), number))
        };
        rubric.dimensions.iter().filter_map(of).collect()
    }
}

impl JudgedBefore {
    fn to_json(&self) -> Value {
        json!({
            "judge": self.judge,
            "rubric_version": self.rubric_version,
            "generation": self.generation,
            "scores": self.marks,
        })
    }

    fn read(value: &Value) -> Option<Self> {
        let count = |name: &str| value.get(name)?.as_u64()?.try_into().ok();
        let scores = value.get("scores")?.as_object()?.iter();
        Some(Self {
            judge: value.get("judge")?.as_str()?.to_owned(),
            rubric_version: count("rubric_version")?,
            generation: count("generation")?,
            marks: scores.filter_map(|(name, mark)| Some((name.clone(), mark.as_f64()?))).collect(),
        })
    }
}

/// The name of a dataset, where it is not the default one: ids of items are unique in a project, and
/// several datasets can have the same session.
fn apart(dataset: &str) -> Option<&str> {
    (dataset != DATASET).then_some(dataset)
}

impl LabelOrigin {
    /// Creates the origin of a sampled session.
    pub fn of(drawn: &SampledSession, week: &str, seed: &str) -> Self {
        Self {
            week: week.to_owned(),
            seed: seed.to_owned(),
            band: drawn.band,
            agent: drawn.agent.clone(),
            population: drawn.population,
            taken: drawn.taken,
        }
    }

    /// Returns an item of the dataset's sample, without an expected output, for a session to be
    /// labelled.
    ///
    /// It reveals nothing of the judge's verdict but the band, which labellers do not see.
    pub fn item(&self, session: &SessionId, dataset: &str) -> LabelItem {
        let session_id = session.to_string();
        let mut about = vec![self.week.as_str(), &session_id];
        about.extend(apart(dataset));
        LabelItem {
            id: item_id("sample", &about),
            input: json!({ "session_id": session.to_string() }),
            expected_output: None,
            metadata: json!({ "sample": self.to_json() }),
        }
    }

    /// Parses the origin from a dataset item.
    pub fn of_item(input: &Value, metadata: &Value) -> Option<(SessionId, Self)> {
        let session = SessionId::parse(input.get("session_id")?.as_str()?).ok()?;
        Some((session, Self::read(metadata.get("sample")?)?))
    }

    /// Returns the sampling probability.
    pub fn probability(&self) -> f64 {
        crate::stats::interval::share(self.taken, self.population).map_or(0.0, |share| share.value)
    }

    fn to_json(&self) -> Value {
        json!({
            "week": self.week,
            "seed": self.seed,
            "band": self.band.as_str(),
            "agent": self.agent,
            "population": self.population,
            "taken": self.taken,
            "inclusion_probability": self.probability(),
        })
    }

    fn read(value: &Value) -> Option<Self> {
        Some(Self {
            week: value.get("week")?.as_str()?.to_owned(),
            seed: value.get("seed")?.as_str()?.to_owned(),
            band: Band::parse(value.get("band")?.as_str()?)?,
            agent: value.get("agent").and_then(Value::as_str).map(str::to_owned),
            population: value.get("population")?.as_u64()?,
            taken: value.get("taken")?.as_u64()?,
        })
    }
}

/// Returns the name of the dataset of sampled sessions.
pub fn sample_dataset(dataset: &str) -> String {
    format!("{dataset}-sample")
}

/// Derives a deterministic item id from its content, for idempotent writes.
pub(crate) fn item_id(kind: &str, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{kind}-{hex}")
}

#[cfg(test)]
mod tests;
