use std::sync::LazyLock;

use serde::Deserialize;

use super::RuleError;

/// The presets that come with Ratchet, in a file that people read.
const BUILTIN: &str = include_str!("../../../../../redaction/presets.toml");

/// A pattern with a name, that anyone can turn on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    pub name: String,
    pub finds: String,
    pub pattern: String,
    /// What stands in its place if a rule does not say.
    pub replacement: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    preset: Vec<Preset>,
}

static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    // A test holds the file to its shape.
    toml::from_str::<Document>(BUILTIN).map(|document| document.preset).unwrap_or_default()
});

/// Every preset.
pub fn all() -> &'static [Preset] {
    &PRESETS
}

/// The preset of a name.
///
/// # Errors
/// If there is none; the error names those there are.
pub fn find(name: &str) -> Result<&'static Preset, RuleError> {
    all().iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<_> = all().iter().map(|preset| preset.name.as_str()).collect();
        RuleError::Preset { name: name.to_owned(), known: known.join(", ") }
    })
}
