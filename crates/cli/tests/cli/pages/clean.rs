use ratchet_browser::{Page, Theme};

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
    let problems = page.problems().into_iter().map(|problem| problem.to_string());
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
    }
    report(&found);
}
