use ratchet_testkit::process::PROJECT;
use ratchet_testkit::wait;
use ratchet_testkit::webhook_receiver::Inbox;
use serde_json::{Value, json};

use super::hand::{Hand, with, with_both};

const PAGE: &str = "/project/{project}/settings/notifications";

#[test]
fn a_webhook_is_added_and_tried_and_one_sees_how_that_went() {
    with_both(PAGE, |hand, page, _| {
        let inbox = Inbox::start();
        let name = format!("hook of {}", hand.word());
        hand.write(page, "[name=name]", &name);
        hand.write(page, "[name=url]", &inbox.url("hook"));
        hand.press(page, ".settled-body form .primary");
        page.wait_for(".shown-once");
        let shown = page.text(".shown-once");
        let secret = shown.split_whitespace().find(|word| word.starts_with("whsec_")).unwrap();
        let link = format!(
            "[...document.querySelectorAll('tbody tr')]\
             .find((row) => row.innerText.includes('{name}')).dataset.id"
        );
        let id = page.js(&link).as_str().unwrap().to_owned();
        hand.press(page, &format!("tr[data-id=\"{id}\"] a"));
        page.wait_for_path(&format!("/project/{PROJECT}/settings/notifications/{id}"));
        hand.press(page, "form[action$=\"/test\"] button");
        let (_, body) = inbox.next().verified(secret);
        assert_eq!(body["type"], "test");
        page.wait_until("location.search.includes('done=sent')");
        // The outcome is there as soon as it is stored.
        let outcome = || {
            page.js("location.reload()");
            page.settle();
            page.wait_for("tbody tr .badge");
            page.text("tbody tr .badge")
        };
        wait::for_value("the outcome of the delivery", outcome, |badge| badge == "delivered");
    });
}

/// What the worker shows for a message, and where a click on that leads.
fn shown(message: &Value) -> String {
    format!(
        "(async () => {{
            const shown = new Promise((show) => {{
                self.registration.showNotification = async (title, options) => show({{ title, options }});
            }});
            self.dispatchEvent(new PushEvent('push', {{ data: {} }}));
            const {{ title, options }} = await shown;
            const led = new Promise((lead) => {{
                Clients.prototype.openWindow = async (url) => lead(url);
            }});
            const click = new Event('notificationclick');
            click.notification = {{ data: options.data, close() {{}} }};
            click.waitUntil = () => {{}};
            self.dispatchEvent(click);
            return {{ title, body: options.body, tag: options.tag, led: await led }};
        }})()",
        Value::from(message.to_string())
    )
}

#[test]
fn the_worker_shows_what_it_is_told_and_leads_to_the_chat() {
    with(Hand::Mouse, PAGE, |_, page, demo| {
        let path = format!("/project/{PROJECT}/chats/s1");
        let ask = json!({ "id": "q1", "kind": "question", "text": "Which city?", "more": 1 });
        let about = json!({ "session": "s1", "title": "Plan a trip", "path": path, "ask": ask });
        let output = json!({ "type": "person.needed", "data": about });
        let seen = page.in_worker("/service-worker.js", &shown(&output));
        assert_eq!(
            seen,
            json!({
                "title": "Plan a trip", "body": "Which city? (and 1 more)", "tag": "s1",
                "led": demo.url(&path),
            })
        );
        let elsewhere = json!({ "type": "test", "data": { "path": "//evil.example/x" } });
        let seen = page.in_worker("/service-worker.js", &shown(&elsewhere));
        assert_eq!((&seen["title"], &seen["led"]), (&json!("Ratchet"), &json!(demo.url("/"))));
    });
}
