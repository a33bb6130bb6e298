use std::collections::{BTreeMap, BTreeSet};

use super::body::{ChatMessage, PromptBody, variables};

impl PromptBody {
    /// Returns the variables (names between double braces), each once.
    pub fn variables(&self) -> BTreeSet<String> {
        self.texts().into_iter().flat_map(variables).map(str::to_owned).collect()
    }

    /// Substitutes variables; those without a value stay unchanged. Substituted values are not
    /// scanned again, because they may contain braces. Message placeholders stay empty.
    #[must_use]
    pub fn filled(&self, values: &BTreeMap<String, String>) -> Self {
        match self {
            Self::Text(text) => Self::Text(fill(text, values)),
            Self::Chat(messages) => {
                let said = messages.iter().filter_map(|message| match message {
                    ChatMessage::Said { role, content, rest } => Some(ChatMessage::Said {
                        role: role.clone(),
                        content: fill(content, values),
                        rest: rest.clone(),
                    }),
                    ChatMessage::Placeholder { .. } => None,
                });
                Self::Chat(said.collect())
            }
        }
    }
}

fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    fill_with(text, |name| values.get(name).map(String::as_str))
}

/// Replaces the variables of a template that have a value; what else stands between braces stays.
/// Of more than two opening braces the inner ones count. What a value contains is never replaced
/// again.
pub(crate) fn fill_with<'a>(text: &str, value: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        filled.push_str(before);
        let (extra, inner) = behind.split_at(behind.len() - behind.trim_start_matches('{').len());
        filled.push_str(extra);
        let known = inner
            .split_once("}}")
            .and_then(|(name, after)| value(name.trim()).map(|value| (value, after)));
        match known {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push_str("{{");
                rest = inner;
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let values = [("name", "Ann"), ("odd", "{{name}}"), ("", "never")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let filled = PromptBody::Text(text.to_owned()).filled(&BTreeMap::from(values));
        assert_eq!(filled, PromptBody::Text(expected.to_owned()));
    }

    #[test]
    fn variables_are_filled_in_once() {
        check("Hi {{name}}, {{ name }}!", "Hi Ann, Ann!");
        check("{{odd}} {{unknown}}", "{{name}} {{unknown}}");
        check("{{ {{name}} }} {{name", "{{ Ann }} {{name");
        check("no braces } { at {all}", "no braces } { at {all}");
    }

    #[test]
    fn a_chat_loses_its_empty_places() {
        let said = |content: &str| ChatMessage::Said {
            role: "user".to_owned(),
            content: content.to_owned(),
            rest: serde_json::Map::new(),
        };
        let gap = ChatMessage::Placeholder { name: "history".to_owned() };
        let body = PromptBody::Chat(vec![gap, said("{{a}} and {{b}}")]);
        assert_eq!(body.variables().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        let values = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
        assert_eq!(body.filled(&values), PromptBody::Chat(vec![said("1 and {{b}}")]));
    }

    proptest! {
        #[test]
        fn nothing_breaks_and_nothing_is_lost_without_values(text in "([{}a ]|é){0,40}") {
            let body = PromptBody::Text(text.clone());
            prop_assert_eq!(body.filled(&BTreeMap::new()), PromptBody::Text(text));
            let values = body.variables().into_iter().map(|name| (name, "x".to_owned())).collect();
            let PromptBody::Text(filled) = body.filled(&values) else { panic!("still a text") };
            prop_assert!(filled.len() <= body.to_json().to_string().len());
        }
    }
}
