//! What the rules need to know of the manifests.

use super::{LineRule, SourceFile, crate_of, repository};

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
        advice: "the workspace has several binaries: say which with --bin",
        covers: |path| path == "Makefile",
        is_broken_by: |line| line.contains("$(CARGO) run") && !line.contains("--bin "),
    }
    .check(
        "Makefile",
        &["\t$(CARGO) run --release -- demo"],
        &["\t$(CARGO) run --release --bin ratchet -- demo"],
    );
}
