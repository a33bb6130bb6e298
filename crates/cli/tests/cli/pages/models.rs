use ratchet_browser::Page;
use ratchet_testkit::process::PROJECT;
use ratchet_testkit::scripted::{Reply, ScriptedModel, Tokens};

use super::hand::{Hand, with_both};
use super::stage::Served;

/// What the model says: it would run if it were not shown as text.
const ANSWER: &str = "refund <img src=x onerror='__ran(\"answer\")'>";

/// Adds a connection to a model, and tells its id.
#[track_caller]
fn connect(hand: Hand, page: &Page, model: &ScriptedModel) -> String {
    let name = format!("scripted, by {}", hand.word());
    hand.write(page, "[name=provider]", &name);
    hand.choose(page, "[name=adapter]", "openai");
    hand.write(page, "[name=secretKey]", "sk-scripted-secret");
    hand.write(page, "[name=baseURL]", &format!("{}/v1", model.url()));
    hand.write(page, "[name=customModels]", "gpt-4o-mini");
    hand.press(page, ".settled-body form .primary");
    page.wait_until("location.search.includes('done=')");
    let rows = "[...document.querySelectorAll('tbody tr')]";
    let id = page.js(&format!("{rows}.find((row) => row.innerText.includes('{name}')).dataset.id"));
    id.as_str().unwrap().to_owned()
}

/// Runs a prompt on the connection that was added last, which is chosen already.
#[track_caller]
fn run(hand: Hand, page: &Page, demo: &Served) {
    page.open(&demo.url(&format!("/project/{PROJECT}/playground?prompt=triage&version=1")));
    hand.write(page, "[name=\"var.message\"]", "I want my money back");
    hand.press(page, ".playground .primary");
    page.wait_for(".answer pre");
    assert_eq!(page.text(".answer pre"), ANSWER);
    assert!(page.text(".answer .facts").contains("12 in, 5 out"));
}

#[test]
fn a_connection_is_added_and_tested_and_a_prompt_is_tried_on_it() {
    let model = ScriptedModel::start().unwrap();
    let tokens = Tokens { input: 12, output: 5, ..Tokens::default() };
    let says = || Reply { text: ANSWER.to_owned(), tokens, ..Reply::default() };
    with_both("/project/{project}/settings/connections", |hand, page, demo| {
        model.script([says(), says(), says()]);
        let id = connect(hand, page, &model);
        hand.press(page, &format!("tr[data-id=\"{id}\"] .connection-test button"));
        page.wait_for(".tried .facts");
        assert!(page.text(".tried h2").ends_with(": connected"));
        run(hand, page, demo);
        hand.choose(page, ".answer [name=dataset]", "refunds");
        hand.press(page, ".answer form button");
        page.wait_for_path(&format!("/project/{PROJECT}/datasets/refunds/items/"));
        page.wait_for("I want my money back");
        run(hand, page, demo);
        hand.write(page, "[name=message]", &format!("tried by {}", hand.word()));
        hand.press(page, ".keep-version button");
        page.wait_for_path(&format!("/project/{PROJECT}/prompts/triage"));
        page.wait_for(&format!("tried by {}", hand.word()));
    });
}
