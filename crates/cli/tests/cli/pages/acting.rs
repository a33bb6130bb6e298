use ratchet_testkit::process::PROJECT;
use serde_json::json;

use super::hand::with_both;

#[test]
fn a_score_config_and_a_queue_that_asks_for_it_are_made() {
    with_both("/project/{project}/settings/score-configs", |hand, page, demo| {
        let name = format!("helpful-by-{}", hand.word());
        hand.write(page, ".maker [name=name]", &name);
        hand.choose(page, ".maker [name=dataType]", "BOOLEAN");
        hand.press(page, ".maker button.primary");
        page.wait_for(&name);
        page.open(&demo.url(&format!("/project/{PROJECT}/queues")));
        hand.press(page, "details.making > summary");
        hand.write(page, "details.making [name=name]", &name);
        hand.pick(page, "details.making [name=config]");
        hand.press(page, "details.making button.primary");
        page.wait_until("!document.querySelector('details.making[open]')");
        let queues = demo.get("/api/public/annotation-queues?limit=100").json();
        let queues = queues["data"].as_array().unwrap();
        assert!(queues.iter().any(|queue| queue["name"] == name.as_str()), "{queues:?}");
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
