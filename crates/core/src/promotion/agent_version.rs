use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::catalog::validation::Invalid;

/// Prompts, settings and environments that a version can have, each.
const MAX_ENTRIES: usize = 50;
/// The longest name, model, commit or setting, in characters.
const MAX_CHARS: usize = 500;
/// Hex digits of an id.
const ID_CHARS: usize = 16;

/// What makes an agent behave as it does: prompts, model, tools and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentVersion {
    /// Versions by prompt, with those of sub-agents.
    #[serde(default)]
    pub prompts: BTreeMap<String, u32>,
    #[serde(default)]
    pub model: Option<String>,
    /// The tool set: a commit.
    #[serde(default)]
    pub tools: Option<String>,
    /// Settings by environment.
    #[serde(default)]
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
}

impl AgentVersion {
    /// Validates a version.
    ///
    /// # Errors
    /// Names the field that is empty, too long or has too many entries.
    pub fn checked(self) -> Result<Self, Invalid> {
        let texts = [("model", &self.model), ("tools", &self.tools)];
        for (field, text) in texts {
            if let Some(text) = text {
                check_text(field, text)?;
            }
        }
        if self.prompts.is_empty() && self.model.is_none() && self.tools.is_none() {
            return Err(invalid("version", "name at least a prompt, a model or tools"));
        }
        let longest = self.settings.values().map(BTreeMap::len).max().unwrap_or_default();
        for (field, entries) in
            [("prompts", self.prompts.len()), ("settings", self.settings.len().max(longest))]
        {
            if entries > MAX_ENTRIES {
                return Err(invalid(field, &format!("at most {MAX_ENTRIES} entries")));
            }
        }
        for (prompt, version) in &self.prompts {
            check_text("prompts", prompt)?;
            if *version == 0 {
                return Err(invalid("prompts", "versions are numbered from 1"));
            }
        }
        for (environment, settings) in &self.settings {
            check_text("settings", environment)?;
            for (name, value) in settings {
                check_text("settings", name)?;
                if value.chars().count() > MAX_CHARS {
                    return Err(invalid("settings", "a value is too long"));
                }
            }
        }
        Ok(self)
    }

    /// Returns the content id: the same parts of the same agent have the same id.
    pub fn id(&self, agent: &str) -> String {
        // Maps are ordered, so that the text is the same for the same content.
        let content = serde_json::to_string(&(agent, self)).unwrap_or_default();
        let digest = Sha256::digest(content.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        hex.chars().take(ID_CHARS).collect()
    }

    /// Returns the parts in one line.
    pub fn summary(&self) -> String {
        let prompts = self.prompts.iter().map(|(name, version)| format!("{name} v{version}"));
        let model = self.model.iter().cloned();
        let tools = self.tools.iter().map(|tools| format!("tools {tools}"));
        let settings = self.settings.iter().flat_map(|(environment, settings)| {
            settings.iter().map(move |(name, value)| format!("{environment}: {name}={value}"))
        });
        prompts.chain(model).chain(tools).chain(settings).collect::<Vec<_>>().join(", ")
    }

    /// Returns what changed since another version, a line for each part.
    pub fn changes_since(&self, earlier: &Self) -> Vec<String> {
        let (now, before) = (self.named_parts(), earlier.named_parts());
        let names: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
        let line = |name: &String| match (before.get(name), now.get(name)) {
            (Some(then), Some(now)) if then == now => None,
            (Some(then), Some(now)) => Some(format!("{name}: {then} → {now}")),
            (None, Some(now)) => Some(format!("{name}: {now}, new")),
            (Some(then), None) => Some(format!("{name}: {then}, removed")),
            (None, None) => None,
        };
        names.into_iter().filter_map(line).collect()
    }

    fn named_parts(&self) -> BTreeMap<String, String> {
        let prompts =
            self.prompts.iter().map(|(name, n)| (format!("prompt {name}"), format!("v{n}")));
        let model = self.model.iter().map(|model| ("model".to_owned(), model.clone()));
        let tools = self.tools.iter().map(|tools| ("tools".to_owned(), tools.clone()));
        let settings = self.settings.iter().flat_map(|(environment, settings)| {
            let one = move |(name, value): (&String, &String)| {
                (format!("{name} in {environment}"), value.clone())
            };
            settings.iter().map(one)
        });
        prompts.chain(model).chain(tools).chain(settings).collect()
    }
}

fn check_text(field: &'static str, text: &str) -> Result<(), Invalid> {
    let is_long = text.chars().count() > MAX_CHARS;
    if text.trim().is_empty() || is_long || text.chars().any(char::is_control) {
        return Err(invalid(field, &format!("from 1 to {MAX_CHARS} printable characters")));
    }
    Ok(())
}

fn invalid(field: &'static str, problem: &str) -> Invalid {
    Invalid { field, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(prompt: u32) -> AgentVersion {
        AgentVersion {
            prompts: BTreeMap::from([("shop".to_owned(), prompt)]),
            model: Some("m-1".to_owned()),
            ..AgentVersion::default()
        }
    }

    #[test]
    fn the_same_parts_have_the_same_id_and_others_another() {
        assert_eq!(version(1).id("shop"), version(1).id("shop"));
        assert_ne!(version(1).id("shop"), version(2).id("shop"));
        assert_ne!(version(1).id("shop"), version(1).id("other"));
        assert_eq!(version(1).id("shop").len(), ID_CHARS);
        assert_eq!(version(3).summary(), "shop v3, m-1");
    }

    #[test]
    fn a_version_shows_its_settings_and_what_changed() {
        let set = |value: &str| {
            let settings = BTreeMap::from([("temperature".to_owned(), value.to_owned())]);
            let settings = BTreeMap::from([("beta".to_owned(), settings)]);
            AgentVersion { settings, ..version(2) }
        };
        assert_eq!(set("0.2").summary(), "shop v2, m-1, beta: temperature=0.2");
        assert_eq!(set("0.2").changes_since(&set("0.2")), Vec::<String>::new());
        assert_eq!(set("0.3").changes_since(&set("0.2")), ["temperature in beta: 0.2 → 0.3"]);
        let earlier = AgentVersion { tools: Some("c0ffee".to_owned()), ..version(1) };
        let changes = set("0.2").changes_since(&earlier);
        let expected =
            ["prompt shop: v1 → v2", "temperature in beta: 0.2, new", "tools: c0ffee, removed"];
        assert_eq!(changes, expected);
    }

    #[test]
    fn an_error_names_its_field() {
        assert_eq!(AgentVersion::default().checked().unwrap_err().field, "version");
        assert_eq!(version(0).checked().unwrap_err().field, "prompts");
        let model = AgentVersion { model: Some("a\nb".to_owned()), ..version(1) };
        assert_eq!(model.checked().unwrap_err().field, "model");
        assert!(version(1).checked().is_ok());
    }
}
