use ratchet_browser::Page;
use ratchet_testkit::http;
use serde_json::{Value, json};

use super::furnish::WORKSPACE;
use super::hand::{Hand, with_both};
use super::stage::Served;

const NEW: &str = "/project/{project}/chats/new";

/// Whether the conversation has these words.
fn output(words: &str) -> String {
    let words = Value::from(words);
    format!("document.querySelector('[data-turns]').innerText.includes({words})")
}

/// Says something, by the key that sends or by the button.
fn say(hand: Hand, page: &Page, text: &str) {
    hand.write(page, "#composer textarea", text);
    match hand {
        Hand::Keys => page.press("Enter"),
        Hand::Mouse => page.click("#composer .primary"),
    }
}

/// What a program gets that answers what the page shows.
fn answer(page: &Page, served: &Served, with: Value) -> http::Answer {
    let asked = "[...document.querySelectorAll('[data-ask]')].at(-1).dataset.ask";
    let mut body = with;
    body["id"] = page.js(asked);
    let chat = page.path().rsplit('/').next().unwrap().to_owned();
    let path = format!("/api/v1/chats/{chat}/answers");
    served.write(|writer| {
        writer.server.send(http::post(&path).host("localhost").json(body.to_string()))
    })
}

#[test]
fn one_talks_to_an_agent_beside_a_program_and_judges_its_answers() {
    with_both(NEW, |hand, page, demo| {
        // Where one talked last is proposed.
        assert_eq!(page.js("document.querySelector('[name=workspace]').value"), WORKSPACE);
        hand.write(page, "[name=text]", "deltas 20");
        hand.press(page, "form.chat-new .primary");
        page.wait_for("[data-turns]");
        page.wait_until(&output("18 19 20"));
        say(hand, page, "ask");
        page.wait_until(&output("The agent wants to use Bash"));
        hand.press(page, "[data-ask] [value=allow]");
        page.wait_until(&output("it was allowed"));
        let late = answer(page, demo, json!({ "decision": "deny" }));
        assert_eq!(late.status, 409, "{}", late.text());
        say(hand, page, "question");
        page.wait_until(&output("the second"));
        let first = answer(page, demo, json!({ "answers": { "Which?": "B" } }));
        assert_eq!(first.status, 200, "{}", first.text());
        page.wait_until("!document.querySelector('.ask.open')");
        say(hand, page, "silence");
        page.wait_until("document.querySelector('[data-chat]').dataset.state === 'running'");
        page.press("Escape");
        page.wait_until("document.querySelector('[data-chat]').dataset.state === 'idle'");
        hand.press(page, ".thumb[value=down]");
        page.wait_for(".thumb[value=down][aria-pressed=true]");
        let trace = page.js("document.querySelector('.thumbs [name=turn]').value");
        let path = format!("/api/public/traces/{}", trace.as_str().unwrap());
        let scores = demo.write(|writer| writer.get(&path)["scores"].take());
        assert_eq!(
            (&scores[0]["name"], &scores[0]["value"]),
            (&"thumbs_feedback".into(), &0.0.into())
        );
    });
}

#[test]
fn what_is_typed_while_the_agent_works_waits_and_can_be_taken_back() {
    with_both(NEW, |hand, page, _| {
        hand.write(page, "[name=text]", "silence");
        hand.press(page, "form.chat-new .primary");
        page.wait_for("[data-turns]");
        let is_at_work = "document.querySelector('[data-chat]').dataset.state === 'running'";
        page.wait_until(is_at_work);
        let queue = |text: &str| {
            hand.write(page, "#composer textarea", text);
            match hand {
                Hand::Keys => page.press("Enter"),
                Hand::Mouse => page.click("#composer [data-part=act] button[title]"),
            }
        };
        let waits = |words: &str| {
            format!("document.querySelector('[data-waiting]').innerText.includes('{words}')")
        };
        queue("deltas 7");
        page.wait_until(&waits("deltas 7"));
        // Who stops the agent gets back what waits, to change it.
        hand.press(page, "#composer .danger");
        page.wait_until("document.querySelector('#composer textarea').value === 'deltas 7'");
        page.wait_until("document.querySelector('[data-chat]').dataset.state === 'idle'");
        assert!(!page.js(&output("6 7")).as_bool().unwrap());
        page.js("document.querySelector('#composer textarea').value = ''");
        say(hand, page, "ask");
        page.wait_until(&output("The agent wants to use Bash"));
        queue("deltas 9");
        page.wait_until(&waits("deltas 9"));
        hand.press(page, "[data-ask] [value=allow]");
        // It is sent when the turn has ended.
        page.wait_until(&output("7 8 9"));
        page.wait_until("!document.querySelector('[data-waiting] li')");
    });
}

#[test]
fn files_go_along_and_a_chat_gets_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.md");
    std::fs::write(&plan, "# Plan\n\nShip on <b>Friday</b>.\n").unwrap();
    let notes = folder.path().join("notes.txt");
    std::fs::write(&notes, "not this one").unwrap();
    with_both(NEW, |hand, page, _| {
        hand.write(page, "[name=text]", "deltas 2");
        hand.press(page, "form.chat-new .primary");
        page.wait_for("[data-turns]");
        page.wait_until("document.querySelector('[data-chat]').dataset.state === 'idle'");
        page.choose_file("[data-attach]", &notes);
        hand.press(page, "[aria-label='Remove notes.txt']");
        page.wait_until("!document.querySelector('[data-files] li')");
        page.choose_file("[data-attach]", &plan);
        page.wait_until("document.querySelector('[data-files]').innerText.includes('plan.md')");
        say(hand, page, "Look at this.");
        page.wait_until(&output("Hello"));
        page.wait_until("!document.querySelector('[data-files] li')");
        hand.press(page, ".enclosed summary");
        page.wait_until(&output("Ship on <b>Friday</b>."));
        assert!(!page.js(&output("not this one")).as_bool().unwrap());
        hand.press(page, ".chat-fold:last-of-type summary");
        hand.write(page, "#chat-title", "Friday's plan");
        hand.press(page, "form[action$='/title'] button");
        page.wait_until("document.querySelector('h1').innerText.includes(\"Friday's plan\")");
    });
}
