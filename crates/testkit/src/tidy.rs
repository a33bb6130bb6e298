//! The repository's rules as tests: `cargo test -p ratchet-testkit tidy`.
//!
//! A rule checks one file and reports the lines that violate it. Each rule is tested on a sample
//! that violates it first.

mod code;
mod direction;
mod documents;
mod layout;
mod manifest;
mod old_words;
mod type_names;
mod vocabulary;
mod waits;
mod words;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of the repository.
struct SourceFile {
    /// From the root, with forward slashes.
    path: String,
    text: String,
}

/// A line that violates a rule.
struct Offence {
    path: String,
    line: usize,
    what: String,
}

/// A rule about single lines of some files.
struct LineRule {
    /// What to do about a violation.
    advice: &'static str,
    /// Which files it checks.
    covers: fn(&str) -> bool,
    /// Whether a line violates it.
    is_broken_by: fn(&str) -> bool,
}

impl LineRule {
    fn offences(&self, file: &SourceFile) -> Vec<Offence> {
        let quotes_what_is_forbidden = file.path.starts_with("crates/testkit/src/tidy");
        if quotes_what_is_forbidden || !(self.covers)(&file.path) {
            return Vec::new();
        }
        let broken = file.lines().filter(|(_, line)| (self.is_broken_by)(line));
        broken.map(|(number, line)| file.offence(number, line.trim())).collect()
    }

    /// Tests the rule on lines that violate it, on lines that do not, and on the repository.
    #[track_caller]
    fn check(&self, path: &str, bad: &[&str], good: &[&str]) {
        for line in bad {
            let sample = SourceFile { path: path.to_owned(), text: (*line).to_owned() };
            assert_eq!(self.offences(&sample).len(), 1, "the rule does not see {line:?}");
        }
        for line in good {
            let sample = SourceFile { path: path.to_owned(), text: (*line).to_owned() };
            assert!(self.offences(&sample).is_empty(), "the rule wrongly sees {line:?}");
        }
        let offences = repository().iter().flat_map(|file| self.offences(file)).collect();
        report(offences, self.advice);
    }
}

impl SourceFile {
    /// The lines with their numbers, from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    fn offence(&self, line: usize, what: impl Into<String>) -> Offence {
        Offence { path: self.path.clone(), line, what: what.into() }
    }
}

/// The lines of a file that are tests or their helpers, with their numbers.
fn test_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let path = &file.path;
    let is_test_file =
        path.contains("/tests/") || path.ends_with("/tests.rs") || is_in_test_crate(path);
    let quotes_what_is_forbidden = path.starts_with("crates/testkit/src/tidy");
    let is_checked = is_rust(path) && !quotes_what_is_forbidden;
    let start = file.lines().find(|(_, line)| *line == "mod tests {").map(|(number, _)| number);
    let first = if is_test_file { 1 } else { start.unwrap_or(usize::MAX) };
    file.lines().filter(move |(number, _)| is_checked && *number >= first)
}

/// Fails with the violations and what to do about them, if there are any.
#[track_caller]
fn report(offences: Vec<Offence>, advice: &str) {
    if offences.is_empty() {
        return;
    }
    let mut message = format!("{advice}:\n");
    for Offence { path, line, what } in offences {
        writeln!(message, "  {path}:{line}: {what}").unwrap();
    }
    panic!("{message}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every text file that is tracked or about to be. Ignored files do not count.
fn repository() -> Vec<SourceFile> {
    let git = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others"])
        .arg("--exclude-standard")
        .current_dir(root())
        .output()
        .expect("the rules need git to tell which files are ours");
    assert!(git.status.success(), "git: {}", String::from_utf8_lossy(&git.stderr));
    let names = String::from_utf8(git.stdout).expect("file names are UTF-8");
    let files: Vec<_> = names.split('\0').filter(|name| !name.is_empty()).collect();
    assert!(files.len() > 20, "only {} files: is this the repository?", files.len());
    let read = |name: &&str| {
        let text = std::fs::read_to_string(root().join(name)).ok()?;
        Some(SourceFile { path: (*name).to_owned(), text })
    };
    files.iter().filter_map(read).collect()
}

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

/// The crate of a file.
fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split('/').next()
}

/// Crates that only tests use.
const TEST_CRATES: [&str; 2] = ["testkit", "browser"];

fn is_in_test_crate(path: &str) -> bool {
    crate_of(path).is_some_and(|name| TEST_CRATES.contains(&name))
}

/// Whether a file is part of a crate's library or binary, not of its tests.
fn is_product(path: &str) -> bool {
    let in_src = path.split('/').nth(2) == Some("src");
    is_rust(path) && in_src && !is_in_test_crate(path)
}
