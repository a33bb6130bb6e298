use serde_json::{Value, json};

use super::EvaluatorVerdict;
use crate::catalog::evaluator::document::{OutputDefinition, OutputType};
use crate::judge::verdict::MAX_RATIONALE_CHARS;
use crate::record::score::rule::SentValue;

/// Joins the labels of an answer that may have several.
const BETWEEN_LABELS: &str = ", ";

/// Returns the JSON Schema of an answer.
pub fn schema(output: &OutputDefinition) -> Value {
    let reasoning = output.score_reasoning_instructions.as_deref();
    let reasoning = reasoning.unwrap_or("one to three sentences that cite the evidence");
    let mut score = match output.data_type {
        OutputType::Numeric => numeric(output),
        OutputType::Boolean => json!({ "type": "boolean" }),
        OutputType::Categorical => categorical(output),
    };
    if let (Some(score), Some(text)) = (score.as_object_mut(), &output.score_value_instructions) {
        score.insert("description".to_owned(), text.as_str().into());
    }
    json!({
        "type": "object",
        "properties": {
            "reasoning": { "type": "string", "description": reasoning },
            "score": score,
        },
        "required": ["reasoning", "score"],
        "additionalProperties": false,
    })
}

fn numeric(output: &OutputDefinition) -> Value {
    let mut number = json!({ "type": "number" });
    let bounds = [("minimum", output.min_value), ("maximum", output.max_value)];
    if let Some(number) = number.as_object_mut() {
        for (name, bound) in bounds.into_iter().filter_map(|(name, bound)| Some((name, bound?))) {
            number.insert(name.to_owned(), bound.into());
        }
    }
    number
}

fn categorical(output: &OutputDefinition) -> Value {
    let labels = output.categories.clone().unwrap_or_default();
    let one = json!({ "type": "string", "enum": labels });
    if output.should_allow_multiple_matches == Some(true) {
        return json!({ "type": "array", "items": one, "minItems": 1, "uniqueItems": true });
    }
    one
}

/// Reads an answer that is valid against the [`schema`].
///
/// # Errors
/// Says what is wrong, for an answer that is not.
pub fn read(output: &OutputDefinition, answer: &Value) -> Result<EvaluatorVerdict, String> {
    let rationale = answer["reasoning"].as_str().ok_or("reasoning: must be a text")?;
    let score = &answer["score"];
    let value = match output.data_type {
        OutputType::Numeric => {
            let number = score.as_f64().filter(|number| number.is_finite());
            let number = number.ok_or("score: must be a number")?;
            let is_low = output.min_value.is_some_and(|min| number < min);
            if is_low || output.max_value.is_some_and(|max| number > max) {
                return Err(format!("score: {number} is out of range"));
            }
            SentValue::Number(number)
        }
        OutputType::Boolean => {
            SentValue::Bool(score.as_bool().ok_or("score: must be true or false")?)
        }
        OutputType::Categorical => SentValue::Text(labels(output, score)?),
    };
    let rationale = rationale.trim().chars().take(MAX_RATIONALE_CHARS).collect();
    Ok(EvaluatorVerdict { name: None, value, rationale })
}

fn labels(output: &OutputDefinition, score: &Value) -> Result<String, String> {
    let given: Vec<&str> = match score {
        Value::String(label) => vec![label],
        Value::Array(labels) => labels.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let known = output.categories.as_deref().unwrap_or_default();
    let is_known = |label: &&str| known.iter().any(|category| category == label);
    if given.is_empty() || !given.iter().all(is_known) {
        return Err(format!("score: must be one of {}", known.join(BETWEEN_LABELS)));
    }
    Ok(given.join(BETWEEN_LABELS))
}
