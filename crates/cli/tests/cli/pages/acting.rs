use ratchet_testkit::process::PROJECT;
use serde_json::json;

use super::hand::with_both;

#[test]
fn a_score_config_and_a_queue_that_asks_for_it_are_made_and_reviewed() {
    with_both("/project/{project}/settings/score-configs", |hand, page, demo| {
        let name = format!("helpful-by-{}", hand.word());
        hand.write(page, ".maker [name=name]", &name);
        hand.choose(page, ".maker [name=dataType]", "BOOLEAN");
        hand.press(page, ".maker button.primary");
        page.wait_for(&name);
        page.open(&demo.url(&format!("/project/{PROJECT}/queues")));
        hand.press(page, "details.making > summary");
        hand.write(page, "details.making [name=name]", &name);
        let configs = demo.get("/api/public/score-configs?limit=100").json();
        let configs = configs["data"].as_array().unwrap();
        let config = configs.iter().find(|config| config["name"] == name.as_str()).unwrap();
        let config = config["id"].as_str().unwrap();
        hand.pick(page, &format!("details.making [name=config][value='{config}']"));
        hand.press(page, "details.making button.primary");
        page.wait_until("!document.querySelector('details.making[open]')");
        let queues = demo.get("/api/public/annotation-queues?limit=100").json();
        let queues = queues["data"].as_array().unwrap();
        let queue = queues.iter().find(|queue| queue["name"] == name.as_str()).unwrap();
        assert_eq!(queue["scoreConfigIds"], json!([config]));
        let queue = queue["id"].as_str().unwrap();
        let trace = &demo.places["trace"];
        let item = json!({ "objectId": trace, "objectType": "TRACE" });
        let items = format!("/api/public/annotation-queues/{queue}/items");
        demo.write(|writer| writer.post(&items, &item));
        page.open(&demo.url(&format!("/project/{PROJECT}/queues/{queue}/review")));
        page.wait_for("[data-question]");
        match hand {
            super::hand::Hand::Keys => {
                page.press("1");
                page.press("Enter");
            }
            super::hand::Hand::Mouse => {
                hand.press(page, "[data-question] input[value='1']");
                hand.press(page, ".review-actions button.primary");
            }
        }
        page.wait_for("[data-finished]");
        let scores = demo.get(&format!("/api/public/v2/scores?name={name}")).json();
        let score = &scores["data"][0];
        assert_eq!(
            (&score["traceId"], &score["configId"]),
            (&json!(trace), &json!(config)),
            "{scores}"
        );
        assert_eq!((&score["source"], score["value"].as_f64()), (&json!("ANNOTATION"), Some(1.0)));
    });
}

#[test]
fn sessions_are_filtered_by_a_score_that_the_field_completes() {
    with_both("/project/{project}/sessions", |hand, page, demo| {
        let (score, session) = (format!("{}-kind", hand.word()), &demo.places["session"]);
        let body =
            json!({ "sessionId": session, "name": score, "value": 0.25, "dataType": "NUMERIC" });
        demo.write(|writer| writer.post("/api/public/scores", &body));
        page.open(&demo.url(&format!("/project/{PROJECT}/sessions?range=all")));
        hand.write(page, "#q", &format!("score.{}", score.get(..4).unwrap()));
        page.wait_for("[role=option]");
        page.press("ArrowDown");
        page.press("Enter");
        page.wait_until(&format!("document.querySelector('#q').value === 'score.{score}'"));
        page.type_text("<0.5");
        page.press("Enter");
        page.wait_for(".chip");
        let rows = "[...document.querySelectorAll('tr[data-id]')].map((row) => row.dataset.id)";
        assert_eq!(page.js(rows), json!([session]));
    });
}

#[test]
fn a_click_on_a_chart_leads_to_its_observations() {
    with_both("/project/{project}/dashboards?by=model", |hand, page, _| {
        page.wait_for(".charts .reading[data-href]");
        match hand {
            // Without a mouse, the same link is in the table of numbers.
            super::hand::Hand::Keys => {
                hand.press(page, ".charts details.numbers > summary");
                hand.press(page, ".charts details.numbers[open] tbody th a");
            }
            super::hand::Hand::Mouse => {
                page.js("document.querySelector('.charts .reading[data-href]').dispatchEvent(new MouseEvent('click', { bubbles: true }))");
            }
        }
        page.wait_for_path(&format!("/project/{PROJECT}/observations"));
        page.wait_until("location.search.includes('range=')");
    });
}
