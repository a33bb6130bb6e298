use ratchet_testkit::process::PROJECT;
use serde_json::json;

use super::hand::with_both;

#[test]
fn an_evaluator_and_its_rule_are_made_and_edited() {
    with_both("/project/{project}/evaluators", |hand, page, demo| {
        let name = format!("fits-by-{}", hand.word());
        hand.press(page, "a[href*='/evaluators/new']");
        page.wait_for("form.editor");
        hand.write(page, "[name=name]", &name);
        hand.write(page, "[name=judge]", "offline");
        hand.press(page, "form.editor .actions button.primary");
        page.wait_for(".definition");
        hand.press(page, "a[href*='/evaluation-rules/new']");
        page.wait_for("[name=filter]");
        hand.write(page, "[name=filter]", "name:nothing-has-this-name");
        hand.press(page, "form.editor .actions button.primary");
        page.wait_for("a[href*='/evaluation-rules/']");
        let rules = demo.get("/api/public/v2/evaluation-rules?limit=100").json();
        let rules = rules["data"].as_array().unwrap();
        let rule = rules.iter().find(|rule| rule["name"] == name.as_str()).unwrap();
        assert_eq!((&rule["enabled"], &rule["target"]), (&json!(true), &json!("trace")));
        assert_eq!(rule["filter"][0]["value"], json!(["nothing-has-this-name"]), "{rule}");
        hand.press(page, "a[href$='/edit']");
        page.wait_for("[name=prompt]");
        hand.write(page, "[name=description]", "whether it fits");
        hand.press(page, "form.editor .actions button.primary");
        page.wait_for("whether it fits");
        let id = rule["evaluatorAssignments"][0]["evaluatorId"].as_str().unwrap();
        let evaluator = demo.get(&format!("/api/public/v2/evaluators/{id}")).json();
        assert_eq!((&evaluator["version"], &evaluator["judge"]), (&json!(1), &json!("offline")));
        page.wait_for_path(&format!("/project/{PROJECT}/evaluators/{id}"));
    });
}
