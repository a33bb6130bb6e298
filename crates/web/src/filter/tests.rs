use proptest::prelude::*;
use ratchet_core::record::field_table::{FIELDS, FieldKind};
use ratchet_store::query::{Condition, Test, TextTest, TraceColumn};

use super::*;

#[track_caller]
fn check(text: &str, printed: &str) {
    let parsed = Filter::parse(ListKind::Traces, text);
    assert_eq!(parsed.problems, [], "{text}");
    assert_eq!(parsed.filter.to_string(), printed);
}

#[track_caller]
fn refuse(on: ListKind, text: &str, named: &str, why: &str) {
    let parsed = Filter::parse(on, text);
    let [problem] = parsed.problems.as_slice() else { panic!("{text}: {:?}", parsed.problems) };
    assert_eq!(text.get(problem.span.clone()), Some(named));
    assert!(problem.message.contains(why), "{text}: {}", problem.message);
}

#[test]
fn what_people_type_is_understood() {
    check("level:error cost>0.10 latency>2s", "level:error cost>0.1 latency>2s");
    check("latency>=500ms tokens>=1k cost<=$3", "latency>=0.5s tokens>=1000 cost<=3");
    check("name:refund* user:u-1 env:prod,staging", "name:refund* user:u-1 env:prod,staging");
    check("environment:prod LEVEL:Error", "env:prod level:error");
    check("steps>3 observations<9", "observations>3 observations<9");
    check("score.quality<0.5 score.label:bad", "score.quality<0.5 score.label:\"bad\"");
    check("score.ok:true -tag:test is:public", "score.ok:true -tag:test is:public");
    check("score.\"user says\">=1 cost:>1", "score.\"user says\">=1 cost>1");
    check("user:* -session:*", "user:* -session:*");
    check("name:\"two words\" name:\"a,b\"*", "name:\"two words\" name:\"a,b\"*");
}

#[test]
fn words_side_by_side_are_one_text() {
    check("where is my order", "\"where is my order\"");
    check("where \"is\" it", "\"where\" \"is\" \"it\"");
    check("refund level:error order 66", "\"refund\" level:error \"order 66\"");
    check("refund -order", "\"refund\" -\"order\"");
    check("a - b", "\"a - b\"");
    check("a\"b \"c\\\"d\"", "\"a\\\"b\" \"c\\\"d\"");
}

#[test]
fn what_makes_no_sense_is_named() {
    refuse(ListKind::Traces, "level:error colour:red", "colour:red", "unknown filter “colour”");
    refuse(ListKind::Traces, "http://x", "http://x", "put it in quotes");
    refuse(ListKind::Traces, "cost>cheap", "cost>cheap", "“cheap” is not a number");
    refuse(ListKind::Traces, "latency>2y", "latency>2y", "such as 2s");
    refuse(ListKind::Traces, "tokens>1e308M", "tokens>1e308M", "is not a number");
    refuse(ListKind::Traces, "level:fatal", "level:fatal", "debug, default, warning, error");
    refuse(ListKind::Traces, "name>3", "name>3", "is text");
    refuse(ListKind::Traces, "name:", "name:", "needs a value");
    refuse(ListKind::Traces, "name:a*b", "name:a*b", "not inside");
    refuse(ListKind::Traces, "tag:v*", "tag:v*", "match exactly");
    refuse(ListKind::Traces, "-name:a*", "-name:a*", "-name:*a*");
    refuse(ListKind::Traces, "type:tool", "type:tool", "traces have no filter “type”");
    refuse(
        ListKind::Observations,
        "steps>3",
        "steps>3",
        "observations have no filter “observations”",
    );
    refuse(ListKind::Traces, "is:root", "is:root", "bookmarked or public");
    refuse(ListKind::Traces, "score.x>good", "score.x>good", "is not a number");
    refuse(ListKind::Traces, "score.:1", "score.:1", "needs a name");
    refuse(ListKind::Traces, "x \"never closed", "\"never closed", "closing quote is missing");
    refuse(ListKind::Traces, "name:\"a\"b", "name:\"a\"b", "a space is missing");
    refuse(ListKind::Traces, "\"\"", "\"\"", "quoted text is empty");
}

#[test]
fn the_rest_still_counts() {
    let parsed = Filter::parse(ListKind::Traces, "level:error colour:red user:ann");
    assert_eq!(parsed.filter.to_string(), "level:error user:ann");
}

#[test]
fn too_much_is_cut() {
    let many = "a:b ".repeat(3_000);
    assert!(Filter::parse(ListKind::Traces, &many).problems.len() > 1);
    let many = Filter::parse(ListKind::Traces, &"level:error ".repeat(60));
    assert_eq!((many.filter.terms.len(), many.problems.len()), (MAX_TERMS, 1));
}

#[test]
fn terms_are_conditions() {
    let filter =
        Filter::parse(ListKind::Traces, "level:error -name:*x* cost>1 -cost>1 \"t\"").filter;
    let text = |how, text: &str| Test::Text(how, text.to_owned());
    let expected = [
        (TraceColumn::Level, Test::AnyOf(vec!["ERROR".to_owned()])),
        (TraceColumn::Name, text(TextTest::Misses, "x")),
        (TraceColumn::Cost, Test::Number(Compare::Greater, 1.0)),
        (TraceColumn::Cost, Test::Number(Compare::AtMost, 1.0)),
    ];
    assert_eq!(filter.on_traces(), expected.map(|(column, test)| Condition { column, test }));
    assert_eq!(filter.texts().collect::<Vec<_>>(), [("t", true)]);
}

#[test]
fn a_click_adds_a_term_and_another_takes_it_away() {
    let filter = Filter::parse(ListKind::Traces, "user:ann").filter;
    let errors = Term::word(RecordField::Level, "error");
    let more = filter.toggled(&errors);
    assert_eq!(more.to_string(), "user:ann level:error");
    assert_eq!(more.toggled(&errors), filter);
    assert_eq!(more.without(0).to_string(), "level:error");
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,5}", "\\PC{1,8}", "[ \"\\\\*,:=<>a-]{1,6}"]
}

fn patterns() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        Just(Pattern::Any),
        prop::collection::vec(words(), 1..4).prop_map(Pattern::Exactly),
        words().prop_map(Pattern::StartsWith),
        words().prop_map(Pattern::EndsWith),
        words().prop_map(Pattern::Contains),
    ]
}

fn comparisons() -> impl Strategy<Value = Compare> {
    prop::sample::select(vec![
        Compare::Equal,
        Compare::Greater,
        Compare::AtLeast,
        Compare::Less,
        Compare::AtMost,
    ])
}

/// The numbers that traces can be filtered by.
fn numbers() -> Vec<RecordField> {
    let numbers = FIELDS.iter().filter(|facts| matches!(facts.kind, FieldKind::Number(_)));
    numbers.map(|facts| facts.field).filter(|field| ListKind::Traces.has_filter(*field)).collect()
}

fn whats() -> impl Strategy<Value = TermCondition> {
    let free = [RecordField::Name, RecordField::User, RecordField::Session, RecordField::Model];
    let levels = prop::sample::select(vec!["debug", "default", "warning", "error"]);
    let verdicts = prop_oneof![
        (comparisons(), -1e9..1e9).prop_map(|(how, number)| ScoreCondition::Number(how, number)),
        any::<bool>().prop_map(ScoreCondition::Truth),
        words().prop_map(ScoreCondition::Label),
    ];
    prop_oneof![
        words().prop_filter("a text", |text| !text.trim().is_empty()).prop_map(TermCondition::Text),
        (prop::sample::select(free.to_vec()), patterns())
            .prop_map(|(field, pattern)| TermCondition::Word(field, pattern)),
        levels.prop_map(|level| TermCondition::Word(
            RecordField::Level,
            Pattern::Exactly(vec![level.to_owned()])
        )),
        (prop::sample::select(numbers()), comparisons(), -1e12..1e12)
            .prop_map(|(field, how, number)| TermCondition::Number(field, how, number)),
        (words(), verdicts).prop_map(|(name, verdict)| TermCondition::Score(name, verdict)),
        Just(TermCondition::Is(RecordField::Public)),
    ]
}

fn terms() -> impl Strategy<Value = Term> {
    (any::<bool>(), whats()).prop_map(|(negated, what)| {
        let is_end =
            matches!(&what, TermCondition::Word(_, Pattern::StartsWith(_) | Pattern::EndsWith(_)));
        Term { negated: negated && !is_end, what }
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(terms in prop::collection::vec(terms(), 0..8)) {
        let filter = Filter { terms };
        let parsed = Filter::parse(ListKind::Traces, &filter.to_string());
        prop_assert_eq!(&parsed.problems, &[]);
        prop_assert_eq!(parsed.filter, filter);
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,60}") {
        for on in [ListKind::Traces, ListKind::Observations] {
            let parsed = Filter::parse(on, &text);
            for problem in &parsed.problems {
                prop_assert!(text.get(problem.span.clone()).is_some());
            }
            let again = Filter::parse(on, &parsed.filter.to_string());
            prop_assert_eq!(&again.problems, &[]);
            prop_assert_eq!(again.filter, parsed.filter);
        }
    }

    #[test]
    fn any_text_of_signs_is_read(text in "(name|score\\.|score\\.x|cost|is|level|-|:|=|<|>|\\*|,|\"|\\\\| |a|1){0,20}") {
        let parsed = Filter::parse(ListKind::Traces, &text);
        let again = Filter::parse(ListKind::Traces, &parsed.filter.to_string());
        prop_assert_eq!(&again.problems, &[]);
        prop_assert_eq!(again.filter, parsed.filter);
    }
}
