use ratchet_core::id::ScoreId;
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_store::StoreError;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, PageNumber, Paging, ScoreColumn, ScoreQuery, Test, TextTest,
};
use ratchet_store::telemetry::{Batch, Telemetry};

use super::Behaviour;
use super::filters::{compare, tests};
use crate::ask;
use crate::build::{batch, generation, project, score, trace};
use crate::recording::RecordBatch;
use crate::reference_store::Model;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("every score column takes every test that fits", |s| Box::pin(columns(s))),
    ("scores are filtered by several tests, counted and paged", |s| Box::pin(pages(s))),
    ("a deleted score is gone, and nothing else is", |s| Box::pin(deleting(s))),
];

const COLUMNS: [ScoreColumn; 30] = [
    ScoreColumn::Id,
    ScoreColumn::Name,
    ScoreColumn::DataType,
    ScoreColumn::Number,
    ScoreColumn::Text,
    ScoreColumn::Source,
    ScoreColumn::Timestamp,
    ScoreColumn::Environment,
    ScoreColumn::Comment,
    ScoreColumn::Author,
    ScoreColumn::Config,
    ScoreColumn::Queue,
    ScoreColumn::Trace,
    ScoreColumn::Observation,
    ScoreColumn::Session,
    ScoreColumn::DatasetRun,
    ScoreColumn::Metadata,
    ScoreColumn::TraceName,
    ScoreColumn::TraceUser,
    ScoreColumn::TraceTags,
    ScoreColumn::TraceRelease,
    ScoreColumn::TraceVersion,
    ScoreColumn::AnySession,
    ScoreColumn::ObservationName,
    ScoreColumn::ObservationModel,
    ScoreColumn::ObservationPromptName,
    ScoreColumn::ObservationPromptVersion,
    ScoreColumn::Truth,
    ScoreColumn::Judge,
    ScoreColumn::Superseded,
];

/// Scores of every kind on every target, one of them on a trace that never arrived.
fn story(shop: &ProjectId) -> Batch {
    let hex = "00000000000000000000000000000abc";
    let label = |label: &str, number| ScoreValue::Categorical { label: label.to_owned(), number };
    let judged_step = score(hex).on("x%_'").of_observation(hex, "0000000000000abc").given(1_000);
    let judged_step = judged_step.value(ScoreValue::Boolean(true));
    batch(shop)
        .with(trace("Ann").named("Ann").for_user("ann").tagged("Ann").tagged("x"))
        .with(trace(hex).named("x%_'").in_session("Ann").release("nn").version("Ann"))
        .with(
            generation("0000000000000abc")
                .of(hex)
                .named("Ann")
                .calling("x%_'")
                .prompted_by("Ann", 2),
        )
        .with(score("Ann").on("Ann").of_trace("Ann").number(2.0).given(0).comment("Ann"))
        .with(score("Ann").by("Ann", "nn", "x%_'").metadata("k", r#""Ann""#).metadata("n", "2"))
        .with(score("Ann").metadata("judge", r#""Ann""#))
        .with(judged_step.metadata("superseded_by", "0"))
        .with(score(hex).from(ScoreSource::Eval).metadata("n", "0"))
        .with(score("c").on("ann").of_session("Ann").value(label("Ann", Some(0.5))).given(2_000))
        .with(score("c").from(ScoreSource::Annotation).in_environment("ann").comment(""))
        .with(score("d").on("Ann").of_run("Ann").value(label("x", None)).given(3_000))
        .with(score("e").on("output").of_trace("Ann").value(ScoreValue::Correction("2".to_owned())))
        .with(score("f").on("note").of_trace("gone").value(ScoreValue::Text("Annex".to_owned())))
        .build()
}

async fn columns(store: Telemetry) {
    let shop = project("shop");
    let mut model = Model::default();
    model.record(story(&shop));
    store.record(story(&shop)).await.unwrap();
    for column in COLUMNS {
        for test in tests() {
            let conditions = vec![Condition { column, test: test.clone() }];
            let query = ScoreQuery { conditions: conditions.clone(), ..ask::all_scores(&shop) };
            let answer = store.scores(query).await;
            if column == ScoreColumn::Metadata && !matches!(test, Test::Key(..)) {
                assert!(!matches!(answer, Err(StoreError::Database(_))), "{column:?} {test:?}");
                continue;
            }
            let expected = model.scores_passing(&conditions);
            let expected = expected.map(|rows| rows.iter().map(|s| s.id.to_string()).collect());
            let read = answer.map(|page| page.rows.iter().map(|s| s.id.to_string()).collect());
            compare(read, expected, &format!("{column:?} {test:?}"));
        }
    }
}

async fn pages(store: Telemetry) {
    let shop = project("shop");
    store.record(story(&shop)).await.unwrap();
    let named = Test::AnyOf(vec!["Ann".to_owned(), "output".to_owned()]);
    let on_trace = Test::Text(TextTest::Equals, "Ann".to_owned());
    let conditions = vec![
        Condition { column: ScoreColumn::Name, test: named },
        Condition { column: ScoreColumn::Trace, test: on_trace },
        Condition { column: ScoreColumn::TraceUser, test: Test::IsNotNull },
    ];
    let paging = Paging::Numbered(PageNumber { page: 2, limit: 1 });
    let query = ScoreQuery { conditions: conditions.clone(), paging, ..ask::all_scores(&shop) };
    let page = store.scores(query).await.unwrap();
    assert_eq!((page.rows.len(), page.total), (1, Some(2)));
    let paging = Paging::After { cursor: None, limit: 1 };
    let query = ScoreQuery { conditions: conditions.clone(), paging, ..ask::all_scores(&shop) };
    let first = store.scores(query).await.unwrap();
    let paging = Paging::After { cursor: first.cursor.clone(), limit: 1 };
    let query = ScoreQuery { conditions, paging, ..ask::all_scores(&shop) };
    let second = store.scores(query).await.unwrap();
    assert_eq!((second.rows, second.cursor), (page.rows, None));
    assert!(first.cursor.is_some());
}

async fn deleting(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    store.record(story(&shop)).await.unwrap();
    store.record(story(&other)).await.unwrap();
    let id = ScoreId::parse("Ann").unwrap();
    assert!(store.delete_score(shop.clone(), id.clone()).await.unwrap());
    assert!(!store.delete_score(shop.clone(), id.clone()).await.unwrap());
    assert!(!store.delete_score(project("nobody"), id).await.unwrap());
    assert_eq!(ask::score(&store, &shop, "Ann").await, None);
    assert!(ask::score(&store, &other, "Ann").await.is_some());
    assert_eq!(ask::scores(&store, &shop).await.len(), 5);
    store.record(story(&shop)).await.unwrap();
    assert_eq!(ask::score(&store, &shop, "Ann").await.unwrap().name, "Ann");
}
