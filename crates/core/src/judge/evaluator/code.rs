use serde::Deserialize;
use serde_json::{Value, json};

use super::{EvaluatedRecord, EvaluatorVerdict};
use crate::judge::verdict::MAX_RATIONALE_CHARS;
use crate::record::score::rule::SentValue;

/// Returns what the driver of an interpreter reads: the source and, as in Langfuse, its context.
pub fn code_request(source: &str, record: &EvaluatedRecord) -> Value {
    let has_item = record.expected_output.is_some() || record.item_metadata.is_some();
    let experiment = has_item.then(|| {
        json!({
            "item_expected_output": record.expected_output,
            "item_metadata": record.item_metadata,
        })
    });
    json!({
        "source": source,
        "context": {
            "observation": {
                "input": record.input,
                "output": record.output,
                "metadata": record.metadata,
                "tool_calls": record.tool_calls,
            },
            "experiment": experiment,
        },
    })
}

#[derive(Deserialize)]
struct CodeAnswer {
    scores: Vec<CodeScore>,
}

#[derive(Deserialize)]
struct CodeScore {
    value: Value,
    comment: Option<String>,
}

/// Reads what the driver printed.
///
/// # Errors
/// Says what is wrong with it.
pub fn code_answer(printed: &str) -> Result<EvaluatorVerdict, String> {
    let answer: CodeAnswer = serde_json::from_str(printed.trim())
        .map_err(|error| format!("evaluate returned no EvaluationResult: {error}"))?;
    let count = answer.scores.len();
    let [score] = <[CodeScore; 1]>::try_from(answer.scores)
        .map_err(|_| format!("evaluate returned {count} scores; an evaluator gives one"))?;
    let value = match score.value {
        Value::Bool(flag) => SentValue::Bool(flag),
        Value::String(text) => SentValue::Text(text),
        Value::Number(number) => number
            .as_f64()
            .filter(|number| number.is_finite())
            .map(SentValue::Number)
            .ok_or("the score is not a finite number")?,
        other => {
            return Err(format!("the score must be a number, a boolean or a text, not {other}"));
        }
    };
    let comment = score.comment.unwrap_or_default();
    let rationale = comment.chars().take(MAX_RATIONALE_CHARS).collect();
    Ok(EvaluatorVerdict { value, rationale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_one_score() {
        let answer = r#"{"scores": [{"name": "x", "value": true, "comment": "fine"}]}"#;
        let verdict = code_answer(answer).unwrap();
        assert_eq!((verdict.value, verdict.rationale.as_str()), (SentValue::Bool(true), "fine"));
        let text = code_answer(r#"{"scores": [{"value": "good"}]}"#).unwrap();
        assert_eq!(text.value, SentValue::Text("good".to_owned()));
        for (answer, why) in [
            ("", "no EvaluationResult"),
            ("{}", "no EvaluationResult"),
            (r#"{"scores": []}"#, "0 scores"),
            (r#"{"scores": [{"value": 1}, {"value": 2}]}"#, "2 scores"),
            (r#"{"scores": [{"value": null}]}"#, "not null"),
            (r#"{"scores": [{"value": [1]}]}"#, "a number, a boolean or a text"),
        ] {
            let said = code_answer(answer).expect_err(answer);
            assert!(said.contains(why), "{answer}: {said}");
        }
    }
}
