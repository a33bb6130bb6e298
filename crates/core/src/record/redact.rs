//! What must not be kept: patterns and field paths, applied before anything is stored.
//!
//! A pattern is looked for in one text at a time: a whole text, or one string, key or number of a
//! JSON document. A field path names a place; whatever stands there goes as a whole. After that
//! nothing is left that a pattern of the same set would find, and doing it again changes nothing.
//!
//! Ids of traces, observations, sessions and scores stay: records are joined by them.

/// Places in a record.
pub mod path;
/// Named patterns that anyone can turn on.
pub mod preset;
/// JSON documents, rewritten in place.
mod json;
/// Patches: what is said about a record.
mod patch;
/// Rules at work on what comes in.
mod rules;
/// Values that are secret in every project.
mod secrets;

use std::borrow::Cow;

use regex::{NoExpand, Regex, RegexBuilder};

use path::FieldPath;

pub use rules::ProjectRedactor;
pub use secrets::{KnownSecrets, SECRET_REPLACEMENT};

/// What stands in place of what was redacted, if a rule does not say.
pub const DEFAULT_REPLACEMENT: &str = "[redacted]";

/// The most characters of a pattern or a path, and of a replacement.
const MAX_CHARS: usize = 1_000;
const MAX_REPLACEMENT_CHARS: usize = 100;
/// The most rules of one project: each is looked for in every text.
const MAX_RULES: usize = 100;
/// The most bytes a compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// A replacement can make a new match with what stands beside it; how often to look again before
/// the whole text goes.
const ROUNDS: usize = 4;

/// A rule: what to look for, and what to put in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub what: RedactionPattern,
    /// What to put in its place; as it is, without groups.
    pub replacement: String,
}

/// What a rule looks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedactionPattern {
    /// A regular expression, in any text.
    Pattern(String),
    /// Whatever stands at a path: `input.user.email`, `metadata.*.token`, `output`.
    Field(String),
    /// The pattern of a preset, by its name.
    Preset(String),
}

impl Rule {
    /// A rule that makes sense by itself; whether it goes with others is another question. What is
    /// put in place is the preset's, or the usual, when it is not said.
    ///
    /// # Errors
    /// Says what is wrong with it.
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
    /// The word for its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Pattern(_) => "pattern",
            Self::Field(_) => "field",
            Self::Preset(_) => "preset",
        }
    }

    /// The pattern, the path or the name.
    pub fn text(&self) -> &str {
        match self {
            Self::Pattern(text) | Self::Field(text) | Self::Preset(text) => text,
        }
    }

    /// The same from its kind and its text.
    pub fn parse(kind: &str, text: String) -> Option<Self> {
        match kind {
            "pattern" => Some(Self::Pattern(text)),
            "field" => Some(Self::Field(text)),
            "preset" => Some(Self::Preset(text)),
            _ => None,
        }
    }
}

/// Why a set of rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("a project has at most {MAX_RULES} redaction rules")]
    TooMany,
    /// A pattern, a path or a replacement is too long, or empty.
    #[error("{what}: 1 to {max} characters")]
    Length {
        what: &'static str,
        /// How long it may be.
        max: usize,
    },
    /// A pattern is not a regular expression.
    #[error("pattern: {0}")]
    Pattern(String),
    /// A pattern finds nothing, everywhere.
    #[error("pattern: {0} matches the empty text, so it would match everywhere")]
    Empty(String),
    #[error("field: {0}")]
    Path(String),
    /// There is no preset of that name.
    #[error("preset: {name} is not one of {known}")]
    Preset { name: String, known: String },
    /// A replacement would itself be redacted, so that doing it again would change it.
    #[error("replacement: {replacement} would itself be redacted by {pattern}")]
    Circular {
        /// What is put in place.
        replacement: String,
        pattern: String,
    },
}

/// Rules and known secrets, ready to be applied. The default has none and costs nothing.
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
    /// Gets rules ready, or says what is wrong with them.
    ///
    /// ```
    /// use ratchet_core::record::redact::{Redactor, Rule, RedactionPattern};
    ///
    /// let what = RedactionPattern::Pattern(r"\bsk-[a-z0-9]+".to_owned());
    /// let rules = Redactor::new(&[Rule { what, replacement: "[key]".to_owned() }])?;
    /// assert_eq!(rules.text("use sk-123, please"), "use [key], please");
    /// # Ok::<(), ratchet_core::record::redact::RuleError>(())
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong.
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

    /// The same rules, and values that are secret whatever the rules say.
    #[must_use]
    pub fn with_secrets(self, secrets: KnownSecrets) -> Self {
        Self { secrets, ..self }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        !self.has_rules() && self.secrets.is_empty()
    }

    /// Whether there are rules, not only known secrets.
    pub fn has_rules(&self) -> bool {
        !self.patterns.is_empty() || !self.fields.is_empty()
    }

    /// The values that are secret whatever the rules say.
    pub fn secrets(&self) -> &KnownSecrets {
        &self.secrets
    }

    /// Whether nothing can be found in a document or a text, without reading all of it closely.
    fn finds_nothing_in(&self, text: &str) -> bool {
        !self.has_rules() && !self.secrets.may_be_in(text)
    }

    /// A text without what the patterns find.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = self.secrets.text(text);
        for _ in 0..ROUNDS {
            let Some(next) = self.once(&clean) else { return clean };
            clean = Cow::Owned(next);
        }
        match self.patterns.iter().find(|pattern| pattern.regex.is_match(&clean)) {
            // It goes on and on; better nothing is left than something.
            Some(pattern) => Cow::Owned(pattern.replacement.clone()),
            None => clean,
        }
    }

    /// The text after each pattern had its turn; `None` if none of them found anything.
    fn once(&self, text: &str) -> Option<String> {
        let mut clean = None;
        for pattern in &self.patterns {
            let seen = clean.as_deref().unwrap_or(text);
            let replaced = pattern.regex.replace_all(seen, NoExpand(&pattern.replacement));
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

    /// What is put in place must not be found again.
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
