use super::*;

fn ask(kind: EventKind, body: Value) -> Ask {
    let event = ReceivedEvent { seq: 1, kind: Some(kind), at: None, body, line: String::new() };
    Ask::read(&event).unwrap()
}

fn permission(rules: &[&str]) -> Ask {
    let input = json!({"command": "rm -rf build\necho \u{1b}[2K\u{202e}done", "timeout": 5});
    let body = json!({"id": "a1", "tool": "Bash", "input": input, "rules": rules});
    ask(EventKind::Permission, body)
}

fn shown(ask: &Ask) -> String {
    let about: String = ask.about().into_iter().map(|(line, _)| line + "\n").collect();
    about + &ask.hint()
}

#[test]
fn a_permission_shows_every_word_of_the_command() {
    insta::assert_snapshot!(shown(&permission(&["Bash(rm *)"])), @r#"
    The agent wants to use Bash:
        rm -rf build
        echo �[2K�done
        {"timeout":5}
      1. yes
      2. yes, and for this chat always Bash(rm *)
      n. no; words after it tell the agent why
    "#);
}

#[track_caller]
fn check(ask: &mut Ask, typed: &str, expected: &Typed) {
    assert_eq!(&ask.take(typed), expected, "{typed}");
}

#[test]
fn permissions_are_given_or_not() {
    let answer = |more: Value| {
        let mut answer = json!({"id": "a1"});
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Typed::Answer(answer)
    };
    let mut lasting = permission(&["Bash"]);
    check(&mut lasting, " 1\n", &answer(json!({"decision": "allow"})));
    check(&mut lasting, "2", &answer(json!({"decision": "allow", "always": true})));
    check(&mut lasting, "no", &answer(json!({"decision": "deny"})));
    let why = json!({"decision": "deny", "message": "use make clean"});
    check(&mut lasting, "n use make clean", &answer(why));
    check(&mut lasting, "yes please", &Typed::Again("1, 2 or n".to_owned()));
    check(&mut permission(&[]), "2", &Typed::Again("1 or n".to_owned()));
    check(&mut permission(&[]), "", &Typed::Again("1 or n".to_owned()));
}

#[test]
fn questions_are_asked_one_after_the_other() {
    let options = json!([{"label": "Red", "description": "warm"}, {"label": "Blue"}]);
    let body = json!({"id": "q", "questions": [
        {"question": "Which colour?", "options": options},
        {"question": "Which sides?", "options": options, "multiSelect": true},
        {"question": "Why?", "options": []}]});
    let mut ask = ask(EventKind::Question, body);
    insta::assert_snapshot!(shown(&ask), @r"
    Which colour?
      1. Red: warm
      2. Blue
      a number, or words of your own
    ");
    check(&mut ask, "3", &Typed::Again("a number from 1 to 2".to_owned()));
    check(&mut ask, "", &Typed::Again("a number, or words of your own".to_owned()));
    check(&mut ask, "2", &Typed::More);
    assert!(shown(&ask).starts_with("Which sides?"));
    check(&mut ask, "1, 2", &Typed::More);
    let answers = json!({"Which colour?": "Blue", "Which sides?": "Red, Blue", "Why?": "3"});
    check(&mut ask, "3", &Typed::Answer(json!({"id": "q", "answers": answers})));
}

#[test]
fn forms_take_json_or_no() {
    let schema = json!({"properties": {"colour": {"type": "string", "description": "any"}}});
    let body = json!({"id": "f", "server": "calc", "message": "?", "schema": schema});
    let mut ask = ask(EventKind::Question, body);
    assert!(shown(&ask).contains("  colour: string, any\n"), "{}", shown(&ask));
    check(&mut ask, "{\"a\":1}", &Typed::Answer(json!({"id": "f", "content": {"a": 1}})));
    check(&mut ask, "n", &Typed::Answer(json!({"id": "f", "decision": "deny"})));
    assert!(matches!(ask.take("yes"), Typed::Again(_)));
}
