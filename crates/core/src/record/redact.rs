//! Redaction: patterns and field paths, applied before anything is stored.
//!
//! A pattern is matched against one text at a time: a whole text, or one string, key or number of a
//! JSON document. A field path selects a value, which is replaced as a whole. Redaction is
//! idempotent: afterwards no pattern of the same set matches.
//!
//! Ids of traces, observations, sessions and scores are not redacted, because records are joined by
//! them.

/// Field paths.
pub mod path;
/// Built-in named patterns.
pub mod preset;
/// Rewriting of JSON documents.
mod json;
/// Redaction of patches.
mod patch;
/// Redaction of documents that are no patches.
mod document;
/// Records that went through a redactor.
mod redacted;
/// Rules of a project, with length limits.
mod rules;
/// Known secret values, redacted in every project.
mod secrets;

use std::borrow::Cow;

use regex::{NoExpand, Regex, RegexBuilder};

use path::FieldPath;

pub use redacted::{Redact, Redacted};
pub use rules::LimitedRedactor;
pub use secrets::{KnownSecrets, SECRET_REPLACEMENT};

pub const DEFAULT_REPLACEMENT: &str = "[redacted]";

/// The maximum length of a pattern, path or replacement, in characters.
const MAX_CHARS: usize = 1_000;
const MAX_REPLACEMENT_CHARS: usize = 100;
/// The maximum number of rules per project: each is matched against every text.
const MAX_RULES: usize = 100;
/// The maximum memory of a compiled pattern.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// A replacement can form a new match with adjacent text: the number of passes before the whole
/// text is replaced.
const ROUNDS: usize = 4;

/// A redaction rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub what: RedactionPattern,
    /// Literal; group references are not expanded.
    pub replacement: String,
}

/// The target of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedactionPattern {
    /// A regular expression, in any text.
    Pattern(String),
    /// The value at a path: `input.user.email`, `metadata.*.token`, `output`.
    Field(String),
    /// The pattern of a preset, by its name.
    Preset(String),
}

impl Rule {
    /// Creates a rule and validates it on its own, not in combination with others. The replacement
    /// defaults to the preset's or to [`DEFAULT_REPLACEMENT`].
    ///
    /// # Errors
    /// Reports the fault.
    pub fn new(what: RedactionPattern, replacement: Option<String>) -> Result<Self, RuleError> {
        let usual = match &what {
            RedactionPattern::Preset(name) => &preset::find(name)?.replacement,
            RedactionPattern::Pattern(_) | RedactionPattern::Field(_) => DEFAULT_REPLACEMENT,
        };
        let replacement = replacement.unwrap_or_else(|| usual.to_owned());
        let rule = Self { what, replacement };
        Redactor::new(std::slice::from_ref(&rule))?;
        Ok(rule)
    }
}

impl RedactionPattern {
    /// Returns the API name of the type.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Pattern(_) => "pattern",
            Self::Field(_) => "field",
            Self::Preset(_) => "preset",
        }
    }

    /// Returns the pattern, the path or the preset name.
    pub fn text(&self) -> &str {
        match self {
            Self::Pattern(text) | Self::Field(text) | Self::Preset(text) => text,
        }
    }

    /// Parses type and text.
    pub fn parse(kind: &str, text: String) -> Option<Self> {
        match kind {
            "pattern" => Some(Self::Pattern(text)),
            "field" => Some(Self::Field(text)),
            "preset" => Some(Self::Preset(text)),
            _ => None,
        }
    }
}

/// Validation error of a set of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("a project has at most {MAX_RULES} redaction rules")]
    TooMany,
    /// Too long, or empty.
    #[error("{what}: 1 to {max} characters")]
    Length { what: &'static str, max: usize },
    /// Not a regular expression.
    #[error("pattern: {0}")]
    Pattern(String),
    /// The pattern matches the empty text.
    #[error("pattern: {0} matches the empty text, so it would match everywhere")]
    Empty(String),
    #[error("field: {0}")]
    Path(String),
    /// Unknown preset.
    #[error("preset: {name} is not one of {known}")]
    Preset { name: String, known: String },
    /// A replacement would itself be redacted, which would break idempotency.
    #[error("replacement: {replacement} would itself be redacted by {pattern}")]
    Circular { replacement: String, pattern: String },
}

/// Compiled rules and known secrets. The default has none and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    secrets: KnownSecrets,
    patterns: Vec<Pattern>,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Pattern {
    regex: Regex,
    replacement: String,
}

#[derive(Clone, Debug)]
struct Field {
    path: FieldPath,
    replacement: String,
}

impl Redactor {
    /// Compiles rules.
    ///
    /// ```
    /// use ratchet_core::record::redact::{RedactionPattern, Redactor, Rule};
    ///
    /// let what = RedactionPattern::Pattern(r"\bsk-[a-z0-9]+".to_owned());
    /// let rules = Redactor::new(&[Rule { what, replacement: "[key]".to_owned() }])?;
    /// assert_eq!(rules.text("use sk-123, please"), "use [key], please");
    /// # Ok::<(), ratchet_core::record::redact::RuleError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn new(rules: &[Rule]) -> Result<Self, RuleError> {
        if rules.len() > MAX_RULES {
            return Err(RuleError::TooMany);
        }
        let mut redactor = Self::default();
        for rule in rules {
            redactor.add(rule)?;
        }
        redactor.check_replacements()?;
        Ok(redactor)
    }

    /// Adds known secrets, which are always redacted.
    #[must_use]
    pub fn with_secrets(self, secrets: KnownSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// Returns whether there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        !self.has_rules() && self.secrets.is_empty()
    }

    /// Returns whether there are rules, not only known secrets.
    pub fn has_rules(&self) -> bool {
        !self.patterns.is_empty() || !self.fields.is_empty()
    }

    /// Returns the known secrets.
    pub fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Returns whether a fast scan excludes any match.
    fn finds_nothing_in(&self, text: &str) -> bool {
        !self.has_rules() && !self.secrets.may_be_in(text)
    }

    /// Redacts a text.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = self.secrets.text(text);
        for _ in 0..ROUNDS {
            let Some(next) = self.once(&clean) else { return clean };
            clean = Cow::Owned(next);
        }
        match self.patterns.iter().find(|pattern| pattern.regex.is_match(&clean)) {
            // No fixed point after all passes: replace the whole text, to be safe.
            Some(pattern) => Cow::Owned(pattern.replacement.clone()),
            None => clean,
        }
    }

    /// Applies each pattern once; `None` if none matched.
    fn once(&self, text: &str) -> Option<String> {
        let mut clean = None;
        for pattern in &self.patterns {
            let current = clean.as_deref().unwrap_or(text);
            let replaced = pattern.regex.replace_all(current, NoExpand(&pattern.replacement));
            if let Cow::Owned(replaced) = replaced {
                clean = Some(replaced);
            }
        }
        clean
    }

    fn add(&mut self, rule: &Rule) -> Result<(), RuleError> {
        let replacement = rule.replacement.clone();
        check_len("replacement", &replacement, MAX_REPLACEMENT_CHARS)?;
        check_len(rule.what.kind(), rule.what.text(), MAX_CHARS)?;
        match &rule.what {
            RedactionPattern::Pattern(pattern) => {
                self.patterns.push(Pattern { regex: compile(pattern)?, replacement });
            }
            RedactionPattern::Preset(name) => {
                let regex = compile(&preset::find(name)?.pattern)?;
                self.patterns.push(Pattern { regex, replacement });
            }
            RedactionPattern::Field(path) => {
                let path = FieldPath::parse(path).map_err(RuleError::Path)?;
                self.fields.push(Field { path, replacement });
            }
        }
        Ok(())
    }

    /// Checks that no replacement matches a pattern.
    fn check_replacements(&self) -> Result<(), RuleError> {
        let by_patterns = self.patterns.iter().map(|pattern| &pattern.replacement);
        let by_fields = self.fields.iter().map(|field| &field.replacement);
        for replacement in by_patterns.chain(by_fields) {
            let finds = |pattern: &&Pattern| pattern.regex.is_match(replacement);
            if let Some(pattern) = self.patterns.iter().find(finds) {
                let pattern = pattern.regex.as_str().to_owned();
                return Err(RuleError::Circular { replacement: replacement.clone(), pattern });
            }
        }
        Ok(())
    }
}

fn check_len(what: &'static str, text: &str, max: usize) -> Result<(), RuleError> {
    let fits = (1..=max).contains(&text.chars().count());
    if fits { Ok(()) } else { Err(RuleError::Length { what, max }) }
}

fn compile(pattern: &str) -> Result<Regex, RuleError> {
    let built = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    let regex = built.map_err(|why| RuleError::Pattern(why.to_string()))?;
    if regex.is_match("") {
        return Err(RuleError::Empty(pattern.to_owned()));
    }
    Ok(regex)
}

#[cfg(test)]
mod tests;
