use std::fmt;

use super::config::{ConfigValues, ScoreConfig};
use super::{DataType, ScoreSource, ScoreTarget, ScoreValue};

/// The name of every correction, whatever name was sent.
const CORRECTED: &str = "output";
/// The maximum length of a text score.
const MAX_TEXT_CHARS: usize = 500;

/// Validation error of a score or score config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreInvalid {
    /// API field name.
    pub field: &'static str,
    pub why: String,
}

impl ScoreInvalid {
    /// Makes an error of an API field.
    pub fn new(field: &'static str, why: impl Into<String>) -> Self {
        Self { field, why: why.into() }
    }
}

impl fmt::Display for ScoreInvalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

/// The value of a score as sent by a client.
#[derive(Clone, Debug, PartialEq)]
pub enum SentValue {
    /// 0 or 1 for booleans.
    Number(f64),
    Text(String),
    Bool(bool),
}

/// The interdependent fields of a score as sent by a client.
#[derive(Clone, Debug)]
pub struct SentScore<'a> {
    pub name: Option<String>,
    pub value: Option<SentValue>,
    pub data_type: Option<DataType>,
    pub source: ScoreSource,
    pub target: &'a ScoreTarget,
    pub config: Option<&'a ScoreConfig>,
}

/// A validated name and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitScore {
    pub name: String,
    pub value: ScoreValue,
}

/// Validates a score.
///
/// The data type is the explicit one, else the config's, else that of the value. A config
/// determines the score's name, and the number of a label. Annotations require a config, except
/// corrections.
///
/// # Errors
/// Returns the first fault.
pub fn judge(sent: SentScore<'_>) -> Result<FitScore, ScoreInvalid> {
    let SentScore { name, value, data_type, source, target, config } = sent;
    let value = value.ok_or_else(|| ScoreInvalid::new("value", "required"))?;
    let data_type = data_type_of(&value, data_type, config)?;
    let value = read(data_type, value)?;
    if data_type == DataType::Correction {
        let is_on_trace = matches!(target, ScoreTarget::Trace(_) | ScoreTarget::Observation(..));
        if !is_on_trace {
            return Err(ScoreInvalid::new("dataType", "a CORRECTION needs a traceId"));
        }
        return Ok(FitScore { name: CORRECTED.to_owned(), value });
    }
    if source == ScoreSource::Annotation && config.is_none() {
        return Err(ScoreInvalid::new("configId", "required when the source is ANNOTATION"));
    }
    if let Some(config) = config {
        let value = follow(config, value)?;
        return Ok(FitScore { name: config.name.clone(), value });
    }
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ScoreInvalid::new("name", "required, and not empty"))?;
    Ok(FitScore { name, value })
}

fn data_type_of(
    value: &SentValue,
    explicit: Option<DataType>,
    config: Option<&ScoreConfig>,
) -> Result<DataType, ScoreInvalid> {
    if let Some(config) = config {
        let ruled = config.values.data_type();
        if let Some(explicit) = explicit.filter(|explicit| *explicit != ruled) {
            let (explicit, ruled, name) = (explicit.as_str(), ruled.as_str(), &config.name);
            let why = format!("{explicit}, but scores of the config {name} are {ruled}");
            return Err(ScoreInvalid::new("dataType", why));
        }
        if config.is_archived {
            let why = format!("the score config {} is archived", config.name);
            return Err(ScoreInvalid::new("configId", why));
        }
        return Ok(ruled);
    }
    Ok(explicit.unwrap_or(match value {
        SentValue::Number(_) => DataType::Numeric,
        SentValue::Text(_) => DataType::Categorical,
        SentValue::Bool(_) => DataType::Boolean,
    }))
}

fn read(data_type: DataType, sent: SentValue) -> Result<ScoreValue, ScoreInvalid> {
    let wanted = match (data_type, sent) {
        (DataType::Numeric, SentValue::Number(number)) if number.is_finite() => {
            return Ok(ScoreValue::Numeric(number));
        }
        (DataType::Boolean, SentValue::Bool(yes)) => return Ok(ScoreValue::Boolean(yes)),
        (DataType::Boolean, SentValue::Number(number)) if number == 0.0 || number == 1.0 => {
            return Ok(ScoreValue::Boolean(number == 1.0));
        }
        (DataType::Categorical, SentValue::Text(label)) if !label.is_empty() => {
            return Ok(ScoreValue::Categorical { label, number: None });
        }
        (DataType::Text, SentValue::Text(text)) if is_short(&text) => {
            return Ok(ScoreValue::Text(text));
        }
        (DataType::Correction, SentValue::Text(text)) => return Ok(ScoreValue::Correction(text)),
        (DataType::Numeric, _) => "a finite number",
        (DataType::Boolean, _) => "0 or 1",
        (DataType::Categorical, _) => "a text that is not empty",
        (DataType::Text, _) => "a text of 1 to 500 characters",
        (DataType::Correction, _) => "a text",
    };
    Err(ScoreInvalid::new("value", format!("a {} score needs {wanted}", data_type.as_str())))
}

fn is_short(text: &str) -> bool {
    (1..=MAX_TEXT_CHARS).contains(&text.chars().count())
}

/// Validates a value against a config of its data type.
fn follow(config: &ScoreConfig, value: ScoreValue) -> Result<ScoreValue, ScoreInvalid> {
    let name = &config.name;
    match (&config.values, value) {
        (ConfigValues::Numeric { min, max }, ScoreValue::Numeric(number)) => {
            if let Some(min) = min.filter(|min| number < *min) {
                let why =
                    format!("{number} is below {min}, the least that the config {name} takes");
                return Err(ScoreInvalid::new("value", why));
            }
            if let Some(max) = max.filter(|max| number > *max) {
                let why =
                    format!("{number} is above {max}, the greatest that the config {name} takes");
                return Err(ScoreInvalid::new("value", why));
            }
            Ok(ScoreValue::Numeric(number))
        }
        (ConfigValues::Categorical(categories), ScoreValue::Categorical { label, .. }) => {
            match categories.iter().find(|category| category.label == label) {
                Some(category) => {
                    Ok(ScoreValue::Categorical { label, number: Some(category.value) })
                }
                None => {
                    Err(ScoreInvalid::new("value", format!("no category of the config {name}")))
                }
            }
        }
        (_, value) => Ok(value),
    }
}

#[cfg(test)]
mod tests;
