use ratchet_testkit::process::PROJECT;
use serde_json::Value;

use super::words;
use crate::pages::stage::stage;

/// Names of traces are cut here; see the seed.
const NAME_CHARS: usize = 190;

/// A list as a file.
#[track_caller]
fn file(list: &str, format: &str) -> String {
    kept(&format!("/project/{PROJECT}/list/{list}/export?format={format}&range=all"))
}

/// What an address gives, which must be a file to keep.
#[track_caller]
fn kept(path: &str) -> String {
    let answer = stage().hostile().get(path);
    assert_eq!(answer.status, 200, "{path}");
    let kind = answer.header("content-disposition").unwrap_or_default();
    assert!(kind.starts_with("attachment;"), "{path} is not shown but kept: {kind}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    String::from_utf8(answer.body).unwrap()
}

/// Reads a table with commas, as RFC 4180 has it.
fn table(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut characters) = (false, text.chars().peekable());
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                cell.push('"');
                characters.next();
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {
                assert_eq!(characters.next(), Some('\n'), "a line ends half");
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ => cell.push(character),
        }
    }
    assert!(row.is_empty() && cell.is_empty() && !is_quoted, "the last line does not end");
    rows
}

/// Whether a spreadsheet would calculate a cell. A number is what it looks like.
fn is_calculated(cell: &str) -> bool {
    let is_number = cell.parse::<f64>().is_ok();
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) && !is_number
}

/// The names that are in every list.
fn names() -> impl Iterator<Item = String> {
    words::all().map(|words| words.chars().take(NAME_CHARS).collect())
}

/// The names in a table that calculates nothing.
#[track_caller]
fn names_of(text: &str) -> Vec<String> {
    let mut rows = table(text).into_iter();
    let head = rows.next().unwrap();
    let column = head.iter().position(|name| name == "name").unwrap();
    let name = |row: Vec<String>| {
        assert_eq!(row.len(), head.len(), "{row:?}");
        let calculated: Vec<&String> = row.iter().filter(|cell| is_calculated(cell)).collect();
        assert!(calculated.is_empty(), "{calculated:?}");
        row[column].clone()
    };
    rows.map(name).collect()
}

#[track_caller]
fn check_table(list: &str) {
    let found = names_of(&file(list, "csv"));
    for name in names() {
        let written = if is_calculated(&name) { format!("'{name}") } else { name };
        assert!(found.contains(&written), "{list}: no row is named {written:?}");
    }
}

#[track_caller]
fn check_lines(list: &str) {
    let text = file(list, "jsonl");
    let rows: Vec<Value> =
        text.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect();
    for name in names() {
        let is_there = rows.iter().any(|row| row["name"] == name.as_str());
        assert!(is_there, "{list}: no row is named {name:?}");
    }
}

#[test]
fn no_table_of_traces_calculates_anything() {
    check_table("traces");
}

#[test]
fn no_table_of_observations_calculates_anything() {
    check_table("observations");
}

#[test]
fn the_audit_log_as_a_table_calculates_nothing() {
    let found = names_of(&kept(&format!("/project/{PROJECT}/settings/audit.csv?range=all")));
    let runs = found.iter().filter(|name| name.contains("evil.example")).count();
    assert!(runs > 0, "it names what was made");
}

#[test]
fn lines_of_json_say_what_was_recorded() {
    check_lines("traces");
    check_lines("observations");
}
