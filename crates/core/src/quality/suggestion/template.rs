use std::collections::BTreeSet;

use serde::Deserialize;

use super::Edit;

/// A template for suggestions with its conditions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// `*` for any dimension.
    pub dimension: String,
    /// Keywords, one of which an issue must contain; empty matches every issue.
    #[serde(default)]
    pub words: Vec<String>,
    pub edit: Edit,
    /// The kind of agent that it fits; any by default.
    #[serde(default, rename = "for")]
    pub kind: Option<AgentKind>,
    /// One line.
    pub title: String,
    /// The text to add; `{issue}` is replaced by the issue.
    pub text: String,
}

/// The kind of work of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// Changes code: files, commands, tests.
    Coding,
    /// Anything else: answers, conversations.
    Chat,
}

/// Templates in order of precedence.
///
/// Invariant: one of them matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Templates {
    templates: Vec<Template>,
    /// Words in the names of coding agents.
    coding: Vec<String>,
}

/// Error of parsing a file of templates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a file of suggestions: {0}")]
pub struct BadTemplate(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Words in the names of coding agents, beside the built-in ones.
    #[serde(default)]
    coding: Vec<String>,
    #[serde(default)]
    suggestion: Vec<Template>,
}

/// Words of coding agents of so many letters are whole words.
const SHORT: usize = 3;

const SHIPPED: &str = include_str!("../../../prompts/suggestions.toml");

impl Templates {
    /// Returns the built-in templates.
    pub fn shipped() -> Self {
        // A test validates the built-in file; if it were broken all the same, the fallback is a
        // text that names the issue.
        read(SHIPPED).unwrap_or_default()
    }

    /// Returns the templates of a user's file, followed by the built-in ones.
    ///
    /// # Errors
    /// Reports the fault.
    pub fn with_overrides(file: &str) -> Result<Self, BadTemplate> {
        let mut templates = read(file)?;
        let shipped = Self::shipped();
        templates.templates.extend(shipped.templates);
        templates.coding.extend(shipped.coding);
        Ok(templates)
    }

    /// Returns the kind of most sessions: by what their agents did, as far as it is known, else by
    /// their names. Agents without a name are taken for coding agents, whose instructions are in
    /// files.
    pub fn kind<'a>(
        &self,
        coding: &BTreeSet<String>,
        agents: impl Iterator<Item = (Option<&'a str>, usize)>,
    ) -> AgentKind {
        let is_coding =
            |agent: Option<&str>| agent.is_none_or(|it| coding.contains(it) || self.is_coder(it));
        let (mut coding, mut others) = (0_usize, 0_usize);
        for (agent, sessions) in agents {
            *(if is_coding(agent) { &mut coding } else { &mut others }) += sessions;
        }
        if others > coding { AgentKind::Chat } else { AgentKind::Coding }
    }

    /// Returns whether a word of a name begins with one of coding agents. Short ones are whole words:
    /// `hr-answers` and `swedish-support` contain `swe`.
    fn is_coder(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let has = |known: &String| match known.chars().all(char::is_alphanumeric) {
            true => name.split(|char: char| !char.is_alphanumeric()).any(|word| {
                word == known || known.len() > SHORT && word.starts_with(known.as_str())
            }),
            false => name.contains(known.as_str()),
        };
        self.coding.iter().any(has)
    }

    /// Returns the first template for a dimension as a whole.
    pub fn for_dimension(&self, dimension: &str, kind: AgentKind) -> Option<&Template> {
        self.first(dimension, kind, |template| template.words.is_empty())
    }

    /// Returns the first template for an issue, by keyword or generic.
    pub fn for_issue(&self, dimension: &str, key: &str, kind: AgentKind) -> Option<&Template> {
        let has = |word: &String| key.split(' ').any(|known| known.starts_with(word.as_str()));
        self.first(dimension, kind, |template| {
            template.words.is_empty() || template.words.iter().any(has)
        })
    }

    fn first(
        &self,
        dimension: &str,
        kind: AgentKind,
        fits: impl Fn(&Template) -> bool,
    ) -> Option<&Template> {
        let is_for = |template: &Template| template.kind.is_none_or(|wanted| wanted == kind);
        let of = |wanted: &str| {
            let mut all = self.templates.iter();
            all.find(|one| one.dimension == wanted && is_for(one) && fits(one))
        };
        of(dimension).or_else(|| of("*"))
    }
}

fn read(text: &str) -> Result<Templates, BadTemplate> {
    let file: File = toml::from_str(text).map_err(|error| BadTemplate(error.to_string()))?;
    let is_blank =
        |template: &&Template| template.text.trim().is_empty() || template.title.trim().is_empty();
    match file.suggestion.iter().find(is_blank) {
        Some(blank) => Err(BadTemplate(format!("one for {} says nothing", blank.dimension))),
        None => Ok(Templates { templates: file.suggestion, coding: file.coding }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODING: AgentKind = AgentKind::Coding;

    /// A support agent has no tests to run and no file of instructions.
    #[test]
    fn a_suggestion_fits_the_kind_of_agent() {
        let templates = Templates::shipped();
        let kind = |agents: &[(&str, usize)]| {
            templates.kind(
                &BTreeSet::new(),
                agents.iter().map(|(name, sessions)| (Some(*name), *sessions)),
            )
        };
        assert_eq!(kind(&[("claude-code", 3), ("support-bot", 2)]), CODING);
        assert_eq!(kind(&[("support-bot", 3), ("Codex", 2)]), AgentKind::Chat);
        assert_eq!(templates.kind(&BTreeSet::new(), [(None, 1)].into_iter()), CODING);
        // A name that happens to contain a word of coding agents, and one that does not.
        for name in ["hr-answers", "swedish-support", "decoder", "billing"] {
            assert_eq!(kind(&[(name, 1)]), AgentKind::Chat, "{name}");
        }
        for name in ["opencode", "SWE-agent", "my-coder", "claude-code"] {
            assert_eq!(kind(&[(name, 1)]), CODING, "{name}");
        }
        let known = BTreeSet::from(["patchbot".to_owned()]);
        assert_eq!(templates.kind(&known, [(Some("patchbot"), 1)].into_iter()), CODING);
        for words in ["fail test", "reread file", "token cost", "key leak", "ask partial"] {
            for dimension in ["task_completion", "execution_quality", "tool_mastery"] {
                let found = templates.for_issue(dimension, words, AgentKind::Chat).unwrap();
                assert_eq!(found.edit, Edit::Prompt, "{dimension} {words}");
            }
        }
    }

    #[test]
    fn what_is_shipped_fits_every_dimension() {
        let templates = Templates::shipped();
        let six = [
            "task_completion",
            "execution_quality",
            "tool_mastery",
            "resource_efficiency",
            "security_compliance",
            "user_satisfaction",
        ];
        for kind in [CODING, AgentKind::Chat] {
            for dimension in six {
                let found = templates.for_dimension(dimension, kind).unwrap();
                assert_eq!(found.dimension, dimension);
            }
            assert_eq!(templates.for_dimension("kindness", kind).unwrap().dimension, "*");
        }
    }

    #[test]
    fn keywords_choose_the_template() {
        let templates = Templates::shipped();
        let failing = templates.for_issue("execution_quality", "fail test", CODING).unwrap();
        assert_eq!(failing.edit, Edit::Skill);
        let plain = templates.for_issue("execution_quality", "slow walk", CODING).unwrap();
        assert!(plain.words.is_empty());
    }

    #[test]
    fn a_users_file_comes_first_and_its_mistakes_are_named() {
        let file = "[[suggestion]]\ndimension = \"tool_mastery\"\nedit = \"prompt\"\n\
                    title = \"Ours\"\ntext = \"Do it so\"";
        let templates = Templates::with_overrides(file).unwrap();
        assert_eq!(templates.for_dimension("tool_mastery", CODING).unwrap().title, "Ours");
        let wrong = file.replace("prompt", "poem");
        assert!(Templates::with_overrides(&wrong).unwrap_err().to_string().contains("poem"));
    }
}
