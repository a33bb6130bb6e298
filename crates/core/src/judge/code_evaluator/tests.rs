use proptest::prelude::*;
use serde_json::json;

use super::*;

fn evaluator(text: &str) -> CodeEvaluator {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn score(text: &str, output: &str, expected: &Value) -> Option<f64> {
    let input = json!("question");
    let case = EvaluatedCase::new(&input, output).expecting(expected);
    evaluator(text).evaluate(&case).verdict().map(|verdict| verdict.score)
}

#[track_caller]
fn check(text: &str, output: &str, expected: &Value, is_correct: bool) {
    let wanted = Some(f64::from(u8::from(is_correct)));
    assert_eq!(score(text, output, expected), wanted, "{text}: {output:?}");
}

#[test]
fn exact_compares_text_without_quotes_and_last_line_break() {
    check("exact", "Paris\n", &json!("Paris"), true);
    check("exact", "Paris\r\n", &json!("Paris"), true);
    check("exact", "Paris\n\n", &json!("Paris"), false);
    check("exact", "\"Paris\"", &json!("Paris"), false);
    check("exact", "42", &json!(42), true);
    check("exact", "{\"a\":1}", &json!({ "a": 1 }), true);
    check("exact", "paris", &json!("Paris"), false);
}

#[test]
fn contains_looks_for_the_expected_text_or_its_own() {
    check("contains", "It is Paris.", &json!("Paris"), true);
    check("contains", "It is paris.", &json!("Paris"), false);
    check("contains-ignore-case", "It is PARIS.", &json!("Paris"), true);
    check("contains:refund: yes", "refund: yes", &json!(null), true);
    check("contains:refund: yes", "refund: no", &json!("x"), false);
}

#[test]
fn patterns_match_anywhere_unless_anchored() {
    check(r"regex:\d{3}-\d{4}", "call 555-1234 now", &json!(null), true);
    check("regex:^yes$", "yes\n", &json!(null), true);
    check("regex:^yes$", "yes, maybe", &json!(null), false);
}

#[test]
fn json_is_compared_by_value_apart_from_ignored_fields() {
    let expected = json!({ "id": 7, "items": [{ "id": 1, "n": 1.0 }], "ok": true });
    let same = r#"{"ok": true, "items": [{"n": 1, "id": 9}], "id": 8}"#;
    check("json-match", same, &expected, false);
    check("json-match:$.id,$.items[*].id", same, &expected, true);
    check("json-match:$.id,$.items[*].id", &format!("```json\n{same}\n```"), &expected, true);
    check("json-match", "no json", &expected, false);
    check("json-match", "[1]", &json!("[1.0]"), true);
    check("json-match", "[1,2]", &json!([1]), false);
}

#[test]
fn a_string_that_is_json_matches_itself_and_its_value() {
    for text in ["null", "\"\"", "[1]"] {
        check("json-match", &json!(text).to_string(), &json!(text), true);
        check("json-match", text, &json!(text), true);
    }
    check("json-match", "\"[2]\"", &json!("[1]"), false);
}

#[test]
fn numbers_may_differ_by_the_tolerance() {
    check("numeric", "42", &json!(42), true);
    check("numeric:0.01", "3.14", &json!(3.145), true);
    check("numeric:0.001", "3.14", &json!(3.145), false);
    check("numeric:1%", "The total is $1,010.00.", &json!(1000), true);
    check("numeric:1%", "First 1000, then 1011", &json!("1000"), false);
    check("numeric", "none", &json!(0), false);
    assert_eq!(score("numeric", "1", &json!("many")), None);
}

fn trajectory_score(text: &str, called: &[(&str, Value)], expected: &Value) -> f64 {
    let calls: Vec<EvaluatedCall> = called
        .iter()
        .map(|(name, arguments)| EvaluatedCall { name, arguments: Some(arguments) })
        .collect();
    let input = json!(null);
    let case = EvaluatedCase { tool_calls: &calls, ..EvaluatedCase::new(&input, "") };
    let evaluation = evaluator(text).evaluate(&case.expecting(expected));
    evaluation.verdict().unwrap_or_else(|| panic!("{evaluation:?}")).score
}

#[test]
fn trajectories_are_compared_by_order_and_arguments() {
    let call = |name| (name, json!({}));
    let called = [call("search"), call("read"), call("book")];
    let check = |text, expected: &Value, score: f64| {
        let given = trajectory_score(text, &called, expected);
        assert!((given - score).abs() < 1e-12, "{text} {expected}: {given}");
    };
    check("trajectory", &json!(["search", "book"]), 1.0);
    check("trajectory", &json!(["book", "search"]), 0.5);
    check("trajectory:any-order", &json!({ "answer": "…", "tools": ["book", "search"] }), 1.0);
    check("trajectory:any-order", &json!(["book", "book"]), 0.5);
    check("trajectory:only", &json!(["search", "book"]), 0.0);
    check("trajectory:only", &json!(["search", "read", "book"]), 1.0);
    check("trajectory", &json!([]), 1.0);
    check("trajectory:only", &json!([]), 0.0);
}

#[test]
fn expected_arguments_are_a_part_of_those_given() {
    let called = [
        ("book", json!({ "city": "Rome", "guests": 2, "dates": { "from": 1, "to": 2 } })),
        ("book", json!("{\"city\": \"Oslo\"}")),
    ];
    for (arguments, score) in [
        (json!({ "city": "Rome", "dates": { "to": 2.0 } }), 1.0),
        (json!({ "city": "Rome", "guests": 3 }), 0.0),
        (json!({ "city": "Oslo" }), 1.0),
        (json!({ "pets": true }), 0.0),
    ] {
        let expected = json!([{ "name": "book", "arguments": arguments }]);
        let given = trajectory_score("trajectory:any-order", &called, &expected);
        assert!((given - score).abs() < 1e-12, "{expected}");
    }
    // The call that any entry would do for goes to the one that needs it.
    let greedy = json!(["book", { "tool": "book", "args": { "city": "Rome" } }]);
    assert!((trajectory_score("trajectory:any-order", &called, &greedy) - 1.0).abs() < 1e-12);
}

#[test]
fn routing_is_the_choice_of_a_sub_agent() {
    let (input, expected) = (json!(null), json!({ "agent": "billing" }));
    let chosen = ["triage", "billing"];
    let case = EvaluatedCase { sub_agents: &chosen, ..EvaluatedCase::new(&input, "") };
    let case = case.expecting(&expected);
    let verdict = |text: &str| evaluator(text).evaluate(&case).verdict().unwrap().clone();
    assert_eq!(verdict("routing").score, 0.0);
    assert_eq!(verdict("routing:any").score, 1.0);
    assert_eq!(verdict("routing").rationale, "Expected first: billing; chosen: triage, billing.");
}

#[test]
fn without_an_expected_output_most_say_so() {
    let input = json!("question");
    for text in ["exact", "contains", "json-match", "numeric", "trajectory", "routing"] {
        for expected in [None, Some(&Value::Null)] {
            let case =
                EvaluatedCase { expected_output: expected, ..EvaluatedCase::new(&input, "x") };
            let missing = CodeEvaluation::NotApplicable(NotApplicable::NoExpectedOutput);
            assert_eq!(evaluator(text).evaluate(&case), missing, "{text}");
        }
    }
    let case = EvaluatedCase::new(&input, "x");
    let command = evaluator("command:my-check").evaluate(&case);
    assert_eq!(command, CodeEvaluation::NeedsCommand("my-check".to_owned()));
}

#[test]
fn invalid_evaluators_name_what_is_wrong() {
    for (text, why) in [
        ("", "unknown; give one of: exact"),
        ("equals", "unknown"),
        ("exact:yes", "unknown"),
        ("contains:", "a text to look for"),
        ("regex:(", "regex parse error"),
        (r"regex:\w{900}{900}", "exceeds size limit"),
        ("regex:", "1 to 2000 characters"),
        ("json-match:id", "no JSON path"),
        ("numeric:-1", "not negative"),
        ("numeric:NaN%", "not negative"),
        ("numeric:much", "must be a number"),
        ("trajectory:wild", "in-order, any-order or only"),
        ("routing:last", "first or any"),
        ("command:rm -rf /", "ratchet.toml"),
        ("command:", "ratchet.toml"),
    ] {
        let said = text.parse::<CodeEvaluator>().expect_err(text).to_string();
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn files_have_short_forms_and_tables() {
    #[derive(Deserialize)]
    struct File {
        evaluators: Vec<CodeEvaluator>,
    }
    let text = r#"
        evaluators = [
            "exact",
            { kind = "contains", text = "refund", ignore_case = true },
            { kind = "json-match", ignore = ["$.id"] },
            { kind = "numeric", absolute = 1, relative = 0.01 },
            { kind = "trajectory", order = "only", tools = ["a", { name = "b", arguments = { n = 1 } }] },
            { kind = "routing", rule = "any", agent = "billing" },
            { kind = "command", name = "my-check" },
        ]"#;
    let file: File = toml::from_str(text).unwrap();
    let short: Vec<String> = file.evaluators.iter().map(ToString::to_string).collect();
    let expected = [
        "exact",
        "contains-ignore-case:refund",
        "json-match:$.id",
        "numeric:1",
        "trajectory:only",
        "routing:any",
        "command:my-check",
    ];
    assert_eq!(short, expected);
    for evaluator in &file.evaluators {
        let written = serde_json::to_value(evaluator).unwrap();
        assert_eq!(serde_json::from_value::<CodeEvaluator>(written).unwrap(), *evaluator);
    }
    for (text, why) in [
        ("evaluators = [{ kind = \"exact\", case = true }]", "case"),
        ("evaluators = [{ kind = \"equal\" }]", "equal"),
        ("evaluators = [{ kind = \"regex\", pattern = \"(\" }]", "regex parse error"),
        ("evaluators = [{ kind = \"numeric\", absolute = -1.0 }]", "not negative"),
        ("evaluators = [{ kind = \"command\", name = \"a b\" }]", "ratchet.toml"),
        ("evaluators = [1]", "such as"),
    ] {
        let said = toml::from_str::<File>(text).err().expect(text).to_string();
        assert!(said.contains(why), "{text}: {said}");
    }
}

#[test]
fn commands_print_a_number_or_an_object() {
    for (printed, score) in [("0.5\n", 0.5), ("1", 1.0), ("true", 1.0), ("false", 0.0)] {
        assert_eq!(CodeVerdict::from_command_output(printed).unwrap().score, score);
    }
    let verdict = r#"{"score": true, "comment": "fine", "other": 1}"#;
    let verdict = CodeVerdict::from_command_output(verdict).unwrap();
    assert_eq!((verdict.score, verdict.rationale.as_str()), (1.0, "fine"));
    for printed in ["", "good", "2", "-0.1", "{}", "[1]", "{\"score\": \"x\"}"] {
        let said = CodeVerdict::from_command_output(printed).expect_err(printed).to_string();
        assert!(said.contains("from 0 to 1"), "{said}");
    }
    let input = json!({ "q": 1 });
    assert_eq!(
        EvaluatedCase::new(&input, "x").to_command_input(),
        json!({ "input": { "q": 1 }, "output": "x", "expected_output": null,
            "tool_calls": [], "sub_agents": [] })
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z{\\n\"]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

const SHORT: [&str; 11] = [
    "exact",
    "contains",
    "contains-ignore-case:A",
    "regex:a+",
    "json-match",
    "json-match:$.a,$.b[*].c",
    "numeric:0.5",
    "numeric:5%",
    "trajectory:any-order",
    "trajectory:only",
    "routing:any",
];

proptest! {
    #[test]
    fn any_case_gets_a_score_from_0_to_1_or_a_reason(
        which in 0..SHORT.len(), output in ".{0,30}", expected in any_json(),
    ) {
        let input = json!(null);
        let arguments = json!({ "a": 1 });
        let calls = [EvaluatedCall { name: "a", arguments: Some(&arguments) }];
        let case = EvaluatedCase { tool_calls: &calls, ..EvaluatedCase::new(&input, &output) };
        let evaluator = evaluator(SHORT[which]);
        let evaluation = evaluator.evaluate(&case.expecting(&expected));
        if let CodeEvaluation::Verdict(verdict) = &evaluation {
            prop_assert!((0.0..=1.0).contains(&verdict.score));
            prop_assert!(!verdict.rationale.is_empty());
        }
        prop_assert_eq!(evaluator.evaluate(&case.expecting(&expected)), evaluation);
    }

    #[test]
    fn an_answer_is_what_it_is_itself(expected in any_json()) {
        prop_assume!(!expected.is_null());
        let text = text::as_text(&expected);
        prop_assert_eq!(score("exact", &format!("{text}\n"), &expected), Some(1.0));
        prop_assert_eq!(score("contains", &format!("so: {text}!"), &expected), Some(1.0));
        prop_assert_eq!(score("json-match", &expected.to_string(), &expected), Some(1.0));
        prop_assert!(json_match::is_subset(&expected, &expected));
    }

    #[test]
    fn a_number_matches_itself_and_no_number_out_of_tolerance(
        number in -1e6..1e6_f64, step in 0.1..10.0_f64,
    ) {
        prop_assert_eq!(score("numeric", &number.to_string(), &json!(number)), Some(1.0));
        let other = (number + step).to_string();
        prop_assert_eq!(score("numeric:0.05", &other, &json!(number)), Some(0.0));
    }

    /// Any order finds at least as many as one order, and both find all of what was called.
    #[test]
    fn trajectories_agree(
        called in prop::collection::vec(0..4_usize, 0..8),
        expected in prop::collection::vec(0..4_usize, 0..8),
    ) {
        const NAMES: [&str; 4] = ["a", "b", "c", "d"];
        let named = |list: &[usize]| list.iter().map(|at| (NAMES[*at], json!({}))).collect::<Vec<_>>();
        let wanted: Vec<&str> = expected.iter().map(|at| NAMES[*at]).collect();
        let (calls, wanted) = (named(&called), json!(wanted));
        let in_order = trajectory_score("trajectory", &calls, &wanted);
        let any_order = trajectory_score("trajectory:any-order", &calls, &wanted);
        prop_assert!(in_order <= any_order);
        // Without arguments the maximum matching is a sum over names.
        let both = |at: &usize| {
            let count = |list: &[usize]| list.iter().filter(|one| *one == at).count();
            count(&called).min(count(&expected))
        };
        let found: usize = (0..4).map(|at| both(&at)).sum();
        let share = if expected.is_empty() { 1.0 } else { found as f64 / expected.len() as f64 };
        prop_assert!((any_order - share).abs() < 1e-12);
        let is_same = called == expected;
        prop_assert_eq!(trajectory_score("trajectory:only", &calls, &wanted) == 1.0, is_same);
        prop_assert!(!is_same || in_order == 1.0);
    }

    #[test]
    fn no_text_panics(text in ".{0,30}") {
        if let Ok(evaluator) = text.parse::<CodeEvaluator>() {
            prop_assert_eq!(evaluator.to_string().parse::<CodeEvaluator>().unwrap(), evaluator);
        }
    }
}
