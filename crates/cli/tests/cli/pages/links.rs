use std::collections::BTreeMap;

use super::list::PAGES;
use super::report;
use super::stage::stage;

/// The path without what differs from one thing to the next: what follows the third part.
fn shape(path: &str) -> String {
    path.split(['?', '#'])
        .next()
        .unwrap_or_default()
        .split('/')
        .take(4)
        .collect::<Vec<_>>()
        .join("/")
}

#[test]
fn every_link_leads_somewhere() {
    let stage = stage();
    let demo = stage.demo();
    let page = stage.browser.page();
    let mut links: BTreeMap<String, (String, &str)> = BTreeMap::new();
    let mut found = Vec::new();
    for listed in PAGES {
        page.open(&demo.url(&listed.path(&demo.places)));
        let of_page = page.js("[...document.querySelectorAll('a[href]')].map((link) => link.href)");
        for link in of_page.as_array().unwrap().iter().filter_map(|link| link.as_str()) {
            let Some(path) = link.strip_prefix(&demo.url("/")) else {
                found.push(format!("  {}: {link} leads away", listed.name));
                continue;
            };
            links.entry(shape(path)).or_insert((format!("/{path}"), listed.name));
        }
    }
    for (path, from) in links.values() {
        let status = demo.get(path).status;
        if status >= 400 {
            found.push(format!("  {from}: {path} answers {status}"));
        }
    }
    report(&found);
}
