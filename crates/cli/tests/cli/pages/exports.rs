use std::fs;

use ratchet_testkit::process::PROJECT;
use serde_json::Value;

use super::hand::{Hand, with_both};

/// Looks at a row beside the list, by a link that holds, and goes on to all of it.
#[track_caller]
fn check_peek(list: &str) {
    with_both(&format!("/project/{{project}}/{list}"), |hand, page, demo| {
        page.wait_for("table[data-rows] tbody tr");
        match hand {
            Hand::Keys => {
                page.press("j");
                page.press("p");
            }
            Hand::Mouse => page.click("tbody tr:first-child td:nth-child(3)"),
        }
        page.wait_for(".peek-panel");
        let id = page.js("document.querySelector('tbody tr.peeked').dataset.id");
        let peeked = page.js("new URL(location.href).searchParams.get('peek')");
        assert_eq!(peeked, id, "the address says what is looked at");
        page.open(&demo.url(&page.path()));
        page.wait_for(".peek-panel");
        assert_eq!(page.js("document.querySelector('tr.peeked').dataset.id"), id);
        match hand {
            Hand::Keys => page.press("Escape"),
            Hand::Mouse => page.click("[data-unpeek]"),
        }
        page.wait_until("!document.querySelector('.peek-panel')");
        assert!(!page.path().contains("peek="), "{}", page.path());
        page.open(&demo.url(&format!("/project/{PROJECT}/{list}?peek={}", id.as_str().unwrap())));
        hand.press(page, ".peek-head .primary");
        page.wait_for_path(&format!("/project/{PROJECT}/traces/"));
    });
}

#[test]
fn a_trace_is_looked_at_beside_the_list() {
    check_peek("traces");
}

#[test]
fn an_observation_is_looked_at_beside_the_list() {
    check_peek("observations");
}

/// Takes what a list shows away as a file of every kind.
#[track_caller]
fn check_files(list: &str, filter: &str) {
    let folder = tempfile::tempdir().unwrap();
    with_both(&format!("/project/{{project}}/{list}?q={filter}"), |hand, page, _| {
        let shown =
            page.js("[...document.querySelectorAll('tr[data-id]')].map((row) => row.dataset.id)");
        let first = shown[0].as_str().unwrap();
        // It stays open: people take more than one.
        hand.press(page, "summary[aria-label=\"Export: Export\"]");
        let take = |format: &str| {
            let file = page.download(folder.path(), |page| {
                hand.press(page, &format!(".menu[open] a[href*=\"format={format}\"]"));
            });
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(name.starts_with(list) && name.contains(format), "{name}");
            let bytes = fs::read(&file).unwrap();
            // The next hand gets a file of the same name.
            fs::remove_file(&file).unwrap();
            bytes
        };
        let table = String::from_utf8(take("csv")).unwrap();
        assert!(table.contains(first), "{first} is not in the table");
        let lines = String::from_utf8(take("jsonl")).unwrap();
        let rows: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows[0]["id"], first, "in the order of the list");
        assert!(rows.len() >= shown.as_array().unwrap().len(), "all of it, not one page");
        let columns = take("parquet");
        assert!(columns.starts_with(b"PAR1") && columns.ends_with(b"PAR1"));
    });
}

#[test]
fn traces_are_taken_away_as_files() {
    check_files("traces", "level%3Aerror");
}

#[test]
fn observations_are_taken_away_as_files() {
    check_files("observations", "level%3Aerror");
}

#[test]
fn a_table_without_a_list_is_saved_as_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    with_both("/project/{project}/queues", |hand, page, _| {
        let file = page.download(folder.path(), |page| hand.press(page, ".export-shown"));
        let saved = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let shown = page.js("document.querySelectorAll('table[data-rows] tbody tr').length");
        assert_eq!(saved.lines().count() as u64, shown.as_u64().unwrap() + 1, "{saved}");
        assert!(saved.starts_with("Queue,"), "{saved}");
    });
}
