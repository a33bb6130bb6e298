use ratchet_core::record::field_table::{OBSERVATION, TRACE};
use ratchet_core::time::Timestamp;
use ratchet_store::query::{
    Compare, Condition, ObservationColumn, Test, TextTest, TimeRange, TraceColumn,
};

use super::parse;

#[track_caller]
fn check(condition: &str, column: TraceColumn, test: Test) {
    let filter = parse("filter", &format!("[{condition}]"), &TRACE).unwrap();
    assert_eq!(filter.conditions, [Condition { column, test }]);
}

#[track_caller]
fn refused(json: &str, expected: &[&str]) {
    let issues = parse("filter", json, &TRACE).unwrap_err();
    let issues: Vec<_> = issues.iter().map(ToString::to_string).collect();
    assert_eq!(issues, expected);
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn texts_compare_in_five_ways() {
    for (operator, expected) in [
        ("=", TextTest::Equals),
        ("contains", TextTest::Contains),
        ("does not contain", TextTest::Lacks),
        ("starts with", TextTest::StartsWith),
        ("ends with", TextTest::EndsWith),
    ] {
        let json =
            format!(r#"{{"type":"string","column":"userId","operator":"{operator}","value":"u"}}"#);
        check(&json, TraceColumn::User, Test::Text(expected, "u".to_owned()));
    }
}

#[test]
fn numbers_compare_in_five_ways() {
    for (operator, expected) in [
        ("=", Compare::Equal),
        (">", Compare::Greater),
        ("<", Compare::Less),
        (">=", Compare::AtLeast),
        ("<=", Compare::AtMost),
    ] {
        let json = format!(
            r#"{{"type":"number","column":"totalCost","operator":"{operator}","value":1}}"#
        );
        check(&json, TraceColumn::Cost, Test::Number(expected, 1.0));
    }
}

#[test]
fn lists_nulls_and_truths_are_read() {
    check(
        r#"{"type":"arrayOptions","column":"tags","operator":"all of","value":["a","b"]}"#,
        TraceColumn::Tags,
        Test::AllOf(texts(&["a", "b"])),
    );
    check(
        r#"{"type":"stringOptions","column":"environment","operator":"none of","value":["x"]}"#,
        TraceColumn::Environment,
        Test::NoneOf(texts(&["x"])),
    );
    check(
        r#"{"type":"null","column":"sessionId","operator":"is null"}"#,
        TraceColumn::Session,
        Test::IsNull,
    );
    check(
        r#"{"type":"null","column":"name","operator":"is not null","value":""}"#,
        TraceColumn::Name,
        Test::IsNotNull,
    );
    check(
        r#"{"type":"boolean","column":"bookmarked","operator":"<>","value":true}"#,
        TraceColumn::Bookmarked,
        Test::Is(false),
    );
}

#[test]
fn metadata_is_tested_by_key() {
    check(
        r#"{"type":"stringObject","column":"metadata","key":"tier","operator":"=","value":"gold"}"#,
        TraceColumn::Metadata,
        Test::Key("tier".to_owned(), Box::new(Test::Text(TextTest::Equals, "gold".to_owned()))),
    );
    check(
        r#"{"type":"numberObject","column":"metadata","key":"n","operator":">","value":2}"#,
        TraceColumn::Metadata,
        Test::Key("n".to_owned(), Box::new(Test::Number(Compare::Greater, 2.0))),
    );
}

#[test]
fn times_of_the_record_itself_narrow_the_range() {
    let json = r#"[
        {"type":"datetime","column":"startTime","operator":">=","value":"2026-11-15T00:00:00Z"},
        {"type":"datetime","column":"startTime","operator":">","value":"2026-11-16T00:00:00Z"},
        {"type":"datetime","column":"startTime","operator":"<=","value":"2026-11-18T00:00:00Z"},
        {"type":"datetime","column":"startTime","operator":"<","value":"2026-11-17T00:00:00Z"},
        {"type":"datetime","column":"endTime","operator":"<","value":"2026-11-17T00:00:00Z"}
    ]"#;
    let filter = parse("filter", json, &OBSERVATION).unwrap();
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let range = TimeRange {
        from: Some(at("2026-11-16T00:00:00Z").plus_nanos(1)),
        to: Some(at("2026-11-17T00:00:00Z")),
    };
    assert_eq!(filter.range, range);
    let test = Test::Time(Compare::Less, at("2026-11-17T00:00:00Z"));
    assert_eq!(filter.conditions, [Condition { column: ObservationColumn::End, test }]);
}

#[test]
fn an_empty_filter_filters_nothing() {
    let filter = parse("filter", "[]", &TRACE).unwrap();
    assert!(filter.conditions.is_empty());
    assert_eq!(filter.range, TimeRange::default());
}

#[test]
fn what_is_wrong_is_said_for_each_condition() {
    refused(
        r#"[
            {"type":"string","column":"name","operator":"~","value":"x"},
            {"type":"number","column":"name","operator":"=","value":1},
            {"type":"number","column":"latency","operator":"=","value":"1"},
            {"type":"datetime","column":"timestamp","operator":">","value":"soon"},
            {"type":"stringObject","column":"metadata","operator":"=","value":"x"},
            {"type":"stringOptions","column":"name","operator":"any of","value":[1]},
            {"type":"boolean","column":"public","operator":"=","value":"true"}
        ]"#,
        &[
            "filter[0].operator: string takes =, contains, does not contain, starts with, ends \
             with, matches, not ~",
            "filter[1].type: name takes string, stringOptions, null, not number",
            "filter[2].value: number needs a number",
            "filter[3].value: not an ISO 8601 date and time with an offset, such as \
             2026-01-31T12:00:00Z",
            "filter[4].key: required for stringObject",
            "filter[5].value: stringOptions needs a list of texts",
            "filter[6].value: boolean needs true or false",
        ],
    );
}

#[test]
fn scores_are_columns_by_name() {
    check(
        r#"{"type":"numberObject","column":"scores_avg","key":"q","operator":">","value":1}"#,
        TraceColumn::ScoreNumbers,
        Test::Key("q".to_owned(), Box::new(Test::Number(Compare::Greater, 1.0))),
    );
    check(
        r#"{"type":"number","column":"scores","operator":"<","value":1}"#,
        TraceColumn::ScoreNumbers,
        Test::Number(Compare::Less, 1.0),
    );
    for (operator, test) in
        [("=", Test::AnyOf(texts(&["True"]))), ("<>", Test::NoneOf(texts(&["True"])))]
    {
        let json = format!(
            r#"{{"type":"booleanObject","column":"score_booleans","key":"ok",
                "operator":"{operator}","value":true}}"#
        );
        check(&json, TraceColumn::ScoreBooleans, Test::Key("ok".to_owned(), Box::new(test)));
    }
    refused(
        r#"[{"type":"string","column":"score_categories","operator":"=","value":"x"}]"#,
        &["filter[0].type: score_categories takes categoryOptions, not string"],
    );
}

#[test]
fn unknown_columns_are_refused() {
    let json = r#"[{"type":"string","column":"colour","operator":"=","value":"x"}]"#;
    let issues = parse("filter", json, &TRACE).unwrap_err();
    assert!(issues[0].message.starts_with("colour is not a known column: id, name, timestamp,"));
}

#[test]
fn broken_json_says_where() {
    refused("{}", &["filter: invalid type: map, expected a sequence"]);
    refused("[{\"type\":\"string\"}]", &["filter[0]: missing field `column`"]);
    refused(
        r#"[{"type":"text","column":"name","operator":"=","value":"x"}]"#,
        &[
            "filter[0].type: invalid value: string \"text\", expected filter type (datetime, string, \
           number, stringOptions, categoryOptions, arrayOptions, stringObject, numberObject, \
           booleanObject, boolean, null)",
        ],
    );
    refused(
        "[1]",
        &["filter[0]: invalid type: integer `1`, expected a condition such as \
           {\"type\":…,\"column\":…,\"operator\":…,\"value\":…}"],
    );
    refused("[", &["filter: EOF while parsing a list"]);
}
