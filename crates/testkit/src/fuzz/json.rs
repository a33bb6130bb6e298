//! Mutations of JSON documents that stay valid JSON.

use serde_json::{Value, json};

use crate::seeded_random::SeededRandom;

/// A mutated copy of the document; `None` when the input is not JSON.
pub(super) fn mutate(input: &[u8], words: &[&str], chance: &mut SeededRandom) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(input).ok()?;
    let places = count(&document);
    let mut target = chance.below(places);
    let mut change = |value: &mut Value| *value = changed(value, words, chance);
    visit(&mut document, &mut target, &mut change);
    serde_json::to_vec(&document).ok()
}

fn count(value: &Value) -> usize {
    let inside: usize = match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    };
    inside + 1
}

/// Applies a change to the nth value in document order.
fn visit(value: &mut Value, number: &mut usize, change: &mut dyn FnMut(&mut Value)) -> bool {
    if *number == 0 {
        change(value);
        return true;
    }
    *number -= 1;
    match value {
        Value::Array(list) => list.iter_mut().any(|inner| visit(inner, number, change)),
        Value::Object(map) => map.values_mut().any(|inner| visit(inner, number, change)),
        _ => false,
    }
}

fn changed(value: &Value, words: &[&str], chance: &mut SeededRandom) -> Value {
    match (chance.below(6), value) {
        (0 | 1, Value::Object(map)) if !map.is_empty() => {
            let mut map = map.clone();
            let key = map.keys().nth(chance.below(map.len())).unwrap().clone();
            let inner = map.remove(&key).unwrap();
            if chance.once_in(2) {
                map.insert(word(words, chance), inner);
            }
            Value::Object(map)
        }
        (2, Value::Object(map)) => {
            let mut map = map.clone();
            map.insert(word(words, chance), scalar(words, chance));
            Value::Object(map)
        }
        (0 | 1, Value::Array(list)) if !list.is_empty() => {
            let mut list = list.clone();
            let inner = list.remove(chance.below(list.len()));
            let copies = [0, 2, 50][chance.below(3)];
            list.extend(std::iter::repeat_n(inner, copies));
            Value::Array(list)
        }
        (2, Value::String(text)) => text.repeat(1 + chance.below(100)).into(),
        (3, value) => nested(value.clone(), chance),
        (4, value) => json!([value]),
        _ => scalar(words, chance),
    }
}

/// The value nested in many lists or maps.
fn nested(value: Value, chance: &mut SeededRandom) -> Value {
    let depth = [3, 70, 120][chance.below(3)];
    let is_list = chance.once_in(2);
    let wrap = |inner, _| if is_list { json!([inner]) } else { json!({ "a": inner }) };
    (0..depth).fold(value, wrap)
}

fn word(words: &[&str], chance: &mut SeededRandom) -> String {
    let odd = ["", "\0", "__proto__", "日本", "a.0.b", "a[0]"];
    if words.is_empty() || chance.once_in(3) {
        (*chance.pick(&odd)).to_owned()
    } else {
        (*chance.pick(words)).to_owned()
    }
}

fn scalar(words: &[&str], chance: &mut SeededRandom) -> Value {
    match chance.below(16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(u64::MAX),
        4 => json!(i64::MIN),
        5 => json!(1e308),
        6 => json!(0.1),
        7 => json!([]),
        8 => json!({}),
        9 => json!("2026-01-01T00:00:00Z"),
        10 => json!("9999-12-31T23:59:59.999999999Z"),
        11 => json!("0123456789abcdef0123456789abcdef"),
        12 => json!("\u{10ffff}\0\r\n"),
        13 => json!("x".repeat(1_000)),
        14 => json!("18446744073709551616"),
        _ => json!(word(words, chance)),
    }
}
