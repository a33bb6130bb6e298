//! How large a JSON text becomes once it is parsed: found by one look at its bytes, before anything
//! is built.

use serde_json::Value;

/// Bytes that a value takes in a list that grew while it was read: twice its own size.
const VALUE_BYTES: usize = 64;
/// Bytes that an object takes before its first field: a tree of maps reserves room for eleven.
const OBJECT_BYTES: usize = 640;

/// Bytes that a tree may take where one text is shown or checked.
const TREE_BYTES: usize = 32_000_000;

/// Why a text becomes no tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonSizeError {
    /// It is not JSON.
    #[error("{0}")]
    NotJson(String),
    /// Its tree would take so much memory that a few of them could end the process.
    #[error("it holds too many values to be read as a whole; make it smaller")]
    TooLarge,
}

/// Reads one recorded or typed text into a tree, unless that would be too large.
///
/// # Errors
/// Says why there is no tree.
pub fn small_tree(text: &str) -> Result<Value, JsonSizeError> {
    if JsonSize::of(text).tree_bytes() > TREE_BYTES {
        return Err(JsonSizeError::TooLarge);
    }
    serde_json::from_str(text).map_err(|why| JsonSizeError::NotJson(why.to_string()))
}

/// Counts what a JSON text holds, piece by piece, in constant memory.
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
    /// Values that follow another in the same list or object.
    following: usize,
    lists: usize,
    objects: usize,
    place: Place,
}

/// Where in the text the next byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Outside,
    InString,
    /// Behind a backslash in a string.
    Escaped,
}

impl JsonSize {
    /// Counts the next piece of the text.
    pub fn push(&mut self, piece: &[u8]) {
        let mut bytes = piece.iter();
        while let Some(byte) = bytes.next() {
            match (self.place, byte) {
                (Place::Escaped, _) => self.place = Place::InString,
                (Place::InString, b'\\') => self.place = Place::Escaped,
                (Place::InString, b'"') => self.place = Place::Outside,
                (Place::InString, _) => {
                    // Most of a long text is inside strings: skip to where something happens.
                    let rest = bytes.as_slice();
                    let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                    bytes = rest.get(plain.unwrap_or(rest.len())..).unwrap_or_default().iter();
                }
                (Place::Outside, b'"') => self.place = Place::InString,
                (Place::Outside, b',') => self.following += 1,
                (Place::Outside, b'[') => self.lists += 1,
                (Place::Outside, b'{') => self.objects += 1,
                (Place::Outside, _) => {}
            }
        }
    }

    /// The size of a whole text.
    pub fn of(text: &str) -> Self {
        let mut size = Self::default();
        size.push(text.as_bytes());
        size
    }

    /// How many values there are so far, lists and objects included.
    pub fn values(&self) -> usize {
        1 + self.following + self.lists + self.objects
    }

    /// About how many bytes a list of the values takes beside their text, if they stay texts.
    pub fn list_bytes(&self) -> usize {
        self.values().saturating_mul(VALUE_BYTES)
    }

    /// About how many bytes a tree of all values takes at most, beside their text.
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
        // What a tree takes in fact, as its types say.
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
