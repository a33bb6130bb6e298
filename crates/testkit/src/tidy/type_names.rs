//! Names of types: one word per idea.

use std::collections::{BTreeMap, BTreeSet};

use super::{Offence, SourceFile, crate_of, is_product, report, repository};

/// The name of the public struct that a line declares, and whether it is public beyond its crate.
fn declared_struct(line: &str) -> Option<(&str, bool)> {
    let shown = line.trim_start().strip_prefix("pub")?;
    let (_, rest) = shown.split_once("struct ")?;
    let is_public = shown.starts_with(' ');
    let is_declaration = is_public || shown.starts_with('(');
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (is_declaration && !name.is_empty()).then_some((name, is_public))
}

/// Structs of the same name: in one crate, or public in several.
fn declared_twice(files: &[SourceFile]) -> Vec<Offence> {
    let mut places: BTreeMap<(&str, Option<&str>), Vec<Offence>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        for (number, line) in file.lines() {
            let Some((name, is_public)) = declared_struct(line) else { continue };
            let seen_from = [Some(crate_of(&file.path)), is_public.then_some(None)];
            for whence in seen_from.into_iter().flatten() {
                places.entry((name, whence)).or_default().push(file.offence(number, name));
            }
        }
    }
    places.into_values().filter(|places| places.len() > 1).flatten().collect()
}

#[test]
fn no_type_is_declared_twice() {
    assert_eq!(declared_struct("    pub(crate) struct Score<'a> {"), Some(("Score", false)));
    assert_eq!(declared_struct("pub fn structure()"), None);
    let sample = |name: &str, text: &str| SourceFile {
        path: format!("crates/{name}.rs"),
        text: text.to_owned(),
    };
    let (ours, theirs) = ("pub(crate) struct A;", "pub struct A;");
    assert_eq!(declared_twice(&[sample("a/src/x", ours), sample("a/src/y", theirs)]).len(), 2);
    assert_eq!(declared_twice(&[sample("a/src/x", ours), sample("b/src/y", theirs)]).len(), 0);
    assert_eq!(declared_twice(&[sample("a/src/x", theirs), sample("b/src/y", theirs)]).len(), 2);
    report(
        declared_twice(&repository()),
        "one word per idea: use the type that exists, or find this one its own name",
    );
}

/// The name of the type that a line declares for other crates: a struct, an enum, a trait or an alias.
fn public_type(line: &str) -> Option<&str> {
    let declared = line.trim_start().strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| declared.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The names that a file takes from our crates by path or import, with the crate.
fn taken_names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("ratchet_").skip(1).flat_map(|rest| {
        let (from, path) = rest.split_once("::").unwrap_or_default();
        let end = path.find(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
        let (plain, after) = path.split_at(end.unwrap_or(path.len()));
        let group = after.strip_prefix('{').and_then(|group| group.split(';').next());
        let group = group.filter(|_| plain.ends_with("::")).unwrap_or_default();
        let names = type_names(plain).chain(type_names(group));
        names.map(move |name| (from, name))
    })
}

fn type_names(path: &str) -> impl Iterator<Item = &str> {
    let words = path.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(char::is_uppercase))
}

/// Public types of the same name in several crates, of which one crate uses more than one.
fn collisions(files: &[SourceFile]) -> Vec<Offence> {
    let product: Vec<_> = files.iter().filter(|file| is_product(&file.path)).collect();
    let mut declared: BTreeMap<&str, BTreeMap<&str, (&SourceFile, usize)>> = BTreeMap::new();
    for file in &product {
        for (number, line) in file.lines() {
            let (Some(name), Some(owner)) = (public_type(line), crate_of(&file.path)) else {
                continue;
            };
            declared.entry(name).or_default().entry(owner).or_insert((file, number));
        }
    }
    declared.retain(|_, owners| owners.len() > 1);
    let mut used: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (name, owners) in &declared {
        for owner in owners.keys() {
            used.entry((name, owner)).or_default().insert(owner);
        }
    }
    for file in &product {
        let Some(user) = crate_of(&file.path) else { continue };
        for (from, name) in taken_names(&file.text) {
            if declared.get(name).is_some_and(|owners| owners.contains_key(from)) {
                used.entry((name, user)).or_default().insert(from);
            }
        }
    }
    let both = used.into_iter().filter(|(_, owners)| owners.len() > 1);
    both.filter_map(|((name, user), owners)| {
        let (file, line) = declared.get(name)?.get(owners.iter().next()?)?;
        let owners: Vec<&str> = owners.into_iter().collect();
        Some(file.offence(*line, format!("{user} uses {name} of {}", owners.join(" and "))))
    })
    .collect()
}

#[test]
fn no_crate_uses_two_types_of_one_name() {
    let sample = |name: &str, text: &str| SourceFile {
        path: format!("crates/{name}/src/x.rs"),
        text: text.to_owned(),
    };
    assert_eq!(public_type("    pub enum Change<T> {"), Some("Change"));
    assert_eq!(public_type("pub(crate) struct Row;"), None);
    let of_store = sample("store", "pub enum Role {}");
    let of_core = sample("core", "pub type Role = u8;");
    let web = |text: &str| sample("web", text);
    let one = "use ratchet_store::catalog::{Catalog, Role};";
    let both = "use ratchet_store::catalog::{\n    Role,\n};\nlet a = ratchet_core::message::Role;";
    assert_eq!(collisions(&[of_store, of_core, web(one), web(both)]).len(), 1);
    let of_store = sample("store", "pub enum Role {}");
    let of_core = sample("core", "pub type Role = u8;");
    assert_eq!(collisions(&[of_store, of_core, web(one)]).len(), 0);
    report(collisions(&repository()), "give one of the types a name of its own");
}
