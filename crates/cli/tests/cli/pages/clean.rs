use ratchet_browser::{Page, Problem, Theme, Trouble};

use super::answers::REFUSED;
use super::list::{PAGES, visit};
use super::stage::stage;
use super::{LIGHT, Look, PHONE, WIDE, report};

/// Opens every page in one look and tells all that is wrong.
#[track_caller]
fn check(look: Look) {
    let stage = stage();
    let page = stage.browser.page();
    look.at(&page);
    let mut found = Vec::new();
    visit(&stage, &page, |name| found.extend(wrong(&page, look, name)));
    report(&found);
}

/// What is wrong with a page as it is now. The dark theme has other colours and nothing else: the
/// other rules of axe-core, which take long, would find there what they find in the light.
fn wrong(page: &Page, look: Look, name: &str) -> Vec<String> {
    // What is refused is answered with the status of an error.
    let is_refusal = |problem: &Problem| {
        name == REFUSED && matches!(problem.trouble, Trouble::Request | Trouble::Console)
    };
    let problems = page.problems().into_iter().filter(|problem| !is_refusal(problem));
    let problems = problems.map(|problem| problem.to_string());
    let violations = match look.theme {
        Theme::Light => page.accessibility(),
        Theme::Dark => page.contrast(),
    };
    let violations = violations.into_iter().map(|violation| violation.to_string());
    let all = problems.chain(page.overflow(look.size)).chain(violations);
    all.map(|what| format!("  {name} ({}): {what}", page.path())).collect()
}

#[test]
fn in_the_light() {
    check(LIGHT);
}

#[test]
fn on_a_telephone() {
    check(PHONE);
}

#[test]
fn in_the_dark_on_a_large_screen() {
    check(WIDE);
}

#[test]
fn before_anything_is_there() {
    let stage = stage();
    let (page, empty) = (stage.browser.page(), stage.empty());
    let mut found = Vec::new();
    for listed in PAGES.iter().filter(|listed| listed.is_about_a_project()) {
        page.open(&empty.url(&listed.path(&empty.places)));
        found.extend(wrong(&page, LIGHT, listed.name));
        let unhelpful = page.js(UNHELPFUL);
        let unhelpful = unhelpful.as_array().unwrap().iter();
        found.extend(unhelpful.map(|what| format!("  {}: {what}", listed.name)));
    }
    report(&found);
}

/// Commands that do not work on this server as they stand, and empty states without a next step.
const UNHELPFUL: &str = "[
    ...[...document.querySelectorAll('.snippet code')].map((code) => code.textContent)
        .filter((text) => text.startsWith('ratchet'))
        .filter((text) => !text.includes(location.origin) || text.includes('URL')),
    ...[...document.querySelectorAll('.empty')]
        .filter((empty) => !empty.querySelector('a, button:not([data-copy])'))
        .map((empty) => `nothing to press: ${empty.textContent}`),
]";
