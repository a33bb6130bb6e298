use std::path::Path;

use super::list::PAGES;
use super::stage::stage;
use super::{DARK, LIGHT, PHONE, WIDE};

/// Git ignores it.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../screenshots");

#[test]
#[ignore = "make screenshots"]
fn of_every_page() {
    let folder = Path::new(FOLDER);
    std::fs::create_dir_all(folder).unwrap();
    let stage = stage();
    let demo = stage.demo();
    for look in [LIGHT, DARK, PHONE, WIDE] {
        let page = stage.browser.page();
        look.at(&page);
        for listed in &PAGES {
            page.open(&demo.url(&listed.path(&demo.places)));
            page.screenshot(&folder.join(format!("{}-{}.png", listed.name, look.name)));
        }
    }
}
