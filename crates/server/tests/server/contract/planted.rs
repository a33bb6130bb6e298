//! Every operation with texts that a redaction rule finds: none of them is on the disk afterwards.
//!
//! Each call is made as its file says, with such a text in place of its mark, and then once for each
//! text in its body, with another one in its place. Whether a call redacts or refuses is its own
//! affair; what counts is what the data folder has.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::calls::{self, Call, Chosen, Ids};
use super::rows;
use super::walk::{OURS, Walk, text};
use crate::harness::basic;

/// What the rule finds; the number says who planted it.
const PATTERN: &str = r"planted\d+x";

/// Fields that are stored as they are: ids, settings, names that something outside decides on.
const STORED_AS_IS: &str = "tests/server/contract/stored_as_is.tsv";

fn planted(number: usize) -> String {
    format!("planted{number}x")
}

/// Everything that was planted: operation and field, by number.
#[derive(Default)]
struct PlantedTexts(Vec<(String, String)>);

impl PlantedTexts {
    fn next(&mut self, call: &Call, field: &str) -> String {
        self.0.push((call.operation.clone(), field.to_owned()));
        planted(self.0.len() - 1)
    }
}

/// The texts of a document, by their pointers.
fn leaves(document: &Value, at: &str, found: &mut Vec<String>) {
    match document {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(n, one)| leaves(one, &format!("{at}/{n}"), found));
        }
        Value::Object(fields) => {
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            fields
                .iter()
                .for_each(|(key, one)| leaves(one, &format!("{at}/{}", escaped(key)), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Numbers of what is found in the files of a folder.
fn found_in(folder: &Path, found: &mut BTreeSet<usize>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found_in(&entry.path(), found);
        } else if let Ok(bytes) = std::fs::read(entry.path()) {
            let text = String::from_utf8_lossy(&bytes);
            let numbers = text.split("planted").skip(1).filter_map(|rest| {
                let (number, _) = rest.split_once('x')?;
                number.parse::<usize>().ok()
            });
            found.extend(numbers);
        }
    }
}

/// Makes every call as its file says, and those with a mark before that with a planted text in its
/// place. One of the two must succeed: the first may have done what the second cannot do again.
async fn seed(walk: &mut Walk, planted: &mut PlantedTexts) {
    let key = basic(Role::Owner);
    for call in walk.calls.iter().filter(|call| call.method() != "DELETE") {
        let mark = planted.next(call, "its mark");
        let marks = [mark.as_str(), OURS].into_iter().skip(usize::from(!call.has_mark()));
        let mut replies = Vec::new();
        for mark in marks {
            let ids = Ids::new(&walk.kept, mark, Chosen::Seeded);
            call.wait(&walk.server, &key, &ids).await;
            // A version of an item that replaces one of the same moment begins a little later.
            walk.server.clock.advance(Duration::from_secs(1));
            let reply = call.make(&walk.server, &key, &ids).await;
            if reply.status.is_success() {
                call.keep(&reply, &mut walk.kept);
            }
            replies.push(reply);
        }
        let is_made = replies.iter().any(|reply| reply.status.is_success());
        let said: Vec<_> = replies.iter().map(text).collect();
        assert!(is_made, "{}: {}", call.operation, said.join("; "));
    }
}

/// Makes every call once for each text of its body, with a planted text there.
async fn vary(walk: &Walk, planted: &mut PlantedTexts) {
    let key = basic(Role::Owner);
    let ids = Ids::new(&walk.kept, OURS, Chosen::Seeded);
    let has_leaves = |call: &&Call| call.method() != "DELETE" && call.waits_for_nothing();
    for call in walk.calls.iter().filter(has_leaves) {
        let Some(body) = call.json(&ids) else { continue };
        let mut fields = Vec::new();
        leaves(&body, "", &mut fields);
        for field in fields {
            let mut varied = body.clone();
            let leaf = varied.pointer_mut(&field).unwrap();
            let said = leaf.as_str().unwrap_or_default().to_owned();
            *leaf = json!(format!("{said} {}", planted.next(call, &field)));
            // It may well be refused.
            drop(call.send(&walk.server, &key, &ids, Some(&varied.to_string())).await);
        }
    }
}

#[tokio::test]
async fn nothing_that_a_rule_finds_reaches_the_disk() {
    let mut walk = Walk::unseeded(calls::all()).await;
    let rule = json!({"pattern": PATTERN}).to_string();
    let rules = walk.server.post("/api/v1/projects/shop/redaction").key(Role::Owner);
    rules.json(rule).send().await.check(201, "");
    let mut planted = PlantedTexts::default();
    seed(&mut walk, &mut planted).await;
    walk.settle().await;
    vary(&walk, &mut planted).await;
    let data = walk.server.stop().await;
    let mut numbers = BTreeSet::new();
    found_in(data.path(), &mut numbers);
    let stored: BTreeSet<String> = numbers
        .into_iter()
        .map(|number| {
            let (operation, field) = &planted.0[number];
            format!("{operation}\t{field}")
        })
        .collect();
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join(STORED_AS_IS);
    let table = std::fs::read_to_string(table).unwrap();
    let listed = rows(&table).into_iter().map(|row| format!("{}\t{}", row[0], row[1]));
    let listed: BTreeSet<String> = listed.collect();
    let leaked: Vec<_> = stored.difference(&listed).map(String::as_str).collect();
    // What was overwritten may be in a file or not: nothing is said of rows without a match.
    assert!(leaked.is_empty(), "not redacted, and not in {STORED_AS_IS}:\n{}", leaked.join("\n"));
}
