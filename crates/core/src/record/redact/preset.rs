use std::sync::LazyLock;

use serde::Deserialize;

use super::RuleError;

/// The built-in presets, in a file for users to read.
const BUILTIN: &str = include_str!("../../../../../redaction/presets.toml");

/// A named pattern.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    pub name: String,
    pub finds: String,
    pub pattern: String,
    /// The default replacement.
    pub replacement: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    preset: Vec<Preset>,
}

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    // A test validates the file.
    toml::from_str::<Document>(BUILTIN).map(|document| document.preset).unwrap_or_default()
});

/// Returns all presets.
pub fn all() -> &'static [Preset] {
    &PRESETS
}

/// Finds a preset by name.
///
/// # Errors
/// Fails if there is none; the error lists the names.
pub fn find(name: &str) -> Result<&'static Preset, RuleError> {
    all().iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<_> = all().iter().map(|preset| preset.name.as_str()).collect();
        RuleError::Preset { name: name.to_owned(), known: known.join(", ") }
    })
}
