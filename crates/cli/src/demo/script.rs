//! The texts of the demo, from its data files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::agents::Person;
use super::seeded_random::Chance;
use super::words::say;

pub(crate) static SUPPORT: LazyLock<Script> =
    LazyLock::new(|| parse(include_str!("data/support.toml")));
pub(crate) static RESEARCH: LazyLock<Script> =
    LazyLock::new(|| parse(include_str!("data/research.toml")));
pub(crate) static ANALYST: LazyLock<Script> =
    LazyLock::new(|| parse(include_str!("data/analyst.toml")));

/// What an agent is asked, what it does and what it says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    pub(crate) system: String,
    /// The system prompt of the model that sorts messages, if there is one.
    pub(crate) triage: Option<String>,
    /// The name of the guardrail that checks answers, if there is one.
    pub(crate) guard: Option<String>,
    /// Retrievals embed their query first.
    #[serde(default)]
    pub(crate) embeds: bool,
    pub(crate) photo: Option<Photo>,
    /// Sets of slots that belong together: one record of each set is drawn.
    records: BTreeMap<String, Vec<BTreeMap<String, String>>>,
    pick: BTreeMap<String, Vec<String>>,
    /// Slots between two numbers.
    numbers: BTreeMap<String, [u64; 2]>,
    pub(crate) tools: BTreeMap<String, Tool>,
    pub(crate) topics: Vec<Topic>,
    pub(crate) closing: Exchange,
    /// The user corrects the agent, and it mends its answer.
    pub(crate) rocky: Exchange,
    pub(crate) failing: Failing,
    pub(crate) praise: Remarks,
    pub(crate) blame: Remarks,
}

/// The topic and machine of which there is a photo.
#[derive(Debug, Deserialize)]
pub(crate) struct Photo {
    pub(crate) topic: String,
    pub(crate) sku: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Topic {
    pub(crate) name: String,
    pub(crate) turns: Vec<Exchange>,
}

/// A user's message, the tools that are used for it, and the answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    pub(crate) ask: Vec<String>,
    #[serde(default, rename = "use")]
    pub(crate) tools: Vec<String>,
    pub(crate) say: Vec<String>,
    /// How likely it happens.
    #[serde(default = "always")]
    pub(crate) odds: f64,
    /// The turn that must have happened before, by its index.
    pub(crate) needs: Option<usize>,
}

fn always() -> f64 {
    1.0
}

/// A conversation in which a tool keeps failing and the agent gives up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failing {
    pub(crate) tool: String,
    /// The first answer.
    pub(crate) say: Vec<String>,
    /// Complaints.
    pub(crate) ask: Vec<String>,
    /// Answers to complaints.
    pub(crate) end: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Remarks {
    pub(crate) say: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ToolKind {
    #[default]
    Tool,
    Retriever,
    /// A sub-agent in the same trace.
    Agent,
    /// Another agent, whose run is a trace of its own.
    Remote,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tool {
    /// Its name, where the key is not; of an agent, the agent's name.
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) kind: ToolKind,
    /// What the model says when it calls it.
    pub(crate) thought: Vec<String>,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
    /// Duration in milliseconds, at the median.
    pub(crate) ms: f64,
    /// Tokens that the result adds to the context beyond what is recorded.
    pub(crate) weight: Option<[u64; 2]>,
    /// The message with which it fails.
    pub(crate) fails: Option<String>,
    /// The arguments with which the bad release calls it.
    pub(crate) wrong: Option<Value>,
    /// Tools that an agent uses.
    #[serde(default)]
    pub(crate) uses: Vec<String>,
    /// The answer of an agent.
    #[serde(default)]
    pub(crate) output: String,
}

#[expect(clippy::expect_used, reason = "the files are compiled in, and a test reads each")]
pub(crate) fn parse<T: serde::de::DeserializeOwned>(text: &str) -> T {
    toml::from_str(text).expect("a data file of the demo")
}

/// The slots of one conversation with their values.
#[derive(Clone, Debug)]
pub(crate) struct Facts(Vec<(String, String)>);

impl Facts {
    /// Draws the slots of a conversation.
    pub(crate) fn draw(script: &Script, person: &Person, chance: &mut Chance) -> Self {
        let mut facts = Self(vec![("given".to_owned(), person.given.to_owned())]);
        for (name, [low, high]) in &script.numbers {
            facts.set(name, chance.between(*low, *high).to_string());
        }
        for (name, values) in &script.pick {
            facts.set(name, chance.choose(values).cloned().unwrap_or_default());
        }
        for records in script.records.values() {
            for (name, template) in chance.choose(records).into_iter().flatten() {
                let value = facts.fill(chance, template);
                facts.set(name, value);
            }
        }
        facts
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value));
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Fills a template.
    pub(crate) fn fill(&self, chance: &mut Chance, template: &str) -> String {
        let slots: Vec<(&str, &str)> =
            self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        say(chance, template, &slots)
    }

    /// Fills one of several templates.
    pub(crate) fn one(&self, chance: &mut Chance, templates: &[String]) -> String {
        let template = chance.choose(templates).cloned().unwrap_or_default();
        self.fill(chance, &template)
    }

    /// Fills the texts of a JSON value; a text that is one slot with a whole number becomes one.
    pub(crate) fn json(&self, chance: &mut Chance, template: &Value) -> Value {
        match template {
            Value::String(text) => {
                let filled = self.fill(chance, text);
                let is_slot = text.starts_with('{') && text.ends_with('}');
                match filled.parse::<u64>() {
                    Ok(number) if is_slot => Value::from(number),
                    _ => Value::String(filled),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.json(chance, item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), self.json(chance, value)))
                .collect(),
            other => other.clone(),
        }
    }
}
