use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ratchet_agent::judge::JudgeName;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::backoff_clock::{BackoffClock, SystemBackoffClock};
use ratchet_stages::schedule::{EnvironmentError, JobEnvironment, ReportSettings, SuggestionTexts};
use ratchet_stages::score::evaluators::backfill::BackfillPlan;
use ratchet_stages::score::evaluators::{EvaluationLimits, EvaluationWorker, manage, shipped};
use ratchet_stages::score::judge::Judge;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Document, DocumentKind, Documents, NewProject};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_testkit::build::{START, batch, project, span, text, tool, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;
use ratchet_testkit::wait;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// A machine whose only judge is the offline one.
struct OfflineMachine;

impl JobEnvironment for OfflineMachine {
    fn judge<'a>(
        &'a self,
        _: &'a ProjectId,
        _: &'a JudgeName,
        _: Option<Money>,
    ) -> BoxFuture<'a, Result<Judge, EnvironmentError>> {
        Box::pin(std::future::ready(Ok(Judge::Offline)))
    }

    fn rubric(&self, name: &str) -> Result<Rubric, EnvironmentError> {
        Ok(rubric::shipped().find(|rubric| rubric.name == name).unwrap().clone())
    }

    fn suggestion_texts(&self) -> Result<SuggestionTexts, EnvironmentError> {
        Ok(SuggestionTexts { templates: Templates::shipped(), instructions: String::new() })
    }

    fn report_settings(&self, _: &ProjectId) -> Result<ReportSettings, EnvironmentError> {
        Ok(ReportSettings::default())
    }

    fn webhook_secret(&self) -> Result<Secret, EnvironmentError> {
        Ok(Secret::new("shared"))
    }
}

/// Time that goes on from when the tests' store begins.
#[derive(Debug)]
struct FromStart(Instant);

impl BackoffClock for FromStart {
    fn now(&self) -> Timestamp {
        START.plus_nanos(self.0.elapsed().as_nanos().try_into().unwrap())
    }

    fn chance(&self) -> f64 {
        0.5
    }

    fn pause(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        SystemBackoffClock.pause(wait)
    }
}

/// A project with a worker, which ends when it is dropped as if the server had died.
struct Evaluating {
    data: DataFolder,
    shop: ProjectId,
    worker: Arc<EvaluationWorker>,
    running: JoinSet<()>,
}

impl Evaluating {
    async fn new() -> Self {
        let (data, shop) = (DataFolder::new(), project("shop"));
        let new = NewProject { id: shop.clone(), name: "shop".into(), retention_days: None };
        data.catalog().create_project(new, START).await.unwrap();
        let worker = worker(&data);
        Self { data, shop, worker, running: JoinSet::new() }
    }

    /// With the evaluator that comes with Ratchet, which judges at once.
    async fn shipped() -> Self {
        let this = Self::new().await;
        let judge = ("offline", Some(0));
        shipped::add(this.data.catalog(), this.shop.clone(), judge, START).await.unwrap();
        this.worker.prepare().await.unwrap();
        this
    }

    fn start(&mut self) {
        let worker = self.worker.clone();
        self.running.spawn(async move { worker.run(std::future::pending()).await });
    }

    async fn store(&self, kind: DocumentKind, body: Value) {
        let document = Document {
            id: body["id"].as_str().unwrap().to_owned(),
            body: Json::from_value(&body),
            created_at: START,
            updated_at: START,
        };
        let work = move |documents: &Documents<'_>| documents.upsert(kind, &document);
        let catalog = self.data.catalog();
        catalog.with_documents::<_, StoreError>(self.shop.clone(), work).await.unwrap();
    }

    /// Records a trace with a tool call that failed so many times.
    async fn record(&self, id: &str, failures: usize, environment: &str) {
        let root = span(&format!("{id}-root")).of(id).lasting(0, 9);
        let root = root.input(text("Ship it")).output(text("Done"));
        let calls = (0..failures).map(|number| {
            let call = tool(&format!("{id}-call-{number}")).of(id).lasting(1, 2);
            call.under(&format!("{id}-root")).level(ratchet_core::record::observation::Level::Error)
        });
        let top = trace(id).named("agent").in_environment(environment).in_session("s-1");
        let top = top.input(text("Ship it")).output(text("Done")).rooted_in(&format!("{id}-root"));
        let all = batch(&self.shop).with(top).with(root).with_all(calls).build();
        self.data.telemetry().record(all).await.unwrap();
    }

    async fn verdicts(&self) -> Vec<Score> {
        let query = ScoreQuery {
            project: self.shop.clone(),
            range: TimeRange::default(),
            on: ScoresOn::Anything,
            conditions: Vec::new(),
            paging: Paging::After { cursor: None, limit: 1_000 },
        };
        self.data.telemetry().scores(query).await.unwrap().rows
    }

    /// Waits until nothing is left to judge.
    async fn quiet(&self) {
        let is_quiet = async || {
            let outbox = self.data.telemetry().changed_traces(later(3_600), 1).await.unwrap();
            let all = manage::list(self.data.folder(), &self.shop, START).await.unwrap();
            outbox.is_empty() && all.iter().all(|one| one.queue.waiting == 0)
        };
        wait::until_async("all traces are evaluated", is_quiet).await;
    }

    async fn judged(&self) -> u64 {
        let all = manage::list(self.data.folder(), &self.shop, later(60)).await.unwrap();
        all.iter().map(|one| one.last_day.judged).sum()
    }
}

fn worker(data: &DataFolder) -> Arc<EvaluationWorker> {
    let poll_every = Duration::from_millis(10);
    let limits = EvaluationLimits { poll_every, ..EvaluationLimits::default() };
    let pace: (Arc<dyn BackoffClock>, _) = (Arc::new(FromStart(Instant::now())), limits);
    let (store, machine) = (data.folder().clone(), Arc::new(OfflineMachine));
    Arc::new(EvaluationWorker::new(store, machine, pace, "worker".to_owned()))
}

const fn later(seconds: i64) -> Timestamp {
    START.plus_nanos(seconds * 1_000_000_000)
}

fn said(score: &Score, key: &str) -> String {
    let value = score.metadata.iter().find(|(known, _)| known == key);
    value.map(|(_, value)| value.as_str().to_owned()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_is_judged_once_and_again_when_it_has_grown() {
    let mut shop = Evaluating::shipped().await;
    shop.record("t-1", 0, "default").await;
    shop.start();
    shop.quiet().await;
    let first = shop.verdicts().await;
    assert_eq!(first.len(), 1);
    let verdict = &first[0];
    assert_eq!((verdict.name.as_str(), verdict.source), (shipped::SCORE, ScoreSource::Eval));
    assert!(matches!(&verdict.target, ScoreTarget::Trace(id) if id.to_string() == "t-1"));
    assert_eq!(
        (said(verdict, "judge"), said(verdict, "evaluator_version")),
        ("\"offline\"".into(), "1".into())
    );
    assert!(!said(verdict, "judge_version").is_empty() && verdict.comment.is_some());

    // An exporter sends the same once more: there is nothing new to judge.
    shop.record("t-1", 0, "default").await;
    shop.quiet().await;
    assert_eq!(shop.judged().await, 1);

    shop.record("t-1", 6, "default").await;
    shop.quiet().await;
    let second = shop.verdicts().await;
    assert_eq!((second.len(), shop.judged().await), (1, 2), "one current verdict");
    assert!(second[0].value.number() < first[0].value.number(), "{second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_before_the_server_died_is_judged_by_the_next_one() {
    let mut shop = Evaluating::shipped().await;
    for number in 0..300 {
        shop.record(&format!("t-{number}"), 1, "default").await;
    }
    for _ in 0..5 {
        shop.start();
        let has_begun = async || !shop.verdicts().await.is_empty();
        wait::until_async("a first verdict", has_begun).await;
        shop.running.shutdown().await;
        shop.worker = worker(&shop.data);
    }
    shop.start();
    shop.quiet().await;
    let mut traces: Vec<_> =
        shop.verdicts().await.iter().map(|it| format!("{:?}", it.target)).collect();
    traces.sort();
    traces.dedup();
    assert_eq!((traces.len(), shop.verdicts().await.len()), (300, 300));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_judges_and_experiments_are_not_judged() {
    let mut shop = Evaluating::shipped().await;
    shop.record("judge", 0, "langfuse-llm-as-a-judge").await;
    shop.record("experiment", 0, "sdk-experiment").await;
    shop.record("t-1", 0, "production").await;
    shop.start();
    shop.quiet().await;
    let all = shop.verdicts().await;
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].environment.as_str(), "production");
}

fn evaluator() -> Value {
    json!({
        "id": "e-1", "name": "good", "createdAt": START.to_string(), "updatedAt": START.to_string(),
        "versions": [{ "id": "v", "version": 1, "createdAt": START.to_string(),
            "type": "llm_as_judge", "prompt": [{ "role": "user", "content": "{{input}}" }],
            "modelConfig": null, "judge": "offline", "variableMapping": null,
            "outputDefinition": { "dataType": "NUMERIC" } }],
    })
}

fn rule(changes: &Value) -> Value {
    let mut rule = json!({
        "id": "r-1", "name": "all", "enabled": true, "sampling": 1.0, "filter": [],
        "evaluatorAssignments": [{ "evaluatorId": "e-1", "variableMapping": null }],
        "target": "trace", "delaySeconds": 0, "startedAt": START.to_string(),
    });
    rule.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    rule
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_from_before_runs_only_once_a_person_resumes_it() {
    let mut shop = Evaluating::new().await;
    shop.store(DocumentKind::Evaluator, evaluator()).await;
    shop.store(DocumentKind::EvaluationRule, rule(&json!({ "startedAt": null }))).await;
    shop.worker.prepare().await.unwrap();
    shop.record("t-1", 0, "default").await;
    shop.start();
    shop.quiet().await;
    assert!(shop.verdicts().await.is_empty());
    let (catalog, id) = (shop.data.catalog().clone(), shop.shop.clone());
    manage::resume(&catalog, id.clone(), "good".to_owned(), START).await.unwrap();
    shop.worker.prepare().await.unwrap();
    shop.record("t-2", 0, "default").await;
    shop.quiet().await;
    assert_eq!(shop.verdicts().await.len(), 1, "what came before is left to a backfill");

    let plan = BackfillPlan { since: None, limit: 10 };
    let estimate = shop.worker.backfill(&id, ("good", plan)).await.unwrap();
    assert_eq!((estimate.records, estimate.judged, estimate.max_cost), (2, 1, Some(Money::ZERO)));
    shop.quiet().await;
    assert_eq!(shop.verdicts().await.len(), 2);

    manage::pause(&catalog, id, ("good".to_owned(), "too strict".to_owned()), START).await.unwrap();
    shop.worker.prepare().await.unwrap();
    shop.record("t-3", 0, "default").await;
    shop.quiet().await;
    assert_eq!(shop.verdicts().await.len(), 2, "it is paused");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_choose_by_filter_share_and_target() {
    let filter = json!([{ "type": "stringOptions", "column": "environment",
        "operator": "any of", "value": ["beta"] }]);
    for (changes, expected) in [
        (json!({ "filter": filter }), 1),
        (json!({ "sampling": 0.0 }), 0),
        (json!({ "target": "observation" }), 3),
        (json!({ "target": "session" }), 1),
    ] {
        let mut shop = Evaluating::new().await;
        shop.store(DocumentKind::Evaluator, evaluator()).await;
        shop.store(DocumentKind::EvaluationRule, rule(&changes)).await;
        shop.worker.prepare().await.unwrap();
        shop.record("t-1", 1, "default").await;
        shop.record("t-2", 0, "beta").await;
        shop.start();
        shop.quiet().await;
        assert_eq!(shop.verdicts().await.len(), expected, "{changes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_judges_without_writing_scores() {
    let mut shop = Evaluating::shipped().await;
    shop.record("t-1", 0, "default").await;
    let (estimate, verdicts) = shop.worker.test(&shop.shop, (shipped::NAME, 3)).await.unwrap();
    assert_eq!((estimate.records, verdicts.len()), (1, 1));
    assert!(verdicts[0].verdict.is_ok() && shop.verdicts().await.is_empty());
    shop.start();
    shop.quiet().await;
    assert_eq!(shop.verdicts().await.len(), 1);
}
