use std::path::Path;

use super::list::visit;
use super::stage::stage;
use super::{DARK, LIGHT, PHONE, WIDE};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../screenshots");

#[test]
#[ignore = "make screenshots"]
fn of_every_page() {
    let folder = Path::new(FOLDER);
    std::fs::create_dir_all(folder).unwrap();
    let stage = stage();
    for look in [LIGHT, DARK, PHONE, WIDE] {
        let page = stage.browser.page();
        look.at(&page);
        visit(&stage, &page, |name| {
            page.screenshot(&folder.join(format!("{name}-{}.png", look.name)));
        });
    }
}
