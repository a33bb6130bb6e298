use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata, TimeSpan};
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_store::experiment::{
    Experiment, ExperimentItemQuery, ExperimentQuery, Outcome, RunQuery, StoredExperimentItem,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Detail, Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_store::telemetry::{Batch, Telemetry};

use super::Behaviour;
use crate::build::{at, batch, json, observation, project, score, text, trace};
use crate::recording::RecordBatch;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("a try is kept once, in whichever order it is told", |s| Box::pin(told_in_any_order(s))),
    ("the same item in another run or step is another try", |s| Box::pin(repeats_are_kept(s))),
    ("experiments are found by id, name, dataset and time", |s| Box::pin(found_by_words(s))),
    ("a try is shown with its step or its run", |s| Box::pin(shown_with_outcome(s))),
    ("a try goes with its trace, its item or its experiment", |s| Box::pin(goes_with_others(s))),
    ("experiments keep to their project", |s| Box::pin(keeps_to_its_project(s))),
];

/// An item run as a client reports it.
fn run_item(experiment: &str, item: &str, run: &str) -> ExperimentItem {
    ExperimentItem {
        experiment: ExperimentMetadata {
            id: experiment.to_owned(),
            name: Some(format!("{experiment}'s name")),
            dataset: Some("set".to_owned()),
            ..ExperimentMetadata::default()
        },
        item: item.to_owned(),
        version: None,
        expected_output: None,
        metadata: None,
        trace: TraceId::parse(run).unwrap(),
        observation: None,
        ran: None,
        recorded_at: at(0),
    }
}

/// The same as its span reports it.
fn seen(tried: ExperimentItem, step: &str, start: i64) -> ExperimentItem {
    ExperimentItem {
        expected_output: Some(json("\"Rome\"")),
        observation: Some(ObservationId::parse(step).unwrap()),
        ran: Some(TimeSpan { start: at(start), end: at(start + 5) }),
        ..tried
    }
}

fn with(shop: &ProjectId, items: Vec<ExperimentItem>) -> Batch {
    Batch { experiment_items: items, ..batch(shop).build() }
}

fn any(shop: &ProjectId) -> ExperimentQuery {
    ExperimentQuery {
        project: shop.clone(),
        range: TimeRange::default(),
        ids: Vec::new(),
        names: Vec::new(),
        datasets: Vec::new(),
        paging: Paging::After { cursor: None, limit: 100 },
    }
}

async fn items(store: &Telemetry, of: ExperimentQuery) -> Vec<StoredExperimentItem> {
    let query = ExperimentItemQuery { of, items: Vec::new(), detail: Detail::Content };
    store.experiment_items(query).await.unwrap().rows
}

/// Names and counts, in order.
async fn counts(store: &Telemetry, of: ExperimentQuery) -> Vec<(String, u64)> {
    let found = store.experiments(of).await.unwrap().rows;
    found.into_iter().map(|found| (found.experiment.id, found.items)).collect()
}

async fn runs(store: &Telemetry, shop: &ProjectId) -> Vec<Experiment> {
    let paging = Paging::After { cursor: None, limit: 100 };
    let query = RunQuery { project: shop.clone(), dataset: "set".to_owned(), name: None, paging };
    store.runs(query).await.unwrap().rows
}

async fn told_in_any_order(store: Telemetry) {
    let client = run_item("e", "i", "t");
    let span = seen(client.clone(), "s", 10);
    let orders = [[client.clone(), span.clone(), client.clone()], [span.clone(), client, span]];
    for (shop, order) in [project("one"), project("two")].into_iter().zip(orders) {
        for word in order {
            store.record(with(&shop, vec![word])).await.unwrap();
        }
        let found = items(&store, any(&shop)).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].expected_output, Some(json("\"Rome\"")));
        assert_eq!(found[0].ran, Some(TimeSpan { start: at(10), end: at(15) }));
        assert_eq!(found[0].observation, Some(ObservationId::parse("s").unwrap()));
        assert_eq!(found[0].experiment.name, "e's name");
    }
}

async fn repeats_are_kept(store: Telemetry) {
    let shop = project("shop");
    let one = run_item("e", "i", "t1");
    let words = vec![
        seen(one.clone(), "s1", 1),
        seen(one, "s2", 2),
        run_item("e", "i", "t2"),
        run_item("e", "j", "t2"),
        run_item("f", "i", "t2"),
    ];
    store.record(with(&shop, words.clone())).await.unwrap();
    store.record(with(&shop, words)).await.unwrap();
    assert_eq!(items(&store, any(&shop)).await.len(), 5);
    let mut found = counts(&store, any(&shop)).await;
    found.sort();
    assert_eq!(found, [("e".to_owned(), 4), ("f".to_owned(), 1)]);
    assert_eq!(runs(&store, &shop).await.len(), 2);
}

async fn found_by_words(store: Telemetry) {
    let shop = project("shop");
    let early = seen(run_item("early", "i", "t1"), "s1", 100);
    let late = seen(run_item("late", "i", "t2"), "s2", 900);
    store.record(with(&shop, vec![late, early])).await.unwrap();
    let ids = |query| async {
        counts(&store, query).await.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(ids(any(&shop)).await, ["late", "early"]);
    let range = TimeRange { from: Some(at(101)), to: None };
    assert_eq!(ids(ExperimentQuery { range, ..any(&shop) }).await, ["late"]);
    let range = TimeRange { from: Some(at(100)), to: Some(at(900)) };
    assert_eq!(ids(ExperimentQuery { range, ..any(&shop) }).await, ["early"]);
    let names = vec!["early's name".to_owned()];
    assert_eq!(ids(ExperimentQuery { names, ..any(&shop) }).await, ["early"]);
    let datasets = vec!["another".to_owned()];
    assert!(ids(ExperimentQuery { datasets, ..any(&shop) }).await.is_empty());
    let paging = Paging::After { cursor: None, limit: 1 };
    let first = store.experiments(ExperimentQuery { paging, ..any(&shop) }).await.unwrap();
    assert_eq!((first.rows[0].start, first.rows[0].end), (at(900), at(905)));
    let paging = Paging::After { cursor: first.cursor, limit: 1 };
    let second = store.experiments(ExperimentQuery { paging, ..any(&shop) }).await.unwrap();
    assert_eq!((second.rows[0].experiment.id.as_str(), second.cursor), ("early", None));
}

async fn shown_with_outcome(store: Telemetry) {
    let shop = project("shop");
    let story = batch(&shop)
        .with(trace("t").output(text("whole")))
        .with(observation("s").of("t").lasting(1, 2).output(text("step")))
        .build();
    let words = vec![
        run_item("e", "whole", "t"),
        seen(run_item("e", "step", "t"), "s", 1),
        run_item("e", "none", "x"),
    ];
    store.record(Batch { experiment_items: words, ..story }).await.unwrap();
    for item in items(&store, any(&shop)).await {
        let output = match &item.outcome {
            Some(Outcome::Step(step)) => step.content.as_ref(),
            Some(Outcome::Run(run)) => run.content.as_ref(),
            None => None,
        };
        let output = output.and_then(|content| content.output.as_ref());
        let expected = Some(item.item.as_str()).filter(|item| *item != "none");
        assert_eq!(output.map(ratchet_core::payload::Payload::as_str), expected);
    }
}

async fn goes_with_others(store: Telemetry) {
    let shop = project("shop");
    let story = batch(&shop)
        .with(trace("t1"))
        .with(score("a").on("accuracy").of_run("e").number(1.0).given(0))
        .build();
    let words = vec![
        run_item("e", "i", "t1"),
        run_item("e", "j", "t2"),
        run_item("e", "k", "t3"),
        run_item("f", "i", "t1"),
    ];
    store.record(Batch { experiment_items: words, ..story }).await.unwrap();
    store.delete_traces(shop.clone(), vec![TraceId::parse("t1").unwrap()]).await.unwrap();
    assert_eq!(counts(&store, any(&shop)).await, [("e".to_owned(), 2)]);
    store.forget_item(shop.clone(), "j".to_owned()).await.unwrap();
    assert_eq!(counts(&store, any(&shop)).await, [("e".to_owned(), 1)]);
    assert!(store.delete_experiment(shop.clone(), "e".to_owned()).await.unwrap());
    assert!(!store.delete_experiment(shop.clone(), "e".to_owned()).await.unwrap());
    assert!(counts(&store, any(&shop)).await.is_empty());
    let left: Vec<_> = runs(&store, &shop).await.into_iter().map(|run| run.id).collect();
    assert_eq!(left, ["f"], "a run whose traces are gone is still a run");
    let query = ScoreQuery {
        project: shop,
        range: TimeRange::default(),
        on: ScoresOn::DatasetRun("e".to_owned()),
        conditions: Vec::new(),
        paging: Paging::After { cursor: None, limit: 10 },
    };
    assert!(store.scores(query).await.unwrap().rows.is_empty());
}

async fn keeps_to_its_project(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    store.record(with(&shop, vec![run_item("e", "i", "t")])).await.unwrap();
    store.record(with(&other, vec![run_item("e", "x", "t")])).await.unwrap();
    assert!(!store.delete_experiment(project("third"), "e".to_owned()).await.unwrap());
    store.forget_item(other.clone(), "i".to_owned()).await.unwrap();
    assert!(store.delete_experiment(other.clone(), "e".to_owned()).await.unwrap());
    assert!(items(&store, any(&other)).await.is_empty() && runs(&store, &other).await.is_empty());
    let found = items(&store, any(&shop)).await;
    assert_eq!((found.len(), found[0].item.as_str()), (1, "i"));
}
