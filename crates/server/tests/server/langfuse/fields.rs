use ratchet_core::catalog::filter::FilterKind;
use ratchet_core::record::field_table::{OBSERVATION, RecordTable, SCORE, SESSION, TRACE};
use serde_json::{Value, json};

use super::{a_bit_of_everything, read, record};
use crate::harness::TestServer;

/// Conditions that no record, every record or some records pass, by type.
fn conditions(kind: FilterKind) -> Vec<(&'static str, Value, Passing)> {
    let nothing = "no record has this";
    match kind {
        FilterKind::String | FilterKind::StringObject => {
            vec![("=", json!(nothing), Passing::None)]
        }
        FilterKind::Number | FilterKind::NumberObject => {
            vec![(">", json!(1e18), Passing::None)]
        }
        FilterKind::Datetime => vec![(">", json!("2200-01-01T00:00:00Z"), Passing::None)],
        FilterKind::StringOptions | FilterKind::ArrayOptions => vec![
            ("any of", json!([nothing]), Passing::None),
            ("none of", json!([nothing]), Passing::All),
        ],
        FilterKind::CategoryOptions => vec![("any of", json!([nothing]), Passing::None)],
        FilterKind::BooleanObject => vec![("=", json!(true), Passing::None)],
        FilterKind::Boolean => {
            vec![("=", json!(true), Passing::Part), ("=", json!(false), Passing::Part)]
        }
        FilterKind::Null => {
            vec![
                ("is null", json!(null), Passing::Part),
                ("is not null", json!(null), Passing::Part),
            ]
        }
    }
}

#[derive(PartialEq)]
enum Passing {
    None,
    All,
    /// Together with the other condition of the type, every record once.
    Part,
}

async fn count(server: &TestServer, resource: &str, condition: Option<Value>) -> usize {
    let filter = condition.map(|condition| json!([condition]).to_string()).unwrap_or_default();
    let encoded: String = filter.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let page = read(server, &format!("/api/public/{resource}?filter={encoded}")).await;
    page["data"].as_array().unwrap().len()
}

async fn check<C: Copy, O>(server: &TestServer, resource: &str, table: &'static RecordTable<C, O>) {
    let total = count(server, resource, None).await;
    assert!(total > 0, "{resource}");
    for column in table.columns {
        for name in column.api {
            for kind in column.kind.filters() {
                let mut parts = 0;
                for (operator, value, passing) in conditions(*kind) {
                    let condition = json!({"column": name, "type": kind.as_str(),
                        "operator": operator, "value": value, "key": "no record has this"});
                    let found = count(server, resource, Some(condition)).await;
                    let what = format!("{resource}: {name} {} {operator}", kind.as_str());
                    match passing {
                        Passing::None => assert_eq!(found, 0, "{what}"),
                        Passing::All => assert_eq!(found, total, "{what}"),
                        Passing::Part => parts += found,
                    }
                }
                let is_split = conditions(*kind).iter().any(|(.., p)| *p == Passing::Part);
                assert!(!is_split || parts <= total, "{resource}: {name} {}", kind.as_str());
                assert!(*kind != FilterKind::Null || parts == total, "{resource}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn every_field_of_the_tables_can_be_filtered_by() {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    check(&server, "traces", &TRACE).await;
    check(&server, "observations", &OBSERVATION).await;
    check(&server, "sessions", &SESSION).await;
    check(&server, "v2/scores", &SCORE).await;
    server.stop().await;
}

#[tokio::test]
async fn what_the_table_marks_as_sortable_can_be_sorted_by() {
    let server = TestServer::start().await;
    record(&server, &a_bit_of_everything()).await;
    for column in TRACE.columns {
        let Some(name) = column.api.first() else { continue };
        let path = format!("/api/public/traces?orderBy={name}.asc");
        let status = if column.order.is_some() { 200 } else { 400 };
        server.get(&path).send().await.check(status, "");
    }
    server.stop().await;
}
