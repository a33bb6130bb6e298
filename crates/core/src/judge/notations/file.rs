//! File format of notations.

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::results::{Place, ResultNotation};
use super::speakers::{CallNotation, Meaning, UserRoleNotation};
use super::{CallOutcome, Notations, NotationsError, hash};

/// The maximum size of a compiled regular expression.
const MAX_COMPILED_BYTES: usize = 4 << 20;

/// Keys of results that are objects.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectKeys {
    pub(super) exit_codes: Vec<String>,
    /// Failed where true.
    pub(super) is_failed: Vec<String>,
    /// Passed where true, failed where false.
    pub(super) is_passed: Vec<String>,
    pub(super) errors: Vec<String>,
    pub(super) status: Vec<String>,
    pub(super) status_failed: Vec<String>,
    pub(super) status_passed: Vec<String>,
    /// Keys of objects that have the facts.
    pub(super) inner: Vec<String>,
    /// Keys of the printed text.
    pub(super) text: Vec<String>,
    /// The keys of an object whose status is that of the call.
    pub(super) envelope: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    wrapper: WrapperEntry,
    object: ObjectKeys,
    result: Vec<ResultEntry>,
    user_role: Vec<UserRoleEntry>,
    call: Vec<CallEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrapperEntry {
    start: String,
    end: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultEntry {
    family: String,
    at: Place,
    pattern: String,
    outcome: Option<CallOutcome>,
    /// What the whole text must start with.
    starts: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserRoleEntry {
    family: String,
    is: Meaning,
    pattern: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    family: String,
    pattern: String,
    /// The name of the tool, where the text does not name it.
    tool: Option<String>,
    #[serde(default)]
    sure: bool,
}

pub(super) fn parse(text: &str) -> Result<Notations, NotationsError> {
    let document: Document =
        toml::from_str(text).map_err(|why| NotationsError::Shape(why.to_string()))?;
    Ok(Notations {
        version: document.version,
        wrapper: Some([
            compile("wrapper", &opening(&document.wrapper.start))?,
            compile("wrapper", &format!(r"(?:{})\s*\z", document.wrapper.end))?,
        ]),
        object: document.object,
        results: document.result.into_iter().map(result).collect::<Result<_, _>>()?,
        user_roles: document.user_role.iter().map(user_role).collect::<Result<_, _>>()?,
        calls: document.call.into_iter().map(call).collect::<Result<_, _>>()?,
        hash: hash(text),
    })
}

fn result(entry: ResultEntry) -> Result<ResultNotation, NotationsError> {
    let ResultEntry { family, at, pattern, outcome, starts } = entry;
    let pattern = match at {
        Place::Start => opening(&pattern),
        Place::End => format!(r"(?m)^[ \t]*(?:{pattern})[ \t\r]*$"),
    };
    let pattern = compile(&family, &pattern)?;
    let has_code = pattern.capture_names().flatten().any(|name| name == "code");
    if !has_code && outcome.is_none() {
        return Err(NotationsError::Outcome(family));
    }
    let starts = starts.map(|starts| compile(&family, &opening(&starts))).transpose()?;
    Ok(ResultNotation { family, at, pattern, outcome, starts })
}

fn user_role(entry: &UserRoleEntry) -> Result<UserRoleNotation, NotationsError> {
    let pattern = compile(&entry.family, &opening(&entry.pattern))?;
    Ok(UserRoleNotation { is: entry.is, pattern })
}

fn call(entry: CallEntry) -> Result<CallNotation, NotationsError> {
    let CallEntry { family, pattern, tool, sure } = entry;
    Ok(CallNotation { pattern: compile(&family, &pattern)?, tool, sure })
}

/// Returns a pattern for the start of a text.
fn opening(pattern: &str) -> String {
    format!(r"\A\s*(?:{pattern})")
}

fn compile(family: &str, pattern: &str) -> Result<Regex, NotationsError> {
    let built = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    built.map_err(|why| NotationsError::Pattern { family: family.to_owned(), why: why.to_string() })
}
