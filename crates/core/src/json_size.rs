//! Memory estimates for parsed JSON, from one pass over its bytes before anything is allocated.

use serde_json::Value;

/// Bytes per value in a list that grew while it was parsed: twice the value's own size.
const VALUE_BYTES: usize = 64;
/// Bytes of an object before its first field: a B-tree node reserves space for eleven.
const OBJECT_BYTES: usize = 640;

/// The maximum size of a parsed tree for one displayed or validated text, in bytes.
const TREE_BYTES: usize = 32_000_000;

/// Error of parsing JSON within a memory limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonSizeError {
    #[error("{0}")]
    NotJson(String),
    /// The tree would be so large that a few of them could exhaust memory.
    #[error("it holds too many values to be read as a whole; make it smaller")]
    TooLarge,
}

/// Parses one recorded or user-entered text, unless the result would be too large.
///
/// # Errors
/// Fails on invalid JSON and on text whose tree would be too large.
pub fn small_tree(text: &str) -> Result<Value, JsonSizeError> {
    if JsonSize::of(text).tree_bytes() > TREE_BYTES {
        return Err(JsonSizeError::TooLarge);
    }
    serde_json::from_str(text).map_err(|why| JsonSizeError::NotJson(why.to_string()))
}

/// Counts the values of a JSON text incrementally, in constant memory.
///
/// Works on any text, well-formed or not. The count is exact for well-formed documents without
/// empty lists and objects, and at most one too high for each of those.
///
/// ```
/// use ratchet_core::json_size::JsonSize;
///
/// let mut size = JsonSize::default();
/// size.push(br#"{"a": [1, "x, y""#);
/// size.push(br#", 3]}"#);
/// assert_eq!(size.values(), 5);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonSize {
    /// Values preceded by another one in the same list or object.
    following: usize,
    lists: usize,
    objects: usize,
    state: ScanState,
}

/// Scanner state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ScanState {
    #[default]
    Outside,
    InString,
    /// After a backslash in a string.
    Escaped,
}

impl JsonSize {
    /// Scans the next part of the text.
    pub fn push(&mut self, piece: &[u8]) {
        let mut bytes = piece.iter();
        while let Some(byte) = bytes.next() {
            match (self.state, byte) {
                (ScanState::Escaped, _) => self.state = ScanState::InString,
                (ScanState::InString, b'\\') => self.state = ScanState::Escaped,
                (ScanState::InString, b'"') => self.state = ScanState::Outside,
                (ScanState::InString, _) => {
                    // Most bytes of a long text are inside strings: skip to the next significant
                    // byte.
                    let rest = bytes.as_slice();
                    let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                    bytes = rest.get(plain.unwrap_or(rest.len())..).unwrap_or_default().iter();
                }
                (ScanState::Outside, b'"') => self.state = ScanState::InString,
                (ScanState::Outside, b',') => self.following += 1,
                (ScanState::Outside, b'[') => self.lists += 1,
                (ScanState::Outside, b'{') => self.objects += 1,
                (ScanState::Outside, _) => {}
            }
        }
    }

    /// Scans a whole text.
    pub fn of(text: &str) -> Self {
        let mut size = Self::default();
        size.push(text.as_bytes());
        size
    }

    /// Returns the number of values so far, lists and objects included.
    pub fn values(&self) -> usize {
        1 + self.following + self.lists + self.objects
    }

    /// Returns the approximate bytes of a list of the values in addition to their text, if they
    /// stay unparsed.
    pub fn list_bytes(&self) -> usize {
        self.values().saturating_mul(VALUE_BYTES)
    }

    /// Returns the approximate maximum bytes of a tree of all values, in addition to their text.
    pub fn tree_bytes(&self) -> usize {
        self.list_bytes().saturating_add(self.objects.saturating_mul(OBJECT_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, values: usize) {
        assert_eq!(JsonSize::of(text).values(), values, "{text}");
    }

    #[test]
    fn values_are_counted() {
        check("1", 1);
        check("[0,0,0]", 4);
        check(r#"{"a": 1, "b": [2, {"c": null}]}"#, 6);
        check(r#"["a,b", "[{", "\",\"", "\\"]"#, 5);
        check("[[[", 4);
    }

    #[test]
    fn only_small_trees_are_built() {
        assert_eq!(small_tree("[1]"), Ok(Value::from(vec![1])));
        assert!(matches!(small_tree("[1"), Err(JsonSizeError::NotJson(_))));
        let long = format!("\"{}\"", "x,".repeat(1_000_000));
        assert!(small_tree(&long).is_ok(), "a long text is one value");
        assert_eq!(
            small_tree(&format!("[0{}]", ",0".repeat(600_000))),
            Err(JsonSizeError::TooLarge)
        );
        assert_eq!(
            small_tree(&format!("[0{}]", ",{}".repeat(50_000))),
            Err(JsonSizeError::TooLarge)
        );
    }

    #[test]
    fn a_tree_is_never_larger_than_its_estimate() {
        // The actual size of a tree, by the sizes of its types.
        let (node, entry) = (11 * (size_of::<String>() + size_of::<Value>()), size_of::<Value>());
        assert!(OBJECT_BYTES + VALUE_BYTES >= node + entry);
        assert!(VALUE_BYTES >= 2 * entry);
    }

    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Value::Object(fields) => 1 + fields.values().map(count).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        }
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), {
            "[a\"\\\\,\\[\\{é]{0,6}".prop_map(Value::from)
        }];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let list = proptest::collection::vec(inner.clone(), 1..5).prop_map(Value::from);
            let fields = proptest::collection::btree_map("[a\",]{0,3}", inner, 1..5);
            prop_oneof![list, fields.prop_map(|map| Value::Object(map.into_iter().collect()))]
        })
    }

    proptest! {
        #[test]
        fn pieces_count_like_the_whole(value in document(), cut in any::<prop::sample::Index>()) {
            let text = value.to_string();
            prop_assert_eq!(JsonSize::of(&text).values(), count(&value));
            let (head, tail) = text.as_bytes().split_at(cut.index(text.len()));
            let mut size = JsonSize::default();
            size.push(head);
            size.push(tail);
            prop_assert_eq!(size.values(), count(&value));
        }
    }
}
