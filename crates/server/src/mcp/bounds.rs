use ratchet_core::record::limit::elide;
use serde_json::{Value, json};

/// Bytes of one value of an answer, unless the client asks for more.
pub(super) const USUAL_TEXT_BYTES: usize = 2_000;
/// Bytes of one value at most.
pub(super) const MAX_TEXT_BYTES: usize = 100_000;
/// Bytes of all rows of an answer; the first one always stays.
const MAX_ROWS_BYTES: usize = 1_000_000;

/// Cuts what is long in an answer, and says so in its field `note`.
///
/// Rows are the entries of `data`, or the answer itself. A field of a row that is longer than
/// `text_bytes` becomes a text with its middle left out; rows beyond the maximum are left out.
pub(super) fn bounded(mut answer: Value, text_bytes: usize, path: &str) -> Value {
    let mut notes = Vec::new();
    let (mut is_cut, mut left_out) = (false, 0);
    match answer.get_mut("data").and_then(Value::as_array_mut) {
        Some(rows) => {
            for row in rows.iter_mut() {
                is_cut |= cut_fields(row, text_bytes);
            }
            let whole = rows.len();
            rows.truncate(fitting(rows).max(1));
            left_out = whole - rows.len();
        }
        None => is_cut = cut_fields(&mut answer, text_bytes),
    }
    if is_cut {
        let path = path.split('?').next().unwrap_or_default();
        notes.push(format!(
            "values longer than {text_bytes} bytes are cut in the middle: ask with a larger \
             maxBytes (at most {MAX_TEXT_BYTES}), or read them whole with GET {path}"
        ));
    }
    if left_out > 0 {
        notes.push(format!(
            "the last {left_out} rows of this page are left out: ask with a smaller limit or \
             maxBytes"
        ));
    }
    if !notes.is_empty()
        && let Value::Object(fields) = &mut answer
    {
        fields.insert("note".to_owned(), json!(notes.join("; ")));
    }
    answer
}

/// The number of rows whose size together is within the maximum.
fn fitting(rows: &[Value]) -> usize {
    let mut bytes = 0;
    let fits = |row: &&Value| {
        bytes += row.to_string().len();
        bytes <= MAX_ROWS_BYTES
    };
    rows.iter().take_while(fits).count()
}

fn cut_fields(row: &mut Value, text_bytes: usize) -> bool {
    let Value::Object(fields) = row else { return false };
    let mut is_cut = false;
    for value in fields.values_mut() {
        let text = match value {
            Value::String(text) => std::mem::take(text),
            Value::Array(_) | Value::Object(_) => value.to_string(),
            Value::Null | Value::Bool(_) | Value::Number(_) => continue,
        };
        let is_long = text.len() > text_bytes;
        if is_long || value.is_string() {
            *value = Value::String(elide(&text, text_bytes).into_owned());
        }
        is_cut |= is_long;
    }
    is_cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_answers_stay_as_they_are() {
        for answer in [
            json!({"id": "a", "input": {"q": [1, 2]}, "n": null}),
            json!({"data": [{"id": "a"}], "meta": {"page": 1}}),
            json!({"data": []}),
            json!(null),
        ] {
            assert_eq!(bounded(answer.clone(), 100, "/x"), answer);
        }
    }

    #[test]
    fn long_values_are_cut_and_the_note_says_how_to_get_them() {
        let row = json!({"id": "a", "text": "x".repeat(500), "tree": vec!["y"; 500]});
        let answer = bounded(json!({"data": [row.clone()]}), 100, "/api/things?page=1");
        let shown = &answer["data"][0];
        assert_eq!(shown["id"], "a");
        assert!(shown["text"].as_str().unwrap().contains("of 500 bytes left out"));
        assert!(shown["tree"].as_str().unwrap().len() <= 100);
        let note = answer["note"].as_str().unwrap();
        assert!(note.ends_with("GET /api/things") && note.contains("maxBytes"), "{note}");
        let single = bounded(row, 100, "/api/things/a");
        assert!(single["note"].is_string() && single["text"].as_str().unwrap().len() <= 100);
    }

    #[test]
    fn rows_beyond_the_maximum_are_left_out_but_for_the_first() {
        let row = json!({"text": "x".repeat(MAX_TEXT_BYTES)});
        let answer = bounded(json!({"data": vec![row; 50]}), MAX_TEXT_BYTES, "/x");
        assert_eq!(answer["data"].as_array().unwrap().len(), 9);
        assert!(answer["note"].as_str().unwrap().contains("last 41 rows"));
        let huge = json!({"text": "x", "more": "y".repeat(2 * MAX_ROWS_BYTES)});
        let answer = bounded(json!({"data": [huge]}), 3 * MAX_ROWS_BYTES, "/x");
        assert_eq!(answer["data"].as_array().unwrap().len(), 1);
    }
}
