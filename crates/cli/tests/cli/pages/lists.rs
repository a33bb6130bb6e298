use ratchet_browser::Page;
use ratchet_testkit::process::PROJECT;
use serde_json::{Value, json};

use super::hand::{Hand, with, with_both};
use super::stage::Served;

/// Types a filter, steps through the rows and opens one.
#[track_caller]
fn check_typed(list: &str, filter: &str) {
    with(Hand::Keys, &format!("/project/{{project}}/{list}"), |_, page, _| {
        page.press("/");
        page.type_text(filter);
        page.press("Enter");
        page.wait_for(".chip");
        let chosen = "document.querySelector('tr[aria-selected]').dataset.id";
        page.press("j");
        let first = page.js(chosen);
        page.press("j");
        assert_ne!(page.js(chosen), first);
        page.press("k");
        assert_eq!(page.js(chosen), first);
        page.press("Enter");
        page.wait_for_path(&format!("/project/{PROJECT}/traces/"));
        let (id, address) = (first.as_str().unwrap(), page.js("decodeURIComponent(location.href)"));
        assert!(address.as_str().unwrap().contains(id), "{address} is not {id}");
    });
}

/// Clicks a filter together, orders the rows, takes the filter away, opens a row.
#[track_caller]
fn check_clicked(list: &str, facet: &str) {
    with(Hand::Mouse, &format!("/project/{{project}}/{list}"), |hand, page, _| {
        hand.press(page, &format!("summary[aria-label=\"Filter: {facet}\"]"));
        hand.press(page, ".menu[open] a.facet");
        page.wait_for(".chip");
        hand.press(page, "thead th a");
        page.wait_until("location.search.includes('sort=')");
        hand.press(page, ".chip a");
        page.wait_until("!location.search.includes('q=')");
        hand.open_first(page);
        page.wait_for_path(&format!("/project/{PROJECT}/traces/"));
    });
}

#[test]
fn traces_are_filtered_by_typing() {
    check_typed("traces", "level:error");
}

#[test]
fn traces_are_filtered_by_clicking() {
    check_clicked("traces", "Name");
}

#[test]
fn observations_are_filtered_by_typing() {
    check_typed("observations", "type:generation");
}

#[test]
fn observations_are_filtered_by_clicking() {
    check_clicked("observations", "Model");
}

#[test]
fn what_is_shown_is_kept_as_a_view() {
    with_both("/project/{project}/traces?q=level%3Aerror", |hand, page, _| {
        let name = format!("failed, by {}", hand.word());
        hand.press(page, "summary[aria-label=\"Views: Views\"]");
        hand.write(page, "#view-name", &name);
        hand.press(page, ".save-view button");
        page.wait_until("location.search.includes('done=saved-view')");
        hand.press(page, "summary[aria-label=\"Views: Views\"]");
        page.wait_for(&name);
        hand.press(page, &format!("button[aria-label=\"Delete the view {name}\"]"));
        page.wait_until("location.search.includes('done=deleted-view')");
    });
}

#[test]
fn columns_are_chosen() {
    with_both("/project/{project}/traces", |hand, page, _| {
        let heads = "[...document.querySelectorAll('thead th')].map((head) => head.innerText)";
        let is_shown = format!("{heads}.includes('Release')");
        assert_eq!(page.js(&is_shown), false);
        hand.press(page, "summary[aria-label=\"Columns: Columns\"]");
        let column = "input[name=col][value=release]";
        match hand {
            Hand::Keys => {
                page.tab_to(column);
                page.press("Space");
            }
            Hand::Mouse => page.click(column),
        }
        hand.press(page, ".choose button");
        page.wait_until(&is_shown);
    });
}

/// Traces that no other test touches.
fn own_traces(demo: &Served, name: &str) -> Vec<String> {
    let ids: Vec<String> = (0..3).map(|nth| format!("{name}-{nth}")).collect();
    let events: Vec<(&str, Value)> = ids
        .iter()
        .map(|id| {
            ("trace-create", json!({ "id": id, "name": name, "input": "in", "output": "out" }))
        })
        .collect();
    demo.write(|writer| {
        writer.record(&events);
        writer.post("/api/public/v2/datasets", &json!({ "name": name }));
        let queue = json!({ "name": name, "scoreConfigIds": [] });
        writer.post("/api/public/annotation-queues", &queue);
    });
    ids
}

/// Waits until a form has done what the address says.
#[track_caller]
fn done(page: &Page, what: &str) {
    page.wait_until(&format!("location.search.includes('done={what}')"));
}

/// Chooses the first rows and then what becomes of them.
#[track_caller]
fn check_chosen(name: &str, act: impl Fn(Hand, &Page, &Served, &[String])) {
    for hand in [Hand::Keys, Hand::Mouse] {
        // Each test has rows of its own: they change.
        let name = format!("{name}-by-{}", hand.word());
        with(hand, &format!("/project/{{project}}/traces?q=name%3A{name}"), |hand, page, demo| {
            let ids = own_traces(demo, &name);
            page.open(&demo.url(&page.path()));
            for id in &ids[..2] {
                hand.tick(page, id);
            }
            assert_eq!(page.text("[data-selected]"), "2");
            act(hand, page, demo, &ids);
        });
    }
}

#[test]
fn chosen_traces_are_tagged() {
    check_chosen("tagged", |hand, page, demo, ids| {
        hand.write(page, "#chosen-tag", "looked-at");
        hand.press(page, "button[value=tag]");
        done(page, "tagged-2");
        let tags = |id: &str| demo.get(&format!("/api/public/traces/{id}")).json()["tags"].take();
        assert_eq!((tags(&ids[0]), tags(&ids[2])), (json!(["looked-at"]), json!([])));
    });
}

#[test]
fn chosen_traces_are_added_to_a_dataset() {
    check_chosen("collected", |hand, page, demo, ids| {
        let name = ids[0].trim_end_matches("-0");
        hand.choose(page, "#chosen-dataset", name);
        hand.press(page, "button[value=dataset]");
        done(page, "collected-2");
        let items = demo.get(&format!("/api/public/dataset-items?datasetName={name}")).json();
        assert_eq!(items["meta"]["totalItems"], 2, "{items}");
    });
}

#[test]
fn chosen_traces_are_put_into_a_queue() {
    check_chosen("queued", |hand, page, demo, ids| {
        let name = ids[0].trim_end_matches("-0");
        let queues = demo.get("/api/public/annotation-queues?limit=100").json();
        let queues = queues["data"].as_array().unwrap();
        let queue = queues.iter().find(|queue| queue["name"] == name).unwrap();
        let queue = queue["id"].as_str().unwrap();
        hand.choose(page, "#chosen-queue", queue);
        hand.press(page, "button[value=queue]");
        done(page, "queued-2");
        let items = demo.get(&format!("/api/public/annotation-queues/{queue}/items")).json();
        assert_eq!(items["meta"]["totalItems"], 2, "{items}");
    });
}

#[test]
fn chosen_traces_are_deleted_after_a_question() {
    check_chosen("deleted", |hand, page, demo, ids| {
        hand.press(page, "button[data-confirm]");
        hand.press(page, "dialog [data-keep]");
        page.wait_until("!document.querySelector('dialog')");
        hand.press(page, "button[data-confirm]");
        hand.press(page, "dialog .danger");
        done(page, "deleted-2");
        let status = |id: &str| demo.get(&format!("/api/public/traces/{id}")).status;
        assert_eq!((status(&ids[0]), status(&ids[1]), status(&ids[2])), (404, 404, 200));
    });
}

#[test]
fn all_traces_that_match_are_deleted_after_a_question() {
    check_chosen("matching", |hand, page, demo, ids| {
        hand.pick(page, "[data-matching]");
        assert_eq!(page.text("[data-selected]"), "All matching");
        hand.press(page, "button[data-confirm]");
        hand.press(page, "dialog .danger");
        done(page, "deleted-3");
        assert!(ids.iter().all(|id| demo.get(&format!("/api/public/traces/{id}")).status == 404));
    });
}

#[test]
fn a_live_list_holds_new_rows_until_asked() {
    for hand in [Hand::Keys, Hand::Mouse] {
        let name = format!("live-by-{}", hand.word());
        with(hand, &format!("/project/{{project}}/traces?q=name%3A{name}"), |hand, page, demo| {
            let says = |words: &str| {
                let notice = "document.querySelector('.waiting-rows')?.textContent";
                page.wait_until(&format!("{notice} === '{words}'"));
            };
            hand.press(page, "[data-live]");
            let ids = own_traces(demo, &name);
            says("3 new");
            assert_eq!(page.js("document.querySelector('tr[data-id]')"), Value::Null);
            hand.press(page, ".waiting-rows");
            page.wait_for(&format!("tr[data-id=\"{}\"]", ids[0]));
            let late = json!({ "id": format!("{name}-late"), "name": name,
                "timestamp": "2020-01-01T00:00:00Z" });
            let again = json!({ "id": ids[0], "userId": "ann" });
            let now = json!({ "id": format!("{name}-now"), "name": name });
            let events = [("trace-create", late), ("trace-create", now), ("trace-create", again)];
            demo.write(|writer| writer.record(&events));
            says("1 new, 1 updated");
            hand.press(page, ".waiting-rows");
            page.wait_for(&format!("tr.fresh[data-id=\"{name}-now\"]"));
            let rows = "[...document.querySelectorAll('tr[data-id]')].length";
            assert_eq!(page.js(rows), 4, "a row that changed stays one row");
        });
    }
}
