//! A source and a sink behave the same, be they the local store or a client of a server.

use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::environment::Environment;
use ratchet_core::id::{ScoreId, SessionId, TraceId};
use ratchet_core::payload::Json;
use ratchet_core::record::score::config::{Category, ConfigValues, ScoreConfig};
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{
    ObservationFilter, Position, ScoreFilter, Slice, TimeWindow, TraceFilter,
};
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::{Source, SourceResult};
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewDatasetItem, NewPrompt};
use ratchet_testkit::build::{START, at, json};
use ratchet_testkit::no_backoff::NoBackoff;
use ratchet_testkit::proxy::Proxy;
use ratchet_testkit::reading::Reading;

use crate::client::{client, response, to};
use crate::harness::{TestServer, project};

async fn all<T>(mut slice: impl AsyncFnMut(Position) -> SourceResult<Slice<T>>) -> Vec<T> {
    let mut rows = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(position) = next {
        let slice = slice(position).await.unwrap();
        rows.extend(slice.rows);
        next = slice.next;
    }
    rows
}

/// Behaviour of every source.
async fn check_source(source: &Source, stored: &Reading) {
    let (traces, steps) = (TraceFilter::default(), ObservationFilter::default());
    let (scores, between) = (ScoreFilter::default(), TimeWindow::default());
    let read = Reading::new(
        all(async |at| source.traces(&traces, &at).await).await,
        all(async |at| source.observations(&steps, &at).await).await,
        all(async |at| source.sessions(&between, &at).await).await,
        all(async |at| source.scores(&scores, &at).await).await,
    );
    read.assert_equals(stored, "read from a source");
    let monday = SessionId::parse("monday").unwrap();
    let of_session = TraceFilter { session: Some(monday.clone()), ..TraceFilter::default() };
    let traces = all(async |at| source.traces(&of_session, &at).await).await;
    let ids: Vec<_> = traces.iter().map(|trace| trace.id.to_string()).collect();
    assert_eq!(ids, ["t2", "t1"], "newest first");
    assert_eq!(source.session(&monday).await.unwrap().unwrap().traces, 2);
    let first = TraceId::parse("t1").unwrap();
    assert_eq!(source.trace(&first).await.unwrap().unwrap().name.as_deref(), Some("checkout"));
    assert!(source.trace(&TraceId::parse("nothing").unwrap()).await.unwrap().is_none());
    let on_session = ScoreFilter { session: Some(monday), ..ScoreFilter::default() };
    assert_eq!(all(async |at| source.scores(&on_session, &at).await).await.len(), 1);
    let late = TimeWindow { from: Some(at(80_000)), to: None };
    let late = TraceFilter { between: late, session: None };
    assert_eq!(all(async |at| source.traces(&late, &at).await).await.len(), 30);
}

#[tokio::test]
async fn sources_tell_the_same() {
    let server = response().await;
    let telemetry = server.app.store.telemetry.clone();
    let stored = Reading::of_store(&telemetry, &project()).await;
    check_source(&Source::Local(telemetry, project()), &stored).await;
    check_source(&Source::Remote(to(&server)), &stored).await;
    let proxy = Proxy::without_v4_era(server.web);
    check_source(&Source::Remote(client(&proxy.web(), &NoBackoff::default())), &stored).await;
}

fn score(id: &str, value: ScoreValue) -> Score {
    Score {
        id: ScoreId::parse(id).unwrap(),
        target: ScoreTarget::Trace(TraceId::parse("t1").unwrap()),
        name: "grade".to_owned(),
        value,
        source: ScoreSource::Eval,
        timestamp: at(1_000),
        environment: Environment::default(),
        comment: Some("because".to_owned()),
        author: None,
        config: None,
        queue: None,
        metadata: vec![("judge".to_owned(), json(r#""offline""#))],
        created_at: START,
        updated_at: START,
    }
}

/// Behaviour of every sink.
async fn check_sink(server: &TestServer, sink: &Sink) {
    let now = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
    let grades = [("bad", 0.0), ("good", 1.0)];
    let categories = grades.map(|(label, value)| Category { label: label.to_owned(), value });
    let config = ScoreConfig {
        id: "grades".to_owned(),
        name: "grade".to_owned(),
        values: ConfigValues::Categorical(categories.to_vec()),
        is_archived: false,
    };
    let config = sink.score_config(&config, now).await.unwrap();
    let label = |label: &str| ScoreValue::Categorical { label: label.to_owned(), number: None };
    let good = Score { config: Some(config.clone()), ..score("s-good", label("good")) };
    sink.scores(&[good.clone(), score("s-n", ScoreValue::Numeric(0.5))], now).await.unwrap();
    sink.scores(&[good], now).await.unwrap();
    let odd = Score { config: Some(config), ..score("s-odd", label("odd")) };
    let refused = sink.scores(&[odd], now).await.unwrap_err().to_string();
    assert!(refused.contains("s-odd") && refused.contains("value"), "{refused}");
    let source = Source::Local(server.app.store.telemetry.clone(), project());
    let scores = all(async |at| source.scores(&ScoreFilter::default(), &at).await).await;
    let mut ids: Vec<_> = scores.iter().map(|score| score.id.to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["s-good", "s-n"]);
    assert!(scores.iter().all(|score| score.comment.as_deref() == Some("because")));

    let prompt = NewPrompt {
        name: "chat/greet".to_owned(),
        body: PromptBody::Text("Hi {{name}}".to_owned()),
        config: json("{}"),
        labels: vec!["production".to_owned()],
        tags: None,
        commit_message: None,
        created_by: "a test".to_owned(),
    };
    assert_eq!(sink.prompt(prompt.clone(), now).await.unwrap(), 1);
    assert_eq!(sink.prompt(prompt, now).await.unwrap(), 2);

    let dataset = NewDataset {
        name: "hard ones".to_owned(),
        description: Some("from the week".to_owned()),
        metadata: None,
        input_schema: FieldUpdate::Set(json(r#"{"type":"object"}"#)),
        expected_output_schema: FieldUpdate::Keep,
    };
    sink.dataset(dataset, now).await.unwrap();
    let item = |input: Json| NewDatasetItem {
        dataset_name: "hard ones".to_owned(),
        id: Some("i1".to_owned()),
        status: None,
        input: Some(input),
        expected_output: None,
        metadata: None,
        source_trace: Some("t1".to_owned()),
        source_observation: None,
    };
    assert_eq!(sink.dataset_item(item(json(r#"{"q":1}"#)), now).await.unwrap(), "i1");
    assert!(sink.dataset_item(item(json("7")), now).await.is_err(), "the schema is kept");
    let kept = server.app.store.catalog.dataset_item(project(), "i1".to_owned(), None).await;
    assert_eq!(kept.unwrap().unwrap().input, Some(json(r#"{"q":1}"#)));
}

#[tokio::test]
async fn sinks_write_the_same() {
    let server = TestServer::start().await;
    let store = server.app.store.clone();
    let local =
        LocalSink { telemetry: store.telemetry, catalog: store.catalog, project: project() };
    check_sink(&server, &Sink::Local(local)).await;
    let server = TestServer::start().await;
    check_sink(&server, &Sink::Remote(to(&server))).await;
}
