//! Our own client against a real server: it reads what is stored.

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreValue;
use ratchet_core::secret::Secret;
use ratchet_remote::langfuse::client::{
    ClientError, ClientLimits, LangfuseClient, ObservationFilter, Position, ScoreFilter,
    ServerCredentials, Slice, TimeWindow, TraceFilter,
};
use ratchet_store::catalog::Role;
use ratchet_testkit::build::{
    BatchBuilder, at, batch, event, generation, json, score, span, tool, trace,
};
use ratchet_testkit::no_backoff::NoBackoff;
use ratchet_testkit::proxy::{Proxy, Verdict};
use ratchet_testkit::reading::Reading;
use ratchet_testkit::recording::RecordBatch;

use crate::harness::{TestServer, project, public_key};

/// What a member needs to reach a server.
pub(crate) fn access(url: &str) -> ServerCredentials {
    ServerCredentials {
        url: url.to_owned(),
        public_key: public_key(Role::Member),
        secret_key: Secret::new("sk"),
    }
}

pub(crate) fn client(url: &str, pace: &NoBackoff) -> LangfuseClient {
    LangfuseClient::new(access(url), ClientLimits::default(), Box::new(pace.clone())).unwrap()
}

pub(crate) fn to(server: &TestServer) -> LangfuseClient {
    client(&format!("http://{}", server.web), &NoBackoff::default())
}

fn payload(text: &str) -> Payload {
    Payload::Json(json(text))
}

/// A server with a bit of everything, and more traces than one page.
pub(crate) async fn response() -> TestServer {
    let server = TestServer::start().await;
    let first = trace("t1")
        .beginning(0)
        .named("checkout")
        .for_user("ada")
        .in_session("monday")
        .tagged("b")
        .tagged("a")
        .release("r1")
        .in_environment("prod")
        .metadata("tenant", r#""acme""#)
        .input(payload(r#"{"cart":[1,2.50]}"#))
        .output(payload(r#""paid""#));
    let call = generation("call")
        .of("t1")
        .under("root")
        .lasting(100, 400)
        .first_token(150)
        .named("ask")
        .calling("gpt-5")
        .parameters(r#"{"temperature":0.5}"#)
        .using(&[("input", 12), ("input_cached_tokens", 5), ("output", 30)])
        .costing(0.25)
        .prompted_by("greet", 3)
        .in_environment("prod")
        .input(payload(r#"[{"role":"user","content":"4e10"}]"#))
        .output(payload(r#"{"a":null}"#))
        .metadata("long", &format!(r#""{}""#, "x".repeat(300)));
    let failed = tool("search")
        .of("t1")
        .under("root")
        .lasting(400, 500)
        .named("search")
        .level(Level::Error)
        .because("no network")
        .version("7");
    let story = batch(&project())
        .with(first)
        .with(span("root").of("t1").lasting(0, 900).named("handle").in_environment("prod"))
        .with(call)
        .with(failed)
        .with(event("note").of("t1").under("root").beginning(600))
        .with(trace("t2").beginning(60_000).named("refund").in_session("monday"))
        .with(generation("again").of("t2").lasting(60_000, 61_000).tokens(1, 2).costing(0.5))
        .with(trace("alone").beginning(70_000).public(true).bookmarked(true))
        .with_all((0..30).map(|n| trace(&format!("many-{n}")).beginning(80_000 + n)))
        .with_all((0..30).map(|n| {
            let (of, start) = (format!("many-{n}"), 80_000 + n);
            span(&format!("step-{n}")).of(&of).lasting(start, start + 5)
        }));
    server.app.store.telemetry.record(story.build()).await.unwrap();
    server.app.store.telemetry.record(scores().build()).await.unwrap();
    server
}

/// Scores of every type and on every target, and more than one page.
fn scores() -> BatchBuilder {
    batch(&project())
        .with(score("s1").of_trace("t1").on("quality").number(0.25).given(1_000).comment("so so"))
        .with(score("s2").of_observation("t1", "call").on("ok").value(ScoreValue::Boolean(true)))
        .with(
            score("s3")
                .of_session("monday")
                .on("mood")
                .value(ScoreValue::Categorical { label: "fine".to_owned(), number: None }),
        )
        .with(score("s4").of_trace("t2").on("why").value(ScoreValue::Text("late".to_owned())))
        .with(score("s5").of_trace("t2").on("output").value(ScoreValue::Correction("x".to_owned())))
        .with_all((0..110).map(|n| score(&format!("n{n}")).of_trace("t2").on("n").number(1.0)))
}

/// All rows of a list, page by page.
async fn all<T>(mut slice: impl AsyncFnMut(Position) -> Result<Slice<T>, ClientError>) -> Vec<T> {
    let mut rows = Vec::new();
    let mut next = Some(Position::Start);
    while let Some(position) = next {
        let slice = slice(position).await.unwrap();
        assert_eq!(slice.unreadable, []);
        rows.extend(slice.rows);
        next = slice.next;
    }
    rows
}

/// Everything that a client reads.
async fn read(client: &LangfuseClient) -> Reading {
    let (traces, steps) = (TraceFilter::default(), ObservationFilter::default());
    let scores = ScoreFilter::default();
    let whole = all(async |at| client.traces(&traces, &at).await).await;
    Reading::new(
        whole.into_iter().map(|whole| whole.trace).collect(),
        all(async |at| client.observations(&steps, &at).await).await,
        all(async |at| client.sessions(&TimeWindow::default(), &at).await).await,
        all(async |at| client.scores(&scores, &at).await).await,
    )
}

#[tokio::test]
async fn what_is_read_is_what_is_stored() {
    let server = response().await;
    let stored = Reading::of_store(&server.app.store.telemetry, &project()).await;
    assert_eq!(stored.traces.len(), 33);
    read(&to(&server)).await.assert_equals(&stored, "read by a client");
}

/// The same without what the newer API lacks: traces without observations, and trace fields beyond
/// those of its observations. Payloads are texts there.
fn as_newer_era_tells(mut reading: Reading) -> Reading {
    reading.traces.retain(|trace| trace.summary.levels.total() > 0);
    for trace in &mut reading.traces {
        (trace.content, trace.agent) = (None, None);
    }
    for observation in &mut reading.observations {
        let content = observation.content.as_mut().unwrap();
        for payload in [&mut content.input, &mut content.output].into_iter().flatten() {
            *payload = Payload::Json(payload.to_json());
        }
    }
    reading
}

#[tokio::test]
async fn a_server_of_the_older_era_is_read_the_same() {
    let server = response().await;
    let stored = Reading::of_store(&server.app.store.telemetry, &project()).await;
    let proxy = Proxy::without_v4_era(server.web);
    let client = client(&proxy.web(), &NoBackoff::default());
    read(&client).await.assert_equals(&stored, "read from the older era");
    let tried = |path: &str| proxy.seen().iter().filter(|seen| seen.target.contains(path)).count();
    assert_eq!(tried("/v3/scores"), 1, "a route that is gone is not asked for again");
    assert!(tried("/v2/scores") > 1);
}

#[tokio::test]
async fn a_server_of_the_newer_era_is_read_the_same() {
    let server = response().await;
    let stored = Reading::of_store(&server.app.store.telemetry, &project()).await;
    let proxy = Proxy::without_v3_era(server.web);
    let client = client(&proxy.web(), &NoBackoff::default());
    let read = as_newer_era_tells(read(&client).await);
    read.assert_equals(&as_newer_era_tells(stored), "read from the newer era");
    let tried = proxy.seen().iter().filter(|seen| seen.target.contains("/traces")).count();
    assert_eq!(tried, 1, "a route that is gone is not asked for again");
    assert!(client.trace(&TraceId::parse("nothing").unwrap()).await.unwrap().is_none());
    assert_eq!(
        client.trace(&TraceId::parse("t1").unwrap()).await.unwrap().unwrap().observations.len(),
        4
    );
    let session = SessionId::parse("monday").unwrap();
    assert_eq!(client.session(&session).await.unwrap().unwrap().traces, 2);
}

#[tokio::test]
async fn times_bound_what_is_rebuilt() {
    let server = response().await;
    let proxy = Proxy::without_v3_era(server.web);
    let client = client(&proxy.web(), &NoBackoff::default());
    // The trace started before this time, though some of its observations did not.
    let asked = TraceFilter {
        between: TimeWindow { from: Some(at(200)), to: Some(at(80_002)) },
        session: None,
    };
    let traces = all(async |at| client.traces(&asked, &at).await).await;
    let ids: Vec<_> = traces.iter().map(|whole| whole.trace.id.to_string()).collect();
    assert_eq!(ids, ["many-1", "many-0", "t2"]);
    let asked = TraceFilter {
        between: TimeWindow { from: None, to: Some(at(300)) },
        session: Some(SessionId::parse("monday").unwrap()),
    };
    let traces = all(async |at| client.traces(&asked, &at).await).await;
    assert_eq!(traces.len(), 1);
    assert_eq!(traces[0].observations.len(), 4, "a trace is whole, whatever the time asked for");
}

#[tokio::test]
async fn a_server_of_no_era_is_told() {
    let server = response().await;
    let proxy = Proxy::start(server.web, |_| Verdict::Gone);
    let client = client(&proxy.web(), &NoBackoff::default());
    let error = client.scores(&ScoreFilter::default(), &Position::Start).await.unwrap_err();
    assert!(error.to_string().contains("/api/public/v3/scores, /api/public/v2/scores"), "{error}");
    let error = client.traces(&TraceFilter::default(), &Position::Start).await.unwrap_err();
    assert!(error.to_string().contains("is it a Langfuse server?"), "{error}");
}

#[tokio::test]
async fn times_bound_what_is_read() {
    let server = response().await;
    let client = to(&server);
    let between = TimeWindow { from: Some(at(60_000)), to: Some(at(80_002)) };
    let asked = TraceFilter { between, session: None };
    let traces = all(async |at| client.traces(&asked, &at).await).await;
    let ids: Vec<_> = traces.iter().map(|whole| whole.trace.id.to_string()).collect();
    assert_eq!(ids, ["many-1", "many-0", "alone", "t2"]);
    let asked = ObservationFilter { between, trace: Some(TraceId::parse("t2").unwrap()) };
    let steps = all(async |at| client.observations(&asked, &at).await).await;
    assert_eq!(steps.len(), 1);
}

#[tokio::test]
async fn what_is_not_there_is_none() {
    let server = response().await;
    let client = to(&server);
    assert!(client.trace(&TraceId::parse("nothing").unwrap()).await.unwrap().is_none());
    let session = SessionId::parse("nothing").unwrap();
    assert_eq!(client.session(&session).await.unwrap(), None);
}

#[tokio::test]
async fn a_busy_server_is_asked_again_when_it_says_so() {
    let server = response().await;
    let proxy = Proxy::start(server.web, |seen| match seen.earlier {
        0 => Verdict::Refuse(429, Some(("retry-after", "7".to_owned()))),
        1 => Verdict::Refuse(503, None),
        2 => Verdict::Refuse(500, None),
        _ => Verdict::Pass,
    });
    let pace = NoBackoff::default();
    let client = client(&proxy.web(), &pace);
    let trace = client.trace(&TraceId::parse("t2").unwrap()).await.unwrap();
    assert_eq!(trace.unwrap().observations.len(), 1);
    let waits: Vec<_> = pace.waits().iter().map(std::time::Duration::as_millis).collect();
    assert_eq!(waits, [7_250, 750, 1_500]);
}

#[tokio::test]
async fn a_refusal_is_told_at_once_without_the_keys() {
    let server = response().await;
    let access = ServerCredentials {
        url: format!("http://{}", server.web),
        public_key: public_key(Role::Member),
        secret_key: Secret::new("wrong-secret"),
    };
    let pace = NoBackoff::default();
    let client =
        LangfuseClient::new(access, ClientLimits::default(), Box::new(pace.clone())).unwrap();
    let error = client.traces(&TraceFilter::default(), &Position::Start).await.unwrap_err();
    let response = format!("{error} {error:?} {client:?}");
    assert!(response.contains("GET /api/public/traces"), "{response}");
    assert!(
        response.contains("refused with 401") && response.contains("check the public"),
        "{response}"
    );
    assert!(!response.contains("wrong-secret"), "{response}");
    assert!(pace.waits().is_empty(), "{:?}", pace.waits());
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let server = response().await;
    let address = server.web;
    server.stop().await;
    let pace = NoBackoff::default();
    let client = client(&format!("http://{address}"), &pace);
    let error = client.sessions(&TimeWindow::default(), &Position::Start).await.unwrap_err();
    assert!(error.to_string().contains("got no answer in 6 attempts"), "{error}");
    assert_eq!(pace.waits().len(), 5);
}
