//! References to media: `@@@langfuseMedia:type=image/png|id=…|source=bytes@@@` in place of bytes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::payload::Json;

const BEGIN: &str = "@@@langfuseMedia:";
const END: &str = "@@@";
/// The maximum length of a reference; real ones have less than half of that.
const MAX_BYTES: usize = 500;
/// The maximum number of references found in one text.
const MAX_MENTIONED: usize = 1_000;

/// A media reference that is an entire string of a JSON document.
///
/// Clients replace the string by the media, so a string with further text does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundReference {
    pub text: String,
    /// Media id.
    pub media: String,
    /// JSON path: `$['image'][0]`.
    pub path: String,
}

/// Returns the references that are entire strings of a document, in order.
pub fn references(json: &Json) -> Vec<FoundReference> {
    let mut found = Vec::new();
    if !json.as_str().contains(BEGIN) {
        return found;
    }
    if let Ok(value) = serde_json::from_str(json.as_str()) {
        walk(&value, &mut String::from("$"), &mut found);
    }
    found
}

/// Recurses through a value. Depth was limited when the document was received.
fn walk(value: &Value, path: &mut String, found: &mut Vec<FoundReference>) {
    let len = path.len();
    match value {
        Value::String(text) => {
            let media = whole_reference(text);
            let here = |media: &str| FoundReference {
                text: text.clone(),
                media: media.to_owned(),
                path: path.clone(),
            };
            found.extend(media.map(here));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                walk(item, path, found);
                path.truncate(len);
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                path.push_str(&format!("['{key}']"));
                walk(item, path, found);
                path.truncate(len);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the media id, if a text is a reference and nothing else.
fn whole_reference(text: &str) -> Option<&str> {
    let words = text.strip_prefix(BEGIN)?.strip_suffix(END)?;
    if words.contains(END) { None } else { media_id(words) }
}

/// Returns the ids of all media that a text refers to, anywhere, JSON or not.
pub fn mentioned(text: &str) -> BTreeSet<&str> {
    let mut ids = BTreeSet::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(BEGIN)
        && ids.len() < MAX_MENTIONED
    {
        let reach = after.floor_char_boundary(MAX_BYTES);
        let words = after.get(..reach).and_then(|near| near.split_once(END));
        ids.extend(words.and_then(|(words, _)| media_id(words)));
        rest = after;
    }
    ids
}

/// Parses the id in `type=…|id=…|source=…`.
fn media_id(words: &str) -> Option<&str> {
    let id = words.split('|').find_map(|word| word.strip_prefix("id="))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_id = (1..=64).contains(&id.len()) && id.chars().all(is_plain);
    is_id.then_some(id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: &str = "@@@langfuseMedia:type=image/png|id=LPJNul-wow4m6DsqxbninA|source=bytes@@@";

    #[test]
    fn strings_that_are_references_are_found_with_their_places() {
        let json = format!(
            r#"{{"a": ["{ONE}", "see {ONE}", {{"b'c": "{}"}}], "n": 1}}"#,
            ONE.replace('/', "\\/")
        );
        let found = references(&Json::parse(&json).unwrap());
        let paths: Vec<_> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["$['a'][0]", "$['a'][2]['b'c']"]);
        assert!(found.iter().all(|one| one.text == ONE && one.media == "LPJNul-wow4m6DsqxbninA"));
        let whole = references(&Json::parse(&format!("\"{ONE}\"")).unwrap());
        assert_eq!(whole.first().unwrap().path, "$");
    }

    #[test]
    fn what_only_looks_like_a_reference_is_none() {
        for text in [
            "@@@langfuseMedia:@@@",
            "@@@langfuseMedia:type=a|id=|source=b@@@",
            "@@@langfuseMedia:type=a|id=a b|source=b@@@",
            "@@@langfuseMedia:type=a|id=x",
            "@@@langfusePrompt:name=id=x@@@",
        ] {
            assert_eq!(references(&Json::from_value(&Value::from(text))), [], "{text}");
            assert_eq!(mentioned(text), BTreeSet::new(), "{text}");
        }
    }

    #[test]
    fn mentions_are_found_in_any_text() {
        let text = format!("broken {{ \"{ONE}\" @@@langfuseMedia:{ONE} and {ONE}");
        assert_eq!(mentioned(&text), BTreeSet::from(["LPJNul-wow4m6DsqxbninA"]));
        let far = format!("{BEGIN}{}|id=x{END}", "y".repeat(MAX_BYTES));
        assert_eq!(mentioned(&far), BTreeSet::new());
    }

    proptest! {
        #[test]
        fn every_reference_is_a_mention(
            parts in prop::collection::vec("[a-zé@|=:]{0,9}|@@@langfuseMedia:|id=[a-z]{1,3}", 0..9),
        ) {
            let text = parts.concat();
            let json = Json::from_value(&Value::from(text.as_str()));
            let mentioned = mentioned(&text);
            for one in references(&json) {
                prop_assert!(mentioned.contains(one.media.as_str()));
            }
        }
    }
}
