use std::fmt;
use std::str::FromStr;

use regex::RegexBuilder;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::{CallOrder, CodeEvaluator, ExpectedCall, IgnoredPath, Pattern, RoutingRule, Tolerance};

/// The maximum length of a regular expression.
const MAX_PATTERN_CHARS: usize = 2_000;
/// The maximum size of a compiled one, which bounds the time of a match.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// The maximum length of a command's name.
const MAX_NAME_CHARS: usize = 100;

const KINDS: &str = "exact, contains[:TEXT], contains-ignore-case[:TEXT], regex:PATTERN, \
                     json-match[:PATH,…], numeric[:TOLERANCE], numeric:PERCENT%, \
                     trajectory[:in-order|any-order|only], routing[:first|any], command:NAME";

/// Why a text names no evaluator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEvaluator {
    #[error("evaluator {0:?}: unknown; give one of: {KINDS}")]
    Unknown(String),
    #[error("evaluator {kind}: {argument:?} is not {wanted}")]
    Argument { kind: &'static str, argument: String, wanted: &'static str },
    #[error("evaluator regex: {0}")]
    Pattern(String),
    #[error(
        "evaluator json-match: {0:?} is no JSON path; give one like $.meta.id or $.items[*].id"
    )]
    JsonPath(String),
    #[error("tolerance {0}: must be a number, not negative")]
    Tolerance(String),
}

impl FromStr for CodeEvaluator {
    type Err = InvalidEvaluator;

    /// Reads the short form: a kind, and behind a colon its most important option.
    fn from_str(text: &str) -> Result<Self, InvalidEvaluator> {
        let (kind, option) = match text.split_once(':') {
            Some((kind, option)) => (kind, Some(option)),
            None => (text, None),
        };
        match (kind.trim(), option) {
            ("exact", None) => Ok(Self::Exact),
            ("contains", text) => contains(text, false),
            ("contains-ignore-case", text) => contains(text, true),
            ("regex", Some(pattern)) => Ok(Self::Regex { pattern: pattern.to_owned().try_into()? }),
            ("json-match", paths) => Ok(Self::JsonMatch { ignore: ignored(paths)? }),
            ("numeric", tolerance) => numeric(tolerance),
            ("trajectory", order) => {
                Ok(Self::Trajectory { order: call_order(order)?, tools: Vec::new() })
            }
            ("routing", rule) => Ok(Self::Routing { rule: routing_rule(rule)?, agent: None }),
            ("command", Some(name)) => command(name.to_owned()),
            _ => Err(InvalidEvaluator::Unknown(text.to_owned())),
        }
    }
}

fn contains(text: Option<&str>, ignore_case: bool) -> Result<CodeEvaluator, InvalidEvaluator> {
    if text == Some("") {
        let wanted = "a text to look for";
        return Err(InvalidEvaluator::Argument {
            kind: "contains",
            argument: String::new(),
            wanted,
        });
    }
    Ok(CodeEvaluator::Contains { text: text.map(str::to_owned), ignore_case })
}

/// Paths with commas between them; each starts with a dollar sign.
fn ignored(paths: Option<&str>) -> Result<Vec<IgnoredPath>, InvalidEvaluator> {
    let Some(paths) = paths else { return Ok(Vec::new()) };
    let mut list: Vec<String> = Vec::new();
    for part in paths.split(',') {
        match list.last_mut().filter(|_| !part.trim_start().starts_with('$')) {
            // A comma in a quoted key.
            Some(last) => *last = format!("{last},{part}"),
            None => list.push(part.trim_start().to_owned()),
        }
    }
    list.into_iter().map(IgnoredPath::try_from).collect()
}

fn numeric(option: Option<&str>) -> Result<CodeEvaluator, InvalidEvaluator> {
    let number = |text: &str| {
        let number = text.trim().parse::<f64>();
        number.map_err(|_error| InvalidEvaluator::Tolerance(text.to_owned()))
    };
    let (absolute, relative) = match option {
        None => (0.0, 0.0),
        Some(text) => match text.trim().strip_suffix('%') {
            Some(percent) => (0.0, number(percent)? / 100.0),
            None => (number(text)?, 0.0),
        },
    };
    Ok(CodeEvaluator::Numeric { absolute: absolute.try_into()?, relative: relative.try_into()? })
}

fn call_order(option: Option<&str>) -> Result<CallOrder, InvalidEvaluator> {
    match option {
        None | Some("in-order") => Ok(CallOrder::InOrder),
        Some("any-order") => Ok(CallOrder::AnyOrder),
        Some("only") => Ok(CallOrder::Only),
        Some(other) => Err(InvalidEvaluator::Argument {
            kind: "trajectory",
            argument: other.to_owned(),
            wanted: "in-order, any-order or only",
        }),
    }
}

fn routing_rule(option: Option<&str>) -> Result<RoutingRule, InvalidEvaluator> {
    match option {
        None | Some("first") => Ok(RoutingRule::First),
        Some("any") => Ok(RoutingRule::Any),
        Some(other) => Err(InvalidEvaluator::Argument {
            kind: "routing",
            argument: other.to_owned(),
            wanted: "first or any",
        }),
    }
}

/// A name, never a program: only the operator's file says what runs.
fn command(name: String) -> Result<CodeEvaluator, InvalidEvaluator> {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if is_plain && (1..=MAX_NAME_CHARS).contains(&name.chars().count()) {
        return Ok(CodeEvaluator::Command { name });
    }
    let wanted = "the name of a command in ratchet.toml: letters, digits, `_`, `-` and `.`";
    Err(InvalidEvaluator::Argument { kind: "command", argument: name, wanted })
}

/// The short form; options that it has no place for are left out.
impl fmt::Display for CodeEvaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Contains { text, ignore_case } => {
                f.write_str(if *ignore_case { "contains-ignore-case" } else { "contains" })?;
                text.iter().try_for_each(|text| write!(f, ":{text}"))
            }
            Self::Regex { pattern } => write!(f, "regex:{}", pattern.0.as_str()),
            Self::JsonMatch { ignore } => {
                f.write_str("json-match")?;
                let mut separator = ':';
                for path in ignore {
                    write!(f, "{separator}{}", path.as_str())?;
                    separator = ',';
                }
                Ok(())
            }
            Self::Numeric { absolute, relative } => match (absolute.0, relative.0) {
                (0.0, 0.0) => f.write_str("numeric"),
                (0.0, relative) => write!(f, "numeric:{}%", relative * 100.0),
                (absolute, _) => write!(f, "numeric:{absolute}"),
            },
            Self::Trajectory { order, .. } => f.write_str(match order {
                CallOrder::InOrder => "trajectory:in-order",
                CallOrder::AnyOrder => "trajectory:any-order",
                CallOrder::Only => "trajectory:only",
            }),
            Self::Routing { rule, .. } => f.write_str(match rule {
                RoutingRule::First => "routing:first",
                RoutingRule::Any => "routing:any",
            }),
            Self::Command { name } => write!(f, "command:{name}"),
        }
    }
}

/// All options of an evaluator. Field names that it does not know are errors.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Table {
    // In braces, because other fields of a unit variant are not refused.
    Exact {},
    Contains {
        text: Option<String>,
        #[serde(default)]
        ignore_case: bool,
    },
    Regex {
        pattern: Pattern,
    },
    JsonMatch {
        #[serde(default)]
        ignore: Vec<IgnoredPath>,
    },
    Numeric {
        #[serde(default)]
        absolute: Tolerance,
        #[serde(default)]
        relative: Tolerance,
    },
    Trajectory {
        #[serde(default)]
        order: CallOrder,
        #[serde(default)]
        tools: Vec<ExpectedCall>,
    },
    Routing {
        #[serde(default)]
        rule: RoutingRule,
        agent: Option<String>,
    },
    Command {
        name: String,
    },
}

impl TryFrom<Table> for CodeEvaluator {
    type Error = InvalidEvaluator;

    fn try_from(table: Table) -> Result<Self, InvalidEvaluator> {
        Ok(match table {
            Table::Exact {} => Self::Exact,
            Table::Contains { text, ignore_case } => contains(text.as_deref(), ignore_case)?,
            Table::Regex { pattern } => Self::Regex { pattern },
            Table::JsonMatch { ignore } => Self::JsonMatch { ignore },
            Table::Numeric { absolute, relative } => Self::Numeric { absolute, relative },
            Table::Trajectory { order, tools } => Self::Trajectory { order, tools },
            Table::Routing { rule, agent } => Self::Routing { rule, agent },
            Table::Command { name } => command(name)?,
        })
    }
}

/// Reads the short form or a table.
impl<'de> Deserialize<'de> for CodeEvaluator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EvaluatorVisitor)
    }
}

struct EvaluatorVisitor;

impl<'de> Visitor<'de> for EvaluatorVisitor {
    type Value = CodeEvaluator;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an evaluator, such as \"exact\" or { kind = \"numeric\", relative = 0.01 }")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<CodeEvaluator, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CodeEvaluator, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        table.try_into().map_err(de::Error::custom)
    }
}

impl TryFrom<String> for Pattern {
    type Error = InvalidEvaluator;

    fn try_from(pattern: String) -> Result<Self, InvalidEvaluator> {
        if !(1..=MAX_PATTERN_CHARS).contains(&pattern.chars().count()) {
            let why = format!("the pattern must have 1 to {MAX_PATTERN_CHARS} characters");
            return Err(InvalidEvaluator::Pattern(why));
        }
        let built = RegexBuilder::new(&pattern).size_limit(MAX_COMPILED_BYTES).build();
        built.map(Self).map_err(|error| InvalidEvaluator::Pattern(error.to_string()))
    }
}

impl TryFrom<f64> for Tolerance {
    type Error = InvalidEvaluator;

    fn try_from(number: f64) -> Result<Self, InvalidEvaluator> {
        let is_valid = number.is_finite() && number >= 0.0;
        if is_valid {
            Ok(Self(number))
        } else {
            Err(InvalidEvaluator::Tolerance(number.to_string()))
        }
    }
}
