use ratchet_browser::Page;

use super::hand::{Hand, with_both};
use super::stage::stage;
use super::{LIGHT, PHONE};

/// The number of the line that is chosen.
fn chosen(page: &Page) -> String {
    let line = page.js("document.querySelector('[role=treeitem][aria-selected=true]').dataset.row");
    line.as_str().unwrap_or_default().to_owned()
}

/// Opens the newest trace of a made-up week and lets a test at it.
#[track_caller]
fn check(look_at: impl FnOnce(&Page)) {
    let stage = stage();
    let demo = stage.demo();
    let page = stage.browser.page();
    LIGHT.at(&page);
    let path = format!("/project/{}/traces/{}", demo.places["project"], demo.places["trace"]);
    page.open(&demo.url(&path));
    look_at(&page);
    assert_eq!(page.problems(), []);
}

#[test]
fn a_trace_is_read_with_keys_alone() {
    check(|page| {
        page.press("j");
        page.press("j");
        assert_eq!(chosen(page), "2");
        assert!(page.path().contains("observation="), "{}", page.path());
        page.press("k");
        assert_eq!(chosen(page), "1");
        page.press("ArrowLeft");
        page.wait_for("[data-row='1'][aria-expanded=false]");
        page.press("ArrowRight");
        page.wait_for("[data-row='1'][aria-expanded=true]");
        page.press("r");
        page.wait_for("[data-view=raw][aria-current]");
        page.press("Enter");
        assert_eq!(page.js("document.activeElement.id"), "content");
    });
}

#[test]
fn a_trace_is_read_with_the_mouse_alone() {
    check(|page| {
        page.click("[data-row='1']");
        assert_eq!(chosen(page), "1");
        page.click("[data-view=graph]");
        page.wait_for(".call-graph");
        page.click("[data-row='0']");
        assert_eq!(chosen(page), "0");
        assert!(!page.path().contains("observation="), "{}", page.path());
        page.js("history.back()");
        page.wait_for("[data-row='1'][aria-selected=true]");
    });
}

#[test]
fn a_trace_fills_the_window_and_its_panes_scroll_by_themselves() {
    check(|page| {
        let beyond = "document.documentElement.scrollHeight - innerHeight";
        assert_eq!(page.js(beyond), 0);
        let pane = "document.querySelector('.facts-pane')";
        let hidden = page.js(&format!("{pane}.scrollHeight - {pane}.clientHeight"));
        assert!(hidden.as_i64() > Some(0), "nothing to scroll, so nothing is tried");
    });
}

#[test]
fn a_trace_is_commented_and_judged() {
    with_both("/project/{project}/traces/{trace}", |hand, page, _| {
        let words = format!("seen by {}", hand.word());
        hand.write(page, "#comment", &words);
        hand.press(page, "form[action$=\"/comments\"] button");
        let is_there = format!("document.body.innerText.includes('{words}')");
        page.wait_until(&format!("!document.querySelector('#comment').value && {is_there}"));
        let is_nothing_chosen = "!document.querySelector('.annotate :checked')";
        assert_eq!(page.js(is_nothing_chosen), true, "a preselected value would be saved unseen");
        // The second time, the score of the same person is replaced.
        let nth = match hand {
            Hand::Keys => 1,
            Hand::Mouse => 2,
        };
        let radio = format!(".annotate fieldset label:nth-of-type({nth}) input");
        let value = format!("document.querySelector('{radio}').parentElement.innerText.trim()");
        let value = page.js(&value);
        let own =
            "[...document.querySelectorAll('.annotate .hint bdi')].map((own) => own.textContent)";
        hand.pick(page, &radio);
        hand.press(page, ".annotate button");
        page.wait_until(&format!("{is_nothing_chosen} && {own}.includes({value})"));
    });
}

#[test]
fn a_failing_trace_is_added_to_a_dataset_with_a_corrected_answer() {
    with_both("/project/{project}/traces?q=level:error", |hand, page, demo| {
        hand.open_first(page);
        page.wait_for_path("/project/");
        page.wait_for(".trace-page");
        let name = format!("corrected-by-{}", hand.word());
        hand.press(page, ".subject-actions a[href*=\"/dataset\"]");
        page.wait_for("#expected_output");
        assert_eq!(page.js("document.querySelector('#expected_output').value"), "");
        hand.write(page, "#new_dataset", &name);
        hand.write(page, "#expected_output", "The refund is on its way.");
        hand.press(page, "main form .primary");
        page.wait_for(".trace-page");
        let items = demo.get(&format!("/api/public/dataset-items?datasetName={name}")).json();
        let item = &items["data"][0];
        assert_eq!(item["expectedOutput"], "The refund is on its way.", "{items}");
        assert!(item["sourceTraceId"].is_string(), "{items}");
    });
}

#[test]
fn the_tree_is_searched_and_collapsed() {
    check(|page| {
        page.press("f");
        page.type_text("no such observation");
        page.press("Enter");
        page.wait_until("document.querySelector('.tree-find output').value === 'no match'");
        page.press("Escape");
        page.press("f");
        let last = "[...document.querySelectorAll('.node')].at(-1)";
        let name = page.js(&format!("{last}.querySelector('bdi').textContent"));
        page.type_text(name.as_str().unwrap());
        page.press("Enter");
        page.wait_until("document.querySelector('.tree-find output').value.startsWith('1 of ')");
        page.wait_until("document.querySelector('.node[aria-selected=true]').dataset.row !== '0'");
        let shown = "document.querySelectorAll('.node:not([hidden])').length";
        let before = page.js(shown).as_u64().unwrap();
        page.click("[data-row='0'] .twist");
        page.wait_until(&format!("{shown} === 1"));
        page.click("[data-row='0'] .twist");
        page.wait_until(&format!("{shown} === {before}"));
    });
}

#[test]
fn times_are_shown_in_the_zone_of_the_browser_and_in_utc_on_hover() {
    check(|page| {
        let time = "document.querySelector('.facts time')";
        let utc = page.js(&format!("{time}.title.slice(11, 13)"));
        let shown = format!("{time}.textContent.match(/(..):..:../)[1]");
        assert_eq!(page.js(&shown), utc, "the zone of the test's browser");
        // As a browser in Tokyo does.
        page.js("document.cookie = 'zone=Asia/Tokyo; path=/'");
        page.open(&format!("{}{}", page.js("location.origin").as_str().unwrap(), page.path()));
        assert_eq!(page.text(".bar .zone"), "Asia/Tokyo");
        let hour: u32 = utc.as_str().unwrap().parse().unwrap();
        assert_eq!(page.js(&shown), format!("{:02}", (hour + 9) % 24));
        assert_eq!(page.js(&format!("{time}.title.slice(11, 13)")), utc);
        PHONE.at(page);
        let short = "[...document.querySelectorAll('.bar [data-zone-short]')].filter((zone) => zone.offsetHeight).map((zone) => zone.textContent)";
        assert_eq!(page.js(short), serde_json::json!(["Tokyo"]), "on phones, too");
        LIGHT.at(page);
    });
}

#[test]
fn brackets_go_to_the_traces_before_and_after_in_the_list() {
    check(|page| {
        let first = page.js("location.pathname");
        page.press("]");
        page.wait_until(&format!("location.pathname !== {first}"));
        page.wait_for(".trace-page");
        page.press("[");
        page.wait_until(&format!("location.pathname === {first}"));
        page.wait_for(".trace-page");
    });
}

#[test]
fn a_link_to_the_trace_is_copied_with_a_key() {
    check(|page| {
        page.js("navigator.clipboard.writeText = async (text) => { window.__copied = text; }");
        page.press("c");
        page.wait_until("window.__copied?.includes(location.pathname)");
        page.click("button.id[data-copy]");
        page.wait_until("location.pathname.includes(window.__copied)");
    });
}
