//! Our description compared with a table of Langfuse's facts.
//!
//! A difference is an error unless `differences.tsv` gives a reason for it, and a reason for a
//! difference that no longer exists must be removed.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_server::openapi;
use serde_json::Value;

use super::facts::{self, Facts, Fields, Need};
use super::{operations, rows};

/// An operation by its method and its path with anonymous parameters.
type Call = (String, String);

/// A difference, as a line of `differences.tsv` without its reason.
type Difference = [String; 4];

#[test]
fn we_differ_from_langfuse_only_where_we_mean_to() {
    let (ours, theirs) = (ours(), theirs());
    let found: BTreeSet<Difference> = differences(&ours, &theirs).into_iter().collect();
    let listed = rows(include_str!("differences.tsv"));
    let reasons: BTreeMap<Difference, &str> = listed
        .iter()
        .map(|row| {
            let [method, path, what, name, reason] = row[..] else { panic!("five cells: {row:?}") };
            assert!(!reason.trim().is_empty(), "{row:?} has no reason");
            ([method, path, what, name].map(str::to_owned), reason)
        })
        .collect();
    let unexplained: Vec<_> =
        found.iter().filter(|one| !reasons.contains_key(*one)).map(|one| one.join("\t")).collect();
    let gone: Vec<_> =
        reasons.keys().filter(|one| !found.contains(*one)).map(|one| one.join("\t")).collect();
    assert!(
        unexplained.is_empty() && gone.is_empty(),
        "differs from Langfuse; make it the same, or list it in differences.tsv with a reason:\n{}\
         \n\nlisted in differences.tsv and no longer different; delete these lines:\n{}",
        unexplained.join("\n"),
        gone.join("\n"),
    );
}

fn ours() -> BTreeMap<Call, Facts> {
    let document: Value = openapi::document().unwrap();
    let public =
        operations(&document).into_iter().filter(|one| one.path.starts_with("/api/public"));
    let facts = public.map(|one| {
        ((one.method, plain(&one.path)), facts::of_operation(&document, &one.described))
    });
    facts.collect()
}

fn theirs() -> BTreeMap<Call, Facts> {
    let mut calls: BTreeMap<Call, Facts> = BTreeMap::new();
    for row in rows(include_str!("langfuse.tsv")) {
        let [method, path, part, name, need] = row[..] else { panic!("five cells: {row:?}") };
        let facts = calls.entry((method.to_owned(), plain(path))).or_default();
        let fields = match part {
            "operation" => continue,
            "query" => &mut facts.query,
            "body" => &mut facts.body,
            "answer" => &mut facts.answer,
            other => panic!("{other} is no part of an operation"),
        };
        let need = if need == "required" { Need::Required } else { Need::Optional };
        fields.insert(name.to_owned(), need);
    }
    calls
}

/// A path with anonymous parameters.
fn plain(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

fn differences(ours: &BTreeMap<Call, Facts>, theirs: &BTreeMap<Call, Facts>) -> Vec<Difference> {
    let mut found = Vec::new();
    for (call, their) in theirs {
        match ours.get(call) {
            Some(our) => found.extend(of_call(our, their).into_iter().map(|it| line(call, it))),
            None => found.push(line(call, ("no operation", String::new()))),
        }
    }
    let added = ours.keys().filter(|call| !theirs.contains_key(*call));
    found.extend(added.map(|call| line(call, ("added operation", String::new()))));
    found
}

fn line((method, path): &Call, (what, name): (&'static str, String)) -> Difference {
    [method.clone(), path.clone(), what.to_owned(), name]
}

fn of_call(our: &Facts, their: &Facts) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut note = |what, names: Vec<&String>| {
        found.extend(names.into_iter().map(|name| (what, name.clone())));
    };
    note("query not read", missing(&our.query, &their.query));
    note("query demanded", demanded(&our.query, &their.query));
    note("body field not read", missing(&our.body, &their.body));
    note("body field demanded", demanded(&our.body, &their.body));
    note("answer may lack", not_promised(&our.answer, &their.answer));
    found
}

/// Fields that they accept and we do not; of nested fields only the outermost.
fn missing<'a>(our: &Fields, their: &'a Fields) -> Vec<&'a String> {
    let unknown = their.keys().filter(|name| !our.contains_key(*name));
    unknown.filter(|name| outer(name).is_none_or(|outer| has_fields(our, outer))).collect()
}

/// Fields that we require and they do not.
fn demanded<'a>(our: &'a Fields, their: &Fields) -> Vec<&'a String> {
    let required = our.iter().filter(|(_, need)| **need == Need::Required);
    let more = required.filter(|(name, _)| their.get(*name) != Some(&Need::Required));
    more.map(|(name, _)| name).collect()
}

/// Fields that their clients rely on and we do not guarantee; of nested fields only the outermost.
fn not_promised<'a>(our: &Fields, their: &'a Fields) -> Vec<&'a String> {
    let promised = |name: &str| our.get(name) == Some(&Need::Required);
    let relied_on = their.iter().filter(|(_, need)| **need == Need::Required);
    let lacking = relied_on.filter(|(name, _)| !promised(name));
    lacking.map(|(name, _)| name).filter(|name| outer(name).is_none_or(promised)).collect()
}

/// The parent of a nested field: `data` for `data[].id`.
fn outer(name: &str) -> Option<&str> {
    let (outer, _) = name.rsplit_once('.')?;
    Some(outer.trim_end_matches("[]")).filter(|outer| !outer.is_empty())
}

/// Whether we describe the content of a field, or accept any JSON there.
fn has_fields(our: &Fields, outer: &str) -> bool {
    let begins = |name: &String| {
        name.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
    };
    our.keys().any(begins)
}
