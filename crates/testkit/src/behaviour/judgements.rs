use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;
use ratchet_store::score_stats::{PairQuery, Sample, SampleQuery, ScoreScope, Side};
use ratchet_store::telemetry::Telemetry;

use super::Behaviour;
use crate::build::{at, batch, project, score};
use crate::recording::RecordBatch;

/// Every behaviour of this module.
pub const ALL: &[Behaviour] = &[
    ("the newest scores of every name", |s| Box::pin(samples(s))),
    ("samples keep to their bound, their time and their environment", |s| Box::pin(bounds(s))),
    ("two scores of one trace are a pair", |s| Box::pin(pairs(s))),
    ("a pair on one step goes before one on its trace", |s| Box::pin(steps(s))),
];

fn scope(project: &ProjectId) -> ScoreScope {
    let (range, environments) = (TimeRange::default(), Vec::new());
    ScoreScope { project: project.clone(), range, environments }
}

fn every(project: &ProjectId) -> SampleQuery {
    SampleQuery { scope: scope(project), name: None, at_most: 1_000 }
}

fn numbers(sample: &Sample) -> Vec<f64> {
    sample.judgements.iter().filter_map(|judgement| judgement.value.number()).collect()
}

async fn samples(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    let recorded = batch(&shop)
        .with(score("a").on("quality").of_trace("t").number(0.25).given(1))
        .with(score("b").on("quality").of_trace("t").number(0.5).given(2).from(ScoreSource::Eval))
        .with(score("c").on("ok").of_session("s").value(ScoreValue::Boolean(true)).given(3))
        .with(score("d").on("Ok").of_run("r").value(ScoreValue::Text("fine".into())).given(4));
    store.record(recorded.build()).await.unwrap();
    let read = store.score_samples(every(&shop)).await.unwrap();
    let names: Vec<_> = read.iter().map(|sample| (sample.name.as_str(), sample.total)).collect();
    assert_eq!(names, [("Ok", 1), ("ok", 1), ("quality", 2)]);
    assert_eq!(numbers(&read[2]), [0.5, 0.25], "newest first");
    let newest = &read[2].judgements[0];
    assert_eq!((newest.source, newest.timestamp), (ScoreSource::Eval, at(2)));
    assert_eq!(read[0].judgements[0].value, ScoreValue::Text("fine".into()));
    let one = SampleQuery { name: Some("ok".to_owned()), ..every(&shop) };
    let read = store.score_samples(one).await.unwrap();
    assert_eq!((read.len(), read[0].name.as_str()), (1, "ok"));
    assert_eq!(store.score_samples(every(&other)).await.unwrap(), []);
    let none = SampleQuery { name: Some("none".to_owned()), ..every(&shop) };
    assert_eq!(store.score_samples(none).await.unwrap(), []);
}

async fn bounds(store: Telemetry) {
    let shop = project("shop");
    let many = (0_u8..150).map(|n| {
        let place = if n < 20 { "beta" } else { "prod" };
        let given = score(&format!("s{n}")).on("many").of_trace("t").number(f64::from(n));
        given.given(i64::from(n)).in_environment(place)
    });
    store.record(batch(&shop).with_all(many).build()).await.unwrap();
    let few = SampleQuery { at_most: 100, ..every(&shop) };
    let read = store.score_samples(few).await.unwrap();
    assert_eq!((read[0].total, read[0].judgements.len()), (150, 100));
    assert_eq!(numbers(&read[0])[..2], [149.0, 148.0]);
    let in_beta = ScoreScope { environments: vec!["beta".to_owned()], ..scope(&shop) };
    let read = store.score_samples(SampleQuery { scope: in_beta, ..every(&shop) }).await.unwrap();
    assert_eq!((read[0].total, numbers(&read[0])[0]), (20, 19.0));
    let range = TimeRange { from: Some(at(5)), to: Some(at(8)) };
    let in_time = ScoreScope { range, ..scope(&shop) };
    let read = store.score_samples(SampleQuery { scope: in_time, ..every(&shop) }).await.unwrap();
    assert_eq!(numbers(&read[0]), [7.0, 6.0, 5.0]);
}

fn side(name: &str, source: Option<ScoreSource>) -> Side {
    Side { name: name.to_owned(), source }
}

fn compared(project: &ProjectId, left: Side, right: Side) -> PairQuery {
    PairQuery { scope: scope(project), left, right, at_most: 1_000 }
}

async fn told_pairs(
    store: &Telemetry,
    query: PairQuery,
) -> Vec<(String, Option<f64>, Option<f64>)> {
    let pairs = store.score_pairs(query).await.unwrap();
    let recorded = pairs.rows.iter();
    recorded.map(|pair| (pair.trace.to_string(), pair.left.number(), pair.right.number())).collect()
}

async fn pairs(store: Telemetry) {
    let (shop, other) = (project("shop"), project("other"));
    let (eval, person) = (Some(ScoreSource::Eval), Some(ScoreSource::Annotation));
    let recorded = batch(&shop)
        .with(score("a1").on("q").of_trace("t1").number(1.0).given(1).from(ScoreSource::Eval))
        .with(score("a2").on("q").of_trace("t2").number(2.0).given(2).from(ScoreSource::Eval))
        .with(score("a3").on("q").of_trace("t2").number(3.0).given(3).from(ScoreSource::Eval))
        .with(score("a4").on("q").of_trace("t3").number(4.0).given(4).from(ScoreSource::Eval))
        .with(score("h1").on("q").of_trace("t1").number(5.0).given(5).from(ScoreSource::Annotation))
        .with(score("b2").on("other").of_trace("t2").number(6.0).given(6))
        .with(score("s").on("q").of_session("t3").number(7.0).given(7));
    store.record(recorded.build()).await.unwrap();
    let one = |trace: &str, left, right| (trace.to_owned(), Some(left), Some(right));
    let judges = compared(&shop, side("q", eval), side("q", person));
    assert_eq!(told_pairs(&store, judges).await, [one("t1", 1.0, 5.0)]);
    let names = compared(&shop, side("q", None), side("other", None));
    assert_eq!(told_pairs(&store, names.clone()).await, [one("t2", 3.0, 6.0)], "the newest counts");
    let cut = store.score_pairs(PairQuery { at_most: 2, ..names.clone() }).await.unwrap();
    assert_eq!((cut.looked_at, cut.is_cut, cut.rows.len()), (2, true, 0));
    let whole = store.score_pairs(names).await.unwrap();
    assert_eq!((whole.looked_at, whole.is_cut), (5, false));
    let theirs = compared(&other, side("q", None), side("other", None));
    assert_eq!(told_pairs(&store, theirs).await, []);
}

async fn steps(store: Telemetry) {
    let shop = project("shop");
    let recorded = batch(&shop)
        .with(score("a").on("a").of_observation("t", "o1").number(1.0).given(1))
        .with(score("b").on("a").of_observation("t", "o2").number(2.0).given(2))
        .with(score("c").on("b").of_observation("t", "o1").number(3.0).given(3))
        .with(score("d").on("b").of_trace("t").number(4.0).given(4));
    store.record(recorded.build()).await.unwrap();
    let read = told_pairs(&store, compared(&shop, side("a", None), side("b", None))).await;
    let one = |left, right| ("t".to_owned(), Some(left), Some(right));
    assert_eq!(read, [one(2.0, 4.0), one(1.0, 3.0)]);
}
