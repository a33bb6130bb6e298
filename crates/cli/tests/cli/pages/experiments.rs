use ratchet_testkit::process::PROJECT;
use serde_json::json;

use super::LIGHT;
use super::list::Places;
use super::stage::{Served, TARGET, stage};
use super::writer::Writer;

const DATASET: &str = "capitals";
/// Items of the dataset.
const ITEMS: usize = 40;
/// Items that the candidate gets wrong: the fewest that block.
const WRONG: usize = 5;

/// Two runs of a dataset, of which the later one fell, and a gate that blocked it.
fn seed(writer: &Writer<'_>) -> Places {
    writer.post("/api/public/v2/datasets", &json!({ "name": DATASET }));
    let mut places = Places::from([("project", PROJECT.to_owned())]);
    let mut events = Vec::new();
    for item in 0..ITEMS {
        let (id, country) = (format!("item-{item:02}"), format!("Capital of country {item}?"));
        let expected = format!("City {item}");
        writer.post(
            "/api/public/dataset-items",
            &json!({ "datasetName": DATASET, "id": id, "input": country, "expectedOutput": expected }),
        );
        for run in ["v1", "v2"] {
            let is_right = run == "v1" || item >= WRONG;
            let output =
                if is_right { expected.clone() } else { format!("The city of City {item}.") };
            let trace = format!("{run}-{item}");
            let body =
                json!({ "id": trace, "name": "geographer", "input": country, "output": output });
            events.push(("trace-create", body));
            let value = u8::from(is_right);
            let score = json!({ "id": format!("s-{trace}"), "traceId": trace, "name": "exact", "value": value });
            events.push(("score-create", score));
        }
    }
    writer.record(&events);
    for (item, run) in (0..ITEMS).flat_map(|item| [(item, "v1"), (item, "v2")]) {
        let body = json!({
            "runName": run, "datasetItemId": format!("item-{item:02}"), "traceId": format!("{run}-{item}"),
        });
        writer.post("/api/public/dataset-run-items", &body);
    }
    let order = json!({ "dataset": DATASET, "run": "v2", "baseline": "v1", "score": "exact" });
    let gate = writer.post(&format!("/api/v1/projects/{PROJECT}/gates"), &order);
    assert_eq!(gate["verdict"], "block", "{gate}");
    places.insert("gate", gate["id"].as_str().unwrap().to_owned());
    places
}

#[test]
fn a_judge_error_is_corrected_where_runs_are_compared_and_the_gate_changes() {
    let served = Served::with(|server| seed(&Writer { server }));
    let stage = stage();
    let page = stage.browser.page();
    LIGHT.at(&page);
    page.open(&served.url(&format!("/project/{PROJECT}/gates/{}", served.places["gate"])));
    page.wait_for("Blocked");
    page.click("tr[data-id=item-00] a.row-link");
    page.wait_for_path(&format!("/project/{PROJECT}/datasets/{DATASET}/compare"));
    page.wait_for(".pair[data-item=item-00][aria-current] .badge.bad");
    assert_eq!(page.js("document.querySelector('.pair').dataset.item"), "item-00");
    page.press("c");
    page.wait_for(".pair[data-item=item-00] .said");
    let said = page.text(".pair[data-item=item-00] [data-side='1']");
    assert!(
        said.contains("exact says incorrect") && said.contains("A person says correct"),
        "{said}"
    );
    assert!(said.contains("correctness 1") && said.contains("exact 0"), "both are shown: {said}");
    page.wait_for(".changes a[href*=corrected-once] b");
    assert_eq!(page.text(".changes a[href*=corrected-once] b"), "1");
    assert_eq!(page.text(".changes a[href*=regressed] b"), (WRONG - 1).to_string());
    // The next regression, with the keys alone.
    page.press("j");
    page.press("k");
    page.wait_for(".pair[data-item=item-00][aria-current]");
    page.open(&served.url(&format!("/project/{PROJECT}/gates/{}", served.places["gate"])));
    page.click("form[action$='/again'] button, form[action*='/again?'] button");
    page.wait_for("Inconclusive");
    let main = page.text("main");
    assert!(main.contains("1 item was corrected by people"), "{main}");
    assert!(main.contains("Without corrections: block"), "{main}");
    assert_eq!(page.problems(), []);
    let file = format!("/project/{PROJECT}/datasets/{DATASET}/compare/export?before=v1&after=v2");
    let csv = served.get(&format!("{file}&format=csv&show=regressed")).text();
    assert_eq!(csv.lines().count(), 1 + 2 * (WRONG - 1), "{csv}");
    assert!(csv.starts_with("item,change,role,run,score,value,person,output"), "{csv}");
}

#[test]
fn a_turn_with_a_target_goes_to_a_dataset_with_the_right_answer() {
    let stage = stage();
    let demo = stage.demo();
    let page = stage.browser.page();
    LIGHT.at(&page);
    page.open(&demo.url(&format!("/project/{PROJECT}/chats")));
    page.click(&format!("a.button[href*='/chats/with/{TARGET}']"));
    for (at, text) in ["What is 2 + 2?", "And 3 + 3?"].into_iter().enumerate() {
        page.click(".composer textarea");
        page.type_text(text);
        page.press("Enter");
        page.wait_until(&format!(
            "document.querySelectorAll('.turn-answer').length === {}",
            at + 1
        ));
        page.wait_for(&format!("You said: {text}"));
    }
    page.js("document.activeElement.blur()");
    page.press("a");
    page.wait_for(".add-turn[open][data-last]");
    page.press("Control+a");
    page.type_text("6");
    page.click(".add-turn[data-last] [name=new_dataset]");
    page.type_text("sums from chats");
    page.press("Enter");
    page.wait_until("location.search.includes('done=added')");
    let item = demo.get("/api/public/dataset-items?datasetName=sums%20from%20chats").json();
    let item = &item["data"][0];
    assert_eq!(item["expectedOutput"], "6");
    let messages = item["input"]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3, "what the target was sent: {item}");
    assert_eq!(messages[1]["content"], "You said: What is 2 + 2?");
    let trace = item["sourceTraceId"].as_str().unwrap();
    let trace = demo.get(&format!("/api/public/traces/{trace}")).json();
    assert_eq!((&trace["input"], &trace["name"]), (&json!("And 3 + 3?"), &json!(TARGET)));
    assert!(page.path().contains(trace["sessionId"].as_str().unwrap()), "{}", page.path());
    assert_eq!(page.problems(), []);
}
