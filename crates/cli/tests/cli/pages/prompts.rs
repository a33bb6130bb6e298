use ratchet_testkit::process::PROJECT;
use serde_json::json;

use super::hand::with_both;

#[test]
fn a_prompt_is_rolled_back_after_its_diff_to_production_was_shown() {
    with_both("/project/{project}/prompts", |hand, page, demo| {
        let name = format!("rolled back by {}", hand.word());
        for text in ["Be brief.", "Be brief and kind."] {
            let version = json!({
                "name": name, "prompt": text, "type": "text", "labels": ["production"],
            });
            demo.write(|writer| writer.post("/api/public/v2/prompts", &version));
        }
        page.open(&demo.url(&page.path()));
        hand.open_row(page, &name);
        page.wait_for_path(&format!("/project/{PROJECT}/prompts/"));
        page.wait_for(".diff ins");
        assert!(page.text(".diff").contains("kind"));
        hand.press(page, ".versions a[href*=\"version=1\"]");
        page.wait_until("location.search.includes('version=1')");
        hand.press(page, ".prompt-head .primary");
        page.wait_for(".promotion .diff del");
        hand.press(page, ".promotion .primary");
        page.wait_until("location.search.includes('done=label')");
        let path = format!("/api/public/v2/prompts/{}", name.replace(' ', "%20"));
        assert_eq!(demo.get(&path).json()["version"], 1);
    });
}

#[test]
fn two_runs_over_a_dataset_are_compared() {
    with_both("/project/{project}/datasets", |hand, page, demo| {
        let dataset = demo.get("/api/public/v2/datasets/refunds").json();
        hand.open_row(page, dataset["id"].as_str().unwrap());
        page.wait_for_path(&format!("/project/{PROJECT}/datasets/refunds"));
        page.wait_for("Where is order 1?");
        hand.press(page, ".tabs a[href*=\"/runs\"]");
        page.wait_for("[name=before]");
        hand.press(page, "main form .primary");
        page.wait_for_path(&format!("/project/{PROJECT}/datasets/refunds/compare"));
        page.wait_for(".pair .badge");
        hand.press(page, ".pair a[href*=\"/traces/\"]");
        page.wait_for_path(&format!("/project/{PROJECT}/traces/"));
    });
}

#[test]
fn a_queue_is_opened_and_what_waits_in_it() {
    with_both("/project/{project}/queues", |hand, page, demo| {
        hand.open_row(page, &demo.places["queue"]);
        page.wait_for_path(&format!("/project/{PROJECT}/queues/"));
        hand.press(page, ".segments a[href*=\"status=PENDING\"]");
        page.wait_until("location.search.includes('status=PENDING')");
        hand.open_first(page);
        page.wait_until("location.pathname.endsWith('/review')");
    });
}
