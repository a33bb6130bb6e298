use ratchet_browser::Page;

use super::LIGHT;
use super::hand::with_both;
use super::stage::stage;

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
        let scores = "document.querySelectorAll('.verdicts li').length";
        let before = page.js(scores);
        hand.pick(page, ".annotate fieldset input");
        hand.press(page, ".annotate button");
        page.wait_until(&format!("{is_nothing_chosen} && {scores} > {before}"));
    });
}
