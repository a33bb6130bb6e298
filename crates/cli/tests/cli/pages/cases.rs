use ratchet_testkit::process::PROJECT;

use super::hand::with_both;

/// What people bring from a spreadsheet.
const TABLE: &str = "question,answer,channel\r\n\"Where is it?\",\"On its way.\",chat\r\n\
                     \"Too late, sorry\",\"=1+1\",mail\r\n";

#[test]
fn a_table_becomes_items_after_a_look_at_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.csv");
    std::fs::write(&file, TABLE).unwrap();
    with_both("/project/{project}/datasets", |hand, page, demo| {
        let name = format!("uploaded-by-{}", hand.word());
        hand.press(page, "details.making > summary");
        hand.write(page, "details.making [name=name]", &name);
        hand.press(page, "details.making button");
        page.wait_for_path(&format!("/project/{PROJECT}/datasets/{name}"));
        hand.press(page, ".actions a[href$=\"/upload\"]");
        page.wait_for("#file");
        page.choose_file("#file", &file);
        hand.press(page, "main form .primary");
        page.wait_for(".mapping");
        hand.choose(page, "#c0", "input");
        hand.choose(page, "#c1", "expected_output");
        hand.press(page, "main form .primary");
        page.wait_until("location.search.includes('done=uploaded')");
        let items = demo.get(&format!("/api/public/dataset-items?datasetName={name}")).json();
        assert_eq!(items["meta"]["totalItems"], 2, "{items}");
        let items = items["data"].as_array().unwrap();
        assert!(items.iter().any(|item| item["expectedOutput"] == "=1+1"), "{items:?}");
    });
}

#[test]
fn an_item_is_added_and_changed_and_keeps_its_versions() {
    with_both("/project/{project}/datasets/{dataset}", |hand, page, _| {
        let id = format!("added-by-{}", hand.word());
        hand.press(page, ".actions a[href$=\"/add\"]");
        hand.write(page, "#input", "Where is it?");
        hand.write(page, "#id", &id);
        hand.press(page, "main form .primary");
        page.wait_until("location.search.includes('done=added')");
        if !page.path().contains(&id) {
            hand.press(page, &format!("main a[href*=\"/items/{id}\"]"));
        }
        page.wait_for_path(&format!("/project/{PROJECT}/datasets/refunds/items/{id}"));
        hand.press(page, "details.edit > summary");
        hand.write(page, "#expected_output", "On its way.");
        hand.press(page, "details.edit .primary");
        page.wait_until("location.search.includes('done=changed')");
        page.wait_for(".versions li:nth-child(2)");
        page.wait_for(".diff ins");
    });
}
