use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::*;
use crate::judge::rubric::MARKS;
use crate::record::observation::ObservationKind;
use crate::sessions::{StepOf, TraceOf, agent, generation, session, step, tool, trace, turn, user};

/// Text that no signal reacts to.
const INERT: &str = " lorem ipsum dolor sit amet";

fn saying() -> impl Strategy<Value = &'static str> {
    select(vec![
        "Please fix it",
        "No, that's wrong",
        "thanks, perfect",
        "yes, go ahead",
        "Shall I? Please confirm.",
        "I could not do it",
        "It cannot be cancelled",
        "bye",
        "order W1234",
    ])
}

fn output() -> impl Strategy<Value = &'static str> {
    select(vec!["ok", "Error: no", "test result: ok. 3 passed", "2 failed", ""])
}

fn some_step(tail: &'static str) -> impl Strategy<Value = StepOf> {
    let said = move |text: &str| format!("{text}{tail}");
    let name = select(vec!["Bash", "update_order", "get_order", "transfer_to_human", "Edit"]);
    let input = select(vec![
        json!({"command": "cargo test"}),
        json!({"command": "rm -rf /"}),
        json!({"order": "W1234", "to": "nobody knows"}),
        json!({"file_path": "a", "old_string": "x", "new_string": "y"}),
        Value::Null,
    ]);
    prop_oneof![
        (name, input, output(), any::<bool>()).prop_map(move |(name, input, output, failed)| {
            let called = tool(name, input, json!(said(output)));
            if failed { called.failed() } else { called }
        }),
        (saying(), saying())
            .prop_map(move |(asked, event)| generation(json!([user(asked)]), agent(&said(event)))),
    ]
}

fn some_traces(tail: &'static str) -> impl Strategy<Value = Vec<TraceOf>> {
    let one = (saying(), prop::collection::vec(some_step(tail), 0..5), saying());
    let one = one.prop_map(move |(asked, steps, event)| {
        turn(json!(asked), steps, json!(format!("{event}{tail}")))
    });
    prop::collection::vec(one, 0..6)
}

/// Strategy for JSON of any shape, with keys that readers look for.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    let key = select(vec![
        "role",
        "content",
        "parts",
        "text",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "messages",
        "type",
        "error",
        "exit_code",
        "kwargs",
        "args",
        "command",
        "input",
        "output",
    ]);
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

fn any_traces() -> impl Strategy<Value = Vec<TraceOf>> {
    let kind = select(ObservationKind::ALL.to_vec());
    let steps = (kind, anything(), anything()).prop_map(|(kind, input, output)| {
        let like = generation(input, output);
        if kind == ObservationKind::Generation { like } else { like.of_kind(kind) }
    });
    let one = (anything(), prop::collection::vec(steps, 0..4), anything());
    prop::collection::vec(one.prop_map(|(asked, steps, event)| turn(asked, steps, event)), 0..4)
}

fn check(evidence: &Evidence) -> Result<(), TestCaseError> {
    for rubric in rubrics() {
        let verdict = judge(rubric, evidence, &Peers::default());
        prop_assert_eq!(&verdict, &judge(rubric, evidence, &Peers::default()));
        let names = |rubric: &Rubric| -> Vec<String> {
            rubric.dimensions.iter().map(|dimension| dimension.name.clone()).collect()
        };
        let said: Vec<String> =
            verdict.dimensions.iter().map(|said| said.dimension.clone()).collect();
        prop_assert_eq!(said, names(rubric));
        for said in &verdict.dimensions {
            prop_assert!(said.finding.value().is_none_or(|value| MARKS.contains(&value)));
            prop_assert!(MARKS.contains(&said.confidence) && !said.rationale.is_empty());
            let is_there = |number: &u32| evidence.traces.iter().any(|it| it.number == *number);
            prop_assert!(said.evidence.iter().all(is_there));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn scores_are_in_range_and_citations_exist(traces in some_traces("")) {
        check(&session(traces))?;
    }

    #[test]
    fn no_input_panics(traces in any_traces()) {
        check(&session(traces))?;
    }

    #[test]
    fn the_order_of_arrival_does_not_matter(traces in some_traces(""), by in 0..6_usize) {
        let evidence = session(traces);
        let mut parts: Vec<_> =
            evidence.traces.iter().map(|it| (it.trace.clone(), it.steps.clone())).collect();
        for (_, steps) in &mut parts {
            steps.reverse();
        }
        let by = by.min(parts.len());
        parts.rotate_left(by);
        let shuffled = Evidence::new(evidence.session.clone(), parts);
        prop_assert_eq!(
            judge(usual(), &evidence, &Peers::default()),
            judge(usual(), &shuffled, &Peers::default())
        );
    }
}

#[test]
fn text_that_means_nothing_changes_nothing() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    // The same choices twice: once with a suffix on all tool and agent text.
    let (mut one, mut other) = (TestRunner::deterministic(), TestRunner::deterministic());
    for _ in 0..64 {
        let plain = some_traces("").new_tree(&mut one).unwrap().current();
        let padded = some_traces(INERT).new_tree(&mut other).unwrap().current();
        let verdict = |traces| judge(usual(), &session(traces), &Peers::default());
        assert_eq!(verdict(plain), verdict(padded));
    }
}

/// A million tokens in two thousand traces, and one trace of half that size. Must terminate; speed
/// is measured by the benchmark.
#[test]
fn long_sessions_are_read_through() {
    let page = "All work and no play makes a long page. ".repeat(50);
    let detect = |n: usize| tool("read", json!({"n": n}), json!(page));
    let traces = (0..2_000).map(|n| turn(json!("Go on"), vec![detect(n)], json!("Went on.")));
    let long = session(traces.collect());
    assert!(of(&long, "resource_efficiency").finding.value().is_some_and(|value| value < 0.5));
    let whole = trace(vec![
        step(ObservationKind::Agent),
        tool("read", json!({}), json!(page.repeat(1_000))),
    ]);
    assert!(judge(usual(), &session(vec![whole]), &Peers::default()).overall(usual()).is_some());
}
