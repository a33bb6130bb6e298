use super::list::PAGES;
use super::stage::stage;
use super::{DARK, LIGHT, Look, PHONE, WIDE, report};

/// Opens every page in one look and tells all that is wrong.
#[track_caller]
fn check(look: Look) {
    let stage = stage();
    let demo = stage.demo();
    let page = stage.browser.page();
    look.at(&page);
    let mut found = Vec::new();
    for listed in &PAGES {
        let path = listed.path(&demo.places);
        let mut complain = |what: String| found.push(format!("  {} ({path}): {what}", listed.name));
        page.open(&demo.url(&path));
        page.problems().iter().for_each(|problem| complain(problem.to_string()));
        page.overflow(look.size).into_iter().for_each(&mut complain);
        page.accessibility().iter().for_each(|violation| complain(violation.to_string()));
    }
    report(&found);
}

#[test]
fn in_the_light() {
    check(LIGHT);
}

#[test]
fn in_the_dark() {
    check(DARK);
}

#[test]
fn on_a_telephone() {
    check(PHONE);
}

#[test]
fn on_a_large_screen() {
    check(WIDE);
}
