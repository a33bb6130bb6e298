//! Opaque pagination cursors.

use rusqlite::types::Value;

use crate::{StoreError, StoreResult};

/// Encodes the keys of the last row.
pub(super) fn encode(keys: &[Value]) -> String {
    let mut cursor = String::from("c1");
    for key in keys {
        let (form, bytes) = match key {
            Value::Integer(number) => ('i', number.to_string().into_bytes()),
            Value::Text(text) => ('t', text.clone().into_bytes()),
            Value::Blob(bytes) => ('b', bytes.clone()),
            Value::Null | Value::Real(_) => ('n', Vec::new()),
        };
        cursor.push('.');
        cursor.push(form);
        cursor.extend(bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit));
    }
    cursor
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

/// Decodes the keys.
pub(super) fn decode<const N: usize>(cursor: &str) -> StoreResult<[Value; N]> {
    let keys = cursor.strip_prefix("c1.").map(|keys| keys.split('.').map(decode_key));
    let keys: Option<Vec<Value>> = keys.and_then(Iterator::collect);
    keys.and_then(|keys| keys.try_into().ok())
        .ok_or_else(|| StoreError::BadQuery("the cursor is malformed".to_owned()))
}

fn decode_key(key: &str) -> Option<Value> {
    let (form, hex) = key.split_at_checked(1)?;
    let pairs = hex.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> =
        pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    let text = || String::from_utf8(bytes.clone()?).ok();
    match form {
        "i" => text()?.parse().ok().map(Value::Integer),
        "t" => text().map(Value::Text),
        "b" => bytes.map(Value::Blob),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back() {
        let keys = [Value::Integer(-7), Value::Text("é.".into()), Value::Blob(vec![0, 255])];
        assert_eq!(decode::<3>(&encode(&keys)).unwrap(), keys);
    }

    #[test]
    fn anything_else_is_refused() {
        for cursor in ["", "c1", "c1.", "c1.i", "c1.ix", "c1.i31.i31", "c1.q00", "c2.i31"] {
            assert!(decode::<1>(cursor).is_err(), "{cursor}");
        }
    }
}
