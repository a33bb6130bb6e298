use ratchet_core::payload::Payload;
use ratchet_core::record::observation::{Level, Observation, ObservationKind};
use ratchet_core::record::score::ScoreValue;
use ratchet_store::StoreError;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Compare, Condition, Direction, ObservationColumn, ObservationQuery, PageNumber, Paging, Test,
    TextTest, TraceColumn, TraceQuery,
};
use ratchet_store::telemetry::{Batch, Telemetry};

use super::Behaviour;
use crate::ask;
use crate::build::{at, batch, event, generation, json, project, score, span, text, tool, trace};
use crate::recording::RecordBatch;
use crate::reference_store::Model;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("every trace column takes every test that fits", |s| Box::pin(trace_columns(s))),
    ("every observation column takes every test that fits", |s| Box::pin(observation_columns(s))),
    ("several tests must all hold", |s| Box::pin(several_tests(s))),
    ("what few traces hold comes page by page", |s| Box::pin(few_traces_in_pages(s))),
    ("long lists are accepted, too long ones rejected", |s| Box::pin(long_lists(s))),
    ("a filtered list counts what passes", |s| Box::pin(totals_count_what_passes(s))),
];

const TRACE_COLUMNS: [TraceColumn; 34] = [
    TraceColumn::Id,
    TraceColumn::Timestamp,
    TraceColumn::Name,
    TraceColumn::User,
    TraceColumn::Session,
    TraceColumn::Release,
    TraceColumn::Version,
    TraceColumn::Environment,
    TraceColumn::Agent,
    TraceColumn::Tags,
    TraceColumn::Public,
    TraceColumn::Bookmarked,
    TraceColumn::Metadata,
    TraceColumn::Input,
    TraceColumn::Output,
    TraceColumn::Level,
    TraceColumn::ObservationCount,
    TraceColumn::ScoreCount,
    TraceColumn::ScoreNumbers,
    TraceColumn::ScoreLabels,
    TraceColumn::ScoreBooleans,
    TraceColumn::DebugCount,
    TraceColumn::DefaultCount,
    TraceColumn::WarningCount,
    TraceColumn::ErrorCount,
    TraceColumn::Latency,
    TraceColumn::InputTokens,
    TraceColumn::OutputTokens,
    TraceColumn::TotalTokens,
    TraceColumn::Cost,
    TraceColumn::ApproximateCost,
    TraceColumn::InputCost,
    TraceColumn::OutputCost,
    TraceColumn::Models,
];

const OBSERVATION_COLUMNS: [ObservationColumn; 45] = [
    ObservationColumn::Id,
    ObservationColumn::Trace,
    ObservationColumn::Kind,
    ObservationColumn::Name,
    ObservationColumn::Parent,
    ObservationColumn::Root,
    ObservationColumn::Start,
    ObservationColumn::End,
    ObservationColumn::Level,
    ObservationColumn::StatusMessage,
    ObservationColumn::Version,
    ObservationColumn::Environment,
    ObservationColumn::Agent,
    ObservationColumn::Model,
    ObservationColumn::PromptName,
    ObservationColumn::PromptVersion,
    ObservationColumn::Metadata,
    ObservationColumn::Input,
    ObservationColumn::Output,
    ObservationColumn::Latency,
    ObservationColumn::TimeToFirstToken,
    ObservationColumn::StreamingLatency,
    ObservationColumn::TokensPerSecond,
    ObservationColumn::StreamedTokensPerSecond,
    ObservationColumn::TotalTokensPerSecond,
    ObservationColumn::ScoreCount,
    ObservationColumn::ScoreNumbers,
    ObservationColumn::ScoreLabels,
    ObservationColumn::ScoreBooleans,
    ObservationColumn::InputTokens,
    ObservationColumn::OutputTokens,
    ObservationColumn::TotalTokens,
    ObservationColumn::Cost,
    ObservationColumn::ApproximateCost,
    ObservationColumn::InputCost,
    ObservationColumn::OutputCost,
    ObservationColumn::TraceName,
    ObservationColumn::TraceUser,
    ObservationColumn::TraceSession,
    ObservationColumn::TraceTags,
    ObservationColumn::TraceEnvironment,
    ObservationColumn::TraceRelease,
    ObservationColumn::TraceVersion,
    ObservationColumn::TracePublic,
    ObservationColumn::TraceBookmarked,
];

/// Five traces that differ in every filter column, and one without fields.
fn story(shop: &ProjectId) -> Batch {
    let hex = "00000000000000000000000000000abc";
    let label = |label: &str| ScoreValue::Categorical { label: label.to_owned(), number: None };
    batch(shop)
        .with(trace("Ann").named("Ann").for_user("ann").in_session("Annex").beginning(0))
        .with(trace("Ann").release("Ann").version("nn").in_environment("ann").agent("An"))
        .with(trace("Ann").tagged("Ann").tagged("x").public(true).input(text("Ann")))
        .with(trace("Ann").metadata("k", r#""Ann""#).metadata("n", "2").output(text("2")))
        .with(trace("x%_'").named("").for_user("").in_session("x%_'").beginning(2_000))
        .with(trace("x%_'").tagged("").bookmarked(true).metadata("k", "null"))
        .with(trace(hex).named("x%_'").in_session(hex).beginning(1_000).metadata("n", r#""2""#))
        .with(trace(hex).public(false).input(Payload::Json(json(r#"{"a": "Ann"}"#))))
        .with(trace("annAnn").named("annAnn").tagged("x").beginning(1_500).metadata("k", "[2]"))
        .with(trace("silent"))
        .with(generation("Ann").of("Ann").named("Ann").lasting(0, 2_000).calling("Ann"))
        .with(generation("Ann").of("Ann").tokens(2, 4).costing(2.0).prompted_by("Ann", 2))
        .with(generation("Ann").of("Ann").first_token(2_000).version("Ann").agent("Ann"))
        .with(generation("Ann").of("Ann").input(text("Ann")).metadata("k", r#""Ann""#))
        .with(tool("x%_'").of("Ann").under("Ann").lasting(500, 500).level(Level::Error))
        .with(tool("x%_'").of("Ann").because("x%_'").in_environment("ann").named(""))
        .with(event("e").of("Ann").beginning(2_000).level(Level::Debug).using(&[("total", 2)]))
        .with(span("0000000000000abc").of(hex).lasting(1_000, 3_000).level(Level::Warning))
        .with(span("0000000000000abc").of(hex).output(text("2")).metadata("n", "2.5").tokens(0, 2))
        .with(span("0000000000000def").of(hex).under("0000000000000abc").beginning(1_500))
        .with(span("0000000000000def").of(hex).as_app_root())
        .with(span("late").of("x%_'").kind(ObservationKind::Agent).lasting(2_000, 2_001))
        .with(score("1").on("n").of_trace("Ann").number(1.5))
        .with(score("2").on("n").of_observation("Ann", "Ann").number(2.5))
        .with(score("3").on("k").of_observation("Ann", "Ann").number(-1.0))
        .with(score("4").on("k").of_observation(hex, "0000000000000abc").value(label("Ann")))
        .with(score("5").on("k").of_trace("x%_'").value(label("x")))
        .with(score("6").on("n").of_trace("x%_'").value(ScoreValue::Boolean(true)))
        .with(score("7").on("n").of_observation("Ann", "x%_'").value(ScoreValue::Boolean(false)))
        .with(score("8").on("n").of_session("Annex").number(2.0))
        .build()
}

const WORDS: [&str; 10] =
    ["", "Ann", "ann", "nn", "x%_'", "%", "2", "ERROR", "GENERATION", "default"];
const HEX: [&str; 3] = ["00000000000000000000000000000abc", "0000000000000abc", "abc"];

/// Conditions of every kind, with values that some records have and others lack.
pub(super) fn tests() -> Vec<Test> {
    let how = [
        TextTest::Equals,
        TextTest::Differs,
        TextTest::Contains,
        TextTest::Lacks,
        TextTest::Matches,
        TextTest::Misses,
        TextTest::StartsWith,
        TextTest::EndsWith,
    ];
    let compare = [
        Compare::Equal,
        Compare::Unequal,
        Compare::Greater,
        Compare::AtLeast,
        Compare::Less,
        Compare::AtMost,
    ];
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let lists = [
        &[][..],
        &["Ann"],
        &["x", ""],
        &["Ann", "x", "nobody"],
        &HEX,
        &["DEBUG", "TOOL"],
        &["True"],
    ];
    let texts = how.into_iter().flat_map(|how| {
        WORDS.iter().chain(&HEX).map(move |word| Test::Text(how, (*word).to_owned()))
    });
    let numbers = compare
        .into_iter()
        .flat_map(|how| [-1.0, 0.0, 1.0, 2.0, 2.5, 1e300].map(|number| Test::Number(how, number)));
    let times = compare
        .into_iter()
        .flat_map(|how| [-1, 0, 1_000, 2_000, 3_000].map(|time| Test::Time(how, at(time))));
    let lists = lists.into_iter().flat_map(|words| {
        [Test::AnyOf(list(words)), Test::NoneOf(list(words)), Test::AllOf(list(words))]
    });
    let several = [Test::AnyNumber(Vec::new()), Test::AnyNumber(vec![2.0, 0.5, 0.0])];
    let plain: Vec<Test> = texts.chain(numbers).chain(lists).chain(several).collect();
    let fits_a_key = |test: &&Test| !matches!(test, Test::AllOf(_));
    let keyed: Vec<Test> = ["k", "n", "", "none"]
        .into_iter()
        .flat_map(|key| {
            let inner =
                plain.iter().filter(fits_a_key).cloned().chain([Test::IsNull, Test::IsNotNull]);
            inner.map(move |test| Test::Key(key.to_owned(), Box::new(test))).collect::<Vec<_>>()
        })
        .collect();
    let truths = [Test::Is(true), Test::Is(false), Test::IsNull, Test::IsNotNull];
    plain.into_iter().chain(times).chain(keyed).chain(truths).collect()
}

/// Conditions on payload columns other than text are engine-specific; they must only not fail
/// unexpectedly.
fn is_open(is_payload: bool, test: &Test) -> bool {
    let is_settled = matches!(
        test,
        Test::Text(..) | Test::AnyOf(_) | Test::NoneOf(_) | Test::IsNull | Test::IsNotNull
    );
    is_payload && !is_settled
}

async fn trace_columns(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    model.record(story(&shop));
    store.record(story(&shop)).await.unwrap();
    for column in TRACE_COLUMNS {
        for test in tests() {
            let conditions = vec![Condition { column, test: test.clone() }];
            let query = TraceQuery { conditions: conditions.clone(), ..ask::all_traces(&shop) };
            let answer = store.traces(query).await;
            let is_payload = matches!(column, TraceColumn::Input | TraceColumn::Output);
            let is_metadata = column == TraceColumn::Metadata && !matches!(test, Test::Key(..));
            if is_open(is_payload, &test) || is_metadata {
                assert!(!matches!(answer, Err(StoreError::Database(_))), "{column:?} {test:?}");
                continue;
            }
            let expected = model.traces_passing(&conditions);
            let expected = expected.map(|rows| rows.iter().map(|t| t.id.to_string()).collect());
            let read = answer.map(|page| page.rows.iter().map(|t| t.id.to_string()).collect());
            compare(read, expected, &format!("{column:?} {test:?}"));
        }
    }
}

async fn observation_columns(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    model.record(story(&shop));
    store.record(story(&shop)).await.unwrap();
    for column in OBSERVATION_COLUMNS {
        for test in tests() {
            let conditions = vec![Condition { column, test: test.clone() }];
            let query =
                ObservationQuery { conditions: conditions.clone(), ..ask::all_observations(&shop) };
            let answer = store.observations(query).await;
            let is_payload = matches!(column, ObservationColumn::Input | ObservationColumn::Output);
            let is_metadata =
                column == ObservationColumn::Metadata && !matches!(test, Test::Key(..));
            if is_open(is_payload, &test) || is_metadata {
                assert!(!matches!(answer, Err(StoreError::Database(_))), "{column:?} {test:?}");
                continue;
            }
            let expected = model.observations_passing(&conditions);
            let expected = expected.map(|rows| rows.iter().map(|o| o.id.to_string()).collect());
            let read = answer.map(|page| page.rows.iter().map(|o| o.id.to_string()).collect());
            compare(read, expected, &format!("{column:?} {test:?}"));
        }
    }
}

/// The same ids in any order, or an error where the condition does not fit the column.
#[track_caller]
pub(super) fn compare(
    read: Result<Vec<String>, StoreError>,
    expected: Option<Vec<String>>,
    asked: &str,
) {
    match (read, expected) {
        (Ok(mut read), Some(mut expected)) => {
            read.sort();
            expected.sort();
            assert_eq!(read, expected, "{asked}");
        }
        (Err(StoreError::BadQuery(_)), None) => {}
        (read, expected) => panic!("{asked}: {read:?}, expected {expected:?}"),
    }
}

fn is(column: TraceColumn, how: TextTest, word: &str) -> Condition<TraceColumn> {
    Condition { column, test: Test::Text(how, word.to_owned()) }
}

async fn few_traces_in_pages(store: Telemetry) {
    let shop = project("shop");
    let mut recorded = batch(&shop);
    for n in 0..24_i64 {
        let id = format!("t{n}");
        let about = trace(&id).in_session(&format!("s{}", n % 3)).for_user(&format!("u{}", n % 2));
        let step = |nth: i64| span(&format!("{id}-{nth}")).of(&id).beginning(nth * 7 + n / 2);
        recorded = recorded.with(about).with_all((0..3).map(step));
    }
    let (mut model, recorded) = (Model::default(), recorded.build());
    model.record(recorded.clone());
    store.record(recorded).await.unwrap();
    let equals = |column, word: &str| Condition {
        column,
        test: Test::Text(TextTest::Equals, word.to_owned()),
    };
    let of_user = equals(ObservationColumn::TraceUser, "u1");
    for conditions in [
        vec![equals(ObservationColumn::TraceSession, "s1")],
        vec![equals(ObservationColumn::Trace, "t5")],
        vec![of_user, equals(ObservationColumn::TraceSession, "s2")],
        vec![equals(ObservationColumn::TraceUser, "nobody")],
    ] {
        let mut expected = model.observations_passing(&conditions).unwrap();
        for direction in [Direction::Ascending, Direction::Descending] {
            let query = ObservationQuery {
                conditions: conditions.clone(),
                direction,
                ..ask::all_observations(&shop)
            };
            let mut read = in_pages(&store, query).await;
            let is_ordered = read.is_sorted_by(|a, b| match direction {
                Direction::Ascending => a.start <= b.start,
                Direction::Descending => a.start >= b.start,
            });
            assert!(is_ordered, "{conditions:?} {direction:?}");
            let ids = |rows: &mut Vec<Observation>| {
                rows.sort_by(|a, b| a.id.cmp(&b.id));
                rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>()
            };
            assert_eq!(ids(&mut read), ids(&mut expected), "{conditions:?} {direction:?}");
        }
    }
}

async fn in_pages(store: &Telemetry, query: ObservationQuery) -> Vec<Observation> {
    let (mut read, mut cursor) = (Vec::new(), None);
    loop {
        let paging = Paging::After { cursor, limit: 4 };
        let page = store.observations(ObservationQuery { paging, ..query.clone() }).await.unwrap();
        read.extend(page.rows);
        cursor = page.cursor;
        if cursor.is_none() {
            return read;
        }
    }
}

async fn several_tests(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop)).await.unwrap();
    let conditions = vec![
        is(TraceColumn::Name, TextTest::Contains, "Ann"),
        is(TraceColumn::Name, TextTest::Lacks, "nobody"),
        Condition { column: TraceColumn::Tags, test: Test::AnyOf(vec!["x".to_owned()]) },
        is(TraceColumn::Input, TextTest::Contains, "Ann"),
    ];
    let query = TraceQuery { conditions, ..ask::all_traces(&shop) };
    let rows = store.traces(query).await.unwrap().rows;
    assert_eq!(rows.iter().map(|t| t.id.to_string()).collect::<Vec<_>>(), ["Ann"]);
}

async fn long_lists(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop)).await.unwrap();
    let ask = async |conditions: Vec<Condition<TraceColumn>>| {
        let query = TraceQuery { conditions, ..ask::all_traces(&shop) };
        store.traces(query).await.map(|page| page.rows.len())
    };
    let tags = |test| vec![Condition { column: TraceColumn::Tags, test }];
    let words = |count: usize| (0..count).map(|n| format!("w{n}")).collect::<Vec<_>>();
    let repeated = |count: usize| vec!["x".to_owned(); count];
    assert_eq!(ask(tags(Test::AllOf(repeated(5_000)))).await.unwrap(), 2);
    assert_eq!(ask(tags(Test::AllOf(words(5_000)))).await.unwrap(), 0);
    assert_eq!(ask(tags(Test::AnyOf(words(20_000)))).await.unwrap(), 0);
    assert_eq!(ask(tags(Test::NoneOf(words(20_000)))).await.unwrap(), 5);
    let always = is(TraceColumn::Name, TextTest::Lacks, "nobody");
    assert_eq!(ask(vec![always.clone(); 400]).await.unwrap(), 5);
    for endless in [tags(Test::AnyOf(words(100_000))), vec![always; 50_000]] {
        let refused = ask(endless).await;
        assert!(matches!(refused, Err(StoreError::BadQuery(_))), "{refused:?}");
    }
}

async fn totals_count_what_passes(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop)).await.unwrap();
    for condition in [
        is(TraceColumn::Name, TextTest::Contains, "Ann"),
        is(TraceColumn::Input, TextTest::Contains, "Ann"),
    ] {
        let paging = Paging::Numbered(PageNumber { page: 1, limit: 1 });
        let conditions = vec![condition.clone()];
        let query = TraceQuery { conditions, paging, ..ask::all_traces(&shop) };
        let answer = store.traces(query).await.unwrap();
        assert_eq!((answer.rows.len(), answer.total), (1, Some(2)), "{condition:?}");
    }
}
