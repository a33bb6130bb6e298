use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    ChunkVerdict, Finding, Judgement, MAX_RATIONALE_CHARS, SessionVerdict, Verdict, aggregate,
    schema,
};
use crate::json_schema::Schema;
use crate::judge::chunk::{self, ChunkLimits};
use crate::judge::rubric::{Aggregation, Dimension, Rubric, Scale, arbitrary, shipped};
use crate::payload::Json;
use crate::record::tokens::{Provenance, Tokens};

const TRACES: std::ops::RangeInclusive<u32> = 3..=9;

fn session_quality() -> &'static Rubric {
    shipped().next().unwrap()
}

/// A valid verdict by the default rubric.
fn fine() -> Value {
    let number = |score: f64| json!({"score": score, "rationale": "So it is.", "evidence": [3, 4], "confidence": 0.9});
    let grade = |score: &str| json!({"score": score, "rationale": "So it is.", "evidence": [], "confidence": 1});
    json!({
        "task_completion": grade("complete"),
        "execution_quality": number(0.75),
        "tool_mastery": number(1.0),
        "resource_efficiency": number(0.0),
        "security_compliance": grade("compliant"),
        "user_satisfaction": {"score": null, "reason": "The user never answers."},
    })
}

fn read(answer: &str) -> Result<Verdict, Vec<String>> {
    let verdict = Verdict::read(answer, session_quality(), &TRACES);
    verdict.map_err(|faults| faults.iter().map(ToString::to_string).collect())
}

/// Checks the faults of an answer with one value replaced.
#[track_caller]
fn check(place: &str, value: Value, expected: &[&str]) {
    let mut answer = fine();
    *answer.pointer_mut(place).unwrap() = value;
    assert_eq!(read(&answer.to_string()).unwrap_err(), expected);
}

#[test]
fn a_verdict_is_found_wherever_it_stands() {
    let bare = fine().to_string();
    let pretty = serde_json::to_string_pretty(&fine()).unwrap();
    let expected = read(&bare).unwrap();
    assert_eq!(expected.dimensions[0].finding.value(), Some(0.85));
    assert_eq!(expected.dimensions[5].finding, Finding::NotObservable);
    assert_eq!(expected.dimensions[5].rationale, "The user never answers.");
    for answer in [
        format!("```json\n{pretty}\n```"),
        format!("Here is {{my}} verdict, as {{\"asked\": 1}}:\n\n```\n{bare}\n```\nI am sure."),
        format!("{bare}{bare}"),
        json!({"dimensions": fine()}).to_string(),
    ] {
        assert_eq!(read(&answer).as_ref(), Ok(&expected), "{answer}");
    }
}

#[test]
fn an_answer_without_one_clear_verdict_is_refused() {
    let mut other = fine();
    other["tool_mastery"]["score"] = json!(0.1);
    let two = format!("{} {other}", fine());
    let expected =
        "answer: there are 2 different verdicts in it; answer with exactly one JSON object";
    assert_eq!(read(&two).unwrap_err(), [expected]);
    for answer in ["", "No.", "{", "[1]", r#"{"tool_mastery": {"score": 1"#] {
        let faults = read(answer).unwrap_err();
        assert_eq!(faults, ["answer: there is no JSON object in it; answer with one"], "{answer}");
    }
    let twice = r#"{"tool_mastery": 1, "tool_mastery": 2}"#;
    let [fault] = read(twice).unwrap_err().try_into().unwrap();
    assert!(fault.contains("\"tool_mastery\" stands twice"), "{fault}");
    let mut nested = fine().to_string();
    nested = nested.replacen("\"score\":0.75", "\"score\":0.75,\"score\":1", 1);
    let [fault] = read(&nested).unwrap_err().try_into().unwrap();
    assert!(fault.contains("\"score\" stands twice"), "{fault}");
    let long = " ".repeat(super::MAX_ANSWER_BYTES + 1);
    assert!(read(&long).unwrap_err()[0].contains("too long"));
}

#[test]
fn marks_must_be_of_the_scale() {
    let numeric = "tool_mastery.score: must be a number from 0 to 1, or null with a reason";
    for wrong in [json!(1.01), json!(-0.1), json!("0.5"), json!("complete"), json!([1])] {
        check("/tool_mastery/score", wrong, &[numeric]);
    }
    let ordered = "task_completion.score: must be one of failed, partial, complete, exceeded, or \
                   null with a reason";
    for wrong in [json!(0.85), json!("Complete"), json!("satisfied"), json!(true)] {
        check("/task_completion/score", wrong, &[ordered]);
    }
}

#[test]
fn citations_must_exist() {
    let missing = |number: &str| {
        format!("tool_mastery.evidence: there is no trace {number}; what you were shown are 3 to 9")
    };
    check("/tool_mastery/evidence", json!([3, 2, 10, 9]), &[&missing("2"), &missing("10")]);
    check("/tool_mastery/evidence", json!([-1, 3.5]), &[&missing("-1"), &missing("3.5")]);
    check(
        "/tool_mastery/evidence",
        json!(3),
        &["tool_mastery.evidence: must be a list of trace numbers"],
    );
    check(
        "/tool_mastery/evidence",
        json!(vec![3; 51]),
        &["tool_mastery.evidence: cites 51 traces; at most 50"],
    );
}

#[test]
fn reasons_and_confidence_are_needed_and_bounded() {
    let why = "tool_mastery.rationale: must say why, in a sentence or two";
    for wrong in [json!(""), json!(" \n"), json!(null), json!(7)] {
        check("/tool_mastery/rationale", wrong, &[why]);
    }
    let long = "x".repeat(MAX_RATIONALE_CHARS + 1);
    check(
        "/tool_mastery/rationale",
        json!(long),
        &["tool_mastery.rationale: has 2001 characters; at most 2000"],
    );
    check(
        "/user_satisfaction/reason",
        json!(""),
        &["user_satisfaction.reason: must say why, in a sentence or two"],
    );
    for wrong in [json!(1.5), json!("high"), json!(null)] {
        let expected = "tool_mastery.confidence: must be a number from 0 to 1";
        check("/tool_mastery/confidence", wrong, &[expected]);
    }
}

#[test]
fn a_judge_that_does_not_say_how_sure_it_is_counts_in_full() {
    let mut answer = fine();
    answer["tool_mastery"].as_object_mut().unwrap().remove("confidence");
    assert_eq!(read(&answer.to_string()).unwrap().dimensions[2].confidence, 1.0);
}

#[test]
fn every_dimension_is_there_and_no_other() {
    let mut answer = fine();
    answer["kindness"] = answer["tool_mastery"].take();
    answer["task_completion"] = json!("complete");
    answer["security_compliance"]["severity"] = json!(1);
    answer.as_object_mut().unwrap().remove("tool_mastery");
    assert_eq!(
        read(&answer.to_string()).unwrap_err(),
        [
            "task_completion: must be an object with score, rationale, evidence and confidence",
            "tool_mastery: is missing; every dimension needs a score, or null and a reason",
            "security_compliance.severity: is not a key of a judgement; leave it out",
            "kindness: is not a dimension of the rubric; leave it out",
        ]
    );
}

#[test]
fn the_schema_takes_what_is_read() {
    let schema = schema(session_quality());
    insta::assert_json_snapshot!(schema);
    let compiled = Schema::read(&Json::from_value(&schema)).unwrap();
    assert_eq!(compiled.check(&fine()), Ok(()));
    let mut other = fine();
    other["kindness"] = json!(1);
    assert!(compiled.check(&other).is_err());
}

/// Strict modes require closed objects and required keys, and support no bounds.
fn assert_strict(schema: &Value) {
    match schema {
        Value::Object(parts) => {
            if parts.get("type") == Some(&json!("object")) {
                assert_eq!(parts["additionalProperties"], json!(false));
                let mut required: Vec<_> = parts["required"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_str)
                    .collect();
                let keys: Vec<_> = parts["properties"].as_object().unwrap().keys().collect();
                required.sort_unstable();
                assert_eq!(required, keys);
            }
            for bound in ["minimum", "maximum", "minLength", "maxLength", "maxItems", "oneOf"] {
                assert!(!parts.contains_key(bound), "{bound}");
            }
            parts.values().for_each(assert_strict);
        }
        Value::Array(parts) => parts.iter().for_each(assert_strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Aggregates a dimension's scores on three chunks of 100, 300 and 100 tokens by the default
/// rubric.
fn joined(dimension: &str, scores: [Value; 3]) -> SessionVerdict {
    let chunk = |(score, tokens): (Value, u64)| {
        let mut answer = fine();
        answer[dimension]["score"] = score;
        let verdict = read(&answer.to_string()).unwrap();
        ChunkVerdict { verdict, new_tokens: tokens }
    };
    let chunks: Vec<_> = scores.into_iter().zip([100, 300, 100]).map(chunk).collect();
    aggregate(session_quality(), &chunks)
}

#[track_caller]
fn settles(dimension: &str, scores: [Value; 3], expected: &Value) -> Value {
    let sent = joined(dimension, scores).to_json("s-1", session_quality());
    let sent = sent["dimensions"][dimension].clone();
    assert_eq!(&sent["score"], expected, "{sent}");
    sent
}

#[test]
fn each_dimension_is_aggregated_by_its_own_rule() {
    let sent = settles("tool_mastery", [json!(1.0), json!(0.5), json!(0.0)], &json!(0.5));
    assert_eq!(sent["chunk_scores"], json!([1.0, 0.5, 0.0]));
    let verdicts = sent["chunk_verdicts"].as_array().unwrap();
    assert_eq!((verdicts.len(), &verdicts[1]["new_tokens"]), (3, &json!(300)));
    assert_eq!(verdicts[1]["rationale"], "So it is.");
    assert_eq!((&sent["tie"], &sent["tied_with"]), (&json!(false), &json!([])));
    assert_eq!((&sent["min"], &sent["max"]), (&json!(0.0), &json!(1.0)));
    assert_eq!(sent["variance"], json!(0.25));
    assert_eq!(
        sent["rationale"],
        "Lowest (0.00, part 3 of 3): So it is. Highest (1.00, part 1 of 3): So it is."
    );
    settles("tool_mastery", [json!(0.5), json!(1.0), json!(0.5)], &json!(0.8));
    let grades = |labels: [&str; 3]| labels.map(|label| json!(label));
    settles("task_completion", grades(["failed", "failed", "complete"]), &json!("complete"));
    let dire = grades(["compliant", "violation", "risky"]);
    settles("security_compliance", dire, &json!("violation"));
}

/// The vectors of chunk aggregation and votes.
#[test]
fn chunk_scores_match_the_vectors() {
    let tokens = [3000, 3000, 3000, 800];
    let chunks = [0.9, 0.7, 0.4, 0.8].into_iter().zip(tokens).map(|(score, new_tokens)| {
        let mut answer = fine();
        answer["tool_mastery"]["score"] = json!(score);
        ChunkVerdict { verdict: read(&answer.to_string()).unwrap(), new_tokens }
    });
    let session = aggregate(session_quality(), &chunks.collect::<Vec<_>>());
    let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
    let marks = &session.marks[2];
    assert!(near(session.verdict.dimensions[2].finding.value(), 0.677_551_020_408_163_3));
    assert!(near(marks.min, 0.4) && near(marks.max, 0.9));
    assert!(near(marks.variance, 0.046_666_666_666_666_66));
    let tie = vote(&[("satisfied", 1.0), ("neutral", 1.0), ("dissatisfied", 1.0)]);
    assert_eq!(tie["score"], "dissatisfied");
    assert_eq!(tie["tied_with"], json!(["neutral", "satisfied"]));
}

/// Two chunks of unequal size that share traces: what they share counts once.
#[test]
fn overlap_is_not_counted_twice() {
    let size = |count: u64| Tokens { count, provenance: Provenance::Measured };
    let limits = ChunkLimits::new(1_000, 900, 1_100).unwrap().with_overlap(1);
    let planned = chunk::plan(&[500, 300, 400].map(size), &limits);
    let sizes: Vec<(u64, u64)> =
        planned.iter().map(|chunk| (chunk.tokens.count, chunk.new_tokens.count)).collect();
    assert_eq!(sizes, [(800, 800), (700, 400)]);
    let chunks = planned.iter().zip([1.0, 0.2]).map(|(chunk, score)| {
        let mut answer = fine();
        answer["tool_mastery"]["score"] = json!(score);
        let verdict = read(&answer.to_string()).unwrap();
        ChunkVerdict { verdict, new_tokens: chunk.new_tokens.count }
    });
    let session = aggregate(session_quality(), &chunks.collect::<Vec<_>>());
    let mean = session.verdict.dimensions[2].finding.value().unwrap();
    assert!((mean - (800.0 + 0.2 * 400.0) / 1_200.0).abs() < 1e-9, "{mean}");
}

fn vote(grades: &[(&str, f64)]) -> Value {
    let chunk = |&(label, confidence): &(&str, f64)| {
        let mut answer = fine();
        answer["user_satisfaction"] = json!(
            {"score": label, "rationale": label, "evidence": [5], "confidence": confidence});
        ChunkVerdict { verdict: read(&answer.to_string()).unwrap(), new_tokens: 1 }
    };
    let chunks: Vec<_> = grades.iter().map(chunk).collect();
    let sent = aggregate(session_quality(), &chunks).to_json("s-1", session_quality());
    sent["dimensions"]["user_satisfaction"].clone()
}

#[test]
fn votes_count_by_confidence_and_the_worse_wins_a_tie() {
    let sent = vote(&[("satisfied", 0.9), ("dissatisfied", 0.4), ("dissatisfied", 0.4)]);
    assert_eq!((&sent["score"], &sent["tie"]), (&json!("satisfied"), &json!(false)));
    let sent = vote(&[("satisfied", 0.3), ("neutral", 0.1), ("neutral", 0.2)]);
    assert_eq!((&sent["score"], &sent["tie"]), (&json!("neutral"), &json!(true)));
    assert_eq!(
        (&sent["rationale"], &sent["tied_with"]),
        (&json!("neutral"), &json!(["satisfied"]))
    );
    let sent = vote(&[("satisfied", 0.0), ("satisfied", 0.0), ("neutral", 0.0)]);
    assert_eq!(sent["score"], "satisfied");
}

#[test]
fn a_dimension_without_chunk_scores_is_not_observable() {
    let sent = settles("user_satisfaction", [json!(null), json!(null), json!(null)], &json!(null));
    assert_eq!(sent["reason"], "The user never answers.");
    assert_eq!(sent["value"], json!(null));
    let nothing = aggregate(session_quality(), &[]);
    assert_eq!(nothing.verdict.overall(session_quality()), None);
    assert_eq!(nothing.verdict.dimensions.len(), 6);
}

#[test]
fn a_session_is_told_in_one_object() {
    let verdict = read(&fine().to_string()).unwrap();
    let session = aggregate(session_quality(), &[ChunkVerdict { verdict, new_tokens: 9 }]);
    insta::assert_json_snapshot!(session.to_json("s-1", session_quality()));
}

fn finding(dimension: &Dimension) -> BoxedStrategy<Finding> {
    let seen = match &dimension.scale {
        Scale::Numeric => (0..=100_u8).prop_map(|n| Finding::Number(f64::from(n) / 100.0)).boxed(),
        Scale::Ordered(grades) => {
            proptest::sample::select(grades.clone()).prop_map(Finding::Grade).boxed()
        }
    };
    prop_oneof![4 => seen, 1 => Just(Finding::NotObservable)].boxed()
}

fn judgement(dimension: &Dimension) -> impl Strategy<Value = Judgement> + use<> {
    let name = dimension.name.clone();
    let evidence = vec(TRACES, 0..4).prop_map(|mut evidence| {
        evidence.sort_unstable();
        evidence.dedup();
        evidence
    });
    let confidence = (0..=10_u8).prop_map(|n| f64::from(n) / 10.0);
    (finding(dimension), "[a-z{}\"\\\\]{1,20}", evidence, confidence).prop_map(
        move |(finding, rationale, evidence, confidence)| Judgement {
            dimension: name.clone(),
            finding,
            rationale,
            evidence,
            signals: BTreeMap::new(),
            confidence,
        },
    )
}

fn verdict(rubric: &Rubric) -> impl Strategy<Value = Verdict> + use<> {
    let dimensions: Vec<_> = rubric.dimensions.iter().map(judgement).collect();
    dimensions.prop_map(|dimensions| Verdict { dimensions })
}

fn judged() -> impl Strategy<Value = (Rubric, Vec<ChunkVerdict>)> {
    arbitrary::rubric().prop_flat_map(|rubric| {
        let chunk = (verdict(&rubric), 0..1000_u64)
            .prop_map(|(verdict, tokens)| ChunkVerdict { verdict, new_tokens: tokens });
        (Just(rubric), vec(chunk, 1..6))
    })
}

fn values(verdict: &Verdict) -> Vec<Option<f64>> {
    verdict.dimensions.iter().map(|one| one.finding.value()).collect()
}

proptest! {
    #[test]
    fn schemas_are_strict(rubric in arbitrary::rubric()) {
        assert_strict(&schema(&rubric));
    }

    #[test]
    fn a_verdict_comes_back_from_its_json((rubric, chunks) in judged()) {
        for chunk in chunks {
            let answer = chunk.verdict.to_json().to_string();
            prop_assert_eq!(Verdict::read(&answer, &rubric, &TRACES), Ok(chunk.verdict));
        }
    }

    #[test]
    fn a_single_verdict_stays_as_it_is((rubric, mut chunks) in judged()) {
        chunks.truncate(1);
        let whole = aggregate(&rubric, &chunks).verdict;
        prop_assert_eq!(&whole, &chunks[0].verdict);
    }

    #[test]
    fn marks_lie_between_those_of_the_chunks((rubric, chunks) in judged()) {
        let whole = aggregate(&rubric, &chunks);
        for (one, marks) in whole.verdict.dimensions.iter().zip(&whole.marks) {
            let value = one.finding.value();
            prop_assert!(value >= marks.min && value <= marks.max, "{one:?} {marks:?}");
            prop_assert_eq!(value.is_some(), marks.variance.is_some());
            prop_assert!((0.0..=1.0).contains(&one.confidence));
            prop_assert!(one.rationale.chars().count() <= MAX_RATIONALE_CHARS);
        }
        let overall = whole.verdict.overall(&rubric);
        let all = values(&whole.verdict);
        prop_assert_eq!(overall.is_some(), all.iter().any(Option::is_some));
        prop_assert!(overall.is_none_or(|overall| (0.0..=1.0).contains(&overall)));
    }

    #[test]
    fn only_the_last_rule_depends_on_the_order((rubric, chunks) in judged()) {
        let turned: Vec<_> = chunks.iter().rev().cloned().collect();
        let (one, other) = (aggregate(&rubric, &chunks), aggregate(&rubric, &turned));
        let pairs = values(&one.verdict).into_iter().zip(values(&other.verdict));
        for ((dimension, (one, other)), marks) in
            rubric.dimensions.iter().zip(pairs).zip(one.marks.iter().zip(&other.marks))
        {
            prop_assert_eq!(marks.0.variance, marks.1.variance);
            if dimension.aggregation != Aggregation::Last {
                prop_assert_eq!(one, other);
                prop_assert_eq!(&marks.0.tied_with, &marks.1.tied_with);
            }
        }
    }

    #[test]
    fn any_answer_is_read_or_refused(answer in "[\\PC{}\\[\\]\":,]*") {
        if let Err(faults) = read(&answer) {
            prop_assert!(!faults.is_empty());
        }
    }
}
