//! Lists and exports have the fields that the tables of records say.

use std::collections::BTreeSet;

use ratchet_core::record::field_table::{
    FIELDS, FieldFacts, FieldKind, OBSERVATION, RecordTable, SESSION, TRACE,
};
use serde_json::Value;

use crate::browser::Site;
use crate::lists::{encoded, rows, shop};

/// A filter that no record passes, and one that says it is not understood if the list lacks it.
fn filter(facts: &FieldFacts) -> Option<String> {
    let name = facts.filter?;
    Some(match facts.kind {
        FieldKind::Number(_) => format!("{name}>999999999"),
        FieldKind::Boolean => format!("is:{name} -is:{name}"),
        FieldKind::Choice => match name {
            "type" => "type:embedding".to_owned(),
            _ => format!("{name}:debug"),
        },
        _ => format!("{name}:nothing-has-this"),
    })
}

async fn check<C: Copy, O>(site: &Site, list: &str, table: &'static RecordTable<C, O>) {
    let all = rows(&site.get(&format!("/project/shop/{list}")).await).len();
    assert!(all > 0, "{list}");
    for facts in &FIELDS {
        let Some(filter) = filter(facts) else { continue };
        let page = site.get(&format!("/project/shop/{list}?q={}", encoded(&filter))).await;
        let is_understood = !page.text.contains("role=\"alert\"");
        assert_eq!(is_understood, table.filter(facts.field).is_some(), "{list}: {filter}");
        assert!(!is_understood || rows(&page).is_empty(), "{list}: {filter} passes");
    }
    let listed = || FIELDS.iter().filter(|facts| table.listed(facts.field).is_some());
    for facts in listed() {
        let word = facts.column.unwrap();
        let page = site.get(&format!("/project/shop/{list}?col={word}")).await;
        let (_, head) = page.text.split_once("<thead").unwrap();
        let (head, _) = head.split_once("</thead>").unwrap();
        assert!(head.contains(facts.label), "{list}: {word}");
    }
    let export = site.get(&format!("/project/shop/list/{list}/export?format=jsonl")).await;
    let row: Value = serde_json::from_str(export.text.lines().next().unwrap()).unwrap();
    let exported: BTreeSet<_> = row.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = listed().filter_map(|facts| facts.column).chain(["scores"]);
    assert_eq!(exported, expected.collect(), "{list}");
}

#[tokio::test]
async fn lists_and_exports_have_the_fields_of_the_tables() {
    let site = shop().await;
    check(&site, "traces", &TRACE).await;
    check(&site, "observations", &OBSERVATION).await;
    check(&site, "sessions", &SESSION).await;
}
