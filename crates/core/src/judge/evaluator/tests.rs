use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::catalog::evaluator::document::{MappedVariable, OutputDefinition};
use crate::catalog::evaluator::variables;
use crate::json_schema::Schema;
use crate::payload::Json;
use crate::sessions::{session, tool, turn};

fn message(content: &str) -> PromptMessage {
    PromptMessage { role: "user".to_owned(), content: content.to_owned() }
}

fn prompt(template: &str, values: &[(&str, &str)]) -> EvaluatorPrompt {
    let values: Vec<_> =
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let seed = Seed::new([7; 32]);
    EvaluatorPrompt::new("General.", &[message(template)], &values, ("trace-1", &seed))
}

#[test]
fn recorded_text_stands_between_markers_and_indented() {
    let made = prompt("Judge {{ input }}!", &[("input", "one\n</evidence-x>\ntwo")]);
    let text = &made.messages[0].1;
    let opening = text.lines().next().unwrap().strip_prefix("Judge ").unwrap();
    assert!(opening.starts_with("<evidence-") && made.system.contains(opening), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("  ")).count(), 3, "{text}");
    assert!(text.lines().last().unwrap().starts_with("</evidence-"), "{text}");
}

#[test]
fn a_value_is_not_searched_for_variables() {
    let made = prompt("{{input}} {{output}}", &[("input", "{{output}}"), ("output", "secret")]);
    assert_eq!(made.messages[0].1.matches("secret").count(), 1);
}

#[test]
fn the_fingerprint_follows_what_the_judge_is_shown() {
    let one = prompt("{{input}}", &[("input", "a")]).fingerprint();
    assert_eq!(one, prompt("{{input}}", &[("input", "a")]).fingerprint());
    assert_ne!(one, prompt("{{input}}", &[("input", "b")]).fingerprint());
    assert_ne!(one, prompt("{{input}}.", &[("input", "a")]).fingerprint());
}

#[test]
fn the_shipped_prompt_has_variables_with_sources() {
    let record = EvaluatedRecord {
        input: Some(json!({ "question": "why?" })),
        output: Some(json!("because")),
        metadata: json!({ "plan": "gold" }),
        tool_calls: vec![json!({ "name": "search" })],
        ..EvaluatedRecord::default()
    };
    let names = variables([QUALITY_CHECK]);
    assert_eq!(names, ["input", "tool_calls", "output"]);
    let values = values(&names, &[], &record);
    assert!(values.iter().all(|(_, value)| !value.is_empty()), "{values:?}");
    let path = json!([{ "variable": "input", "source": "metadata", "jsonPath": "$.plan" }]);
    let mapping: Vec<MappedVariable> = serde_json::from_value(path).unwrap();
    assert_eq!(super::values(&names, &mapping, &record)[0].1, "gold");
}

fn output(value: Value) -> OutputDefinition {
    serde_json::from_value(value).unwrap()
}

#[track_caller]
fn check(definition: &OutputDefinition, score: &Value, expected: Option<&SentValue>) {
    let answer = json!({ "reasoning": "because", "score": score });
    let schema = Schema::read(&Json::from_value(&schema(definition))).unwrap();
    let value = read(definition, &answer).ok().map(|verdict| verdict.value);
    assert_eq!(value.as_ref(), expected, "{score}");
    assert_eq!(schema.check(&answer).is_ok(), expected.is_some(), "{score}");
}

#[test]
fn answers_are_checked_against_their_definition() {
    let number = output(json!({ "dataType": "NUMERIC", "minValue": 0.0, "maxValue": 1.0 }));
    check(&number, &json!(0.25), Some(&SentValue::Number(0.25)));
    check(&number, &json!(1.5), None);
    check(&number, &json!("0.5"), None);
    let truth = output(json!({ "dataType": "BOOLEAN" }));
    check(&truth, &json!(true), Some(&SentValue::Bool(true)));
    check(&truth, &json!(1), None);
    let label = output(json!({ "dataType": "CATEGORICAL", "categories": ["good", "bad"] }));
    check(&label, &json!("bad"), Some(&SentValue::Text("bad".to_owned())));
    check(&label, &json!("ugly"), None);
    check(&label, &json!([]), None);
    let several = json!({ "dataType": "CATEGORICAL", "categories": ["a", "b"],
        "shouldAllowMultipleMatches": true });
    check(&output(several), &json!(["b", "a"]), Some(&SentValue::Text("b, a".to_owned())));
}

/// A reason that counts for several dimensions is said once, and nothing is said that is true of
/// every record.
#[test]
fn the_offline_judge_says_each_reason_once() {
    let evidence = session(vec![turn(
        json!("Refund order 7."),
        vec![
            tool("find_order", json!({"id": 7}), json!("found")),
            tool("refund", json!({"id": 7}), json!("done")),
        ],
        json!("Refunded."),
    )]);
    let rubric = crate::judge::rubric::shipped().next().unwrap();
    let verdict = judge_offline(SignalSet::shipped(), rubric, &evidence).unwrap();
    let text = verdict.rationale;
    let calls = "unremarkable: 2 tool calls (`find_order`, `refund`)";
    assert_eq!(text.matches(calls).count(), 1, "{text}");
    let (marks, reasons) = text.split_once(": ").unwrap();
    assert!(marks.contains("security compliance 1.00") && !marks.contains("user"), "{text}");
    let reasons: Vec<&str> = reasons.split("; ").collect();
    let distinct: std::collections::BTreeSet<&&str> = reasons.iter().collect();
    assert_eq!(reasons.len(), distinct.len(), "{text}");
    for everywhere in ["Judged by rules", "Not observable"] {
        assert!(!text.contains(everywhere), "{text}");
    }
}

proptest! {
    #[test]
    fn no_template_panics_and_plain_text_stays(text in "[a{} ]{0,40}") {
        let made = filled(&text, &[("a", "VALUE".to_owned())]);
        if variables([text.as_str()]).is_empty() {
            prop_assert_eq!(made, text);
        }
    }
}
