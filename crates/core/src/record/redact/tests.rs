use proptest::prelude::*;

use super::path::{FieldPath, Root};
use super::*;
use crate::arbitrary::{observation_patch, score_patch, trace_patch};
use crate::catalog::experiment::{ExperimentItem, ExperimentMetadata};
use crate::id::TraceId;
use crate::payload::{Json, Payload};
use crate::time::Timestamp;

fn pattern(pattern: &str) -> Rule {
    Rule {
        what: RedactionPattern::Pattern(pattern.to_owned()),
        replacement: DEFAULT_REPLACEMENT.to_owned(),
    }
}

fn field(path: &str) -> Rule {
    Rule {
        what: RedactionPattern::Field(path.to_owned()),
        replacement: DEFAULT_REPLACEMENT.to_owned(),
    }
}

fn preset(name: &str) -> Redactor {
    let replacement = preset::find(name).unwrap().replacement.clone();
    Redactor::new(&[Rule { what: RedactionPattern::Preset(name.to_owned()), replacement }]).unwrap()
}

#[track_caller]
fn check_json(rules: &[Rule], json: &str, expected: &str) {
    let redactor = Redactor::new(rules).unwrap();
    let clean = redactor.uncut().json(Json::parse(json).unwrap(), Root::Input);
    assert_eq!(clean.as_str(), expected);
}

#[test]
fn what_is_not_found_stays_to_the_byte() {
    let json = r#" { "a\"b" : [1.50, "\u00e9\\", 12345678901234567890, "日本", {}, [], null] } "#;
    check_json(&[pattern("secret"), field("input.x.y"), field("output")], json, json);
}

#[test]
fn patterns_see_strings_keys_and_numbers() {
    let rules = [pattern(r"4\d{3}")];
    check_json(
        &rules,
        r#"{"4111": "x4222y", "n": [4333, 1]}"#,
        r#"{"[redacted]": "x[redacted]y", "n": ["[redacted]", 1]}"#,
    );
    check_json(&rules, r#""4\u0031\u0031\u0031""#, r#""[redacted]""#);
}

#[test]
fn paths_lead_through_keys_lists_and_stars() {
    let json = r#"{"user": {"email": "a", "id": 7}, "list": [{"t": 1}, {"t": {"x": [2]}}]}"#;
    check_json(
        &[field("input.user.email")],
        json,
        r#"{"user": {"email": "[redacted]", "id": 7}, "list": [{"t": 1}, {"t": {"x": [2]}}]}"#,
    );
    check_json(
        &[field("input.list.*.t")],
        json,
        r#"{"user": {"email": "a", "id": 7}, "list": [{"t": "[redacted]"}, {"t": "[redacted]"}]}"#,
    );
    check_json(
        &[field("input.list.1")],
        json,
        r#"{"user": {"email": "a", "id": 7}, "list": [{"t": 1}, "[redacted]"]}"#,
    );
    check_json(&[field("input")], json, r#""[redacted]""#);
}

#[test]
fn a_key_with_dots_is_one_step_and_several() {
    let json = r#"{"user.email": "a", "user": {"email": "b"}, "x.y": {"token": "c"}}"#;
    check_json(
        &[field("input.user.email"), field("input.*.token")],
        json,
        r#"{"user.email": "[redacted]", "user": {"email": "[redacted]"}, "x.y": {"token": "[redacted]"}}"#,
    );
    check_json(
        &[field("input.user")],
        json,
        r#"{"user.email": "[redacted]", "user": "[redacted]", "x.y": {"token": "c"}}"#,
    );
}

#[test]
fn a_text_that_is_a_document_is_treated_as_one() {
    let redactor = Redactor::new(&[field("input.key"), pattern("x@y")]).unwrap();
    let clean = |text: &str| redactor.uncut().payload(Payload::Text(text.into()), Root::Input);
    assert_eq!(
        clean(r#"{"key": 1, "b": "x@y"}"#).as_str(),
        r#"{"key": "[redacted]", "b": "[redacted]"}"#
    );
    assert_eq!(clean("write to x@y").as_str(), "write to [redacted]");
    assert_eq!(clean("{broken x@y").as_str(), "{broken [redacted]");
}

#[test]
fn a_match_that_a_replacement_makes_is_found_too() {
    let rules = [
        Rule { what: RedactionPattern::Pattern("b".to_owned()), replacement: "-".to_owned() },
        pattern("a-a"),
    ];
    assert_eq!(Redactor::new(&rules).unwrap().text("xabax"), "x[redacted]x");
    let endless =
        Rule { what: RedactionPattern::Pattern("ab".to_owned()), replacement: "b".to_owned() };
    let endless = Redactor::new(&[endless]).unwrap();
    assert_eq!(endless.text(&format!("{}b", "a".repeat(50))), "b");
}

#[track_caller]
fn refused(rules: &[Rule], words: &str) {
    let refusal = Redactor::new(rules).unwrap_err().to_string();
    assert!(refusal.contains(words), "{refusal}");
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    refused(&[pattern("(")], "pattern: regex parse error");
    refused(&[pattern("a*")], "matches the empty text");
    refused(&[pattern("")], "pattern: 1 to 1000 characters");
    refused(&[pattern(r"\w{900}{900}")], "pattern: Compiled regex exceeds size limit");
    refused(&[pattern("red")], "replacement: [redacted] would itself be redacted by red");
    refused(&[field("id")], "field: id is none of input, output, metadata");
    refused(&[field("input..x")], "field: input..x has an empty step");
    let unknown =
        Rule { what: RedactionPattern::Preset("shoe".to_owned()), replacement: "x".to_owned() };
    refused(&[unknown], "preset: shoe is not one of email, card");
    refused(&vec![pattern("x@y"); 101], "at most 100");
    let silent = Rule { replacement: String::new(), ..pattern("x") };
    refused(&[silent], "replacement: 1 to 100 characters");
}

#[test]
fn presets_find_what_they_say() {
    for preset in preset::all() {
        assert!(!super::tests::preset(&preset.name).is_empty());
    }
    let key = format!("key=sk-{}-{};", "ant", "a1B2".repeat(6));
    assert_eq!(preset("api-key").text(&key), "key=[api key];");
    for (name, text, expected) in [
        ("email", "to Ann.Lee+x@mail.example.org!", "to [email]!"),
        ("email", "user@host and a@b", "user@host and a@b"),
        ("card", "4111 1111 1111 1111, 5500-0000-0000-0004", "[card], [card]"),
        ("card", "378282246310005", "[card]"),
        (
            "card",
            "at 1763200000000000000 ns, id 41111111",
            "at 1763200000000000000 ns, id 41111111",
        ),
        ("iban", "DE89 3704 0044 0532 0130 00", "[iban]"),
        ("phone", "call +49 (30) 901820 now", "call [phone] now"),
        ("api-key", "AKIAABCDEFGHIJKLMNOP", "[api key]"),
        ("api-key", "a task-force, sk-lf", "a task-force, sk-lf"),
        ("bearer", "Authorization: Bearer abcdef123456", "Authorization: [token]"),
        (
            "private-key",
            "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----",
            "[private key]",
        ),
    ] {
        assert_eq!(preset(name).text(text), expected, "{name}");
    }
}

#[test]
fn every_field_can_be_named() {
    for root in Root::ALL {
        assert!(FieldPath::parse(&format!("{}.a.*", root.as_str())).is_ok());
    }
}

#[test]
fn items_of_experiments_are_redacted_too() {
    let redactor = Redactor::new(&[pattern("x@y"), field("output.key")]).unwrap();
    let json = |text: &str| Json::parse(text);
    let experiment = ExperimentMetadata {
        id: "x@y".to_owned(),
        name: Some("for x@y".to_owned()),
        metadata: json(r#"{"to": "x@y"}"#),
        ..ExperimentMetadata::default()
    };
    let item = ExperimentItem {
        experiment,
        item: "i".to_owned(),
        version: None,
        expected_output: json(r#"{"key": 1}"#),
        metadata: json(r#"["x@y"]"#),
        trace: TraceId::parse("t").unwrap(),
        observation: None,
        ran: None,
        recorded_at: Timestamp::from_nanos(0),
    };
    let clean = item.redact(&redactor.uncut());
    assert_eq!(clean.experiment.id, "x@y", "ids join records");
    assert_eq!(clean.experiment.name.as_deref(), Some("for [redacted]"));
    assert_eq!(clean.experiment.metadata, json(r#"{"to": "[redacted]"}"#));
    assert_eq!(clean.expected_output, json(r#"{"key": "[redacted]"}"#));
    assert_eq!(clean.metadata, json(r#"["[redacted]"]"#));
}

/// Rules that match often in random texts.
fn rules() -> Redactor {
    let short = |what: &str, replacement: &str| Rule {
        what: RedactionPattern::Pattern(what.to_owned()),
        replacement: replacement.to_owned(),
    };
    let rules = [
        short("[ab]{2}", "-"),
        short("c-*d", "_"),
        short(r"\d{3}", "#"),
        field("input.a"),
        field("metadata.*.b"),
        field("comment"),
    ];
    Redactor::new(&rules).unwrap()
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "[abcd1 \"\\\\é-]{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::hash_map("[abcd.1]{0,3}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Every text that patterns are matched against.
fn texts(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(map) => {
            map.iter().flat_map(|(key, value)| [vec![key.clone()], texts(value)].concat()).collect()
        }
        serde_json::Value::Array(list) => list.iter().flat_map(texts).collect(),
        serde_json::Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

proptest! {
    #[test]
    fn no_match_survives_in_a_text(text in "[abcd1 -]{0,30}") {
        let rules = rules();
        let clean = rules.text(&text).into_owned();
        prop_assert!(rules.patterns.iter().all(|pattern| !pattern.regex.is_match(&clean)));
        prop_assert_eq!(rules.text(&clean), clean.clone());
    }

    #[test]
    fn no_match_survives_in_a_document(value in document()) {
        let rules = rules();
        let json = Json::from_value(&value);
        let clean = rules.uncut().json(json, Root::Input);
        let read: serde_json::Value = serde_json::from_str(clean.as_str()).unwrap();
        for text in texts(&read) {
            let survives = rules.patterns.iter().any(|pattern| pattern.regex.is_match(&text));
            prop_assert!(!survives, "{text} in {}", clean.as_str());
        }
        prop_assert!(read.get("a").is_none_or(|value| value == DEFAULT_REPLACEMENT));
        prop_assert_eq!(rules.uncut().json(clean.clone(), Root::Input), clean);
    }

    #[test]
    fn patches_are_redacted_once_and_for_all(
        trace in trace_patch(), observation in observation_patch(), score in score_patch()
    ) {
        let rules = rules();
        let (trace, observation) = (trace.redact(&rules.uncut()), observation.redact(&rules.uncut()));
        let score = score.redact(&rules.uncut());
        prop_assert_eq!(trace.clone().redact(&rules.uncut()), trace);
        prop_assert_eq!(observation.clone().redact(&rules.uncut()), observation);
        prop_assert_eq!(score.clone().redact(&rules.uncut()), score);
    }

    #[test]
    fn without_rules_nothing_changes(trace in trace_patch(), score in score_patch()) {
        let none = Redactor::default();
        prop_assert!(none.is_empty());
        prop_assert_eq!(trace.clone().redact(&none.uncut()), trace);
        prop_assert_eq!(score.clone().redact(&none.uncut()), score);
    }
}

#[test]
fn what_is_too_long_is_cut_after_the_rules_have_run() {
    let what = RedactionPattern::Pattern(r"\bsk-[a-z]+\b".to_owned());
    let rule = |what| Rule { what, replacement: "[key]".to_owned() };
    let rules = Redactor::new(&[rule(what), rule(RedactionPattern::Field("input.pin".to_owned()))])
        .unwrap();
    // Wherever the elision falls, no part of the key is left.
    for before in 0..120 {
        let text = format!("{}sk-abcdefghij{}", "x ".repeat(before), " y".repeat(120 - before));
        let short = rules.with_text_limit(100).text(&text);
        assert!(!short.contains("sk-") && !short.contains("hij"), "{short}");
        assert!(short.len() <= 100, "{short}");
        let json = Json::from_value(&serde_json::json!([text]));
        let short = rules.with_text_limit(100).json(json, Root::Input);
        assert!(!short.as_str().contains("hij"), "{}", short.as_str());
    }
    // A document that is elided was one before.
    let document =
        format!(r#"{{"pin": "1234", "mail": "s\u006b-abc", "rest": "{}"}}"#, "z".repeat(200));
    let short = rules.with_text_limit(100).payload(Payload::Text(document.into()), Root::Input);
    assert!(
        short.as_str().starts_with(r#"{"pin": "[key]", "mail": "[key]""#),
        "{}",
        short.as_str()
    );
    assert!(short.as_str().contains("bytes left out"));
}

#[test]
fn an_elision_note_that_matches_a_pattern_is_redacted() {
    let what = RedactionPattern::Pattern(r"\d{3}".to_owned());
    let rules = Redactor::new(&[Rule { what, replacement: "#".to_owned() }]).unwrap();
    let short = rules.with_text_limit(60).text(&"x".repeat(1_000)).into_owned();
    assert!(short.contains("[# of #0 bytes left out]"), "{short}");
    assert_eq!(rules.with_text_limit(60).text(&short), short);
}

#[test]
fn documents_pass_if_no_pattern_finds_anything() {
    let what = RedactionPattern::Pattern("secret".to_owned());
    let field = RedactionPattern::Field("input".to_owned());
    let rule = |what| Rule { what, replacement: "-".to_owned() };
    let rules = Redactor::new(&[rule(what), rule(field)]).unwrap();
    let passes = |json: &str| rules.passes(&Json::parse(json).unwrap());
    assert!(passes(r#"{"input": "fine"}"#));
    assert!(!passes(r#"{"a": ["s\u0065cret"]}"#) && !passes(r#"{"secret": 1}"#));
}

#[test]
fn kinds_of_usage_and_cost_pass_the_rules() {
    use crate::record::field::{Field, Stamp, WriteKind};
    use crate::record::observation::ObservationPatch;
    use crate::record::usage::{Cost, Usage};

    let stamp = Stamp::stated(Timestamp::default(), WriteKind::Create);
    let mut patch = ObservationPatch::new(crate::id::Id::parse("o").unwrap(), None);
    let sent =
        serde_json::from_str(r#"{"input": 1, "ann@mail.example": 2, "bob@mail.example": 3}"#);
    let sent = sent.unwrap();
    patch.usage = Field::new(Usage::from_details(&sent), stamp);
    patch.cost = Field::new(Cost::from_details(&sent).unwrap(), stamp);
    let clean = patch.redact(&preset("email").uncut());
    let kinds = clean.usage.value().unwrap().kinds();
    let kinds: Vec<_> = kinds.iter().map(|(kind, units)| (kind.as_str(), *units)).collect();
    assert_eq!(kinds, [("[email]", 5), ("input", 1), ("total", 6)]);
    let cost = clean.cost.value().unwrap();
    assert_eq!(cost.kinds().keys().collect::<Vec<_>>(), ["[email]", "input"]);
    assert_eq!(cost.total().dollars(), 6.0);
}

#[test]
fn known_secrets_are_found_in_every_project() {
    let key = "sk-known-0123456789/abc";
    let redactor = Redactor::default().with_secrets(KnownSecrets::new([key.to_owned()]));
    assert!(!redactor.is_empty() && !redactor.has_rules());
    let json = r#"{"env": "KEY=sk-known-0123456789\/abc", "n": 1.50}"#;
    let clean = redactor.uncut().json(Json::parse(json).unwrap(), Root::Input);
    assert_eq!(clean.as_str(), r#"{"env": "KEY=[secret]", "n": 1.50}"#);
    let other = Json::parse(r#"{ "a" : 1.0 }"#).unwrap();
    assert_eq!(redactor.uncut().json(other.clone(), Root::Input), other);
    assert_eq!(redactor.text(&format!("<{key}>")), "<[secret]>");
}
