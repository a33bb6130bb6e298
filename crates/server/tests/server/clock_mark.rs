use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::time::Timestamp;
use ratchet_server::app::{App, Settings};
use ratchet_server::clock::{Clock, ManualClock};
use ratchet_server::run::{Listeners, run};
use ratchet_server::shutdown;
use ratchet_stages::app_state::AppState;
use ratchet_stages::record::retention_sweep::sweep;
use ratchet_store::catalog::{Catalog, NewProject};
use ratchet_testkit::build::{batch, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch;
use ratchet_testkit::wait;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::harness::project;

const NOW: &str = "2026-11-15T12:00:00Z";

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn app(data: &DataFolder) -> App {
    let place = (data.folder().clone(), data.path().to_owned());
    let clock = Clock::Manual(ManualClock::at(time(NOW)));
    let state = AppState::new(place, clock, OutboundPolicy::default());
    App::new(state, Settings::default(), Default::default())
}

async fn listeners() -> Listeners {
    let web = TcpListener::bind("127.0.0.1:0").await.unwrap();
    Listeners { web, otlp_http: None, otlp_grpc: None }
}

#[tokio::test]
async fn the_first_request_finds_the_time_of_the_clock_stored() {
    let data = DataFolder::new();
    let seen = |catalog: Catalog| async move {
        let mark = catalog.clock_mark().await.unwrap().map(|mark| mark.seen_at);
        if mark == Some(time(NOW)) { StatusCode::OK } else { StatusCode::CONFLICT }
    };
    let catalog = data.catalog().clone();
    let pages = Router::new().route("/seen", get(move || seen(catalog.clone())));
    let (listeners, (stopper, stop)) = (listeners().await, shutdown::signal());
    let url = format!("http://{}/seen", listeners.web.local_addr().unwrap());
    let client = ratchet_remote::http::on_this_machine().build().unwrap();
    let mut tasks = JoinSet::new();
    // The client waits at the door before the server opens it.
    tasks.spawn(async move {
        let answer = client.get(url).send().await.unwrap().status();
        stopper.stop();
        assert_eq!(answer, StatusCode::OK);
    });
    tasks.spawn(async move { run(app(&data), listeners, pages, stop).await.unwrap() });
    while let Some(ended) = wait::with_timeout("the server's end", tasks.join_next()).await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn old_records_of_a_server_that_was_killed_before_its_first_sweep_pause_no_retention() {
    let data = DataFolder::new();
    let new = NewProject { id: project(), name: "shop".to_owned(), retention_days: Some(30) };
    data.catalog().create_project(new, time(NOW)).await.unwrap();
    let (stopper, stop) = shutdown::signal();
    // It ends before its first sweep, as if it were killed.
    stopper.stop();
    run(app(&data), listeners().await, Router::new(), stop).await.unwrap();
    let months_ago = batch(&project()).with(trace("t").beginning(0).build()).build();
    data.folder().telemetry.record(months_ago).await.unwrap();
    let swept = sweep(data.folder(), time(NOW)).await.unwrap();
    assert_eq!((swept.traces, swept.held), (1, None));
}
