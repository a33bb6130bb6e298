use ratchet_browser::Page;
use ratchet_testkit::process::PROJECT;

use super::LIGHT;
use super::hand::{Hand, with_both};
use super::list::fill;
use super::stage::stage;

#[test]
fn a_dashboard_is_made_with_a_chart_of_ones_own() {
    with_both("/project/{project}/dashboards/all", |hand, page, demo| {
        let name = format!("weekly, by {}", hand.word());
        hand.write(page, ".new-dashboard [name=name]", &name);
        hand.press(page, ".new-dashboard .primary");
        page.wait_for(".starts a");
        assert_eq!(page.text("h1"), name);
        hand.press(page, ".starts a");
        page.wait_for(".chart-form");
        hand.write(page, ".chart-form [name=description]", "what each model costs");
        // The preview follows, and neither the focus nor what was written is lost.
        hand.choose(page, ".chart-form [name=chart]", "standing");
        page.wait_until("location.search.includes('chart=standing')");
        page.wait_for("[data-drawn] figure");
        let written = page.js("document.querySelector('[name=description]').value");
        assert_eq!(written, "what each model costs");
        if hand == Hand::Keys {
            assert_eq!(page.js("document.activeElement.name"), "chart");
        }
        hand.press(page, ".chart-form .primary");
        page.wait_for(".tiles figure");
        let board = page.path();
        drill_down(hand, page);
        page.open(&demo.url(&board));
        hand.press(page, ".actions a[href*=\"edit=1\"]");
        hand.press(page, ".handles button[value=off]");
        page.wait_until("!document.querySelector('.tiles figure')");
    });
}

/// Goes from a mark of a chart, or with keys from its table, to the records of one model.
fn drill_down(hand: Hand, page: &Page) {
    match hand {
        Hand::Mouse => {
            page.wait_for(".tiles [data-href]");
            page.click(".tiles [data-href]");
        }
        Hand::Keys => {
            hand.press(page, ".tiles figure summary");
            hand.press(page, ".tiles figure table a");
        }
    }
    page.wait_for_path(&format!("/project/{PROJECT}/observations"));
    page.wait_for("table[data-rows] tbody tr");
    assert!(page.path().contains("q=model"), "the model of the mark: {}", page.path());
}

#[test]
fn a_refused_form_says_why_and_keeps_what_was_written() {
    let stage = stage();
    let (page, demo) = (stage.browser.page(), stage.demo());
    LIGHT.at(&page);
    let board = fill("/project/{project}/dashboards/{dashboard}?edit=1", &demo.places);
    page.open(&demo.url(&board));
    page.click(".edit-dashboard [name=q]");
    page.type_text("nonsense:1");
    page.click(".edit-dashboard button[value=change]");
    page.wait_for(".edit-dashboard form > .wrong[role=alert]");
    let why = page.text(".edit-dashboard form > .wrong");
    assert!(why.contains("nonsense"), "{why}");
    let kept = page.js("document.querySelector('.edit-dashboard [name=q]').value");
    assert_eq!(kept, "nonsense:1");
    assert_eq!(page.path(), board, "the page stays");
}
