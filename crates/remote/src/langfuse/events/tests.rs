use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::langfuse::wire::json::Raw;
use ratchet_core::record::field::{Authority, Stamp, WriteKind};
use ratchet_core::record::merge::Merge;
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::score::ScorePatch;
use ratchet_core::record::score::config::{ConfigValues, ScoreConfig};
use ratchet_core::record::trace::TracePatch;
use ratchet_core::time::Timestamp;

use super::{EventPatches, Rules, Submitter};

mod public;
mod refusal;
mod score;

const AT: &str = "2026-11-15T10:00:00.000Z";
static RULES: LazyLock<Rules> = LazyLock::new(|| Rules {
    submitter: Submitter::Keyed,
    text_bytes: 100,
    depth: 64,
    score_configs: Arc::new(settled()),
});

/// What a caller with a public key alone may send, a second after the events.
fn public_rules() -> Rules {
    let received_at = Timestamp::parse("2026-11-15T10:00:01Z").unwrap();
    let project = "shop".to_owned();
    let submitter = Submitter::Public { project, received_at };
    Rules { submitter, text_bytes: 8_000_000, ..RULES.clone() }
}

/// The score configs of a project with one.
fn settled() -> BTreeMap<String, ScoreConfig> {
    let values = ConfigValues::Numeric { min: Some(0.0), max: Some(5.0) };
    let (id, name) = ("c".to_owned(), "stars".to_owned());
    let config = ScoreConfig { id: id.clone(), name, values, is_archived: false };
    [(id, config)].into()
}

fn raw(json: &str) -> Raw {
    serde_json::from_str(json).unwrap()
}

fn event(kind: &str, body: &str) -> Raw {
    raw(&format!(r#"{{"id":"e1","timestamp":"{AT}","type":"{kind}","body":{body}}}"#))
}

fn interpret(kind: &str, body: &str) -> EventPatches {
    EventPatches::from_batch(&[event(kind, body)], &RULES)
}

#[track_caller]
fn trace(body: &str) -> TracePatch {
    let mut said = interpret("trace-create", body);
    said.outcomes[0].result.clone().unwrap();
    said.traces.remove(0)
}

#[track_caller]
fn observation(kind: &str, body: &str) -> ObservationPatch {
    let mut said = interpret(kind, body);
    said.outcomes[0].result.clone().unwrap();
    said.observations.remove(0)
}

#[track_caller]
fn score(body: &str) -> ScorePatch {
    let mut said = interpret("score-create", body);
    said.outcomes[0].result.clone().unwrap();
    said.scores.remove(0)
}

#[track_caller]
fn refused(kind: &str, body: &str, expected: &str) {
    let said = interpret(kind, body);
    let refusal = said.outcomes[0].result.clone().expect_err("must be refused");
    assert_eq!(refusal.to_string(), expected);
    assert!(said.traces.is_empty(), "nothing of it is recorded");
    assert!(said.observations.is_empty() && said.scores.is_empty());
}

#[test]
fn a_trace_says_what_it_says() {
    let patch = trace(
        r#"{"id":"t","timestamp":"2026-11-15T09:00:00Z","name":"chat","userId":"u","sessionId":"s",
            "release":"r","version":"v","environment":"Prod","public":true,"bookmarked":false,
            "tags":["b","a","b"],"metadata":{"agent":"bot","gone":null},"input":{"q": 1.0},
            "output":"hi"}"#,
    );
    assert_eq!(patch.id.to_string(), "t");
    assert_eq!(patch.timestamp.0, Some(Timestamp::parse("2026-11-15T09:00:00Z").unwrap()));
    assert_eq!(patch.name.value().unwrap(), "chat");
    assert_eq!(patch.user.value().unwrap(), "u");
    assert_eq!(patch.session.value().unwrap().to_string(), "s");
    assert_eq!(patch.release.value().unwrap(), "r");
    assert_eq!(patch.version.value().unwrap(), "v");
    assert_eq!(patch.environment.value().unwrap().as_str(), "prod");
    assert_eq!(patch.agent.value().unwrap(), "bot");
    assert_eq!(patch.public.value(), Some(&true));
    assert_eq!(patch.bookmarked.value(), Some(&false));
    assert_eq!(patch.tags.into_iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(patch.metadata.get("agent").unwrap().as_str(), "\"bot\"");
    assert_eq!(patch.metadata.words().count(), 2, "a null is a word, too");
    assert_eq!(patch.input.value().unwrap().as_str(), r#"{"q": 1.0}"#);
    assert_eq!(patch.output.value().unwrap().as_str(), "\"hi\"");
    let stamp = Stamp::stated(Timestamp::parse(AT).unwrap(), WriteKind::Create);
    assert_eq!(patch.name.stamp(), Some(stamp));
}

#[test]
fn what_is_absent_is_not_spoken_of_and_null_clears() {
    let patch = trace(r#"{"id":"t","name":null,"public":null}"#);
    assert!(patch.name.stamped().unwrap().value.is_none());
    assert!(patch.public.stamped().unwrap().value.is_none());
    assert!(patch.user.stamped().is_none());
}

#[test]
fn null_payloads_metadata_and_environments_say_nothing() {
    let patch = trace(
        r#"{"id":"t","input":null,"output":null,"metadata":null,"environment":null,"tags":null}"#,
    );
    assert!(patch.input.stamped().is_none() && patch.output.stamped().is_none());
    assert!(patch.metadata.is_empty() && patch.tags.is_empty());
    assert!(patch.environment.stamped().is_none());
}

#[test]
fn empty_references_are_none() {
    let patch = trace(r#"{"id":"t","sessionId":"","userId":""}"#);
    assert!(patch.session.stamped().unwrap().value.is_none());
    assert!(patch.user.stamped().unwrap().value.is_none());
}

#[test]
fn a_missing_time_is_the_events() {
    assert_eq!(trace(r#"{"id":"t"}"#).timestamp.0, Some(Timestamp::parse(AT).unwrap()));
    assert_eq!(
        score(r#"{"traceId":"t","name":"n","value":1}"#).timestamp.0,
        Some(Timestamp::parse(AT).unwrap())
    );
}

#[test]
fn metadata_that_is_no_object_has_a_key_of_its_own() {
    for (sent, kept) in [("[1]", "[1]"), ("\"x\"", "\"x\""), ("1.50", "1.50")] {
        let patch = trace(&format!(r#"{{"id":"t","metadata":{sent}}}"#));
        assert_eq!(patch.metadata.get("metadata").unwrap().as_str(), kept);
    }
}

#[test]
fn every_observation_event_knows_its_kind() {
    for (event, kind) in [
        ("event-create", ObservationKind::Event),
        ("span-create", ObservationKind::Span),
        ("generation-create", ObservationKind::Generation),
        ("agent-create", ObservationKind::Agent),
        ("tool-create", ObservationKind::Tool),
        ("chain-create", ObservationKind::Chain),
        ("retriever-create", ObservationKind::Retriever),
        ("evaluator-create", ObservationKind::Evaluator),
        ("embedding-create", ObservationKind::Embedding),
        ("guardrail-create", ObservationKind::Guardrail),
    ] {
        assert_eq!(observation(event, r#"{"id":"o"}"#).kind.value(), Some(&kind), "{event}");
        if kind != ObservationKind::Event {
            let update = event.replace("create", "update");
            let patch = observation(&update, r#"{"id":"o"}"#);
            assert_eq!(patch.kind.stamp().unwrap().act, WriteKind::Update, "{update}");
        }
    }
    let named = observation("observation-create", r#"{"id":"o","type":"tool"}"#);
    assert_eq!(named.kind.value(), Some(&ObservationKind::Tool));
    assert!(observation("observation-update", r#"{"id":"o"}"#).kind.stamped().is_none());
}

#[test]
fn an_update_of_another_kind_does_not_change_the_kind() {
    let created = observation("generation-create", r#"{"id":"o"}"#);
    let updated = observation("span-update", r#"{"id":"o"}"#);
    let merged = [created.clone().merge(updated.clone()), updated.merge(created)];
    assert_eq!(merged[0], merged[1]);
    assert_eq!(merged[0].kind.value(), Some(&ObservationKind::Generation));
}

#[test]
fn a_generation_says_what_it_says() {
    let patch = observation(
        "generation-create",
        r#"{"id":"o","traceId":"t","name":"call","parentObservationId":"p","level":"error",
            "statusMessage":"bad","version":"1","environment":"beta","model":"gpt-4o",
            "startTime":"2026-11-15T09:00:00Z","endTime":"2026-11-15T09:00:02+00:00",
            "completionStartTime":"2026-11-15T09:00:01Z","modelParameters":{"temperature":0.10},
            "usage":{"promptTokens":3},"costDetails":{"input":0.5},"promptName":"greet",
            "promptVersion":3,"input":[],"output":"x","metadata":{"k":1}}"#,
    );
    assert_eq!(patch.trace.unwrap().to_string(), "t");
    assert_eq!(patch.parent.value().unwrap().to_string(), "p");
    assert_eq!(patch.level.value(), Some(&Level::Error));
    assert_eq!(patch.status_message.value().unwrap(), "bad");
    assert_eq!(patch.model.value().unwrap(), "gpt-4o");
    assert_eq!(patch.model_parameters.value().unwrap().as_str(), r#"{"temperature":0.10}"#);
    assert_eq!(patch.usage.value().unwrap().total(), 3);
    assert_eq!(patch.cost.value().unwrap().total().dollars(), 0.5);
    let prompt = patch.prompt.value().unwrap();
    assert_eq!((prompt.name.as_str(), prompt.version), ("greet", 3));
    assert_eq!(patch.end.0.unwrap().since(patch.start.0.unwrap()), 2_000_000_000);
    assert!(patch.completion_start.value().is_some());
}

#[test]
fn only_a_create_event_stands_in_for_the_start() {
    let at = Some(Timestamp::parse(AT).unwrap());
    assert_eq!(observation("span-create", r#"{"id":"o"}"#).start.0, at);
    assert_eq!(observation("span-update", r#"{"id":"o"}"#).start.0, None);
}

#[test]
fn half_a_prompt_link_is_none() {
    for body in [r#"{"id":"o","promptName":"p"}"#, r#"{"id":"o","promptVersion":1}"#] {
        assert!(observation("generation-create", body).prompt.stamped().is_none());
    }
    let cleared =
        observation("generation-update", r#"{"id":"o","promptName":null,"promptVersion":null}"#);
    assert!(cleared.prompt.stamped().unwrap().value.is_none());
}

#[test]
fn an_observation_without_a_trace_leaves_it_to_the_store() {
    let said = interpret("span-create", r#"{"id":"o","traceId":""}"#);
    assert_eq!(said.observations[0].trace, None);
    assert!(said.traces.is_empty());
}

#[test]
fn the_observation_a_trace_began_with_knows_its_environment_best() {
    let authority = |kind: &str, parent: &str| {
        let body = format!(r#"{{"id":"o","traceId":"t","environment":"e"{parent}}}"#);
        let patch = interpret(kind, &body).traces.remove(0);
        patch.environment.stamp().unwrap().authority
    };
    assert_eq!(authority("span-create", ""), Authority::Root);
    assert_eq!(authority("span-create", r#","parentObservationId":"p""#), Authority::Child);
    assert_eq!(authority("span-update", ""), Authority::Child);
}

#[test]
fn an_agent_is_called_what_its_observation_is_called() {
    let patch = observation("agent-create", r#"{"id":"o","name":"planner"}"#);
    assert_eq!(patch.agent.value().unwrap(), "planner");
    assert!(observation("span-create", r#"{"id":"o","name":"x"}"#).agent.stamped().is_none());
    let agent_of_trace = |body: &str| {
        let patch = interpret("agent-create", body).traces.remove(0);
        patch.agent.into_value()
    };
    let root = agent_of_trace(r#"{"id":"o","traceId":"t","name":"planner"}"#);
    assert_eq!(root.as_deref(), Some("planner"));
    let child = r#"{"id":"o","traceId":"t","name":"helper","parentObservationId":"p"}"#;
    assert_eq!(agent_of_trace(child), None);
}

#[test]
fn ids_are_made_when_missing_and_the_same_on_a_retry() {
    let id = |body: &str| trace(body).id.to_string();
    assert_eq!(id("{}").len(), 36);
    assert_eq!(id("{}"), id("{}"));
    assert_ne!(id("{}"), id(r#"{"name":"x"}"#));
    assert_eq!(id("{\"id\":null}").len(), 36);
}
