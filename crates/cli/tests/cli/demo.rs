//! The demo: what it records, and that its reports say what was planted.

/// Every statement of a report, checked.
mod claims;
/// What was planted.
mod planted;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Stdio};

use ratchet_core::gate::decision::Verdict;
use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::score::Score;
use ratchet_core::record::session::Session;
use ratchet_core::record::trace::Trace;
use ratchet_store::Store;
use ratchet_store::aggregate::{AggregateDimension, AggregateQuery, Group, Step};
use ratchet_store::catalog::{GateQuery, StoredGate};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, PageNumber, Paging, ScoreQuery, ScoresOn,
    SessionQuery, TimeRange, TraceOrder, TraceQuery,
};
use ratchet_testkit::http;
use ratchet_testkit::process::Launch;
use ratchet_testkit::wait::Lines;
use serde_json::Value;
use tempfile::TempDir;

use crate::{fails, ok, ratchet};
use planted::Ledger;

const PROJECT: &str = "demo";
const END: &str = "2026-11-17T12:00:00Z";
const EVERYTHING: Paging = Paging::Numbered(PageNumber { page: 1, limit: 10_000 });

/// What a demo left in its folder.
struct Left {
    traces: Vec<Trace>,
    sessions: Vec<Session>,
    scores: Vec<Score>,
    kinds: BTreeMap<String, i64>,
    /// Cost in dollars by session.
    costs: BTreeMap<String, f64>,
    /// Failed observations by name, of the planted release.
    errors: BTreeMap<String, i64>,
    unknown_costs: i64,
    /// Newest first.
    gates: Vec<StoredGate>,
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
        let sums = |by: AggregateDimension, conditions: Vec<Condition<ObservationColumn>>| {
            AggregateQuery {
                project: project.clone(),
                range,
                by: vec![by],
                step: Step::Whole,
                conditions,
            }
        };
        let sessions = SessionQuery {
            project: project.clone(),
            range,
            conditions: Vec::new(),
            paging: EVERYTHING,
        };
        let scores = ScoreQuery {
            project: project.clone(),
            range,
            on: ScoresOn::Anything,
            conditions: Vec::new(),
            paging: EVERYTHING,
        };
        let telemetry = &folder.telemetry;
        let groups =
            async |by, conditions| telemetry.aggregate(sums(by, conditions)).await.unwrap().groups;
        let kinds = groups(AggregateDimension::Kind, Vec::new()).await;
        let costs = groups(AggregateDimension::Session, Vec::new()).await;
        let bad = vec![Condition::equals(ObservationColumn::Version, "4.8.0".to_owned())];
        let names = groups(AggregateDimension::Name, bad).await;
        let gates = GateQuery {
            project: project.clone(),
            dataset: None,
            run: None,
            page: PageNumber { page: 1, limit: 10 },
        };
        let key = |group: &Group| group.key[0].clone().unwrap_or_default();
        Left {
            gates: folder.catalog.gates(gates).await.unwrap().rows,
            traces: telemetry.traces(traces).await.unwrap().rows,
            sessions: telemetry.sessions(sessions).await.unwrap().rows,
            scores: telemetry.scores(scores).await.unwrap().rows,
            unknown_costs: kinds.iter().map(|group| group.sums.cost_unknown).sum(),
            kinds: kinds.iter().map(|group| (key(group), group.sums.count)).collect(),
            costs: costs.iter().map(|it| (key(it), it.sums.cost.dollars())).collect(),
            errors: names.iter().map(|it| (key(it), it.sums.errors)).collect(),
        }
    })
}

fn demo(data: &Path, args: &[&str]) -> Launch {
    let demo = ratchet(&["demo", "--once", "--until", END, "--data"]).arg(data).args(args);
    demo.env("TZ", "UTC")
        .env("RATCHET_INIT_PROJECT_ID", PROJECT)
        .env("RATCHET_INIT_PUBLIC_KEY", "pk-lf-demo")
        .env("RATCHET_INIT_SECRET_KEY", "sk-lf-demo")
}

/// Runs a demo with a seed and returns its folder and what was planted in it.
fn scored(seed: &str) -> (TempDir, Ledger, String) {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("ledger.json");
    let output = ok(demo(data.path(), &["--seed", seed, "--ledger", file.to_str().unwrap()]));
    let ledger = Ledger::read(&file);
    (data, ledger, output)
}

#[test]
fn what_was_planted_is_recorded_and_every_statement_of_the_reports_is_true() {
    let (data, ledger, output) = scored("3");
    let left = read(data.path());
    check_recorded(&left, &ledger, &output);
    check_gates(&left.gates, &output);
    for week in [1, 2] {
        claims::check(&report(data.path(), &ledger, week), &ledger, week, &left);
    }
    check_reviewed(data.path(), &ledger);
}

/// Both weeks were drawn by the verdicts of the evaluator, and people's answers make a believable
/// matrix: failures where signals are bad, and cases for datasets.
fn check_reviewed(data: &Path, ledger: &Ledger) {
    let ask = |args: &[&str]| -> Value {
        let said = ok(ratchet(args).arg("--json").arg("--data").arg(data).env("TZ", "UTC"));
        serde_json::from_str(&said).unwrap()
    };
    for (week, is_provisional) in [(&ledger.weeks[0], false), (&ledger.weeks[1], true)] {
        let found = ask(&["metrics", "week", "--of", week]);
        assert_eq!(found["provisional"], is_provisional, "{found}");
        let metric = |at: usize| found["metrics"][at]["weighted"]["value"].as_f64().unwrap();
        let (agent, judge, grown) = (metric(0), metric(1), metric(4));
        assert!((0.5..0.97).contains(&agent) && judge > 0.7 && grown >= 5.0, "{found}");
        let accuracy = |name: &str| {
            let all = found["categories"].as_array().unwrap();
            let category = all.iter().find(|one| one["category"] == name);
            category.and_then(|one| one["accuracy"]["value"].as_f64())
        };
        assert!(accuracy("W1").is_none_or(|value| value < 0.5), "{found}");
        assert!(accuracy("W6").unwrap() > 0.7, "{found}");
    }
    let evaluators = ask(&["evaluators", "list"]);
    let agreement = &evaluators["evaluators"][0]["agreement"];
    assert!(agreement["n"].as_u64().unwrap() > 100, "{evaluators}");
}

/// The report of a week as JSON and as Markdown, from the stored scores.
fn report(data: &Path, ledger: &Ledger, week: u8) -> (Value, String) {
    let of = &ledger.weeks[usize::from(week) - 1];
    let show = |format: &str| {
        let args = ["week", "--of", of, "--zone", "UTC", "--judge", "none", "--format", format];
        ok(ratchet(&args).arg("--data").arg(data))
    };
    (serde_json::from_str(&show("json")).unwrap(), show("markdown"))
}

fn check_recorded(left: &Left, ledger: &Ledger, output: &str) {
    assert!(output.contains(&format!("Recorded {} traces", left.traces.len())), "{output}");
    assert_eq!(left.traces.len(), ledger.traces);
    assert_eq!(left.sessions.len(), ledger.sessions.len());
    let thumbs = left.scores.iter().filter(|score| score.name == "thumbs_feedback").count();
    assert_eq!(thumbs, ledger.thumbs);
    for trace in &left.traces {
        let planted = &ledger.sessions[&trace.session.as_ref().unwrap().to_string()];
        let is_asked = trace.agent.as_deref() != Some(planted.agent.as_str());
        assert!(!is_asked || trace.agent.as_deref() == Some("research-desk"), "{trace:?}");
        assert_eq!(trace.environment.as_str(), planted.environment);
        assert_eq!(trace.user.as_deref(), Some(planted.user.as_str()));
        assert!(is_asked || trace.version.as_deref() == Some(&planted.release), "{trace:?}");
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
    check_costs(left, ledger);
    let of_bad = ledger.sessions.values().filter(|it| it.release == ledger.bad_release.release);
    let planted: i64 = of_bad.map(|it| it.errors_of(&ledger.bad_release.tool)).sum();
    assert_eq!(left.errors[&ledger.bad_release.tool], planted);
    assert!(planted > 100, "{planted}");
}

/// One gate blocked with its reason, one could not tell, the others passed.
fn check_gates(gates: &[StoredGate], output: &str) {
    let report =
        |gate: &StoredGate| -> Value { serde_json::from_str(gate.report.as_str()).unwrap() };
    let found: Vec<(String, Verdict)> = gates
        .iter()
        .map(|gate| (report(gate)["run"].as_str().unwrap().to_owned(), gate.verdict))
        .collect();
    let planted = [
        ("support-desk 4.8.1", Verdict::Pass),
        ("support-desk 4.8.1, quick check", Verdict::Inconclusive),
        ("support-desk 4.8.0", Verdict::Block),
        ("support-desk 4.7.2", Verdict::Pass),
    ];
    assert_eq!(found, planted.map(|(run, verdict)| (run.to_owned(), verdict)));
    let blocked = report(&gates[2]);
    let sentence = blocked["sentence"].as_str().unwrap();
    assert!(sentence.contains("It is worse than the baseline"), "{sentence}");
    assert!(blocked["flips"].as_array().unwrap().len() > 10, "{blocked}");
    assert!(report(&gates[1])["itemsNeeded"].as_u64().unwrap() > 12);
    assert!(output.contains("2 passed, 1 blocked, 1 could not tell"), "{output}");
}

/// The costly agent costs several times as much a session as any other.
fn check_costs(left: &Left, ledger: &Ledger) {
    let per_session = |agent: &str| {
        let sessions = ledger.sessions.iter().filter(|(_, it)| it.agent == agent);
        let costs: Vec<f64> = sessions.map(|(session, _)| left.costs[session]).collect();
        costs.iter().sum::<f64>() / costs.len() as f64
    };
    let agents: BTreeSet<&str> = ledger.sessions.values().map(|it| it.agent.as_str()).collect();
    assert_eq!(agents.len(), 4);
    let costly = per_session(&ledger.costly_agent);
    for agent in agents.into_iter().filter(|agent| *agent != ledger.costly_agent) {
        let cost = per_session(agent);
        assert!(costly > 2.0 * cost, "{agent} {cost}, {} {costly}", ledger.costly_agent);
    }
}

#[test]
fn any_seed_tells_the_same_story() {
    for seed in ["1", "2"] {
        let (data, ledger, _) = scored(seed);
        let (report, _) = report(data.path(), &ledger, 2);
        claims::check_story(&report, &ledger);
    }
}

#[test]
fn the_same_demo_twice_is_one_demo() {
    let data = tempfile::tempdir().unwrap();
    let record = || ok(demo(data.path(), &["--unscored"]));
    record();
    let first = read(data.path());
    record();
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
    let home = front.header("location").unwrap();
    assert!(home.starts_with("/project/"), "{front:?}");
}

#[test]
fn a_demo_that_others_can_reach_asks_them_to_sign_in() {
    let (_demo, said, address) = look("0.0.0.0:0");
    assert!(said.contains("/set-up?token="), "{said}");
    let front = http::send(address, &http::get("/").host("localhost")).unwrap();
    assert_eq!(front.header("location"), Some("/sign-in?next=%2F"));
}
