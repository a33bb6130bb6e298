use std::sync::Arc;

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::judge::offline::{SignalOverrides, SignalSet};
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::payload::Payload;
use ratchet_core::quality::calibration::panel::{self, PanelDrift, SIZE};
use ratchet_core::quality::label::{DATASET, Label, Mark};
use ratchet_core::time::Timestamp;
use ratchet_stages::review::{labels, panel as panels};
use ratchet_stages::score::attach::Attach;
use ratchet_stages::score::journal::Journal;
use ratchet_stages::score::judge::{Judge, OwnSignals};
use ratchet_stages::score::select_sessions::SessionFilter;
use ratchet_stages::score::{Request, Rescore, ScoringContext, WritePolicy};
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_store::catalog::NewProject;
use ratchet_testkit::build::{START, batch, json, project, tool, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;

const WEEK: i64 = 7 * 86_400 * 1_000_000_000;

/// Sessions that call a tool in each of four turns, and their labels.
async fn folder(rubric: &Rubric, sessions: usize) -> DataFolder {
    let data = DataFolder::new();
    let shop = project("shop");
    let new = NewProject { id: shop.clone(), name: "shop".into(), retention_days: None };
    data.catalog().create_project(new, START).await.unwrap();
    let mut recorded = batch(&shop);
    for session in 0..sessions {
        for turn in 0_i64..4 {
            let (id, at) = (format!("t{session}-{turn}"), turn * 60_000);
            let said = |text: &str| Payload::Json(json(text));
            let turn = trace(&id).beginning(at).in_session(&format!("s{session}"));
            let call = tool(&format!("{id}-x")).of(&id).lasting(at, at + 500).named("find_order");
            recorded = recorded
                .with(turn.input(said(r#""Where is my order?""#)).output(said(r#""On its way.""#)))
                .with(call);
        }
    }
    data.telemetry().record(recorded.build()).await.unwrap();
    let label = |session: usize| Label {
        session: SessionId::parse(&format!("s{session}")).unwrap(),
        by: "ada".to_owned(),
        at: START,
        why: None,
        rubric: rubric.name.clone(),
        marks: [("tool_mastery".to_owned(), Mark::Number(0.6))].into(),
        drawn: None,
        judged: None,
    };
    let given: Vec<Label> = (0..sessions).map(label).collect();
    let (source, sink) = ends(&data);
    labels::keep((&source, &sink), (DATASET, rubric), &given, START).await.unwrap();
    data
}

fn ends(data: &DataFolder) -> (Source, Sink) {
    let (telemetry, catalog) = (data.telemetry().clone(), data.catalog().clone());
    let source = Source::Local(telemetry.clone(), project("shop"));
    (source, Sink::Local(LocalSink { telemetry, catalog, project: project("shop") }))
}

/// The drift of the judge after a panel run of so many sessions in some week.
async fn sit(
    data: &DataFolder,
    rubric: &Rubric,
    (judge, sessions): (Judge, usize),
    now: Timestamp,
) -> PanelDrift {
    let (source, sink) = ends(data);
    let journal = Journal { catalog: data.catalog().clone(), project: project("shop") };
    let context = ScoringContext {
        source: &source,
        sink: &sink,
        journal: &journal,
        clock: &|| now,
        is_stopping: &|| false,
        watch: &|_| (),
    };
    let request = Request {
        run: format!("run-{now}"),
        rubric: rubric.clone(),
        judge,
        wanted: SessionFilter::These(Vec::new()),
        again: Rescore::Always,
        keeping: WritePolicy::Anew,
        attach: Attach::Session,
        at_once: 2,
        batch: None,
    };
    let report = panels::rejudge_panel(&context, DATASET, &request).await.unwrap();
    assert_eq!((report.sessions.len(), report.failed.len()), (sessions, 0));
    let mut drifts = panel::drifts(&panels::read(&sink).await.unwrap());
    assert_eq!(drifts.len(), 1, "one judge");
    drifts.remove(0)
}

/// Marks that move because a team changed the signals are no drift of the judge.
#[tokio::test]
async fn overrides_of_signals_start_a_new_baseline() {
    let rubric = rubric::shipped().next().unwrap();
    let data = folder(rubric, SIZE).await;
    let first = sit(&data, rubric, (Judge::Offline, SIZE), START).await;
    let signals = SignalSet::shipped().fingerprint();
    let text = format!(
        "format = 1\nversion = 1\nrubric = \"session-quality\"\nsignals = \"{signals}\"\n\n\
         [dimension.tool_mastery]\nchecked = \"by labels\"\nbase = 0.3\neffects = {{}}\n"
    );
    let overrides = SignalOverrides::parse(&text).unwrap();
    let changed =
        || Judge::OwnSignals(Arc::new(OwnSignals::default().with_overrides(&overrides, &text)));
    let second = sit(&data, rubric, (changed(), SIZE), START.plus_nanos(WEEK)).await;
    assert_ne!(second.version, first.version);
    assert_eq!((second.alerts(), &second.first), (Vec::new(), &second.newest));

    let third = sit(&data, rubric, (changed(), SIZE), START.plus_nanos(2 * WEEK)).await;
    assert_eq!((&third.first, third.alerts()), (&second.first, Vec::new()), "now it is steady");
    assert!(third.drifts.iter().any(|drift| drift.p.is_some()), "{third:?}");
}

async fn delete(data: &DataFolder, sessions: &[SessionId]) {
    let trace = |session: &SessionId, turn: usize| {
        TraceId::parse(&format!("t{}-{turn}", session.to_string().trim_start_matches('s'))).unwrap()
    };
    let ids = sessions.iter().flat_map(|session| (0..4).map(move |turn| trace(session, turn)));
    let count = data.telemetry().delete_traces(project("shop"), ids.collect()).await.unwrap();
    assert_eq!(count, 4 * sessions.len() as u64);
}

/// Sessions are deleted after their retention, or on somebody's wish.
#[tokio::test]
async fn a_panel_goes_on_without_the_sessions_that_were_deleted() {
    let rubric = rubric::shipped().next().unwrap();
    let data = folder(rubric, SIZE + 8).await;
    let week = |nth: i64| START.plus_nanos(nth * WEEK);
    let first = sit(&data, rubric, (Judge::Offline, SIZE), week(0)).await;
    assert_eq!(first.standing(), "first run, on 12 sessions");
    let (_, sink) = ends(&data);
    let panel = panels::read(&sink).await.unwrap();
    let panel: Vec<SessionId> = panel.into_iter().map(|verdict| verdict.session).collect();
    delete(&data, &panel[..2]).await;
    let second = sit(&data, rubric, (Judge::Offline, SIZE - 2), week(1)).await;
    let steady = "steady on 10 sessions; 2 of 12 are gone or could not be judged";
    assert_eq!((second.standing().as_str(), &second.first), (steady, &first.first));
    assert!(second.drifts.iter().any(|drift| drift.p.is_some()), "{second:?}");

    // With one more gone no verdict is possible: other labelled sessions are the panel.
    delete(&data, &panel[2..3]).await;
    let third = sit(&data, rubric, (Judge::Offline, SIZE), week(2)).await;
    assert_eq!(third.standing(), "first run, on 12 sessions");
    let fourth = sit(&data, rubric, (Judge::Offline, SIZE), week(3)).await;
    assert_eq!(
        (fourth.standing().as_str(), &fourth.first),
        ("steady on 12 sessions", &third.first)
    );
}

#[tokio::test]
async fn a_panel_that_is_too_small_says_how_it_gets_large_enough() {
    let rubric = rubric::shipped().next().unwrap();
    let data = folder(rubric, 9).await;
    let few = sit(&data, rubric, (Judge::Offline, 9), START).await;
    let remedy = "once 10 sessions that are still recorded have labels (`ratchet label`), the next \
                  run starts a new panel of them";
    assert_eq!(few.standing(), format!("first run, on 9 sessions of 10 needed; {remedy}"));
    let next = sit(&data, rubric, (Judge::Offline, 9), START.plus_nanos(WEEK)).await;
    assert_eq!(next.standing(), format!("cannot tell (9 of 10 sessions needed); {remedy}"));
}
