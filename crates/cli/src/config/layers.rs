//! Where settings are written down: flags over environment over files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The beginning of every environment variable of ours.
pub(crate) const PREFIX: &str = "RATCHET_";
/// The file that is looked for in the current folder and in the data folder.
pub(crate) const FILE_NAME: &str = "ratchet.toml";

/// Sections whose entries have names of the operator's choice.
const NAMED: [&str; 2] = [TARGETS, EVALUATOR_COMMANDS];
/// Targets of experiments.
pub(crate) const TARGETS: &str = "targets";
/// Commands that judge answers.
pub(crate) const EVALUATOR_COMMANDS: &str = "evaluators.commands";

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Typed on the command line.
    Flag(&'static str),
    Environment(String),
    File(PathBuf),
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(key) => write!(f, "flag --{}", key.replace(['_', '.'], "-")),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A setting typed on the command line: its key and its text.
pub(crate) type Flag = (&'static str, String);

/// Everything that was written down, strongest first.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    flags: Vec<Flag>,
    environment: BTreeMap<String, String>,
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    path: PathBuf,
    values: BTreeMap<String, String>,
    /// Entries that have names of the operator's choice, by section.
    named: Vec<(&'static str, toml::Table)>,
}

/// An entry of a section whose names the operator chooses.
#[derive(Clone, Debug)]
pub(crate) struct NamedEntry {
    pub(crate) name: String,
    pub(crate) value: toml::Value,
    /// The file that it stands in.
    pub(crate) file: PathBuf,
}

impl Layers {
    /// Layers without a file yet. An empty environment variable counts as not set.
    pub(crate) fn new(flags: Vec<Flag>, environment: Vec<(String, String)>) -> Self {
        let set = environment.into_iter().filter(|(_, text)| !text.is_empty());
        Self { flags, environment: set.collect(), ..Self::default() }
    }

    /// Adds a file below those already there.
    pub(crate) fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the configuration file {}", path.display()))?;
        let mut table = text
            .parse::<toml::Table>()
            .with_context(|| format!("{} is not valid TOML", path.display()))?;
        let named = NAMED.map(|section| (section, take_section(&mut table, section)));
        let mut values = BTreeMap::new();
        flatten("", table, &mut values).with_context(|| format!("in {}", path.display()))?;
        self.files.push(File { path: path.to_owned(), values, named: named.into() });
        Ok(())
    }

    /// The entries of a section whose names the operator chooses; the strongest of each name.
    pub(crate) fn named(&self, section: &str) -> Vec<NamedEntry> {
        let mut found: BTreeMap<String, NamedEntry> = BTreeMap::new();
        for file in &self.files {
            let of_section = file.named.iter().filter(|(known, _)| *known == section);
            for (name, value) in of_section.flat_map(|(_, table)| table) {
                let (name, value, file) = (name.clone(), value.clone(), file.path.clone());
                found.entry(name.clone()).or_insert(NamedEntry { name, value, file });
            }
        }
        found.into_values().collect()
    }

    /// Adds the `ratchet.toml` of a folder, if it has one that was not added before.
    pub(crate) fn add_file_of(&mut self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE_NAME);
        let is_known = |file: &File| same_file(&file.path, &path);
        if !path.exists() || self.files.iter().any(is_known) {
            return Ok(());
        }
        self.add_file(&path)
    }

    /// The strongest word on a setting.
    pub(crate) fn find(&self, key: &'static str) -> Option<(String, Source)> {
        if let Some((_, text)) = self.flags.iter().find(|(name, _)| *name == key) {
            return Some((text.clone(), Source::Flag(key)));
        }
        let variable = variable_of(key);
        if let Some(text) = self.environment.get(&variable) {
            return Some((text.clone(), Source::Environment(variable)));
        }
        self.files
            .iter()
            .find_map(|file| Some((file.values.get(key)?.clone(), Source::File(file.path.clone()))))
    }

    /// Whether the file that was added under this path has a key.
    pub(crate) fn file_says(&self, path: &Path, key: &str) -> bool {
        self.files.iter().any(|file| file.path == path && file.values.contains_key(key))
    }

    /// Refuses files with keys that no setting has.
    pub(crate) fn refuse_unknown_keys(&self, known: &[&str]) -> anyhow::Result<()> {
        for file in &self.files {
            let unknown = file.values.keys().find(|key| !known.contains(&key.as_str()));
            if let Some(key) = unknown {
                bail!(
                    "{} sets unknown setting `{key}`; see `ratchet config show` for all settings",
                    file.path.display()
                );
            }
        }
        Ok(())
    }

    /// Our environment variables that no setting has. Only worth a warning: they may belong to
    /// another version or program.
    pub(crate) fn unknown_variables(&self, known: &[&str]) -> Vec<String> {
        let known: Vec<String> = known.iter().map(|key| variable_of(key)).collect();
        self.environment.keys().filter(|name| !known.contains(name)).cloned().collect()
    }
}

/// The environment variable of a setting.
fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// Takes a section out of a table; what is no table stays, and is refused as an unknown setting.
fn take_section(table: &mut toml::Table, section: &str) -> toml::Table {
    let (inner, last) = match section.rsplit_once('.') {
        Some((outer, last)) => (table.get_mut(outer).and_then(toml::Value::as_table_mut), last),
        None => (Some(table), section),
    };
    let Some(inner) = inner else { return toml::Table::new() };
    match inner.remove(last) {
        Some(toml::Value::Table(found)) => found,
        Some(other) => {
            inner.insert(last.to_owned(), other);
            toml::Table::new()
        }
        None => toml::Table::new(),
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    one == other
        || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Turns tables into dotted keys, and plain values into the text a flag would have.
fn flatten(
    prefix: &str,
    table: toml::Table,
    values: &mut BTreeMap<String, String>,
) -> anyhow::Result<()> {
    for (name, value) in table {
        let key = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        let text = match value {
            toml::Value::Table(inner) => {
                flatten(&key, inner, values)?;
                continue;
            }
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(truth) => truth.to_string(),
            toml::Value::Array(words) if is_command(&key) => serde_json::to_string(&words)?,
            toml::Value::Float(_) | toml::Value::Datetime(_) | toml::Value::Array(_) => {
                bail!("`{key}` must be a string, a whole number or true/false")
            }
        };
        values.insert(key, text);
    }
    Ok(())
}

/// Whether a setting is a command, which may be written as a list of words.
fn is_command(key: &str) -> bool {
    key.starts_with("evaluators.code.") || key == "promotion.command"
}
