use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::find::find_object;
use super::{Finding, Judgement, MAX_CITATIONS, MAX_RATIONALE_CHARS, Verdict};
use crate::judge::rubric::{Dimension, MARKS, Rubric, Scale};

/// The maximum number of reported faults.
const MAX_FAULTS: usize = 50;
/// An optional wrapper key around the dimensions.
const WRAPPER: &str = "dimensions";
const SCORED_KEYS: [&str; 4] = ["score", "rationale", "evidence", "confidence"];
const UNOBSERVABLE_KEYS: [&str; 4] = ["score", "reason", "evidence", "confidence"];

/// A validation error of an answer, worded so that the model can correct it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictFault {
    /// A dimension and its key, or the answer.
    pub place: String,
    /// The problem and its correction.
    pub problem: String,
}

impl fmt::Display for VerdictFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.problem)
    }
}

impl Verdict {
    /// Parses a judge's answer: the one JSON object in it, in the format of [`schema`].
    ///
    /// `traces` are the numbers that may be cited. The object may be bare, in a code fence or
    /// within prose, and may wrap its dimensions in `dimensions`.
    ///
    /// # Errors
    /// Returns all faults, in the rubric's order.
    ///
    /// [`schema`]: super::schema()
    pub fn read(
        answer: &str,
        rubric: &Rubric,
        traces: &RangeInclusive<u32>,
    ) -> Result<Self, Vec<VerdictFault>> {
        let object = verdict_object(answer, rubric)
            .map_err(|problem| vec![VerdictFault { place: "answer".to_owned(), problem }])?;
        let mut faults = Vec::new();
        let mut dimensions = Vec::new();
        for dimension in &rubric.dimensions {
            let mut reader = Reader { dimension, traces, faults: &mut faults };
            dimensions.extend(reader.judgement(object.get(&dimension.name)));
        }
        let unknown = object.keys().filter(|key| rubric.dimension(key).is_none());
        faults.extend(unknown.map(|key| VerdictFault {
            place: short(key),
            problem: "is not a dimension of the rubric; leave it out".to_owned(),
        }));
        faults.truncate(MAX_FAULTS);
        if faults.is_empty() { Ok(Self { dimensions }) } else { Err(faults) }
    }
}

fn verdict_object(answer: &str, rubric: &Rubric) -> Result<Map<String, Value>, String> {
    let names = rubric.dimensions.iter().map(|dimension| dimension.name.as_str());
    let keys: Vec<_> = names.chain([WRAPPER]).collect();
    let object = find_object(answer, &keys)?;
    let is_wrapper_a_dimension = rubric.dimension(WRAPPER).is_some();
    match object.get(WRAPPER) {
        Some(Value::Object(inner)) if object.len() == 1 && !is_wrapper_a_dimension => {
            Ok(inner.clone())
        }
        _ => Ok(object),
    }
}

/// Parses one dimension and collects its faults.
struct Reader<'a> {
    dimension: &'a Dimension,
    traces: &'a RangeInclusive<u32>,
    faults: &'a mut Vec<VerdictFault>,
}

impl Reader<'_> {
    fn judgement(&mut self, sent: Option<&Value>) -> Option<Judgement> {
        let Some(sent) = sent else {
            return self
                .fault("", "is missing; every dimension needs a score, or null and a reason");
        };
        let Value::Object(sent) = sent else {
            return self
                .fault("", "must be an object with score, rationale, evidence and confidence");
        };
        let is_unobservable = sent.get("score") == Some(&Value::Null);
        let known = if is_unobservable { UNOBSERVABLE_KEYS } else { SCORED_KEYS };
        for key in sent.keys().filter(|key| !known.contains(&key.as_str())) {
            self.note(&short(key), "is not a key of a judgement; leave it out");
        }
        let finding = self.finding(sent.get("score"));
        let rationale = self.words(if is_unobservable { "reason" } else { "rationale" }, sent);
        let evidence = self.evidence(sent.get("evidence"), is_unobservable);
        let confidence = self.confidence(sent.get("confidence"));
        Some(Judgement {
            dimension: self.dimension.name.clone(),
            finding: finding?,
            rationale: rationale?,
            evidence: evidence?,
            signals: BTreeMap::new(),
            confidence: confidence?,
        })
    }

    fn finding(&mut self, score: Option<&Value>) -> Option<Finding> {
        let Some(score) = score else { return self.fault("score", "is missing") };
        if score.is_null() {
            return Some(Finding::NotObservable);
        }
        match &self.dimension.scale {
            Scale::Numeric => match score.as_f64().filter(|number| MARKS.contains(number)) {
                Some(number) => Some(Finding::Number(number)),
                None => self.fault("score", "must be a number from 0 to 1, or null with a reason"),
            },
            Scale::Ordered(grades) => {
                let grade = score.as_str().and_then(|label| self.dimension.scale.grade(label));
                if let Some(grade) = grade {
                    return Some(Finding::Grade(grade.clone()));
                }
                let labels: Vec<_> = grades.iter().map(|grade| grade.label.as_str()).collect();
                let problem =
                    format!("must be one of {}, or null with a reason", labels.join(", "));
                self.fault("score", &problem)
            }
        }
    }

    fn words(&mut self, key: &str, sent: &Map<String, Value>) -> Option<String> {
        let words = sent.get(key).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        if words.is_empty() {
            return self.fault(key, "must say why, in a sentence or two");
        }
        let length = words.chars().count();
        if length > MAX_RATIONALE_CHARS {
            let problem = format!("has {length} characters; at most {MAX_RATIONALE_CHARS}");
            return self.fault(key, &problem);
        }
        Some(words.to_owned())
    }

    fn evidence(&mut self, sent: Option<&Value>, is_optional: bool) -> Option<Vec<u32>> {
        let numbers = match sent {
            None if is_optional => return Some(Vec::new()),
            Some(Value::Array(numbers)) => numbers,
            _ => return self.fault("evidence", "must be a list of trace numbers"),
        };
        if numbers.len() > MAX_CITATIONS {
            let problem = format!("cites {} traces; at most {MAX_CITATIONS}", numbers.len());
            return self.fault("evidence", &problem);
        }
        let mut cited = Vec::new();
        let before = self.faults.len();
        for number in numbers {
            let trace = number.as_u64().and_then(|number| u32::try_from(number).ok());
            match trace.filter(|trace| self.traces.contains(trace)) {
                Some(trace) if cited.contains(&trace) => {}
                Some(trace) => cited.push(trace),
                None => {
                    let (first, last) = (self.traces.start(), self.traces.end());
                    let number = short(&number.to_string());
                    let problem = format!(
                        "there is no trace {number}; what you were shown are {first} to {last}"
                    );
                    self.note("evidence", &problem);
                }
            }
        }
        (self.faults.len() == before).then_some(cited)
    }

    /// A judge that does not say how sure it is counts in full: votes without confidences are plain
    /// majorities.
    fn confidence(&mut self, sent: Option<&Value>) -> Option<f64> {
        let Some(sent) = sent else { return Some(1.0) };
        match sent.as_f64().filter(|number| MARKS.contains(number)) {
            Some(number) => Some(number),
            None => self.fault("confidence", "must be a number from 0 to 1"),
        }
    }

    /// Records a fault and returns `None`.
    fn fault<T>(&mut self, key: &str, problem: &str) -> Option<T> {
        self.note(key, problem);
        None
    }

    fn note(&mut self, key: &str, problem: &str) {
        let name = &self.dimension.name;
        let place = if key.is_empty() { name.clone() } else { format!("{name}.{key}") };
        self.faults.push(VerdictFault { place, problem: problem.to_owned() });
    }
}

/// Shortens untrusted text for an error message.
fn short(text: &str) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}
