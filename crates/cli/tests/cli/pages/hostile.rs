//! Text in every place that takes text, written to run, to break out, to mislead or to break the
//! layout.

mod words;
mod seed;
mod files;

pub(super) use seed::seed;

/// What the project is called.
pub(super) const PROJECT_NAME: &str = r#""><img src=x onerror='__ran("project")'>"#;

use ratchet_browser::Page;

use super::list::{PAGES, fill};
use super::stage::stage;
use super::{LIGHT, Look, PHONE, report};

/// Opens every page with everything on it unfolded, and tells what ran or does not fit.
#[track_caller]
fn check(look: Look) {
    let stage = stage();
    let hostile = stage.hostile();
    let (page, judge) = (stage.browser.page(), stage.browser.page());
    look.at(&page);
    let mut found = Vec::new();
    for listed in PAGES {
        let path = listed.path(&hostile.places);
        let mut complain = |what: String| found.push(format!("  {} ({path}): {what}", listed.name));
        page.open(&hostile.url(&path));
        page.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
        page.settle();
        page.overflow(look.size).into_iter().for_each(&mut complain);
        let live = page.js("document.documentElement.outerHTML");
        let inline = judge.inline(live.as_str().unwrap()).into_iter();
        // Scripts of ours may set styles, which the policy allows; markup may not.
        inline.filter(|found| !found.contains(" style=")).for_each(&mut complain);
        page.problems().iter().for_each(|problem| complain(problem.to_string()));
    }
    report(&found);
}

#[test]
fn nothing_runs_and_the_layout_holds() {
    check(LIGHT);
}

#[test]
fn nothing_runs_and_the_layout_holds_on_a_telephone() {
    check(PHONE);
}

/// Uses what pages fetch later: it does not come with the page, so the policy alone guards it.
#[test]
fn nothing_runs_while_pages_are_used() {
    let stage = stage();
    let hostile = stage.hostile();
    let page = stage.browser.page();
    let open = |address: &str| page.open(&hostile.url(&fill(address, &hostile.places)));
    let mut found = Vec::new();
    let mut collect = |page: &Page, what: &str| {
        let problems = page.problems();
        found.extend(problems.iter().map(|problem| format!("  {what}: {problem}")));
    };
    open("/project/{project}/traces");
    page.hover("tbody tr:nth-child(3) td:nth-child(2)");
    page.wait_for(".peek");
    page.press("Control+k");
    page.type_text(words::RUNNING[0]);
    page.wait_for(".palette-list a");
    // Once for the words, once for the palette.
    page.press("Escape");
    page.press("Escape");
    page.wait_until("!document.querySelector('dialog')");
    collect(&page, "a list");
    open("/project/{project}/sessions/{session}");
    page.click("details.steps > summary");
    page.wait_for(".step-list a");
    collect(&page, "the steps of a turn");
    open("/project/{project}/traces/{trace}");
    for view in ["conversation", "raw", "graph"] {
        page.click(&format!("[data-view={view}]"));
        page.wait_for(&format!("[data-view={view}][aria-current]"));
        page.press("j");
        page.press("j");
        page.press("k");
    }
    collect(&page, "the steps of a trace");
    report(&found);
}

#[test]
fn the_canary_sings() {
    let stage = stage();
    let page = stage.browser.page();
    page.open("data:text/html,<img src=x onerror='__ran(\"it\")'>");
    let ran = page.problems().into_iter().map(|problem| problem.to_string());
    assert!(ran.into_iter().any(|problem| problem == "Ran: it"), "the check could not fail");
}

#[test]
fn the_policy_is_strict_and_no_page_needs_an_exception() {
    let stage = stage();
    let hostile = stage.hostile();
    let page = stage.browser.page();
    let mut found = Vec::new();
    for listed in PAGES {
        let path = listed.path(&hostile.places);
        let mut complain = |what: String| found.push(format!("  {} ({path}): {what}", listed.name));
        let answer = hostile.get(&path);
        let policy = answer.header("content-security-policy").unwrap_or_default();
        for needed in
            ["default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'"]
        {
            if !policy.contains(needed) {
                complain(format!("the policy lacks {needed}: {policy}"));
            }
        }
        for hole in ["unsafe-", "*", "data:", "http:", "https:"] {
            if policy.split(';').any(|part| part.contains(hole) && !part.contains("img-src")) {
                complain(format!("the policy allows {hole}: {policy}"));
            }
        }
        if answer.header("x-content-type-options") != Some("nosniff") {
            complain("the type may be guessed".to_owned());
        }
        page.inline(&answer.text()).into_iter().for_each(&mut complain);
    }
    report(&found);
}
