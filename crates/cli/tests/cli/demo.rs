use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Stdio};

use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::score::Score;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_store::Store;
use ratchet_store::aggregate::{AggregateQuery, Dimension, Group, Step};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Detail, Direction, PageNumber, Paging, ScoreQuery, ScoresOn, SessionQuery, TimeRange,
    TraceOrder, TraceQuery,
};
use ratchet_testkit::http;
use ratchet_testkit::wait::Lines;
use tempfile::TempDir;

use crate::{fails, ok, ratchet};

const PROJECT: &str = "demo";
const END: &str = "2026-11-15T12:00:00Z";
const EVERYTHING: Paging = Paging::Numbered(PageNumber { page: 1, limit: 10_000 });

/// What a demo left in its folder.
struct Left {
    traces: Vec<Trace>,
    sessions: Vec<Session>,
    scores: Vec<Score>,
    kinds: BTreeMap<String, i64>,
    unknown_costs: i64,
}

fn read(data: &Path) -> Left {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let folder = Store::open(data, ratchet_testkit::folder::options()).unwrap();
        let project = ProjectId::parse(PROJECT).unwrap();
        let range = TimeRange::default();
        let traces = TraceQuery {
            project: project.clone(),
            range,
            conditions: Vec::new(),
            order: (TraceOrder::Timestamp, Direction::Descending),
            paging: EVERYTHING,
            detail: Detail::Row,
        };
        let kinds = AggregateQuery {
            project: project.clone(),
            range,
            by: vec![Dimension::Kind],
            step: Step::Whole,
            conditions: Vec::new(),
        };
        let sessions = SessionQuery {
            project: project.clone(),
            range,
            conditions: Vec::new(),
            paging: EVERYTHING,
        };
        let scores = ScoreQuery {
            project,
            range,
            on: ScoresOn::Anything,
            conditions: Vec::new(),
            paging: EVERYTHING,
        };
        let telemetry = &folder.telemetry;
        let groups = telemetry.aggregate(kinds).await.unwrap().groups;
        let kind = |group: &Group| group.key[0].clone().unwrap_or_default();
        Left {
            traces: telemetry.traces(traces).await.unwrap().rows,
            sessions: telemetry.sessions(sessions).await.unwrap().rows,
            scores: telemetry.scores(scores).await.unwrap().rows,
            kinds: groups.iter().map(|group| (kind(group), group.sums.count)).collect(),
            unknown_costs: groups.iter().map(|group| group.sums.cost_unknown).sum(),
        }
    })
}

fn record(data: &Path) -> String {
    let demo = ratchet(&["demo", "--once", "--seed", "3", "--until", END, "--data"]).arg(data);
    ok(demo
        .env("RATCHET_INIT_PROJECT_ID", PROJECT)
        .env("RATCHET_INIT_PUBLIC_KEY", "pk-lf-demo")
        .env("RATCHET_INIT_SECRET_KEY", "sk-lf-demo"))
}

#[test]
fn a_week_is_recorded_and_understood() {
    let data = tempfile::tempdir().unwrap();
    let told = record(data.path());
    let left = read(data.path());
    assert!(told.contains(&format!("Recorded {} traces", left.traces.len())), "{told}");
    assert!((1_050..1_200).contains(&left.traces.len()), "{} traces", left.traces.len());
    for name in ["thumbs_feedback", "helpfulness", "outcome", "grounded"] {
        let of = left.scores.iter().filter(|score| score.name == name);
        assert!(of.count() > 100, "too few scores of {name}");
    }
    assert!(left.sessions.len() > 300, "{} sessions", left.sessions.len());

    let agents = ["support-desk", "trip-planner", "research-desk", "claude-code"];
    for agent in agents {
        let of = left.traces.iter().filter(|trace| trace.agent.as_deref() == Some(agent));
        let known = of.filter(|trace| trace.session.is_some() && trace.user.is_some());
        assert!(known.count() > 90, "too few traces of {agent}");
    }
    for environment in ["beta", "prod"] {
        let of = left.traces.iter().filter(|trace| trace.environment.as_str() == environment);
        assert!(of.count() > 100, "too few traces in {environment}");
    }
    for kind in [
        ObservationKind::Generation,
        ObservationKind::Tool,
        ObservationKind::Agent,
        ObservationKind::Retriever,
        ObservationKind::Embedding,
        ObservationKind::Guardrail,
    ] {
        assert!(left.kinds.get(kind.as_str()).copied().unwrap_or(0) > 50, "too few of {kind:?}");
    }
    assert_eq!(left.unknown_costs, 0);
}

#[test]
fn the_same_week_twice_is_one_week() {
    let data = tempfile::tempdir().unwrap();
    record(data.path());
    let first = read(data.path());
    record(data.path());
    let second = read(data.path());
    assert_eq!(first.traces.len(), second.traces.len());
    assert_eq!(first.kinds, second.kinds);
    assert_eq!(first.scores.len(), second.scores.len());
}

#[test]
fn once_needs_a_folder() {
    let message = fails(ratchet(&["demo", "--once"]), 2);
    assert!(message.contains("--data"), "{message}");
    let data = tempfile::tempdir().unwrap();
    let wrong = ratchet(&["demo", "--once", "--until", "soon", "--data"]).arg(data.path());
    assert!(fails(wrong, 1).contains("--until soon is not a time"));
}

/// Starts a demo that stays up, and returns what it says until it listens, and where.
fn look(listen: &str) -> (EndAtDrop, String, SocketAddr) {
    let (mut command, home) = ratchet(&["demo", "--listen", listen])
        .env("RATCHET_OTLP_GRPC", "off")
        .env("RATCHET_OTLP_HTTP", "off")
        .into_parts();
    let data = home.path().join("data");
    command.arg("--data").arg(data).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let lines = Lines::of(child.stdout.take().unwrap());
    let mut said = String::new();
    let address = loop {
        let line = lines.next("address of the demo");
        said += &format!("{line}\n");
        if let Some((_, address)) = line.split_once("is listening on http://") {
            break address.replace("localhost", "127.0.0.1").parse().unwrap();
        }
    };
    said += &lines.next("line after the address");
    (EndAtDrop { child, _home: home }, said, address)
}

/// A process that ends with the test, and the folder that it needs until then.
struct EndAtDrop {
    child: Child,
    _home: TempDir,
}

impl Drop for EndAtDrop {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_demo_on_this_machine_is_looked_at_without_signing_in() {
    let (_demo, said, address) = look("127.0.0.1:0");
    assert!(said.contains("authentication is disabled"), "{said}");
    assert!(!said.contains("/set-up?token="), "{said}");
    let front = http::send(address, &http::get("/").host("localhost")).unwrap();
    assert!(front.header("location").unwrap().starts_with("/project/"), "{front:?}");
}

#[test]
fn a_demo_that_others_can_reach_asks_them_to_sign_in() {
    let (_demo, said, address) = look("0.0.0.0:0");
    assert!(said.contains("/set-up?token="), "{said}");
    let front = http::send(address, &http::get("/").host("localhost")).unwrap();
    assert_eq!(front.header("location"), Some("/sign-in?next=%2F"));
}
