use ratchet_core::record::field::Authority;
use ratchet_core::record::merge::Merge;
use ratchet_core::record::score::ScorePatch;
use ratchet_core::record::score::public::is_public;
use ratchet_core::time::Timestamp;

use super::{event, public_rules, score};
use crate::langfuse::events::EventPatches;

fn public(body: &str) -> Result<ScorePatch, String> {
    let mut said = EventPatches::from_batch(&[event("score-create", body)], &public_rules());
    said.outcomes[0].result.clone().map_err(|refusal| refusal.to_string())?;
    Ok(said.scores.remove(0))
}

fn given(rest: &str) -> ScorePatch {
    public(&format!(r#"{{"traceId":"t","name":"n","value":1{rest}}}"#)).unwrap()
}

#[test]
fn the_id_of_a_public_score_is_derived_and_the_clients_id_is_its_token() {
    let first = given(r#","id":"t-n""#);
    assert!(is_public(&first.id), "{}", first.id);
    assert_eq!(given(r#","id":"t-n","comment":"why""#).id, first.id, "the same thumb again");
    assert_ne!(given(r#","id":"another browser""#).id, first.id);
    let forged = given(&format!(r#","id":"{}""#, first.id));
    assert_ne!(forged.id, first.id, "an id cannot be chosen, however it looks");
    assert!(is_public(&given("").id), "one without an id");
}

#[test]
fn what_was_said_with_a_whole_key_wins_over_a_public_score() {
    let public = given(r#","id":"x","comment":"mine""#);
    let keyed = score(&format!(
        r#"{{"id":"{}","traceId":"t","name":"n","value":0,"comment":"theirs"}}"#,
        public.id
    ));
    assert_eq!(public.comment.stamp().unwrap().authority, Authority::Child);
    let merged = public.merge(keyed);
    assert_eq!(merged.comment.value().unwrap(), "theirs");
    assert_eq!(merged.value.value().unwrap().number(), Some(0.0));
}

#[test]
fn a_public_score_is_from_today() {
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let time = |text: &str| given(&format!(r#","timestamp":"{text}""#)).timestamp.0.unwrap();
    assert_eq!(time("2026-11-15T09:00:00Z"), at("2026-11-15T09:00:00Z"));
    assert_eq!(time("2200-01-01T00:00:00Z"), at("2026-11-15T10:00:01Z"));
    assert_eq!(time("1999-01-01T00:00:00Z"), at("2026-11-14T10:00:01Z"));
}

#[test]
fn public_scores_are_small_and_say_only_what_a_page_can_know() {
    let long = |chars: usize| "x".repeat(chars);
    let only = "with a public key alone at most";
    for (fields, expected) in [
        (
            format!(r#""name":"n","comment":"{}""#, long(4_001)),
            format!("body.comment: 4001 characters, {only} 4000 are taken"),
        ),
        (
            format!(r#""name":"{}""#, long(201)),
            format!("body.name: 201 characters, {only} 200 are taken"),
        ),
        (
            format!(r#""name":"n","metadata":{{"k":"{}"}}"#, long(4_000)),
            format!("body.metadata: 4008 bytes, {only} 4000 are taken"),
        ),
        (
            r#""name":"n","queueId":"q""#.to_owned(),
            "body.queueId: needs public and secret key".to_owned(),
        ),
    ] {
        let body = format!(r#"{{"traceId":"t","value":1,{fields}}}"#);
        assert_eq!(public(&body).unwrap_err(), expected);
    }
    let label = format!(r#"{{"traceId":"t","name":"n","value":"{}"}}"#, long(201));
    assert!(public(&label).unwrap_err().starts_with("body.value: 201 characters"));
    let run = r#"{"datasetRunId":"r","name":"n","value":1}"#;
    assert_eq!(public(run).unwrap_err(), "body.datasetRunId: needs public and secret key");
    let correction = r#"{"traceId":"t","name":"n","value":"x","dataType":"CORRECTION"}"#;
    assert_eq!(
        public(correction).unwrap_err(),
        "body.dataType: a CORRECTION needs public and secret key"
    );
}
