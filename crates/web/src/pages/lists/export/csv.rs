use super::super::column::ListColumn;
use super::super::row::CellValue;

/// The first line: what the columns are called.
pub(super) fn head(columns: &[ListColumn]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.word()).collect();
    names.join(",") + "\r\n"
}

/// A row, as RFC 4180 has it.
pub(super) fn line(cells: &[(ListColumn, CellValue)]) -> String {
    let cells: Vec<String> = cells.iter().map(|(_, value)| cell(value)).collect();
    cells.join(",") + "\r\n"
}

fn cell(value: &CellValue) -> String {
    match value {
        CellValue::Text(None) | CellValue::Json(None) | CellValue::Number(None) => String::new(),
        CellValue::Text(Some(text)) | CellValue::Json(Some(text)) => quoted(&harmless(text)),
        CellValue::Words(words) => quoted(&harmless(&words.join(";"))),
        CellValue::Number(Some(number)) => number.to_string(),
        CellValue::Whole(number) => number.to_string(),
        CellValue::Time(time) => time.to_string(),
    }
}

/// Plain and full-width: some spreadsheets make no difference.
const FORMULA_STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Spreadsheets take what begins like this for a formula and run it; a quote before it stops them.
fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(FORMULA_STARTS);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(cell(&CellValue::Text(Some(text.to_owned()))), expected);
    }

    #[test]
    fn texts_that_need_it_are_quoted() {
        check("plain", "plain");
        check("a,b", "\"a,b\"");
        check("a \"b\"", "\"a \"\"b\"\"\"");
        check("two\r\nlines", "\"two\r\nlines\"");
    }

    #[test]
    fn nothing_is_run_as_a_formula() {
        check("=1+1", "'=1+1");
        check("+SUM(A1)", "'+SUM(A1)");
        check("-2", "'-2");
        check("@here", "'@here");
        check("\t=1", "'\t=1");
        check("＝1", "'＝1");
        check("\r=1", "\"'\r=1\"");
        check("=HYPERLINK(\"x\",\"y\")", "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
        let tags = CellValue::Words(vec!["=1".to_owned(), "b".to_owned()]);
        assert_eq!(cell(&tags), "'=1;b");
    }

    #[test]
    fn numbers_stay_numbers() {
        assert_eq!(cell(&CellValue::Number(Some(-0.5))), "-0.5");
        assert_eq!(cell(&CellValue::Number(None)), "");
    }
}
