use super::super::column::ListColumn;
use super::super::row::CellValue;
use super::{ExportCell, SCORES};
use ratchet_core::csv;

/// The first line: what the columns are called.
pub(super) fn head(columns: &[ListColumn]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.word()).chain([SCORES]).collect();
    names.join(",") + "\r\n"
}

/// A row, as RFC 4180 has it.
pub(in crate::pages) fn line(cells: &[ExportCell]) -> String {
    let cells: Vec<String> = cells.iter().map(|(_, value)| cell(value)).collect();
    cells.join(",") + "\r\n"
}

fn cell(value: &CellValue) -> String {
    match value {
        CellValue::Text(None) | CellValue::Json(None) | CellValue::Number(None) => String::new(),
        CellValue::Text(Some(text)) | CellValue::Json(Some(text)) => csv::cell(text),
        CellValue::Words(words) => csv::cell(&words.join(";")),
        CellValue::Number(Some(number)) => number.to_string(),
        CellValue::Whole(number) => number.to_string(),
        CellValue::Time(time) => time.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_one_harmless_cell() {
        let tags = CellValue::Words(vec!["=1".to_owned(), "b".to_owned()]);
        assert_eq!(cell(&tags), "\"'=1;b\"");
    }

    #[test]
    fn numbers_stay_numbers() {
        assert_eq!(cell(&CellValue::Number(Some(-0.5))), "-0.5");
        assert_eq!(cell(&CellValue::Number(None)), "");
    }
}
