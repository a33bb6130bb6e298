use proptest::prelude::*;
use serde_json::{Value, json};

use super::reference::{Piece, mark, pieces};
use super::*;

fn node(name: &str, version: u32) -> Node {
    Node { id: format!("{name}@{version}"), name: name.to_owned(), version }
}

fn part(name: &str, version: u32, text: &str) -> Part {
    Part { node: node(name, version), body: PromptBody::Text(text.to_owned()) }
}

fn version(name: &str, version: u32) -> Reference {
    Reference { name: name.to_owned(), pick: Pick::Version(version) }
}

fn label(name: &str, label: &str) -> Reference {
    Reference { name: name.to_owned(), pick: Pick::Label(label.to_owned()) }
}

/// Composes the prompt `root` from parts by name, each version 1.
fn composed(root: &str, parts: &[(&str, &str)]) -> Result<Composed, ComposeError> {
    let parts = parts.iter().map(|(name, text)| (version(name, 1), part(name, 1, text))).collect();
    compose(&part("root", 1, root), &parts)
}

#[track_caller]
fn check(root: &str, parts: &[(&str, &str)], expected: Result<&str, &str>) {
    let found = composed(root, parts).map(|composed| composed.body);
    let expected = expected.map(|text| PromptBody::Text(text.to_owned()));
    assert_eq!(found.map_err(|why| why.to_string()), expected.map_err(str::to_owned));
}

fn v1(name: &str) -> String {
    mark(&version(name, 1))
}

#[test]
fn references_are_replaced_by_what_they_name() {
    check("no marks", &[], Ok("no marks"));
    let root = format!("{}, {}!", v1("hi"), v1("who"));
    check(&root, &[("hi", "Hello"), ("who", "world")], Ok("Hello, world!"));
    let twice = format!("{0}{0}", v1("a"));
    check(&twice, &[("a", &v1("b")), ("b", "x")], Ok("xx"));
}

#[test]
fn a_label_and_a_version_are_two_references() {
    let root = "@@@langfusePrompt:name=a/b c|label=production@@@ @@@langfusePrompt:name=a/b c|version=2@@@";
    let parts = Parts::from([
        (label("a/b c", "production"), part("a/b c", 3, "three")),
        (version("a/b c", 2), part("a/b c", 2, "two")),
    ]);
    let composed = compose(&part("root", 7, root), &parts).unwrap();
    assert_eq!(composed.body, PromptBody::Text("three two".to_owned()));
    let graph = composed.graph.unwrap();
    assert_eq!(graph.root, node("root", 7));
    assert_eq!(graph.dependencies["root@7"], [node("a/b c", 3), node("a/b c", 2)]);
}

#[test]
fn marks_that_make_no_sense_are_text() {
    for inner in
        ["", "name=a", "name=|label=b", "label=b|name=a", "name=a|version=0", "name=a|version=x"]
    {
        let text = format!("@@@langfusePrompt:{inner}@@@");
        check(&text, &[], Ok(&text));
    }
    check("@@@langfusePrompt:name=a|label=b", &[], Ok("@@@langfusePrompt:name=a|label=b"));
    check("@@@langfuseMedia:type=x|id=y@@@", &[], Ok("@@@langfuseMedia:type=x|id=y@@@"));
    let many = "@@@langfusePrompt:name=a|label=b|version=1@@@";
    check(many, &[], Ok(many));
}

#[test]
fn endless_composition_is_refused() {
    let (a, b) = (v1("a"), v1("b"));
    check(&a, &[("a", &b), ("b", &a)], Err("circular dependency through prompt 'a' version 1"));
    check(&a, &[("a", &v1("a"))], Err("circular dependency through prompt 'a' version 1"));
    let parts = Parts::from([(version("root", 2), part("root", 2, "older"))]);
    let own = compose(&part("root", 3, &mark(&version("root", 2))), &parts);
    assert!(matches!(own, Err(ComposeError::Circular { version: 2, .. })), "{own:?}");
}

#[test]
fn five_may_stand_inside_each_other_and_no_more() {
    let (a, b, c, d) = (v1("a"), v1("b"), v1("c"), v1("d"));
    let four = [("a", b.as_str()), ("b", c.as_str()), ("c", d.as_str()), ("d", "x")];
    check(&a, &four, Ok("x"));
    let e = v1("e");
    let five = [("a", b.as_str()), ("b", c.as_str()), ("c", d.as_str()), ("d", &e), ("e", "x")];
    check(&a, &five, Err("prompts are nested more than 5 deep"));
    // A part resolved near the root may still be too deep elsewhere.
    let root = format!("{b}{a}");
    check(&root, &five, Err("prompts are nested more than 5 deep"));
    check(&b, &five, Ok("x"));
}

#[test]
fn a_reference_must_lead_to_a_text() {
    check(&v1("a"), &[], Err("prompt dependency not found: a - version 1"));
    let chat = Part { node: node("a", 1), body: PromptBody::Chat(Vec::new()) };
    let found = compose(&part("root", 1, &v1("a")), &Parts::from([(version("a", 1), chat)]));
    assert_eq!(found, Err(ComposeError::NotText(version("a", 1))));
}

#[test]
fn prompts_that_expand_too_much_are_refused() {
    let times = |name: &str| v1(name).repeat(1_000);
    let parts = [("a", times("b")), ("b", times("c")), ("c", "0123456789".repeat(100))];
    let parts: Vec<_> = parts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    check(
        &times("a"),
        &parts,
        Err("the prompt with all it refers to is longer than 32000000 bytes"),
    );
}

#[test]
fn chats_are_composed_message_by_message() {
    let json = json!([
        {"role": "system", "content": format!("Be {}.", v1("a")), "cache": true},
        {"type": "placeholder", "name": "history"},
        {"type": "chatmessage", "role": "user", "content": "{{ question }}"},
    ]);
    let body = PromptBody::read(PromptKind::Chat, json.clone()).unwrap();
    assert_eq!(body.to_json(), json);
    assert_eq!(body.references(), [version("a", 1)].into());
    let root = Part { node: node("root", 1), body };
    let parts = Parts::from([(version("a", 1), part("a", 1, "kind"))]);
    let composed = compose(&root, &parts).unwrap();
    assert_eq!(composed.body.to_json()[0]["content"], "Be kind.");
    assert_eq!(composed.body.to_json()[1], json[1]);
}

#[track_caller]
fn check_body(json: Value, expected: (Option<usize>, Option<&str>, &str)) {
    let error = PromptBody::read(PromptKind::Chat, json).unwrap_err();
    assert_eq!((error.message, error.field, error.why.as_str()), expected);
}

#[test]
fn bodies_that_make_no_sense_are_refused() {
    check_body(json!("text"), (None, None, "a chat prompt must be a list"));
    check_body(json!([1]), (Some(0), None, "a message must be an object"));
    check_body(json!([{"role": "user"}]), (Some(0), Some("content"), "required"));
    let said = json!({"role": "user", "content": "x"});
    check_body(json!([said, {"content": "x"}]), (Some(1), Some("role"), "required"));
    check_body(
        json!([said, {"role": 1, "content": "x"}]),
        (Some(1), Some("role"), "must be a text"),
    );
    let clash = json!([{"role": "user", "content": "{{ h }} {{i}}"}, {"name": "h"}]);
    let why = "variables and placeholders must have different names, these are both: h";
    check_body(clash, (None, None, why));
    assert!(PromptBody::read(PromptKind::Text, json!([])).is_err());
}

#[test]
fn names_and_labels_are_checked() {
    for name in ["a", "folder/sub folder/prompt", "ä", "new/one", &"x".repeat(255)] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    for name in ["", "a|b", "/a", "a/", "a//b", "new", "a\nb", &"x".repeat(256)] {
        assert!(check_name(name).is_err(), "{name}");
    }
    for label in ["production", "v1.2_x-y", "0"] {
        assert_eq!(check_label(label), Ok(()), "{label}");
    }
    for label in ["", "Prod", "a b", "ä", &"x".repeat(37)] {
        assert!(check_label(label).is_err(), "{label}");
    }
}

/// Strategy for texts with valid and malformed tags.
fn text() -> impl Strategy<Value = String> {
    let bits = prop_oneof![
        "[a-zé🦀 @|=]{0,8}",
        (0u32..6).prop_map(|to| v1(&format!("p{to}"))),
        Just("@@@langfusePrompt:".to_owned()),
        Just("@@@".to_owned()),
    ];
    prop::collection::vec(bits, 0..6).prop_map(|bits| bits.concat())
}

proptest! {
    #[test]
    fn the_pieces_of_a_text_make_up_the_text(text in text()) {
        let whole: String = pieces(&text)
            .iter()
            .map(|piece| match piece {
                Piece::Plain(plain) => (*plain).to_owned(),
                Piece::Refers(reference) => mark(reference),
            })
            .collect();
        prop_assert_eq!(whole, text);
    }

    #[test]
    fn nothing_that_is_composed_still_refers_to_a_part(texts in prop::collection::vec(text(), 6)) {
        let names: Vec<_> = (0..6).map(|index| format!("p{index}")).collect();
        let parts: Parts = names
            .iter()
            .zip(&texts)
            .map(|(name, text)| (version(name, 1), part(name, 1, text)))
            .collect();
        let root = &parts[&version("p0", 1)];
        // Composing terminates; the result is a fixed point, unless fragments of malformed tags
        // joined to form a tag.
        if let Ok(composed) = compose(root, &parts) {
            let marks = composed.body.references();
            let has_broken_marks = texts.iter().any(|text| {
                pieces(text).iter().any(|p| matches!(p, Piece::Plain(text) if text.contains("@@")))
            });
            prop_assert!(marks.is_empty() || has_broken_marks);
            prop_assert_eq!(composed.graph.is_none(), root.body.references().is_empty());
        }
    }
}
