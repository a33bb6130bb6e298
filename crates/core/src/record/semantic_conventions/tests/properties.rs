use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::arbitrary::{attribute_value, attributes, span};
use crate::record::semantic_conventions::rule::RULES;
use crate::record::semantic_conventions::table::RuleSource;
use crate::record::span::AttributeValue;

/// Strategy for names with a rule, names under a prefix, and unknown names.
fn name() -> impl Strategy<Value = String> {
    let mut named = Vec::new();
    let mut prefixes = Vec::new();
    for (_, patches) in RULES {
        match patches {
            RuleSource::By(names)
            | RuleSource::ByClaudeCode(names)
            | RuleSource::Together(_, names) => {
                named.extend_from_slice(names);
            }
            RuleSource::Under(_, prefix) => prefixes.push(*prefix),
            RuleSource::During(..) => {}
        }
    }
    named.push("events");
    prop_oneof![
        4 => select(named).prop_map(str::to_owned),
        1 => (select(prefixes), "[a-c.0-2]{0,5}").prop_map(|(prefix, rest)| format!("{prefix}{rest}")),
        1 => ".{0,8}",
    ]
}

fn events() -> impl Strategy<Value = Vec<SpanEvent>> {
    let names = vec![
        "gen_ai.user.message",
        "gen_ai.choice",
        "gen_ai.client.inference.operation.details",
        "gen_ai.content.prompt",
        "exception",
        "retry",
    ];
    let event =
        (select(names), attributes(name(), attribute_value())).prop_map(|(name, attributes)| {
            SpanEvent { name: name.to_owned(), at: Timestamp::from_nanos(0), attributes }
        });
    vec(event, 0..3)
}

fn interpreter() -> impl Strategy<Value = Interpreter> {
    let sender = select(vec![("python", "5.0"), ("python", "3.1"), ("javascript", "5")]);
    let origin = (attributes(name(), attribute_value()), select(vec!["", "ai", "langfuse-sdk"]));
    (sender, origin).prop_map(|((sdk, version), (resource, scope))| {
        let origin = Origin { resource, scope_name: scope.to_owned(), ..Origin::default() };
        let sender =
            Sender { sdk_name: Some(sdk.to_owned()), sdk_version: Some(version.to_owned()) };
        Interpreter::new(origin, sender)
    })
}

/// Marks each attribute and event attribute with a unique text.
fn marked(mut span: Span) -> (Span, Vec<String>) {
    let mut marks = Vec::new();
    let mut mark = |attributes: &mut Attributes| {
        for (_, value) in &mut attributes.0 {
            let mark = format!("mark-{}-end", marks.len());
            *value = AttributeValue::Text(match value {
                AttributeValue::List(_) => format!("[\"{mark}\"]"),
                AttributeValue::Map(_) => format!("{{\"{mark}\":1}}"),
                _ => mark.clone(),
            });
            marks.push(mark);
        }
    };
    mark(&mut span.attributes);
    span.events.iter_mut().for_each(|event| mark(&mut event.attributes));
    (span, marks)
}

/// All patches as one text.
fn everything(patches: &Interpreted) -> String {
    let observation = Value::Object(shown_observation(&patches.observation));
    let trace = Value::Object(shown_trace(&patches.trace));
    let cost = patches.observation.cost.value();
    format!("{observation}{trace}{cost:?}")
}

proptest! {
    #[test]
    fn any_span_can_be_interpreted(
        interpreter in interpreter(),
        span in span(attributes(name(), attribute_value()), events())
    ) {
        let patches = interpreter.interpret(span);
        prop_assert!(patches.observation.kind.value().is_some());
        everything(&patches);
    }

    #[test]
    fn every_attribute_ends_up_somewhere(
        interpreter in interpreter(),
        span in span(attributes(name(), attribute_value()), events())
    ) {
        let (span, marks) = marked(span);
        let text = everything(&interpreter.interpret(span));
        for mark in marks {
            prop_assert!(text.contains(&mark), "{} is not in {}", mark, text);
        }
    }

    #[test]
    fn names_alone_decide_which_attribute_wins(
        interpreter in interpreter(),
        span in span(attributes(name(), attribute_value()), events())
    ) {
        let (span, _) = marked(span);
        let mut turned = span.clone();
        turned.attributes.0.reverse();
        let (one, other) = (interpreter.interpret(span), interpreter.interpret(turned));
        let shown = |patches: &Interpreted| {
            let mut shown = shown_observation(&patches.observation);
            shown.remove("metadata");
            (shown, shown_trace(&patches.trace))
        };
        prop_assert_eq!(shown(&one), shown(&other));
    }

    #[test]
    fn no_token_is_counted_twice(counts in vec(0..2000u64, 7), is_claude_code in any::<bool>()) {
        let names = if is_claude_code {
            ["input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens"]
        } else {
            [
                "gen_ai.usage.input_tokens",
                "gen_ai.usage.cache_read.input_tokens",
                "gen_ai.usage.cache_creation.input_tokens",
                "gen_ai.usage.output_tokens",
            ]
        };
        let more = [
            "gen_ai.usage.reasoning_tokens",
            "llm.token_count.prompt_details.audio",
            "llm.token_count.completion_details.audio",
        ];
        let sent: Map<_, _> =
            names.iter().chain(&more).zip(&counts).map(|(n, c)| ((*n).to_owned(), json!(c))).collect();
        let name = if is_claude_code { "claude_code.llm_request" } else { "call" };
        let patches = interpret(&json!({"name": name, "attributes": sent}));
        let usage = patches.observation.usage.into_value().unwrap();
        let (input, cached, output, reasoning) =
            (counts[0], counts[1] + counts[2], counts[3], counts[4]);
        prop_assert!([input, input + cached].contains(&usage.input()), "{:?}", usage);
        prop_assert!([output, output + reasoning].contains(&usage.output()), "{:?}", usage);
        prop_assert_eq!(usage.total(), usage.input() + usage.output());
    }
}

/// Values that trigger some rule.
const WORDS: [&str; 8] = [
    "1",
    "true",
    "span",
    "warn",
    "LLM",
    "2023-11-14T22:13:20Z",
    r#"{"input": 1}"#,
    r#"{"input_tokens": 1}"#,
];

/// Attributes that influence others, or mean nothing alone.
const NEED_COMPANY: [&str; 15] = [
    "ai.model.provider",
    "ai.response.providerMetadata",
    "ai.telemetry.functionId",
    "ai.telemetry.metadata.langfusePrompt",
    "gen_ai.operation.name",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.id",
    "genkit:metadata:subtype",
    "langfuse.observation.prompt.name",
    "langfuse.observation.prompt.version",
    "langfuse.prompt.name",
    "langfuse.prompt.version",
    "llm.request.type",
    "mlflow.spanType",
    "traceloop.span.kind",
];

#[test]
fn every_rule_applies_when_its_attribute_is_alone() {
    let mut unheard = BTreeSet::new();
    for (_, patches) in RULES {
        let (RuleSource::By(names)
        | RuleSource::ByClaudeCode(names)
        | RuleSource::Together(_, names)) = patches
        else {
            continue;
        };
        let is_unheard = |name: &&&str| !WORDS.into_iter().any(|value| is_claimed(name, value));
        unheard.extend(names.iter().filter(is_unheard).copied());
    }
    assert_eq!(unheard, BTreeSet::from(NEED_COMPANY));
}

fn is_claimed(name: &str, value: &str) -> bool {
    let patches = interpret(&json!({"name": "claude_code.x", "attributes": {name: value}}));
    let left = patches.observation.metadata.get("attributes").map(parsed);
    left.is_none_or(|left| left.get(name).is_none())
}
