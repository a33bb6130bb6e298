use std::collections::BTreeMap;

use ratchet_core::chat::event::EventKind;
use ratchet_core::chat::permission_prompt::{AnswerMismatch, Decision, PermissionScope};
use ratchet_core::payload::Json;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_stages::chat::{ChatError, ChatSettings};
use ratchet_testkit::scripted::Reply;
use serde_json::json;

use super::{Talking, of_kind, touch, using};
use crate::talk::{Stage, assert_in_order};

fn question(id: &str, takes_several: bool) -> Reply {
    let option = |label: &str| json!({"label": label, "description": format!("it is {label}")});
    let question = json!({"question": "Which colour?", "header": "Colour",
        "multiSelect": takes_several, "options": [option("Red"), option("Blue")]});
    using(id, "AskUserQuestion", json!({"questions": [question]}))
}

fn choice(words: &str) -> Decision {
    Decision::Answers(BTreeMap::from([("Which colour?".to_owned(), words.to_owned())]))
}

#[tokio::test]
async fn questions_are_answered_with_a_choice_with_several_and_with_words() {
    let stage = Stage::real();
    let cases = [
        ("First", false, choice("Blue"), "Blue"),
        ("Second", true, choice("Red, Blue"), "Red, Blue"),
        ("Third", false, Decision::Says("Rather 木".to_owned()), "Rather 木"),
        ("Fourth", false, choice("a smell of pine"), "a smell of pine"),
    ];
    for (words, takes_several, _, learnt) in &cases {
        stage.model.say(question(&format!("toolu_{words}"), *takes_several).on(words));
        // Its text proves that it got the answer.
        stage.model.say(Reply::text("I see.").on(learnt));
    }
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    for (words, takes_several, decision, _) in cases {
        let turn = talking.say(&format!("{words}: ask me.")).await;
        let (ask, asked) = talking.asked(EventKind::Question).await;
        assert_eq!(asked["questions"][0]["multiSelect"], takes_several);
        assert_eq!(asked["questions"][0]["options"][1]["label"], "Blue");
        talking.decide(ask, decision).await;
        let done = talking.done().await;
        assert_eq!((&done["result"], &done["is_error"]), (&json!("I see."), &json!(false)));
        talking.check_spent(&turn, &done, 2).await;
        let steps = talking.steps(&turn).await;
        let asked = of_kind(&steps, ObservationKind::Span);
        assert_eq!(asked.len(), 1, "{asked:#?}");
        assert_eq!(asked[0].name.as_deref(), Some("person.question"));
        assert_eq!(asked[0].parent.as_ref().unwrap().to_string(), format!("toolu_{words}"));
        assert!(asked[0].latency().is_some(), "how long the person took");
    }
    let states = talking.client.states();
    assert_eq!(states[..5], ["starting", "running", "waiting", "running", "idle"]);
    assert_in_order(&talking.client.seen);
}

#[tokio::test]
async fn permissions_are_denied_given_for_good_and_never_given_otherwise() {
    let stage = Stage::real();
    stage.model.say(touch("toolu_no", "no").on("First"));
    stage.model.say(Reply::text("Not made.").on("I would rather not."));
    stage.model.say(touch("toolu_a", "a").on("Second"));
    stage.model.say(touch("toolu_again", "a").on("toolu_a"));
    stage.model.say(Reply::text("Twice.").on("toolu_again"));
    stage.model.say(touch("toolu_b", "b").on("Third"));
    stage.model.say(Reply::text("Made.").on("toolu_b"));
    stage.model.say(touch("toolu_c", "c").on("Fourth"));
    let mut talking = Talking::start(stage, ChatSettings::default()).await;
    let made = |talking: &Talking, name: &str| talking.stage.path("work").join(name).exists();

    let turn = talking.say("First: make it.").await;
    let (ask, asked) = talking.asked(EventKind::Permission).await;
    assert_eq!(asked["input"]["command"], "touch no", "the exact command is shown");
    let message = Some("I would rather not.".to_owned());
    talking.decide(ask, Decision::Deny { message, stops: false }).await;
    let done = talking.done().await;
    assert_eq!(done["result"], "Not made.");
    talking.check_spent(&turn, &done, 2).await;
    let steps = talking.steps(&turn).await;
    assert_eq!(of_kind(&steps, ObservationKind::Tool)[0].level, Level::Error);
    assert!(!made(&talking, "no"));

    let turn = talking.say("Second: make it twice.").await;
    let (ask, _) = talking.asked(EventKind::Permission).await;
    let always = Decision::Allow { allowance: PermissionScope::Chat, input: None };
    talking.decide(ask, always).await;
    let before = talking.client.seen.len();
    let done = talking.done().await;
    assert_eq!(done["result"], "Twice.");
    talking.check_spent(&turn, &done, 3).await;
    let asked_again =
        talking.client.seen[before..].iter().any(|event| event.kind == EventKind::Permission);
    assert!(made(&talking, "a") && !asked_again);
    assert!(!talking.stage.path("work/.claude").exists(), "it is for this chat only");

    talking.say("Third: make something.").await;
    let (ask, _) = talking.asked(EventKind::Permission).await;
    let input = Json::parse(r#"{"command":"touch other","description":"makes another"}"#);
    let otherwise = Decision::Allow { allowance: PermissionScope::Once, input };
    let refused = talking.try_decide(ask.clone(), otherwise).await.unwrap_err();
    assert!(matches!(refused, ChatError::AnswerMismatch(AnswerMismatch::Changed)), "{refused}");
    let as_shown = Decision::Allow { allowance: PermissionScope::Once, input: None };
    talking.decide(ask, as_shown).await;
    assert_eq!(talking.done().await["result"], "Made.");
    assert!(made(&talking, "b") && !made(&talking, "other"), "what was shown is what is done");

    let turn = talking.say("Fourth: make it.").await;
    let (ask, _) = talking.asked(EventKind::Permission).await;
    talking.decide(ask, Decision::Deny { message: None, stops: true }).await;
    let done = talking.done().await;
    assert_eq!(done["is_error"], true, "{done}");
    talking.check_spent(&turn, &done, 1).await;
    assert_eq!(talking.root(&turn).await.level, Level::Warning);
    assert_in_order(&talking.client.seen);
}

#[tokio::test]
async fn a_plan_that_is_let_go_stays_let_go() {
    let stage = Stage::real();
    stage
        .model
        .say(using("toolu_plan", "ExitPlanMode", json!({"plan": "Plant plums."})).on("Plan"));
    stage.model.say(Reply::text("Let us begin.").on("toolu_plan"));
    let mode = Some("plan".to_owned());
    let mut talking = Talking::start(stage, ChatSettings { mode, ..ChatSettings::default() }).await;
    talking.say("Plan it.").await;
    let (ask, asked) = talking.asked(EventKind::Permission).await;
    assert_eq!(asked["tool"], "ExitPlanMode");
    talking.decide(ask, Decision::Allow { allowance: PermissionScope::Once, input: None }).await;
    assert_eq!(talking.done().await["result"], "Let us begin.");
    let output = talking.client.received();
    let modes: Vec<_> = output.iter().filter(|(kind, _)| *kind == EventKind::Notice).collect();
    assert_eq!(modes.len(), 1, "{modes:?}");
    assert_eq!((&modes[0].1["what"], &modes[0].1["text"]), (&json!("mode"), &json!("default")));
    talking.chats.stop().await;
    let chat = talking.chats.chat(talking.stage.shop.clone(), talking.chat_id.clone()).await;
    let kept = ChatSettings::read(&chat.unwrap().settings).unwrap();
    assert_eq!(kept.mode.as_deref(), Some("default"), "for whoever starts it next");
}
