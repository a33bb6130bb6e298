use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::bail;
use ratchet_core::catalog::evaluator::document::CodeLanguage;

use super::layers::{EVALUATOR_COMMANDS, NamedEntry};
use super::lookup::Lookup;

/// Settings of online evaluators.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvaluatorConfig {
    python: Option<CommandWords>,
    typescript: Option<CommandWords>,
    commands: BTreeMap<String, Vec<String>>,
}

impl EvaluatorConfig {
    pub(super) fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        let python = "command that runs code evaluators in Python";
        let typescript = "Node that runs code evaluators in TypeScript (22.13) or JavaScript";
        Ok(Self {
            python: of.optional("evaluators.code.python", python)?,
            typescript: of.optional("evaluators.code.typescript", typescript)?,
            commands: of
                .named(EVALUATOR_COMMANDS)
                .into_iter()
                .map(command)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Commands that judge answers, by name.
    pub(crate) fn commands(&self) -> BTreeMap<String, Vec<String>> {
        self.commands.clone()
    }

    /// The command that runs evaluators in a language.
    pub(crate) fn interpreter(&self, language: CodeLanguage) -> Option<Vec<String>> {
        match language {
            CodeLanguage::Python => self.python.as_ref(),
            CodeLanguage::Typescript => self.typescript.as_ref(),
        }
        .map(|words| words.0.clone())
    }
}

fn command(entry: NamedEntry) -> anyhow::Result<(String, Vec<String>)> {
    let NamedEntry { name, value, file } = entry;
    let words: Result<Vec<String>, _> = value.try_into();
    match words {
        Ok(words) if words.first().is_some_and(|program| !program.trim().is_empty()) => {
            Ok((name, words))
        }
        _ => bail!(
            "{}: evaluators.commands.{name} must be a command, such as [\"python3\", \"judge.py\"]",
            file.display()
        ),
    }
}

/// A program and its arguments: a JSON list of words, or words with spaces between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandWords(pub(super) Vec<String>);

impl FromStr for CommandWords {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "a command, such as [\"/usr/bin/python3\", \"-I\"]".to_owned();
        let words: Vec<String> = match text.trim().starts_with('[') {
            true => serde_json::from_str(text).map_err(|_| expected())?,
            false => text.split_whitespace().map(str::to_owned).collect(),
        };
        let has_program = words.first().is_some_and(|program| !program.trim().is_empty());
        if has_program { Ok(Self(words)) } else { Err(expected()) }
    }
}

impl fmt::Display for CommandWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}
