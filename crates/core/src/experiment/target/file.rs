use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::kind::{ClaudeSpec, CommandSpec, PromptSpec, TargetKind};
use super::{Target, TargetOptions};
use crate::document;

/// Kinds, in the order in which messages list them.
const KINDS: [&str; 6] = ["command", "http", "agentcore", "agentcore-arn", "claude", "prompt"];
/// Fields that all kinds have.
const OPTIONS: [&str; 9] = [
    "name",
    "version",
    "timeout_seconds",
    "max_output_bytes",
    "concurrency",
    "requests_per_minute",
    "retries",
    "variables",
    "environments",
];
/// The longest timeout: one day.
const MAX_TIMEOUT_SECONDS: u64 = 86_400;
/// The largest answer.
const MAX_OUTPUT_BYTES: u64 = 64_000_000;
/// The most calls at a time.
const MAX_CONCURRENCY: u32 = 256;
/// The most retries.
const MAX_RETRIES: u32 = 10;

/// Why a target file is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidTarget {
    pub field: String,
    pub problem: String,
}

impl InvalidTarget {
    pub(super) fn new(field: &str, problem: impl Into<String>) -> Self {
        Self { field: field.to_owned(), problem: problem.into() }
    }
}

impl Target {
    /// Parses a target file.
    ///
    /// # Errors
    /// Fails on malformed TOML, and on unknown, missing and invalid fields, naming the field.
    pub fn parse(text: &str) -> Result<Self, InvalidTarget> {
        let table: Table = document::read(text).map_err(|malformed| {
            InvalidTarget::new(&format!("line {}", malformed.line), malformed.problem)
        })?;
        Self::from_table(table)
    }

    /// Reads a target from a table, such as an entry of `ratchet.toml`.
    ///
    /// # Errors
    /// Fails on unknown, missing and invalid fields, naming the field.
    pub fn from_table(mut table: Table) -> Result<Self, InvalidTarget> {
        let options = take_options(&mut table);
        let kind = match table.remove("kind") {
            Some(Value::String(kind)) => kind,
            Some(_) => return Err(InvalidTarget::new("kind", "must be a text")),
            None => {
                let known = KINDS.join(", ");
                return Err(InvalidTarget::new("kind", format!("is missing; one of {known}")));
            }
        };
        let kind = match kind.as_str() {
            "command" => TargetKind::Command(command(read(&table)?)?),
            "http" => TargetKind::Http(read(&table)?),
            "agentcore" => TargetKind::AgentCore(read(&table)?),
            "agentcore-arn" => TargetKind::AgentCoreArn(read(&table)?),
            "claude" => TargetKind::Claude(claude(read(&table)?)?),
            "prompt" => TargetKind::Prompt(prompt(read(&table)?)?),
            other => {
                let known = KINDS.join(", ");
                return Err(InvalidTarget::new("kind", format!("{other:?} is none of {known}")));
            }
        };
        let options: TargetOptions = read(&options)?;
        check(&options)?;
        Ok(Self { kind, options })
    }
}

fn take_options(table: &mut Table) -> Table {
    OPTIONS.iter().filter_map(|key| Some(((*key).to_owned(), table.remove(*key)?))).collect()
}

fn read<T: DeserializeOwned>(table: &Table) -> Result<T, InvalidTarget> {
    // One field at a time first, so that the message can name the one that is wrong.
    T::deserialize(Value::Table(table.clone())).map_err(|error| {
        let message = error.message().to_owned();
        let named = message.split('`').nth(1).map(str::to_owned);
        let wrong = table.keys().find(|key| is_cause::<T>(table, key)).cloned();
        let field = wrong.or(named).unwrap_or_else(|| "target".to_owned());
        InvalidTarget { field, problem: message }
    })
}

/// Whether a table is refused for another reason without a key.
fn is_cause<T: DeserializeOwned>(table: &Table, key: &str) -> bool {
    let all = T::deserialize(Value::Table(table.clone())).err().map(|error| error.to_string());
    let mut without = table.clone();
    without.remove(key);
    let rest = T::deserialize(Value::Table(without)).err().map(|error| error.to_string());
    rest != all
}

fn command(spec: CommandSpec) -> Result<CommandSpec, InvalidTarget> {
    match spec.command.first() {
        Some(program) if !program.is_empty() => Ok(spec),
        _ => Err(InvalidTarget::new("command", "must name a program")),
    }
}

fn claude(spec: ClaudeSpec) -> Result<ClaudeSpec, InvalidTarget> {
    if spec.max_budget.is_some_and(|dollars| !dollars.is_finite() || dollars <= 0.0) {
        return Err(InvalidTarget::new("max_budget", "must be an amount in US dollars above 0"));
    }
    Ok(spec)
}

fn prompt(spec: PromptSpec) -> Result<PromptSpec, InvalidTarget> {
    let problem = match (&spec.prompt, &spec.text) {
        (None, None) => Some("is missing; name a prompt, or give its text in `text`"),
        (Some(_), Some(_)) => Some("must not be given beside `text`"),
        _ => None,
    };
    if let Some(problem) = problem {
        return Err(InvalidTarget::new("prompt", problem));
    }
    if spec.prompt_version.is_some() && spec.label.is_some() {
        return Err(InvalidTarget::new("label", "must not be given beside `prompt_version`"));
    }
    if spec.text.is_some() && (spec.prompt_version.is_some() || spec.label.is_some()) {
        return Err(InvalidTarget::new("text", "has neither versions nor labels"));
    }
    Ok(spec)
}

fn check(options: &TargetOptions) -> Result<(), InvalidTarget> {
    let within = |field: &str, value: u64, least: u64, most: u64| {
        let problem = || InvalidTarget::new(field, format!("must be from {least} to {most}"));
        (least..=most).contains(&value).then_some(()).ok_or_else(problem)
    };
    within("timeout_seconds", options.timeout_seconds, 1, MAX_TIMEOUT_SECONDS)?;
    within("max_output_bytes", options.max_output_bytes, 1, MAX_OUTPUT_BYTES)?;
    within("concurrency", options.concurrency.into(), 1, MAX_CONCURRENCY.into())?;
    within("retries", options.retries.into(), 0, MAX_RETRIES.into())?;
    if let Some(rate) = options.requests_per_minute {
        within("requests_per_minute", rate.into(), 1, u32::MAX.into())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_file_is_a_kind_and_a_command() {
        let target = Target::parse("kind = \"command\"\ncommand = [\"python3\", \"agent.py\"]\n");
        let target = target.unwrap();
        assert_eq!(target.kind.as_str(), "command");
        assert_eq!((target.options.timeout_seconds, target.options.retries), (120, 2));
    }

    #[test]
    fn an_error_names_the_field() {
        for (text, field) in [
            ("command = [\"a\"]", "kind"),
            ("kind = \"magic\"", "kind"),
            ("kind = \"command\"", "command"),
            ("kind = \"command\"\ncommand = []", "command"),
            ("kind = \"command\"\ncommand = [\"a\"]\nshell = true", "shell"),
            ("kind = \"command\"\ncommand = \"a\"", "command"),
            ("kind = \"command\"\ncommand = [\"a\"]\nretries = 99", "retries"),
            ("kind = \"command\"\ncommand = [\"a\"]\ntimeout_seconds = \"x\"", "timeout_seconds"),
            ("kind = \"http\"\nurl = { file = \"x\" }", "url"),
            ("kind = \"http\"", "url"),
            ("kind = \"command\"\ncommand = [\"a\"]\n[variables]\nA = 1", "variables"),
            (
                "kind = \"command\"\ncommand = [\"a\"]\n[environments.beta]\nurls = \"\"",
                "environments",
            ),
            ("kind = \"prompt\"\nmodel = \"openai:m\"", "prompt"),
            ("kind = \"prompt\"\nprompt = \"p\"\ntext = \"t\"\nmodel = \"m\"", "prompt"),
            ("kind = \"prompt\"\nprompt = \"p\"", "model"),
            ("kind = \"claude\"\nmax_budget = 0.0", "max_budget"),
            ("kind = \"agentcore-arn\"", "arn"),
            ("kind = [", "line 1"),
        ] {
            let error = Target::parse(text).unwrap_err();
            assert_eq!(error.field, field, "{text}: {error}");
        }
    }

    #[test]
    fn references_are_found_in_every_field() {
        let text = "kind = \"http\"\nurl = { env = \"A\" }\nversion = { env = \"B\" }\n\
                    [headers]\nx = { env = \"C\" }\ny = \"plain\"\n[variables]\nenv = \"text\"\n\
                    [environments.beta]\nurl = { env = \"D\" }\n";
        let target = Target::parse(text).unwrap();
        assert_eq!(target.references().into_iter().collect::<String>(), "ABCD");
        assert!(target.kind.not_storable().is_none());
        let arn = Target::parse("kind = \"agentcore-arn\"\narn = \"x\"").unwrap();
        assert!(arn.kind.not_storable().is_some());
    }

    #[test]
    fn a_version_and_an_environment_change_the_fingerprint() {
        let text = "kind = \"command\"\ncommand = [\"a\"]\n[variables]\nT = { env = \"T\" }\n";
        let target = Target::parse(text).unwrap();
        let plain = target.fingerprint(None, None);
        assert_ne!(plain, target.fingerprint(Some("beta"), None));
        assert_ne!(plain, target.fingerprint(None, Some("1")));
        assert_eq!(plain, Target::parse(text).unwrap().fingerprint(None, None));
    }
}
