use serde_json::Value;

use super::super::row::CellValue;
use super::ExportCell;

/// A row as one JSON object on one line.
pub(in crate::pages) fn line(cells: &[ExportCell]) -> String {
    let cells: Vec<String> =
        cells.iter().map(|(name, value)| format!("\"{name}\":{}", cell(value))).collect();
    format!("{{{}}}\n", cells.join(","))
}

fn cell(value: &CellValue) -> String {
    match value {
        CellValue::Text(text) => Value::from(text.as_deref()).to_string(),
        CellValue::Number(number) => Value::from(*number).to_string(),
        CellValue::Whole(number) => number.to_string(),
        CellValue::Time(time) => Value::from(time.to_string()).to_string(),
        CellValue::Words(words) => Value::from(words.as_slice()).to_string(),
        CellValue::Json(None) => "null".to_owned(),
        // A line break can only be between the tokens of a document, never inside a string.
        CellValue::Json(Some(json)) => json.replace(['\n', '\r'], " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line() {
        let cells = [
            ("name", CellValue::Text(Some("two\nlines \"quoted\"".to_owned()))),
            ("cost_usd", CellValue::Number(None)),
            ("tags", CellValue::Words(vec!["a".to_owned()])),
            ("input", CellValue::Json(Some("{\n  \"a\": \"b\\nc\"\r\n}".to_owned()))),
        ];
        let expected = concat!(
            r#"{"name":"two\nlines \"quoted\"","cost_usd":null,"tags":["a"],"#,
            r#""input":{   "a": "b\nc"  }}"#,
            "\n"
        );
        assert_eq!(line(&cells), expected);
    }
}
