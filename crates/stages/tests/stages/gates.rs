use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::experiment::plan::{
    AddedRepeats, ExperimentPlan, ExperimentProgress, PlannedTarget,
};
use ratchet_core::experiment::runner::{ClaimOrder, TrialCall, TrialResult};
use ratchet_core::gate::decision::{GateRule, Look, Reason, Verdict};
use ratchet_core::gate::report::GateReport;
use ratchet_core::payload::Json;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::evidence::{Comparison, GateResult, ItemVerdicts, ToolTests};
use ratchet_core::promotion::policy::Signer;
use ratchet_core::promotion::state::Action;
use ratchet_core::record::score::ScoreSource;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_stages::experiment::evaluators::TrialEvaluators;
use ratchet_stages::experiment::service::ExperimentService;
use ratchet_stages::experiment::target::TargetAnswer;
use ratchet_stages::gate::{GateContext, GateError, GateOrder, PRODUCTION, decide};
use ratchet_store::catalog::{
    Actor, FieldUpdate, NewDataset, NewDatasetItem, NewProject, NewPromotion, NewReceiver,
    PromotionCall, ReceiverKeys, StoredGate,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_testkit::build::{START, batch, project, score};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;
use serde_json::json;

const DATASET: &str = "support";

/// A project with a dataset of items `0`, `1`, …, whose right answers are their ids.
struct Shop {
    data: DataFolder,
    id: ProjectId,
    seconds: AtomicI64,
}

impl Shop {
    async fn open(items: usize) -> Self {
        Self::pinned(items, None).await
    }

    /// With one item that is critical.
    async fn pinned(items: usize, critical: Option<usize>) -> Self {
        let (data, id) = (DataFolder::new(), project("shop"));
        let new = NewProject { id: id.clone(), name: "shop".into(), retention_days: None };
        data.catalog().create_project(new, START).await.unwrap();
        let dataset = NewDataset {
            name: DATASET.to_owned(),
            description: None,
            metadata: None,
            input_schema: FieldUpdate::Keep,
            expected_output_schema: FieldUpdate::Keep,
        };
        data.catalog().save_dataset(id.clone(), dataset, START).await.unwrap();
        let item = |nth: usize| NewDatasetItem {
            dataset_name: DATASET.to_owned(),
            id: Some(format!("item-{nth:02}")),
            status: None,
            input: Some(Json::from_value(&json!({ "n": nth }))),
            expected_output: Some(Json::from_value(&json!(nth.to_string()))),
            metadata: (Some(nth) == critical)
                .then(|| Json::from_value(&json!({ "critical": true }))),
            source_trace: None,
            source_observation: None,
        };
        let items = (0..items).map(item).collect();
        data.catalog().save_dataset_items(id.clone(), items, START).await.unwrap();
        Self { data, id, seconds: AtomicI64::new(10) }
    }

    /// A later moment at each call.
    fn now(&self) -> Timestamp {
        START.plus_nanos(self.seconds.fetch_add(1, Ordering::Relaxed) * 1_000_000_000)
    }

    fn service(&self) -> ExperimentService {
        let store = self.data.folder().clone();
        let catalog = store.catalog.clone();
        ExperimentService { store, catalog, project: self.id.clone() }
    }

    async fn open_run(&self, request: &ExperimentPlan) -> ExperimentProgress {
        self.service().open(request.clone(), self.now()).await.unwrap()
    }

    /// Runs what is open; returns the trials that were run.
    async fn work(
        &self,
        request: &ExperimentPlan,
        answer: impl Fn(&TrialCall) -> String,
        cost: Option<f64>,
    ) -> Vec<TrialCall> {
        let evaluators = TrialEvaluators::parse(&request.evaluators).unwrap();
        let mut done = Vec::new();
        loop {
            let claim = ClaimOrder {
                runner: "test".to_owned(),
                limit: 100,
                lease_seconds: 30,
                ended_runners: Vec::new(),
            };
            let now = self.now();
            let trials = self.service().claim(&request.run, claim, now).await.unwrap().trials;
            if trials.is_empty() {
                return done;
            }
            let mut results = Vec::new();
            for trial in &trials {
                let answer = TargetAnswer { text: answer(trial), ..TargetAnswer::default() };
                let judgement = evaluators.judge(trial, Some(&answer), 1).await;
                results.push(TrialResult {
                    id: trial.id.clone(),
                    lease: trial.lease,
                    call: 1,
                    calls: Vec::new(),
                    scores: judgement.scores,
                    not_judged: judgement.not_judged,
                    judge_calls: judgement.calls,
                    answer: Some(answer.text),
                    fault: None,
                    cached: false,
                    started_at: now.to_string(),
                    ended_at: now.to_string(),
                    model: None,
                    input_tokens: None,
                    output_tokens: None,
                    cost,
                });
            }
            self.service().finish(&request.run, results, self.now()).await.unwrap();
            done.extend(trials);
        }
    }

    /// A run of an agent that is wrong about the first items.
    async fn run(&self, name: &str, wrong: u64) {
        let request = request(name, "exact", 1);
        self.open_run(&request).await;
        let answer = |trial: &TrialCall| {
            let is_right = trial.input["n"].as_u64().unwrap() >= wrong;
            if is_right { said(trial) } else { "no idea".to_owned() }
        };
        self.work(&request, answer, None).await;
    }

    async fn gate(&self, run: &str, baseline: &str, score: &str) -> (StoredGate, GateReport) {
        self.try_gate(run, baseline, score).await.unwrap()
    }

    async fn try_gate(
        &self,
        run: &str,
        baseline: &str,
        score: &str,
    ) -> Result<(StoredGate, GateReport), GateError> {
        let context = GateContext {
            store: self.data.folder(),
            catalog: self.data.catalog(),
            project: &self.id,
            server: "",
            now: self.now(),
        };
        let order = GateOrder {
            dataset: DATASET.to_owned(),
            run: run.to_owned(),
            baseline: Some(baseline.to_owned()),
            score: Some(score.to_owned()),
            rule: GateRule { min_accuracy: Some(0.5), ..GateRule::default() },
            look: Look::Only,
            judged_again: Vec::new(),
        };
        decide(context, order).await
    }

    /// Promotes the run of a gate, with all other evidence made up.
    async fn promote(&self, gate: &StoredGate) {
        let (catalog, now) = (self.data.catalog().by(Actor::CommandLine), self.now());
        let settings = AgentSettings::default();
        catalog.save_agent(self.id.clone(), "shop".into(), settings, now).await.unwrap();
        let version = AgentVersion { model: Some(gate.id.clone()), ..AgentVersion::default() };
        let version = catalog.save_agent_version(self.id.clone(), "shop".into(), version, now);
        let new = NewPromotion {
            version: version.await.unwrap().id,
            dataset: DATASET.to_owned(),
            author: None,
        };
        let made = catalog.create_promotion(self.id.clone(), new, now).await.unwrap();
        for action in evidence(&catalog.signer(), gate, now) {
            let call = PromotionCall {
                project: self.id.clone(),
                id: made.id.clone(),
                action,
                can_deploy: false,
                server: String::new(),
                now,
            };
            catalog.act_on_promotion(call).await.unwrap().unwrap();
        }
    }
}

/// All that a promotion needs, up to its start.
fn evidence(by: &Signer, gate: &StoredGate, at: Timestamp) -> [Action; 6] {
    let tests = ToolTests {
        tests: 1,
        failed: 0,
        skipped: 0,
        source: None,
        commit: None,
        by: by.clone(),
        at,
    };
    let result = GateResult {
        gate: gate.id.clone(),
        run: gate.run.clone(),
        run_name: gate.run.clone(),
        verdict: gate.verdict,
        accuracy: gate.accuracy,
        min_accuracy: Some(0.5),
        comparison: Comparison::Production,
        dataset_version: START,
        sentence: "passed".to_owned(),
        by: by.clone(),
        at,
    };
    let gate = gate.id.clone();
    let verdicts = ItemVerdicts { gate, needed: 0, open: Vec::new(), open_count: 0 };
    [
        Action::ToolTests(tests),
        Action::Gate(result),
        Action::Verdicts(verdicts),
        Action::Review { by: by.clone(), note: None },
        Action::Approve { by: by.clone(), note: None },
        Action::Start,
    ]
}

fn request(run: &str, evaluator: &str, repeats: u32) -> ExperimentPlan {
    ExperimentPlan {
        dataset: DATASET.to_owned(),
        run: run.to_owned(),
        target: PlannedTarget {
            name: "agent".to_owned(),
            kind: "command".to_owned(),
            fingerprint: "1".to_owned(),
            version: None,
            environment: None,
            on_server: false,
        },
        evaluators: vec![evaluator.to_owned()],
        evaluator_versions: BTreeMap::new(),
        repeats,
        filter: None,
        limit: None,
        max_cost: None,
        cache: false,
        description: None,
    }
}

fn said(trial: &TrialCall) -> String {
    trial.input["n"].to_string()
}

#[tokio::test]
async fn an_extension_adds_trials_once_and_repeats_none() {
    let shop = Shop::open(5).await;
    let request = request("a", "exact", 2);
    shop.open_run(&request).await;
    assert_eq!(shop.work(&request, said, None).await.len(), 10);
    let extend = async |repeats, items: &[&str]| {
        let items = items.iter().map(|item| (*item).to_owned()).collect();
        shop.service().extend("a", AddedRepeats { repeats, items }, shop.now()).await
    };
    for _ in 0..2 {
        let run = extend(4, &[]).await.unwrap();
        assert_eq!((run.state.as_str(), run.repeats, run.trials), ("running", 4, 20));
    }
    // The command that started it still continues it.
    assert_eq!(shop.open_run(&request).await.done, 10);
    let more = shop.work(&request, said, None).await;
    assert_eq!(more.iter().map(|trial| trial.repeat).min(), Some(3), "{more:?}");
    let run = extend(5, &["item-02"]).await.unwrap();
    assert_eq!((run.repeats, run.trials), (4, 21), "one item is run again, the plan is as before");
    let more = shop.work(&request, said, None).await;
    assert_eq!((more.len(), more[0].item.as_str(), more[0].repeat), (1, "item-02", 5));
    let done = shop.open_run(&request).await;
    assert_eq!((done.state.as_str(), done.done, done.calls), ("done", 21, 21));
    assert!(extend(6, &["item-99"]).await.unwrap_err().to_string().contains("no item item-99"));
    assert!(extend(101, &[]).await.is_err() && extend(0, &[]).await.is_err());
    shop.service().cancel("a", shop.now()).await.unwrap();
}

#[tokio::test]
async fn a_run_stops_at_its_cap_and_goes_on_with_a_higher_one() {
    let shop = Shop::open(150).await;
    let capped = |cap| ExperimentPlan { max_cost: Some(cap), ..request("a", "exact", 1) };
    shop.open_run(&capped(0.5)).await;
    // Claims of a hundred, a cent each.
    assert_eq!(shop.work(&capped(0.5), said, Some(0.01)).await.len(), 100);
    let run = shop.open_run(&capped(0.5)).await;
    assert_eq!((run.state.as_str(), run.done), ("running", 100));
    assert_eq!(shop.open_run(&capped(5.0)).await.max_cost, Some(5.0));
    assert_eq!(shop.work(&capped(5.0), said, Some(0.01)).await.len(), 50);
}

#[tokio::test]
async fn a_candidate_that_was_blocked_does_not_disarm_a_critical_item() {
    let shop = Shop::pinned(40, Some(0)).await;
    for name in ["a", "b", "c", "d", "e"] {
        shop.run(name, 0).await;
    }
    shop.run("bad", 20).await;
    let (_, report) = shop.gate("bad", "a", "exact").await;
    assert_eq!(report.verdict, Verdict::Block);
    shop.run("fallen", 1).await;
    let (_, report) = shop.gate("fallen", "a", "exact").await;
    let item = &report.critical[0];
    assert_eq!((item.history_right, item.history_trials), (5, 5));
}

/// What a person says of an answer holds for the same answer in every run, also in the history of a
/// critical item.
#[tokio::test]
async fn a_person_who_corrects_an_earlier_run_changes_the_history_of_a_critical_item() {
    let shop = Shop::pinned(40, Some(0)).await;
    for name in ["a", "b", "c", "d", "e"] {
        shop.run(name, 0).await;
    }
    let trials = shop.service().trials("c", (None, 100)).await.unwrap().trials;
    let trial = trials.iter().find(|trial| trial.item == "item-00").unwrap();
    let said = score("person").on("correctness").of_trace(trial.trace.as_deref().unwrap());
    let said = said.number(0.0).from(ScoreSource::Annotation).given(1_000);
    shop.data.telemetry().record(batch(&shop.id).with(said).build()).await.unwrap();
    shop.run("fallen", 1).await;
    let (_, report) = shop.gate("fallen", "a", "exact").await;
    let item = &report.critical[0];
    assert_eq!((item.history_right, item.history_trials), (0, 5), "all gave that answer");
}

/// Each step is within the margin of the one before; two of them are not within that of the first.
#[tokio::test]
async fn quality_cannot_go_down_by_steps() {
    let shop = Shop::open(60).await;
    for (name, wrong) in [("first", 0), ("second", 3), ("third", 6)] {
        shop.run(name, wrong).await;
    }
    let (first, report) = shop.gate("first", PRODUCTION, "exact").await;
    assert_eq!((report.verdict, report.baseline), (Verdict::Pass, None));
    assert!(report.not_seen[0].contains("promoted or has passed yet"), "{:?}", report.not_seen);
    shop.promote(&first).await;
    let (second, report) = shop.gate("second", PRODUCTION, "exact").await;
    assert_eq!(report.verdict, Verdict::Pass, "{}", report.sentence);
    // Passed is not promoted: the baseline stays the promoted run.
    let (_, report) = shop.gate("third", PRODUCTION, "exact").await;
    assert_eq!(report.baseline.as_deref(), Some("first"));
    shop.promote(&second).await;
    let (_, report) = shop.gate("third", PRODUCTION, "exact").await;
    assert_eq!(report.baseline.as_deref(), Some("second"));
    assert!(matches!(report.reasons.last(), Some(Reason::NoWorse { .. })), "{:?}", report.reasons);
    assert_eq!(
        (report.verdict, report.best_run.as_deref()),
        (Verdict::Inconclusive, Some("first"))
    );
}

#[tokio::test]
async fn the_baseline_is_judged_again_if_the_evaluator_changed() {
    let shop = Shop::open(40).await;
    let wordy = |trial: &TrialCall| format!("It is {}.", trial.input["n"]);
    for (run, evaluator) in [("before", "exact"), ("after", "contains"), ("close", "numeric:0.5")] {
        let request = request(run, evaluator, 1);
        shop.open_run(&request).await;
        shop.work(&request, wordy, None).await;
    }
    // No answer was exact, and each contains what was expected.
    let (_, report) = shop.gate("after", "before", "contains").await;
    let difference = report.difference.unwrap().bounds;
    assert_eq!((difference.value, difference.n, report.verdict), (0.0, 40, Verdict::Pass));
    let note = "(exact before, contains now): 40 of its answers were judged again";
    assert!(report.notes[0].contains(note), "{:?}", report.notes);
    // Another setting of an evaluator is another evaluator; the one that changed nothing is not
    // asked again.
    let strict = request("strict", "numeric:0.1", 1);
    shop.open_run(&strict).await;
    shop.work(&strict, wordy, None).await;
    let (_, report) = shop.gate("strict", "close", "numeric").await;
    assert!(
        report.notes[0].contains("(numeric:0.5 before, numeric:0.1 now)"),
        "{:?}",
        report.notes
    );
    let same = request("same", "numeric:0.1", 1);
    shop.open_run(&same).await;
    shop.work(&same, wordy, None).await;
    assert_eq!(shop.gate("same", "strict", "numeric").await.1.notes, Vec::<String>::new());
    // An evaluator that needs more than the answer cannot judge it again.
    let refused = shop.try_gate("same", "before", "trajectory").await.unwrap_err().to_string();
    assert!(refused.contains("has no score \"trajectory\""), "{refused}");
}

/// The owner of the agent hears of a block on their own browser, which subscribes to nothing.
#[tokio::test]
async fn the_owner_of_the_agent_is_notified_of_a_block() {
    let shop = Shop::open(30).await;
    let settings = AgentSettings {
        owner: Some("ann@example.com".to_owned()),
        datasets: vec![DATASET.to_owned()],
        ..AgentSettings::default()
    };
    let (catalog, secrets) = (shop.data.catalog(), shop.data.folder().secrets.clone());
    catalog.save_agent(shop.id.clone(), "desk".to_owned(), settings, START).await.unwrap();
    let mut browsers = Vec::new();
    for person in ["ann@example.com", "ben@example.com"] {
        let keys = ReceiverKeys::Browser {
            endpoint: Secret::new(format!("https://push.example.com/{person}")),
            p256dh: "key".to_owned(),
            auth: Secret::new("auth".to_owned()),
        };
        let person = Some(person.to_owned());
        let new = NewReceiver { name: "Firefox".to_owned(), keys, events: Vec::new(), person };
        let made = catalog.add_notice_receiver(shop.id.clone(), new, secrets.clone(), START).await;
        browsers.push(made.unwrap().id);
    }
    shop.run("good", 0).await;
    shop.run("bad", 20).await;
    assert_eq!(shop.gate("good", PRODUCTION, "exact").await.1.verdict, Verdict::Pass);
    assert_eq!(shop.gate("bad", PRODUCTION, "exact").await.1.verdict, Verdict::Block);
    let mut heard = Vec::new();
    for browser in browsers {
        let sent = catalog.notice_deliveries(shop.id.clone(), browser, 10).await.unwrap();
        heard.push(sent.into_iter().map(|one| one.kind).collect::<Vec<_>>());
    }
    assert_eq!(heard, [vec![NotificationKind::GateBlocked], Vec::new()]);
}

#[tokio::test]
async fn scores_of_runs_name_who_judged() {
    let shop = Shop::open(3).await;
    shop.run("first", 1).await;
    let query = ScoreQuery {
        project: shop.id.clone(),
        range: TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: Vec::new(),
        paging: Paging::After { cursor: None, limit: 100 },
    };
    let scores = shop.data.telemetry().scores(query).await.unwrap().rows;
    assert_eq!(scores.len(), 3);
    for score in scores {
        let judge = score.metadata.iter().find(|(key, _)| key == "judge").unwrap();
        assert_eq!(judge.1.as_str(), "\"code:exact\"", "{score:?}");
    }
}
