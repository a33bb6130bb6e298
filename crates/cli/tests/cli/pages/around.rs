use ratchet_testkit::process::PROJECT;

use super::hand::{Hand, with_both};

/// Chooses another time in the bar.
const DAY: &str = ".menu[open] a[href*=\"range=24h\"]";

#[test]
fn a_station_of_the_loop_leads_to_what_it_counts() {
    with_both("/project/{project}", |hand, page, _| {
        hand.press(page, ".loop a");
        page.wait_for_path(&format!("/project/{PROJECT}/traces"));
        page.wait_for("table[data-rows]");
    });
}

#[test]
fn a_dashboard_shows_another_time_split_another_way() {
    with_both("/project/{project}/dashboards", |hand, page, _| {
        hand.press(page, "summary[aria-label^=\"Group by:\"]");
        hand.press(page, ".menu[open] a[href*=\"by=model\"]");
        page.wait_until("location.search.includes('by=model')");
        hand.press(page, "summary[aria-label^=\"Time:\"]");
        hand.press(page, DAY);
        page.wait_until("location.search.includes('range=24h')");
        assert!(page.path().contains("by=model"), "{}", page.path());
        page.wait_for("figure.chart");
    });
}

#[test]
fn the_palette_finds_pages_and_whatever_has_an_id() {
    with_both("/project/{project}", |hand, page, demo| {
        let open = || match hand {
            Hand::Keys => page.press("Control+k"),
            Hand::Mouse => page.click("[data-palette]"),
        };
        open();
        page.type_text("prompts");
        match hand {
            Hand::Keys => page.press("Enter"),
            Hand::Mouse => page.click(".palette-list a"),
        }
        page.wait_for_path(&format!("/project/{PROJECT}/prompts"));
        open();
        page.type_text(&demo.places["session"]);
        match hand {
            Hand::Keys => {
                page.press("ArrowDown");
                page.press("Enter");
            }
            Hand::Mouse => page.click(".palette-list a"),
        }
        page.wait_for_path(&format!("/project/{PROJECT}/sessions/"));
    });
}

#[test]
fn help_comes_and_goes() {
    with_both("/project/{project}/traces", |hand, page, _| {
        match hand {
            Hand::Keys => page.press("?"),
            Hand::Mouse => page.click("[data-help]"),
        }
        page.wait_for("dialog[open] kbd");
        page.press("Escape");
        page.wait_until("!document.querySelector('dialog')");
    });
}

#[test]
fn the_description_of_the_api_is_searched() {
    with_both("/api/docs", |hand, page, _| {
        match hand {
            Hand::Keys => page.press("/"),
            Hand::Mouse => page.click("#find"),
        }
        page.type_text("post comments");
        page.wait_until("document.querySelector('#count').textContent.startsWith('1 ')");
        hand.press(page, "details[data-words]:not([hidden]) > summary");
        page.wait_for("details[open] h3");
    });
}

#[test]
fn the_theme_is_switched_and_stays() {
    with_both("/project/{project}", |hand, page, _| {
        hand.press(page, "[data-theme-switch]");
        page.wait_until("document.documentElement.dataset.theme === 'dark'");
        hand.press(page, ".rail a[href*=\"/scores\"]");
        page.wait_for_path(&format!("/project/{PROJECT}/scores"));
        assert_eq!(page.js("document.documentElement.dataset.theme"), "dark");
    });
}
