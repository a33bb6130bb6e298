use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

/// The maximum size of an answer.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;
/// The maximum number of braces tried as the start of an object, to bound the work.
const MAX_TRIES: usize = 1_000;

/// A JSON object without duplicate keys: a second value for the same key must not pass unnoticed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entries(pub(super) Vec<(String, Value)>);

impl Entries {
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(own, _)| own == key).map(|(_, value)| value)
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if entries.iter().any(|(own, _)| *own == key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice")));
            }
            entries.push((key, value));
        }
        Ok(Entries(entries))
    }
}

/// Finds the one JSON object of an answer that could be a verdict: bare, in a code fence, or within
/// prose.
///
/// Objects without any of the `keys` are ignored if another has one.
pub(super) fn find_object(answer: &str, keys: &[&str]) -> Result<Entries, String> {
    if answer.len() > MAX_ANSWER_BYTES {
        return Err(format!(
            "{} bytes are too long; answer with the JSON object only",
            answer.len()
        ));
    }
    let (objects, doubled) = objects(answer);
    if let Some(problem) = doubled {
        return Err(problem);
    }
    let concerns = |object: &&Entries| keys.iter().any(|key| object.get(key).is_some());
    let mut fitting: Vec<_> = objects.iter().filter(concerns).collect();
    fitting.dedup();
    match fitting.as_slice() {
        [one] => Ok((*one).clone()),
        [] => objects
            .into_iter()
            .next()
            .ok_or_else(|| "there is no JSON object in it; answer with one".to_owned()),
        [_, _, ..] => Err(format!(
            "there are {} different verdicts in it; answer with exactly one JSON object",
            fitting.len()
        )),
    }
}

/// Returns every outermost JSON object in a text, and the first duplicate key.
fn objects(text: &str) -> (Vec<Entries>, Option<String>) {
    let (mut found, mut doubled) = (Vec::new(), None);
    let mut rest = text;
    for _ in 0..MAX_TRIES {
        let Some(at) = rest.find('{') else { break };
        let (_, from) = rest.split_at(at);
        let mut stream = serde_json::Deserializer::from_str(from).into_iter::<Entries>();
        let length = match stream.next() {
            Some(Ok(entries)) => {
                found.push(entries);
                stream.byte_offset()
            }
            Some(Err(error)) if error.is_data() => {
                doubled = doubled.or_else(|| Some(error.to_string()));
                1
            }
            Some(Err(_)) | None => 1,
        };
        rest = from.get(length..).unwrap_or_default();
    }
    (found, doubled)
}
