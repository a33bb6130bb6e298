use proptest::prelude::*;
use ratchet_core::catalog::dataset::upload::{Target, guess};
use serde_json::json;

use super::*;

fn mapping(preview: &Preview) -> Mapping {
    let targets = guess(&preview.columns);
    Mapping::new(preview.columns.iter().cloned().zip(targets).collect()).unwrap()
}

#[track_caller]
fn check(text: &str, format: Format, expected: &[(u64, Option<&str>, Value)]) {
    let preview = preview(text.as_bytes(), format, 10).unwrap();
    assert_eq!(preview.rows, expected.len());
    let cases = cases(text.as_bytes(), format, &mapping(&preview)).unwrap();
    let seen: Vec<_> = cases
        .iter()
        .map(|(line, case)| {
            let input = case.input.as_ref().map_or("null", |json| json.as_str());
            (*line, case.id.as_deref(), serde_json::from_str::<Value>(input).unwrap())
        })
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn tables_become_cases() {
    check(
        "\u{feff}id, question \r\n7,\"two\nlines\"\r\nb,\"{\"\"a\"\":1}\"\n",
        Format::Csv,
        &[(2, Some("7"), json!("two\nlines")), (4, Some("b"), json!({"a": 1}))],
    );
    check(
        "{\"input\": 1}\n\n{\"input\": \"x\", \"id\": \"i\", \"more\": null}",
        Format::Jsonl,
        &[(1, None, json!(1)), (3, Some("i"), json!("x"))],
    );
}

#[track_caller]
fn check_bad(text: &[u8], format: Format, expected: &[(u64, &str)]) {
    let bad = preview(text, format, 10).unwrap_err();
    let seen: Vec<_> = bad.lines.iter().map(|bad| (bad.line, bad.why.as_str())).collect();
    assert_eq!(seen, expected);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    check_bad(b"", Format::Csv, &[(1, "the first line must name the columns")]);
    check_bad(b"a,b\n", Format::Csv, &[(0, "the file has no rows")]);
    check_bad(b"a,a\n1,2\n", Format::Csv, &[(1, "two columns are called “a”")]);
    let uneven = b"a,b\n1,2\n1\n1,2,3\n";
    let (short, long) = ("1 cells, but there are 2 columns", "3 cells, but there are 2 columns");
    check_bad(uneven, Format::Csv, &[(3, short), (4, long)]);
    check_bad(b"a,b\n1,\xff\n", Format::Csv, &[(2, "b: not UTF-8")]);
    check_bad(b"\n", Format::Jsonl, &[(0, "the file has no rows")]);
    check_bad(
        b"[1]\n{\"a\":1}\n",
        Format::Jsonl,
        &[(1, "must be a JSON object such as {\"input\": …}")],
    );
}

#[test]
fn an_id_stands_once() {
    let text = b"id,input\nx,1\nx,2\n";
    let columns = vec![("id".to_owned(), Target::Id), ("input".to_owned(), Target::Input)];
    let bad = cases(text, Format::Csv, &Mapping::new(columns).unwrap()).unwrap_err();
    assert_eq!(bad.lines, [BadLine { line: 3, why: "its id is already on line 2".to_owned() }]);
}

#[test]
fn formats_are_told_by_name_or_by_beginning() {
    assert_eq!(Format::of("a.CSV", b"{"), Format::Csv);
    assert_eq!(Format::of("a.jsonl", b"x"), Format::Jsonl);
    assert_eq!(Format::of("a", b"\n {\"a\":1}"), Format::Jsonl);
    assert_eq!(Format::of("", b"a,b"), Format::Csv);
}

proptest! {
    #[test]
    fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for format in [Format::Csv, Format::Jsonl] {
            if let Ok(preview) = preview(&bytes, format, 3) {
                let targets = guess(&preview.columns);
                let columns = preview.columns.iter().cloned().zip(targets).collect();
                if let Ok(mapping) = Mapping::new(columns) {
                    let _cases = cases(&bytes, format, &mapping);
                }
            }
        }
    }
}
