use serde_json::{Map, Value};

use crate::unique_keys::UniqueKeys;

/// The maximum size of an answer.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;
/// The maximum number of braces tried as the start of an object, to bound the work.
const MAX_TRIES: usize = 1_000;

/// Finds the one JSON object of an answer that could be a verdict: bare, in a code fence, or within
/// prose.
///
/// Objects without any of the `keys` are ignored if another has one.
pub(super) fn find_object(answer: &str, keys: &[&str]) -> Result<Map<String, Value>, String> {
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
    let concerns = |object: &&Map<String, Value>| keys.iter().any(|key| object.contains_key(*key));
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

/// Returns every outermost JSON object in a text, and the first duplicate key at any depth.
fn objects(text: &str) -> (Vec<Map<String, Value>>, Option<String>) {
    let (mut found, mut doubled) = (Vec::new(), None);
    let mut rest = text;
    for _ in 0..MAX_TRIES {
        let Some(at) = rest.find('{') else { break };
        let (_, from) = rest.split_at(at);
        let mut stream = serde_json::Deserializer::from_str(from).into_iter::<UniqueKeys>();
        let length = match stream.next() {
            Some(Ok(UniqueKeys(Value::Object(object)))) => {
                found.push(object);
                stream.byte_offset()
            }
            Some(Err(error)) if error.is_data() => {
                doubled = doubled.or_else(|| Some(error.to_string()));
                1
            }
            Some(Ok(_) | Err(_)) | None => 1,
        };
        rest = from.get(length..).unwrap_or_default();
    }
    (found, doubled)
}
