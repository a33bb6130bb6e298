//! Snapshots of the wire format, and round trips.

use std::collections::BTreeMap;

use ratchet_core::environment::Environment;
use ratchet_core::id::{ObservationId, ScoreId, SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::observation::{Level, Observation, ObservationKind, PromptLink};
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::{Content, Trace, TraceSummary};
use ratchet_core::record::usage::{Cost, Usage};
use ratchet_core::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ingestion::{Envelope, ScoreBody, ScoreInput, TraceBody};
use super::maybe::Maybe;
use super::observation::{ModelPrices, ObservationView};
use super::read::{read, read_object};
use super::score::v3::TypedScore;
use super::score::{ListedScore, ListedScoreFields, ScoreTrace, ScoreView};
use super::session::{SessionTraces, SessionView, SessionWithTraces};
use super::trace::{
    DetailedTrace, TraceDetails, TraceView, TraceWithDetails, TraceWithFullDetails, html_path,
};
use crate::langfuse::replay;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(1_790_000_000_000 + second * 1_000)
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn content() -> Content {
    Content {
        input: Some(Payload::Json(json(
            r#"{"price": 1.50, "z": 1, "a": 12345678901234567890123}"#,
        ))),
        output: Some(Payload::Text("plain text".into())),
        metadata: vec![("agent".to_owned(), json("\"bot\"")), ("n".to_owned(), json("1.0"))],
    }
}

fn trace() -> Trace {
    Trace {
        id: TraceId::parse("t/ü").unwrap(),
        timestamp: at(0),
        name: Some("chat".to_owned()),
        user: None,
        session: Some(SessionId::parse("s1").unwrap()),
        release: None,
        version: Some("2".to_owned()),
        environment: Environment::normalise("prod"),
        agent: None,
        tags: vec!["a".to_owned(), "b".to_owned()],
        public: false,
        bookmarked: true,
        summary: TraceSummary {
            start: Some(at(0)),
            end: Some(at(3)),
            cost: Money::from_dollars(0.0125),
            ..TraceSummary::default()
        },
        created_at: at(10),
        updated_at: at(11),
        content: Some(content()),
    }
}

fn observation() -> Observation {
    let usage = [("input", 10), ("input_cached_tokens", 90), ("output", 20)];
    let cost = [("input", 0.001), ("input_cached_tokens", 0.0005), ("output", 0.002)];
    let dollars = |amount| Money::from_dollars(amount).unwrap();
    Observation {
        id: ObservationId::parse("00000000000000aa").unwrap(),
        trace: TraceId::parse("t/ü").unwrap(),
        kind: ObservationKind::Generation,
        name: Some("call".to_owned()),
        parent: None,
        app_root: false,
        start: at(1),
        end: Some(at(3)),
        completion_start: Some(Timestamp::from_nanos(at(1).nanos() + 250_000_000)),
        level: Level::Warning,
        status_message: Some("slow".to_owned()),
        version: None,
        environment: Environment::default(),
        agent: None,
        model: Some("gpt-4o".to_owned()),
        model_parameters: Some(json(r#"{"temperature":0.10}"#)),
        usage: Usage::new(usage.map(|(kind, units)| (kind.to_owned(), units)).into()),
        cost: Some(Cost::new(cost.map(|(kind, amount)| (kind.to_owned(), dollars(amount))).into())),
        counted: false,
        pricing_tier: Some("Standard".to_owned()),
        prompt: Some(PromptLink { name: "greet".to_owned(), version: 3 }),
        created_at: at(10),
        updated_at: at(11),
        content: Some(content()),
    }
}

fn prices() -> ModelPrices {
    ModelPrices {
        model_id: Some("gpt-4o".to_owned()),
        input_price: Some(0.0001),
        output_price: Some(0.0002),
        total_price: None,
    }
}

fn score(value: ScoreValue) -> Score {
    Score {
        id: ScoreId::parse("s").unwrap(),
        target: ScoreTarget::Trace(TraceId::parse("t/ü").unwrap()),
        name: "quality".to_owned(),
        value,
        source: ScoreSource::Eval,
        timestamp: at(5),
        environment: Environment::default(),
        comment: Some("good".to_owned()),
        author: None,
        config: None,
        queue: None,
        metadata: vec![],
        created_at: at(10),
        updated_at: at(11),
    }
}

/// Serializes a view, after checking that it survives a round trip.
#[track_caller]
fn shown<T: Serialize + DeserializeOwned>(view: &T) -> String {
    let text = serde_json::to_string_pretty(view).unwrap();
    let again: T = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string_pretty(&again).unwrap(), text, "reading loses something");
    text
}

#[test]
fn a_trace_in_a_list() {
    let mut details = TraceDetails::new(&trace(), "p");
    details.observations.push("o1".to_owned());
    let view: TraceWithDetails = DetailedTrace { trace: TraceView::new(&trace(), "p"), details };
    insta::assert_snapshot!(shown(&view));
}

#[test]
fn a_trace_in_full() {
    let mut details = TraceDetails::new(&trace(), "p");
    details.observations.push(ObservationView::new(&observation(), prices()));
    details.scores.push(ScoreView::new(&score(ScoreValue::Boolean(true))));
    let view: TraceWithFullDetails =
        DetailedTrace { trace: TraceView::new(&trace(), "p"), details };
    insta::assert_snapshot!(shown(&view));
}

#[test]
fn what_was_only_counted_is_marked_and_not_copied() {
    let priced = Observation { pricing_tier: Some("Standard".to_owned()), ..observation() };
    for counted in [true, false] {
        let view = ObservationView::new(&Observation { counted, ..priced.clone() }, prices());
        assert_eq!((view.usage_approximate, view.cost_approximate), (counted, counted));
        assert_eq!(shown(&view).contains("Approximate"), counted, "only where it is true");
        let body = replay::of_observation(view).unwrap().body;
        let body: serde_json::Value = serde_json::from_str(body.get()).unwrap();
        for part in ["usageDetails", "costDetails"] {
            let is_empty = body[part].as_object().unwrap().is_empty();
            assert_eq!(is_empty, counted, "{part} in {body}");
        }
    }
    let said = Observation { counted: true, pricing_tier: None, ..priced };
    let said = ObservationView::new(&said, prices());
    assert_eq!((said.usage_approximate, said.cost_approximate), (true, false), "the cost was said");
}

#[test]
fn an_observation_that_says_little() {
    let bare = Observation {
        kind: ObservationKind::Span,
        name: None,
        end: None,
        completion_start: None,
        level: Level::Default,
        status_message: None,
        model: None,
        model_parameters: None,
        usage: Usage::new(BTreeMap::new()),
        cost: None,
        prompt: None,
        content: None,
        ..observation()
    };
    insta::assert_snapshot!(shown(&ObservationView::new(&bare, ModelPrices::default())));
}

#[test]
fn a_session_with_a_trace() {
    let session = Session {
        id: SessionId::parse("s1").unwrap(),
        created_at: at(0),
        last_at: at(9),
        environment: Environment::normalise("beta"),
        traces: 1,
        errors: 0,
        total_tokens: 0,
        cost: None,
        approximate_cost: Money::default(),
    };
    let view = SessionWithTraces {
        session: SessionView::new(&session, "p"),
        content: SessionTraces { traces: vec![TraceView::new(&trace(), "p")] },
    };
    insta::assert_snapshot!(shown(&view));
}

fn scores() -> [Score; 5] {
    let session = ScoreTarget::Session(SessionId::parse("s").unwrap());
    let label = "good".to_owned();
    [
        score(ScoreValue::Numeric(0.5)),
        score(ScoreValue::Boolean(false)),
        score(ScoreValue::Correction("better".to_owned())),
        Score { target: session, ..score(ScoreValue::Categorical { label, number: Some(2.0) }) },
        Score {
            target: ScoreTarget::DatasetRun("run".to_owned()),
            ..score(ScoreValue::Text("fine".to_owned()))
        },
    ]
}

#[test]
fn scores_of_every_type() {
    let beside = [Maybe::Absent, Maybe::Null, Maybe::Value(ScoreTrace::new(&trace()))];
    let mut beside = beside.into_iter().map(|trace| ListedScoreFields { trace });
    let show = |score: &Score| ListedScore {
        score: ScoreView::new(score),
        beside: beside.next().unwrap_or_default(),
    };
    let views: Vec<_> = scores().iter().map(show).collect();
    insta::assert_snapshot!(shown(&views));
}

#[test]
fn scores_with_typed_values() {
    let core: Vec<_> = scores().iter().map(|score| TypedScore::new(score, "p")).collect();
    let full = |score: &Score| {
        let core = TypedScore::new(score, "p").with_details(score);
        core.with_subject(score).with_annotation(score)
    };
    let full: Vec<_> = scores().iter().map(full).collect();
    insta::assert_snapshot!(shown(&[core, full]));
}

#[test]
fn an_unknown_cost_is_not_zero() {
    let unknown = Observation { cost: None, ..observation() };
    let view = ObservationView::new(&unknown, ModelPrices::default());
    assert!(view.cost_details.is_empty());
    assert_eq!(view.calculated_total_cost, None);
    assert_eq!(view.usage.total_cost, None);
}

#[test]
fn a_cost_that_came_as_a_total_has_no_sides() {
    let total = Money::from_dollars(0.5).unwrap();
    let cost = Cost::new(BTreeMap::from([("total".to_owned(), total)]));
    let view = ObservationView::new(&Observation { cost: Some(cost), ..observation() }, prices());
    assert_eq!(view.calculated_total_cost, Some(0.5));
    assert_eq!(view.calculated_input_cost, None);
}

#[test]
fn paths_are_safe_in_a_url() {
    assert_eq!(html_path("p", "a/b ü?#"), "/project/p/traces/a%2Fb%20%C3%BC%3F%23");
}

#[test]
fn absent_and_null_differ() {
    let body: TraceBody = read(r#"{"name":null,"tags":["a"],"input":{"k": 1.0}}"#).unwrap();
    assert_eq!(body.name, Maybe::Null);
    assert_eq!(body.user_id, Maybe::Absent);
    assert_eq!(body.tags, Maybe::Value(vec!["a".to_owned()]));
    assert_eq!(body.input.as_value().unwrap().get(), r#"{"k": 1.0}"#);
    let again = serde_json::to_string(&body).unwrap();
    assert_eq!(again, r#"{"name":null,"input":{"k": 1.0},"tags":["a"]}"#);
}

#[track_caller]
fn check_issue<T: DeserializeOwned + std::fmt::Debug>(text: &str, expected: &str) {
    assert_eq!(read_object::<T>(text).unwrap_err().to_string(), expected);
}

#[test]
fn errors_name_the_field() {
    check_issue::<TraceBody>(
        r#"{"tags":["a",1]}"#,
        "tags[1]: invalid type: integer `1`, expected a string",
    );
    check_issue::<TraceBody>(
        r#"{"timestamp":"soon"}"#,
        "timestamp: not an ISO 8601 date and time with an offset, such as 2026-01-31T12:00:00Z: \
         string \"soon\"",
    );
    check_issue::<TraceBody>(" []", "not a JSON object");
    check_issue::<ScoreBody>(
        r#"{"value":[1]}"#,
        "value: invalid type: sequence, expected a number, a text or a boolean",
    );
    check_issue::<ScoreBody>(r#"{"value":1e999}"#, "value: number out of range");
    check_issue::<ScoreBody>(
        r#"{"dataType":"GRADE"}"#,
        "dataType: invalid value: string \"GRADE\", expected score data type (NUMERIC, BOOLEAN, \
         CATEGORICAL, TEXT, CORRECTION)",
    );
    check_issue::<Envelope>(
        r#"{"id":"1","type":"trace-create","body":{}}"#,
        "missing field `timestamp`",
    );
    check_issue::<TraceBody>(r#"{"input":{"a":]}}"#, "input: expected value");
    check_issue::<TraceBody>("{} {}", "trailing characters");
}

#[test]
fn whole_numbers_are_score_values() {
    let values: Vec<ScoreInput> = read("[1, -2, 0.5, true, \"x\"]").unwrap();
    let expected = [
        ScoreInput::Number(1.0),
        ScoreInput::Number(-2.0),
        ScoreInput::Number(0.5),
        ScoreInput::Bool(true),
        ScoreInput::Text("x".to_owned()),
    ];
    assert_eq!(values, expected);
}
