//! Manifests, as far as the rules need them.

use super::{LineRule, Offence, SourceFile, crate_of, is_rust, report, repository};

/// One crate of the workspace, by the name of its folder.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) manifest: toml::Table,
}

impl Crate {
    fn parse(file: &SourceFile) -> Option<Self> {
        let name = crate_of(&file.path)?;
        let is_manifest = file.path == format!("crates/{name}/Cargo.toml");
        let manifest = is_manifest.then(|| file.text.parse().expect("a manifest is TOML"))?;
        Some(Self { name: name.to_owned(), path: file.path.clone(), manifest })
    }

    /// The table of dependencies of one kind: `dependencies`, `dev-dependencies` …
    pub(super) fn dependencies(&self, kind: &str) -> impl Iterator<Item = (&str, &toml::Value)> {
        let table = self.manifest.get(kind).and_then(toml::Value::as_table);
        table.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
    }
}

/// Every crate of the workspace.
pub(super) fn crates() -> Vec<Crate> {
    let crates: Vec<_> = repository().iter().filter_map(Crate::parse).collect();
    assert!(crates.len() > 5, "only {} crates: is this the repository?", crates.len());
    crates
}

#[test]
fn make_names_the_binary_it_runs() {
    LineRule {
        advice: "the workspace has several binaries: say which with --bin or --example",
        covers: |path| path == "Makefile",
        is_broken_by: |line| {
            let names = ["--bin ", "--example "];
            line.contains("$(CARGO) run") && !names.iter().any(|name| line.contains(name))
        },
    }
    .check(
        "Makefile",
        &["\t$(CARGO) run --release -- demo"],
        &["\t$(CARGO) run --release --bin ratchet -- demo"],
    );
}

/// Whether code uses a crate: `name::…`, `use name;`, `name!` or `#[name]`.
fn speaks_of(code: &str, name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.split(|character| !is_word(character)).any(|word| word == name)
}

#[test]
fn no_dependency_is_unused() {
    assert!(speaks_of("use tokio::net;", "tokio"));
    assert!(!speaks_of("use tokio_util::io;", "tokio"));
    let files = repository();
    let mut offences: Vec<Offence> = Vec::new();
    for krate in crates() {
        let of_crate = |file: &&SourceFile| crate_of(&file.path) == Some(krate.name.as_str());
        let code = files.iter().filter(|file| is_rust(&file.path)).filter(of_crate);
        let code: Vec<&str> = code.map(|file| file.text.as_str()).collect();
        for kind in ["dependencies", "dev-dependencies"] {
            let unused = krate.dependencies(kind).filter(|(name, _)| {
                let name = name.replace('-', "_");
                !code.iter().any(|text| speaks_of(text, &name))
            });
            let offence = |(name, _): (&str, _)| Offence {
                path: krate.path.clone(),
                line: 1,
                what: name.to_owned(),
            };
            offences.extend(unused.map(offence));
        }
    }
    report(offences, "a dependency that nobody uses costs compile time: remove it");
}
