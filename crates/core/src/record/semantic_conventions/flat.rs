//! Flattened trees, whose paths are attribute names: `gen_ai.prompt.0.role`,
//! `llm.input_messages.1.message.…`

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::record::semantic_conventions::json::Typed;
use crate::record::span::AttributeValue;

/// The maximum depth; the rest of a deeper path is one key. Bounds the recursion on untrusted
/// names.
const MAX_DEPTH: usize = 16;

/// Redundant wrapper keys of list elements.
const WRAPPERS: [&str; 3] = ["message", "message_content", "tool_call"];

/// A path segment. Indices sort before names, numerically.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Index(u32),
    Key(String),
}

impl Step {
    fn new(text: &str) -> Self {
        let is_canonical = text == "0" || !text.starts_with(['0', '+']);
        match text.parse() {
            Ok(index) if is_canonical => Self::Index(index),
            _ => Self::Key(text.to_owned()),
        }
    }
}

/// A tree, built path by path. Gaps between indices are closed, so that an index cannot make it
/// large.
#[derive(Debug, Default)]
pub(super) struct Tree {
    value: Option<AttributeValue>,
    branches: BTreeMap<Step, Tree>,
}

impl Tree {
    /// Adds a value at a path such as `0.content`.
    pub(super) fn add(&mut self, path: &str, value: AttributeValue) {
        let mut place = self;
        for step in path.splitn(MAX_DEPTH, '.') {
            place = place.branches.entry(Step::new(step)).or_default();
        }
        place.value = Some(value);
    }

    /// Returns a key for the value of a node that also has children, for which JSON has no form.
    fn free_key(&self) -> String {
        let is_taken = |key: &str| self.branches.contains_key(&Step::Key(key.to_owned()));
        let mut key = String::new();
        while is_taken(&key) {
            key.push('_');
        }
        key
    }

    fn is_list(&self) -> bool {
        self.value.is_none() && self.branches.keys().all(|step| matches!(step, Step::Index(_)))
    }

    /// Returns the wrapped content of a list element, if it contains nothing else.
    fn unwrapped(&self) -> &Self {
        match self.branches.first_key_value() {
            Some((Step::Key(key), inner))
                if self.branches.len() == 1
                    && self.value.is_none()
                    && WRAPPERS.contains(&key.as_str()) =>
            {
                inner
            }
            _ => self,
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let (Some(value), true) = (&self.value, self.branches.is_empty()) {
            return Typed(value).serialize(serializer);
        }
        if self.is_list() {
            return serializer.collect_seq(self.branches.values().map(Self::unwrapped));
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(value) = &self.value {
            map.serialize_entry(&self.free_key(), &Typed(value))?;
        }
        for (step, branch) in &self.branches {
            match step {
                Step::Index(index) => map.serialize_entry(index, branch)?,
                Step::Key(key) => map.serialize_entry(key, branch)?,
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::semantic_conventions::json::json;

    #[track_caller]
    fn check(paths: &[(&str, &str)], expected: &str) {
        let mut tree = Tree::default();
        for (path, value) in paths {
            tree.add(path, AttributeValue::Text((*value).to_owned()));
        }
        assert_eq!(json(&tree).as_str(), expected);
    }

    #[test]
    fn indices_become_lists_in_their_own_order() {
        check(
            &[("10.role", "b"), ("2.role", "a"), ("2.content", "hi")],
            r#"[{"content":"hi","role":"a"},{"role":"b"}]"#,
        );
    }

    #[test]
    fn a_huge_index_makes_no_huge_list() {
        check(&[("0", "a"), ("4294967295", "b")], r#"["a","b"]"#);
    }

    #[test]
    fn wrappers_come_off() {
        check(
            &[
                ("0.message.role", "user"),
                ("0.message.contents.0.message_content.text", "hi"),
                ("0.message.tool_calls.0.tool_call.function.name", "f"),
            ],
            r#"[{"contents":[{"text":"hi"}],"role":"user","tool_calls":[{"function":{"name":"f"}}]}]"#,
        );
    }

    #[test]
    fn a_place_with_a_value_and_branches_loses_neither() {
        check(&[("0", "a"), ("0.b", "c")], r#"[{"":"a","b":"c"}]"#);
        check(&[("0", "a"), ("x", "b")], r#"{"0":"a","x":"b"}"#);
        check(&[("", "a"), (".", "b")], r#"{"":{"_":"a","":"b"}}"#);
    }

    #[test]
    fn a_path_without_end_is_cut_short() {
        let path = "a.".repeat(100_000);
        let mut tree = Tree::default();
        tree.add(&path, AttributeValue::Bool(true));
        assert!(json(&tree).as_str().len() > path.len());
    }
}
