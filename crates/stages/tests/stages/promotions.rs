/// A/B tests of prompts.
mod ab;
/// What belongs to one agent, one version, one caller.
mod limits;
/// What people say of promotions.
mod redaction;
/// Deployments by webhook, and rollbacks that are offered or fail.
mod rollbacks;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::catalog::prompt::{Pick, PromptBody};
use ratchet_core::gate::decision::Verdict;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::payload::Json;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::evidence::{Comparison, GateResult, ItemVerdicts, ToolTests};
use ratchet_core::promotion::policy::PromotionPolicy;
use ratchet_core::promotion::state::{Action, PromotionState, Refused};
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_stages::promote::{DeployTarget, PromotionWorker, WorkerLimits};
use ratchet_store::StoreError;
use ratchet_store::catalog::{
    Actor, AuditObject, AuditQuery, Catalog, NewProject, NewPromotion, NewPrompt, PromotionCall,
    PromptReferences, StoredPromotion,
};
use ratchet_store::project::ProjectId;
use ratchet_testkit::build::{START, batch, project, score, span, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;
use ratchet_testkit::seeded_random::SeededRandom;

const MINUTE: i64 = 60_000;

/// A clock that tests set.
#[derive(Clone, Debug)]
struct TestClock(Arc<AtomicI64>);

impl TestClock {
    fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }

    fn millis(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl BackoffClock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(START.millis() + self.millis())
    }

    fn jitter(&self) -> f64 {
        0.5
    }

    fn pause(&self, _wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::ready(()))
    }
}

struct Shop {
    data: DataFolder,
    id: ProjectId,
    clock: TestClock,
    worker: PromotionWorker,
    random: SeededRandom,
    sessions: usize,
}

impl Shop {
    async fn open(policy: PromotionPolicy, target: Option<DeployTarget>) -> Self {
        let (data, id) = (DataFolder::new(), project("shop"));
        let new = NewProject { id: id.clone(), name: "shop".into(), retention_days: None };
        data.catalog().create_project(new, START).await.unwrap();
        let settings = AgentSettings {
            owner: Some("ann@example.com".to_owned()),
            promotion: policy.checked().unwrap(),
            ..AgentSettings::default()
        };
        data.catalog().save_agent(id.clone(), "shop".into(), settings, START).await.unwrap();
        let clock = TestClock(Arc::new(AtomicI64::new(100_000 * MINUTE)));
        let worker = PromotionWorker {
            store: data.folder().clone(),
            server: "http://ratchet.test".to_owned(),
            outbound: OutboundPolicy::default(),
            supervision: Supervision::Nobody,
            pace: Arc::new(clock.clone()),
            target,
            limits: WorkerLimits::default(),
        };
        Self { data, id, clock, worker, random: SeededRandom::new(7), sessions: 0 }
    }

    fn catalog(&self) -> Catalog {
        self.data.catalog().by(Actor::CommandLine)
    }

    async fn prompt(&self, labels: &[&str]) -> Result<u32, StoreError> {
        let new = NewPrompt {
            name: "shop".to_owned(),
            body: PromptBody::Text("Be brief.".to_owned()),
            config: Json::from_value(&serde_json::json!({})),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            tags: None,
            commit_message: None,
            created_by: "test".to_owned(),
        };
        let now = self.clock.now();
        Ok(self.catalog().create_prompt(self.id.clone(), new, now).await?.version)
    }

    async fn production(&self) -> Option<u32> {
        let pick = Pick::Label("production".to_owned());
        let catalog = self.catalog();
        let found = catalog.prompt(self.id.clone(), "shop".into(), pick, PromptReferences::Raw);
        found.await.unwrap().map(|(prompt, _)| prompt.version)
    }

    async fn act(&self, id: &str, action: Action) -> StoredPromotion {
        self.try_act(id, action).await.unwrap()
    }

    /// Promotes a prompt version with complete evidence, up to its start.
    async fn promote(&self, prompt: u32) -> StoredPromotion {
        let approved = self.approved(prompt).await;
        self.act(&approved.id, Action::Start).await
    }

    /// A promotion of a prompt version with complete evidence.
    async fn approved(&self, prompt: u32) -> StoredPromotion {
        let (catalog, now) = (self.catalog(), self.clock.now());
        let prompts = BTreeMap::from([("shop".to_owned(), prompt)]);
        let version = AgentVersion { prompts, ..AgentVersion::default() };
        let version =
            catalog.save_agent_version(self.id.clone(), "shop".into(), version, now).await.unwrap();
        let new = NewPromotion {
            version: version.id.clone(),
            dataset: "shop-eval-global".to_owned(),
            author: None,
        };
        let made = catalog.create_promotion(self.id.clone(), new, now).await.unwrap();
        let by = catalog.signer();
        let tests = ToolTests {
            tests: 3,
            failed: 0,
            skipped: 0,
            source: None,
            commit: None,
            by: by.clone(),
            at: now,
        };
        let gate = GateResult {
            gate: "by luck".to_owned(),
            run: format!("run-{}", version.id),
            run_name: "run".to_owned(),
            verdict: Verdict::Pass,
            accuracy: 0.9,
            min_accuracy: Some(0.7),
            comparison: Comparison::Production,
            dataset_version: now,
            sentence: "passed".to_owned(),
            by: by.clone(),
            at: now,
        };
        let gate_id = gate.gate.clone();
        let verdicts = ItemVerdicts { gate: gate_id, needed: 0, open: Vec::new(), open_count: 0 };
        self.act(&made.id, Action::ToolTests(tests)).await;
        self.act(&made.id, Action::Gate(gate)).await;
        self.act(&made.id, Action::Verdicts(verdicts)).await;
        self.act(&made.id, Action::Review { by: by.clone(), note: None }).await;
        self.act(&made.id, Action::Approve { by, note: None }).await
    }

    /// The same action, if it may be refused.
    async fn try_act(&self, id: &str, action: Action) -> Result<StoredPromotion, Refused> {
        let call = PromotionCall {
            project: self.id.clone(),
            id: id.to_owned(),
            action,
            can_deploy: self.worker.target.is_some(),
            server: String::new(),
            now: self.clock.now(),
        };
        self.catalog().act_on_promotion(call).await.unwrap()
    }

    async fn stored(&self, id: &str) -> StoredPromotion {
        self.catalog().promotion(self.id.clone(), id.to_owned()).await.unwrap()
    }

    /// Sessions of two traces each, one a minute, judged by one evaluator version: so many percent
    /// are good.
    async fn record(&mut self, sessions: usize, percent: u64) {
        self.record_judged(sessions, percent, "3").await;
    }

    async fn record_judged(&mut self, sessions: usize, percent: u64, evaluator: &str) {
        let mut built = batch(&self.id);
        for _ in 0..sessions {
            self.clock.advance(MINUTE);
            let from = self.clock.millis();
            self.sessions += 1;
            let value = f64::from(u8::from(self.random.number() % 100 < percent));
            for turn in 0..2 {
                let id = format!("t{}-{turn}", self.sessions);
                let session = format!("s{}", self.sessions);
                let one = trace(&id).beginning(from).agent("shop").in_session(&session);
                built = built.with(one.in_environment("production"));
                let call = span(&format!("{id}-o")).of(&id).in_environment("production");
                built = built.with(call.lasting(from, from + 900));
                let judged = score(&format!("{id}-q")).of_trace(&id).on("quality").number(value);
                let judged = judged.metadata("evaluator_version", &format!("\"{evaluator}\""));
                built = built.with(judged.in_environment("production").given(from + 1_000));
            }
        }
        self.data.telemetry().record(built.build()).await.unwrap();
    }
}

fn watched() -> PromotionPolicy {
    PromotionPolicy {
        is_required: true,
        automatic_rollback: true,
        watch_hours: 2,
        ..PromotionPolicy::default()
    }
}

#[tokio::test]
async fn a_bad_version_that_passed_by_luck_is_rolled_back_and_a_good_one_is_confirmed() {
    let mut shop = Shop::open(watched(), None).await;
    shop.prompt(&["production"]).await.unwrap();
    let bad = shop.prompt(&[]).await.unwrap();
    shop.record(200, 90).await;
    let promotion = shop.promote(bad).await;
    assert_eq!(
        (promotion.promotion.state, shop.production().await),
        (PromotionState::Live, Some(2))
    );
    // Users get it: the label moves only with the promotion now.
    let catalog = shop.catalog();
    let moved = catalog.move_prompt_labels(
        shop.id.clone(),
        ("shop".to_owned(), 1),
        vec!["production".to_owned()],
        shop.clock.now(),
    );
    assert!(matches!(moved.await, Err(StoreError::Conflict(why)) if why.contains("shop")));
    assert!(matches!(shop.prompt(&["production"]).await, Err(StoreError::Conflict(_))));
    shop.worker.watch_all().await.unwrap();
    assert_eq!(shop.stored(&promotion.id).await.promotion.state, PromotionState::Live);
    // A session counts an hour after its end.
    shop.record(59, 40).await;
    shop.worker.watch_all().await.unwrap();
    let watch = shop.stored(&promotion.id).await.promotion.watch.unwrap();
    assert_eq!(watch.sessions_after, 0);
    for _ in 0..7 {
        shop.record(10, 40).await;
        shop.worker.watch_all().await.unwrap();
    }
    let ended = shop.stored(&promotion.id).await.promotion;
    assert_eq!(ended.state, PromotionState::RolledBack, "{:?}", ended.watch);
    let outcome = ended.outcome.unwrap();
    assert!(outcome.text.contains("worse after the promotion: online score"), "{}", outcome.text);
    assert_eq!(outcome.watch.unwrap().evaluator.as_deref(), Some("3"));
    assert_eq!(shop.production().await, Some(1));

    shop.record(160, 90).await;
    let good = shop.prompt(&[]).await.unwrap();
    let promotion = shop.promote(good).await;
    shop.record(60, 90).await;
    shop.worker.watch_all().await.unwrap();
    assert_eq!(shop.stored(&promotion.id).await.promotion.state, PromotionState::Live);
    shop.record(121, 90).await;
    shop.worker.watch_all().await.unwrap();
    let ended = shop.stored(&promotion.id).await.promotion;
    assert_eq!(ended.state, PromotionState::Confirmed, "{:?}", ended.watch);
    assert_eq!(shop.production().await, Some(good));
    let serving = shop.catalog().serving_history(shop.id.clone(), "shop".into()).await.unwrap();
    assert_eq!(serving[0].version, Some(ended.version));
    assert_eq!((serving.len(), serving[1].version.clone()), (3, None));
}

#[tokio::test]
async fn a_deployment_comes_first_the_label_last_and_a_failure_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (script, log) = (dir.path().join("deploy.sh"), dir.path().join("log"));
    let words = ["sh".to_owned(), script.display().to_string()].to_vec();
    let missing = DeployTarget::Command(vec![dir.path().join("none").display().to_string()]);
    let policy = PromotionPolicy { deploys: true, ..watched() };
    let mut shop = Shop::open(policy, Some(missing)).await;
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&[]).await.unwrap();
    let promotion = shop.promote(next).await;
    assert_eq!(promotion.promotion.state, PromotionState::Deploying);
    assert_eq!(shop.production().await, Some(1), "the label moves last");
    shop.worker.deployments().await.unwrap();
    let failed = shop.stored(&promotion.id).await.promotion;
    assert_eq!((failed.state, shop.production().await), (PromotionState::Failed, Some(1)));

    // The evidence is as it was, and the operator has repaired the command.
    std::fs::write(&script, format!("cat >> {0}; echo >> {0}", log.display())).unwrap();
    shop.worker.target = Some(DeployTarget::Command(words));
    shop.act(&promotion.id, Action::Start).await;
    // A server that ended in the middle of the deployment.
    let request = ratchet_store::catalog::JobRequest {
        kind: ratchet_core::job::JobKind::Deployment,
        owner: "killed".to_owned(),
        lease: Duration::from_secs(60),
        limit: 1,
        max_running: None,
    };
    let claimed = shop.catalog().claim_jobs(request, shop.clock.now()).await.unwrap();
    assert_eq!(claimed.len(), 1);
    shop.worker.deployments().await.unwrap();
    assert_eq!(shop.stored(&promotion.id).await.promotion.state, PromotionState::Deploying);
    shop.clock.advance(2 * MINUTE);
    shop.worker.deployments().await.unwrap();
    assert_eq!(shop.stored(&promotion.id).await.promotion.state, PromotionState::Live);
    assert_eq!(shop.production().await, Some(next));
    let deployed = std::fs::read_to_string(&log).unwrap();
    let order: serde_json::Value = serde_json::from_str(deployed.trim()).unwrap();
    assert_eq!(order["idempotencyKey"], format!("{}-2", promotion.id));
    assert_eq!(order["content"]["prompts"]["shop"], next);

    let by = shop.catalog().signer();
    shop.act(&promotion.id, Action::Rollback { by, reason: "slow".to_owned() }).await;
    assert_eq!(shop.production().await, Some(1), "the label is back before anything is deployed");
    let about = AuditQuery::about(shop.id.clone(), AuditObject::Promotion, promotion.id, 100);
    let lines: Vec<String> = shop
        .catalog()
        .audit(about)
        .await
        .unwrap()
        .rows
        .into_iter()
        .filter_map(|entry| entry.became)
        .collect();
    for state in ["approved", "deploying", "failed", "live", "rolled-back"] {
        let change = format!("→ {state}");
        assert!(lines.iter().any(|line| line.contains(&change)), "{state} in {lines:?}");
    }
}
