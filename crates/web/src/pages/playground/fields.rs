use std::collections::BTreeMap;

use ratchet_agent::request::ToolSpec;
use ratchet_core::catalog::prompt::{PromptBody, PromptKind};
use ratchet_core::json_size::small_tree;
use ratchet_core::money::Money;
use ratchet_store::catalog::{LlmConnection, Prompt};
use serde_json::Value;

use super::tools;
use crate::request_context::Params;

/// Models that are asked at once.
pub(super) const SLOTS: usize = 4;
/// Fields of prompts of single models.
pub(super) const OWN: [&str; SLOTS] = ["text0", "text1", "text2", "text3"];
/// What a variable's field is called, before its name.
pub(super) const VARIABLE: &str = "var.";
/// Tokens of an answer at most.
const MOST_TOKENS: u32 = 16_000;
/// What one run may cost at most, in dollars.
const MOST_DOLLARS: f64 = 10.0;

/// Fields of the playground form.
#[derive(Clone, Debug, Default)]
pub(super) struct PlaygroundForm {
    /// Prompt that it was loaded from.
    pub(super) name: Option<String>,
    pub(super) version: Option<u32>,
    pub(super) kind: Option<PromptKind>,
    /// The prompt as entered: a text, or messages as JSON.
    pub(super) text: String,
    pub(super) variables: BTreeMap<String, String>,
    /// Which connection and which model, by slot.
    pub(super) slots: [(String, String); SLOTS],
    /// Another prompt for a slot, of the same kind; empty for the common one.
    pub(super) own: [String; SLOTS],
    /// Function definitions as JSON.
    pub(super) tools: String,
    /// JSON Schema of the answer.
    pub(super) schema: String,
    /// The config of the prompt that it was loaded from.
    pub(super) config: String,
    pub(super) temperature: String,
    pub(super) max_tokens: String,
    pub(super) dollars: String,
    /// What is wrong, by field; the whole form under an empty name.
    pub(super) wrong: Vec<(&'static str, String)>,
    /// The prompt, once it was understood.
    pub(super) body: Option<PromptBody>,
    own_bodies: [Option<PromptBody>; SLOTS],
    pub(super) tool_specs: Vec<ToolSpec>,
    pub(super) response_schema: Option<Value>,
}

/// What a recorded model call was given.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallInput {
    Text(String),
    /// Objects with `role` and `content`.
    Messages(Vec<Value>),
}

impl PlaygroundForm {
    pub(super) fn example() -> Self {
        let text = "Sort this message of a customer into refund, delivery or other, and say why in one \
                    sentence.\n\n{{message}}";
        Self { text: text.to_owned(), ..Self::usual() }.understood()
    }

    /// A version of a prompt.
    pub(super) fn of(prompt: &Prompt) -> Self {
        let (tools, schema) = tools::of_config(prompt.config.as_str());
        let request = Self {
            name: Some(prompt.name.clone()),
            version: Some(prompt.version),
            kind: Some(prompt.body.kind()),
            text: written(&prompt.body),
            tools,
            schema,
            config: prompt.config.as_str().to_owned(),
            ..Self::usual()
        };
        request.understood()
    }

    /// The same with another version for the second slot, to run both.
    pub(super) fn against(mut self, other: &Prompt) -> Self {
        if self.kind == Some(other.body.kind()) {
            self.own[1] = written(&other.body);
        }
        self.wrong.clear();
        self.understood()
    }

    /// The input of a model call: messages, or a text.
    pub(super) fn of_call(input: CallInput) -> Self {
        let (kind, text) = match input {
            CallInput::Text(text) => (PromptKind::Text, text),
            CallInput::Messages(messages) => {
                (PromptKind::Chat, serde_json::to_string_pretty(&messages).unwrap_or_default())
            }
        };
        Self { kind: Some(kind), text, ..Self::usual() }.understood()
    }

    fn usual() -> Self {
        let words = |text: &str| text.to_owned();
        Self { max_tokens: words("1024"), dollars: words("0.25"), ..Self::default() }
    }

    /// Reads the fields. What is wrong with them is found by [`PlaygroundForm::check`].
    pub(super) fn read(form: &Params) -> Self {
        let text = |name: &str| form.get(name).unwrap_or_default().replace("\r\n", "\n");
        let slot = |nth: usize| {
            let field = |kind: &str| text(&format!("{kind}{nth}")).trim().to_owned();
            (field("connection"), field("model"))
        };
        let variables = form.pairs().filter_map(|(name, value)| {
            Some((name.strip_prefix(VARIABLE)?.to_owned(), value.replace("\r\n", "\n")))
        });
        let request = Self {
            name: form.get("name").map(str::to_owned),
            version: form.get("version").and_then(|version| version.parse().ok()),
            kind: form.get("kind").and_then(PromptKind::parse),
            text: text("text"),
            variables: variables.collect(),
            slots: std::array::from_fn(slot),
            own: OWN.map(text),
            tools: text("tools"),
            schema: text("schema"),
            config: text("config"),
            temperature: text("temperature").trim().to_owned(),
            max_tokens: text("max_tokens").trim().to_owned(),
            dollars: text("dollars").trim().to_owned(),
            ..Self::default()
        };
        request.understood()
    }

    /// The same with its prompt understood, or with what keeps it from being so.
    fn understood(mut self) -> Self {
        match self.read_body(&self.text) {
            Ok(body) => self.body = Some(body),
            Err(why) => self.wrong.push(("text", why)),
        }
        for (at, field) in OWN.into_iter().enumerate() {
            if self.own[at].trim().is_empty() {
                continue;
            }
            match self.read_body(&self.own[at]) {
                Ok(body) => self.own_bodies[at] = Some(body),
                Err(why) => self.wrong.push((field, why)),
            }
        }
        match tools::read(&self.tools) {
            Ok(tools) => self.tool_specs = tools,
            Err(why) => self.wrong.push(("tools", why)),
        }
        match tools::read_schema(&self.schema) {
            Ok(schema) => self.response_schema = schema,
            Err(why) => self.wrong.push(("schema", why)),
        }
        self
    }

    fn read_body(&self, text: &str) -> Result<PromptBody, String> {
        let kind = self.kind.unwrap_or(PromptKind::Text);
        let json = match kind {
            PromptKind::Text => Value::from(text),
            PromptKind::Chat => small_tree(text).map_err(|why| why.to_string())?,
        };
        PromptBody::read(kind, json).map_err(|why| why.to_string())
    }

    /// The prompt of a slot.
    pub(super) fn body_of(&self, slot: usize) -> Option<&PromptBody> {
        self.own_bodies.get(slot).and_then(Option::as_ref).or(self.body.as_ref())
    }

    /// The prompt of a slot as it was entered.
    pub(super) fn text_of(&self, slot: usize) -> &str {
        let own = self.own.get(slot).filter(|own| !own.trim().is_empty());
        own.unwrap_or(&self.text)
    }

    /// Whether a slot has a prompt of its own.
    pub(super) fn has_own(&self, slot: usize) -> bool {
        self.own_bodies.get(slot).is_some_and(Option::is_some)
    }

    /// The variables of all prompts that are run.
    pub(super) fn all_variables(&self) -> std::collections::BTreeSet<String> {
        let bodies = self.body.iter().chain(self.own_bodies.iter().flatten());
        bodies.flat_map(PromptBody::variables).collect()
    }

    /// Whether it can be run; what keeps it from that is noted.
    pub(super) fn check(&mut self, connections: &[LlmConnection]) -> bool {
        if self.text.trim().is_empty() {
            self.wrong.push(("text", "enter a prompt".to_owned()));
        }
        let new: Vec<String> = self.unfilled().into_iter().collect();
        if !new.is_empty() {
            let why = format!("fill in {} below, then run", new.join(", "));
            self.wrong.push(("variables", why));
        }
        let chosen = self.chosen(connections).len();
        let named = self.slots.iter().filter(|(connection, _)| !connection.is_empty());
        if chosen == 0 {
            self.wrong.push(("slots", "choose at least one connection and its model".to_owned()));
        } else if named.count() != chosen {
            self.wrong.push(("slots", "every selected connection needs a model".to_owned()));
        }
        if self.temperature().is_err() {
            self.wrong.push(("temperature", "a number from 0 to 2, or empty".to_owned()));
        }
        if self.max_tokens().is_none() {
            self.wrong.push(("max_tokens", format!("a whole number from 1 to {MOST_TOKENS}")));
        }
        if self.money().is_none() {
            self.wrong.push(("dollars", format!("an amount up to {MOST_DOLLARS} USD")));
        }
        self.wrong.is_empty()
    }

    /// The variables of the prompt that the form had no field for.
    fn unfilled(&self) -> std::collections::BTreeSet<String> {
        let all = self.all_variables().into_iter();
        all.filter(|name| !self.variables.contains_key(name)).collect()
    }

    /// The slots that are to be asked: which connection, and for which model.
    pub(super) fn chosen<'a>(
        &'a self,
        connections: &'a [LlmConnection],
    ) -> Vec<(usize, &'a LlmConnection, &'a str)> {
        let found = self.slots.iter().enumerate().filter(|(_, (_, model))| !model.is_empty());
        let found = found.filter_map(|(slot, (id, model))| {
            Some((slot, connections.iter().find(|known| known.id == *id)?, model.as_str()))
        });
        found.collect()
    }

    /// How freely the model may answer; nothing leaves it to the provider.
    pub(super) fn temperature(&self) -> Result<Option<f64>, ()> {
        if self.temperature.is_empty() {
            return Ok(None);
        }
        let number = self.temperature.parse::<f64>().map_err(|_| ())?;
        if (0.0..=2.0).contains(&number) { Ok(Some(number)) } else { Err(()) }
    }

    pub(super) fn max_tokens(&self) -> Option<u32> {
        self.max_tokens.parse().ok().filter(|most| (1..=MOST_TOKENS).contains(most))
    }

    /// What the run may cost.
    pub(super) fn money(&self) -> Option<Money> {
        let dollars = self.dollars.parse::<f64>().ok();
        let dollars = dollars.filter(|dollars| *dollars > 0.0 && *dollars <= MOST_DOLLARS)?;
        Money::from_dollars(dollars)
    }

    /// What is wrong with a field.
    pub(super) fn problem(&self, field: &str) -> Option<&str> {
        let found = self.wrong.iter().find(|(known, _)| *known == field);
        found.map(|(_, why)| why.as_str())
    }

    /// What goes into the prompt of a slot, as JSON: the variables, or the prompt itself where it
    /// has none.
    pub(super) fn input(&self, slot: usize) -> Value {
        let body = self.body_of(slot);
        let names = body.map(PromptBody::variables).unwrap_or_default();
        if names.is_empty() {
            return body.map(PromptBody::to_json).unwrap_or_default();
        }
        let value = |name: String| {
            let value = self.variables.get(&name).cloned().unwrap_or_default();
            (name, Value::from(value))
        };
        Value::Object(names.into_iter().map(value).collect())
    }
}

/// A prompt as the form has it: a text, or messages as JSON.
fn written(body: &PromptBody) -> String {
    match body {
        PromptBody::Text(text) => text.clone(),
        chat @ PromptBody::Chat(_) => {
            serde_json::to_string_pretty(&chat.to_json()).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(form: &[(&str, &str)]) -> PlaygroundForm {
        PlaygroundForm::read(&Params::of(form))
    }

    #[test]
    fn variables_that_were_just_typed_are_asked_for_first() {
        let mut new = request(&[("text", "Hi {{name}} and {{other}}"), ("var.name", "Ann")]);
        assert!(!new.check(&[]));
        assert_eq!(new.problem("variables"), Some("fill in other below, then run"));
        let mut empty = request(&[("text", "Hi {{name}}"), ("var.name", "")]);
        empty.check(&[]);
        assert_eq!(empty.problem("variables"), None, "an empty value is a value");
    }

    #[test]
    fn numbers_have_bounds() {
        let check = |field: &'static str, value: &str| {
            let mut request = request(&[("text", "x"), (field, value)]);
            request.check(&[]);
            request.problem(field).is_none()
        };
        assert!(check("temperature", "") && check("temperature", "0.7"));
        assert!(!check("temperature", "NaN") && !check("temperature", "3"));
        assert!(check("max_tokens", "16000") && !check("max_tokens", "0"));
        assert!(check("dollars", "0.5") && !check("dollars", "inf") && !check("dollars", "-1"));
    }

    #[test]
    fn a_chat_is_read_as_json_and_says_what_is_wrong() {
        let chat = r#"[{"role": "user", "content": "{{q}}"}]"#;
        let good = request(&[("kind", "chat"), ("text", chat), ("var.q", "Why?")]);
        assert_eq!(good.input(0), serde_json::json!({"q": "Why?"}));
        let bad = request(&[("kind", "chat"), ("text", "[{\"role\": 1}]")]);
        assert_eq!(bad.problem("text"), Some("must be a text"));
    }
}
