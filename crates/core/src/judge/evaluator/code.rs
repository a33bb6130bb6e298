use serde::Deserialize;
use serde_json::{Value, json};

use super::{EvaluatedRecord, EvaluatorVerdict};
use crate::judge::verdict::MAX_RATIONALE_CHARS;
use crate::record::score::rule::SentValue;

/// Scores that code may give a record.
const MAX_SCORES: usize = 20;

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
    name: Option<String>,
    value: Value,
    comment: Option<String>,
}

/// Reads what the driver printed: one score, which is called like the evaluator's, or several with
/// names of their own, in the order of these.
///
/// # Errors
/// Says what is wrong with it.
pub fn code_answer(printed: &str) -> Result<Vec<EvaluatorVerdict>, String> {
    let answer: CodeAnswer = serde_json::from_str(printed.trim())
        .map_err(|error| format!("evaluate returned no EvaluationResult: {error}"))?;
    let count = answer.scores.len();
    if !(1..=MAX_SCORES).contains(&count) {
        return Err(format!("evaluate returned {count} scores; from 1 to {MAX_SCORES} are stored"));
    }
    let verdicts: Result<Vec<_>, _> = answer.scores.into_iter().map(verdict).collect();
    let mut verdicts = verdicts?;
    if let [only] = verdicts.as_mut_slice() {
        only.name = None;
        return Ok(verdicts);
    }
    verdicts.sort_by(|one, other| one.name.cmp(&other.name));
    if verdicts.iter().any(|verdict| verdict.name.is_none()) {
        return Err(format!("evaluate returned {count} scores: each needs a name"));
    }
    let is_twice =
        |pair: &&[EvaluatorVerdict]| matches!(pair, [one, other] if one.name == other.name);
    match verdicts.windows(2).find(is_twice).and_then(|pair| pair.first()?.name.as_ref()) {
        Some(name) => Err(format!("evaluate returned two scores with the name {name:?}")),
        None => Ok(verdicts),
    }
}

fn verdict(score: CodeScore) -> Result<EvaluatorVerdict, String> {
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
    let name = score.name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    Ok(EvaluatorVerdict { name, value, rationale })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_one_score_or_several_with_names() {
        let answer = r#"{"scores": [{"name": "x", "value": true, "comment": "fine"}]}"#;
        let verdict = code_answer(answer).unwrap().remove(0);
        assert_eq!((verdict.value, verdict.rationale.as_str()), (SentValue::Bool(true), "fine"));
        assert_eq!(verdict.name, None, "one score is called like the evaluator's");
        let text = code_answer(r#"{"scores": [{"value": "good"}]}"#).unwrap().remove(0);
        assert_eq!(text.value, SentValue::Text("good".to_owned()));
        let two = r#"{"scores": [{"name": "tone", "value": 1}, {"name": "length", "value": 2}]}"#;
        let names: Vec<_> = code_answer(two).unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, [Some("length".to_owned()), Some("tone".to_owned())]);
        for (answer, why) in [
            ("", "no EvaluationResult"),
            ("{}", "no EvaluationResult"),
            (r#"{"scores": []}"#, "0 scores"),
            (r#"{"scores": [{"value": 1}, {"value": 2}]}"#, "2 scores: each needs a name"),
            (r#"{"scores": [{"name": "a", "value": 1}, {"name": "a", "value": 2}]}"#, "name \"a\""),
            (r#"{"scores": [{"value": null}]}"#, "not null"),
            (r#"{"scores": [{"value": [1]}]}"#, "a number, a boolean or a text"),
        ] {
            let said = code_answer(answer).expect_err(answer);
            assert!(said.contains(why), "{answer}: {said}");
        }
    }
}
