//! The embedded engine shows the behaviour that every engine must show, and some of its own.

use ratchet_testkit::behaviour::{self, Fresh};
use ratchet_testkit::folder::DataFolder;

fn embedded() -> Fresh {
    let folder = DataFolder::new();
    Fresh { store: folder.telemetry().clone(), keep: Box::new(folder) }
}

#[test]
fn merging() {
    behaviour::check(embedded, behaviour::merging::ALL);
}

#[test]
fn summaries() {
    behaviour::check(embedded, behaviour::summaries::ALL);
}

#[test]
fn paging() {
    behaviour::check(embedded, behaviour::paging::ALL);
}

#[test]
fn filters() {
    behaviour::check(embedded, behaviour::filters::ALL);
}

#[test]
fn search() {
    behaviour::check(embedded, behaviour::search::ALL);
}

#[test]
fn aggregates() {
    behaviour::check(embedded, behaviour::aggregates::ALL);
}

#[test]
fn retention() {
    behaviour::check(embedded, behaviour::retention::ALL);
}

#[test]
fn borders() {
    behaviour::check(embedded, behaviour::borders::ALL);
}

#[test]
fn random_stories() {
    behaviour::random::check(embedded, 250);
}
