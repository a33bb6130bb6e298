/// Agreement with people.
mod agreement;
/// Code with several scores, and in Node.
mod code;
/// Delays of rules, and dead letters.
mod delays;
/// Outages of judges.
mod outage;
/// Records that are not judged, and are counted.
mod skipped;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::judge::JudgeName;
use ratchet_core::catalog::evaluator::document::{CodeLanguage, EvaluatorState};
use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata};
use ratchet_core::id::TraceId;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::{BackoffClock, SystemBackoffClock};
use ratchet_stages::schedule::{
    CodeInterpreter, EnvironmentError, JobEnvironment, ReportSettings, SuggestionTexts,
};
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

/// Runs code of evaluators.
const PYTHON: &str = "/usr/bin/python3";
const NODE: &str = "/usr/bin/node";

/// A machine whose only judge is the offline one, with or without an interpreter.
#[derive(Debug, Default)]
struct OfflineMachine {
    runs_code: bool,
}

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

    fn code_interpreter(&self, language: CodeLanguage) -> Option<CodeInterpreter> {
        let command = match language {
            CodeLanguage::Python => vec![PYTHON.to_owned(), "-I".to_owned()],
            CodeLanguage::Typescript => vec![NODE.to_owned()],
        };
        let supervision = Supervision::Nobody;
        self.runs_code.then_some(CodeInterpreter { command, supervision })
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

    fn jitter(&self) -> f64 {
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
    worker_on(data, OfflineMachine::default())
}

fn worker_on(data: &DataFolder, machine: OfflineMachine) -> Arc<EvaluationWorker> {
    let poll_every = Duration::from_millis(10);
    let limits = EvaluationLimits { poll_every, ..EvaluationLimits::default() };
    let pace: (Arc<dyn BackoffClock>, _) = (Arc::new(FromStart(Instant::now())), limits);
    let (store, machine) = (data.folder().clone(), Arc::new(machine));
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

/// Links a trace to an item of a dataset.
async fn link(shop: &Evaluating, trace: &str, dataset: &str, expected: &Value) {
    let item = ExperimentItem {
        experiment: ExperimentMetadata {
            id: format!("run-of-{dataset}"),
            name: Some("first".to_owned()),
            dataset: Some(dataset.to_owned()),
            ..ExperimentMetadata::default()
        },
        item: format!("item-{trace}"),
        version: None,
        expected_output: Some(Json::from_value(expected)),
        metadata: None,
        trace: TraceId::parse(trace).unwrap(),
        observation: None,
        ran: None,
        recorded_at: START,
    };
    let mut all = batch(&shop.shop).build();
    all.experiment_items.push(item);
    // Unlike that of the trace: what was written again since it was read stays in the outbox.
    all.received_at = START.plus_nanos(1);
    shop.data.telemetry().record(all).await.unwrap();
}

fn code_evaluator(source: &str) -> Value {
    json!({
        "id": "e-1", "name": "good", "createdAt": START.to_string(), "updatedAt": START.to_string(),
        "versions": [{ "id": "v", "version": 1, "createdAt": START.to_string(), "type": "code",
            "sourceCode": source, "sourceCodeLanguage": "PYTHON", "modelConfig": null,
            "variableMapping": null }],
    })
}

/// As users of Langfuse write it.
const SAME: &str = "
def evaluate(ctx: EvaluationContext) -> EvaluationResult:
    print('seen')
    expected = ctx.experiment.item_expected_output if ctx.experiment else None
    same = ctx.observation.output == expected
    return EvaluationResult(scores=[
        Score(name='same', value=same, data_type='BOOLEAN', comment=f'expected {expected}')])
";

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_a_dataset_are_judged_with_what_their_items_expect() {
    let mut shop = Evaluating::new().await;
    shop.worker = worker_on(&shop.data, OfflineMachine { runs_code: true });
    shop.store(DocumentKind::Evaluator, code_evaluator(SAME)).await;
    let only = json!([{ "type": "stringOptions", "column": "datasetId", "operator": "any of",
        "value": ["d-1"] }]);
    let changes = json!({ "target": "experiment", "filter": only });
    shop.store(DocumentKind::EvaluationRule, rule(&changes)).await;
    shop.worker.prepare().await.unwrap();
    shop.record("right", 0, "sdk-experiment").await;
    shop.record("wrong", 0, "default").await;
    shop.record("other", 0, "default").await;
    shop.start();
    // Before its trace, and after it.
    link(&shop, "later", "d-1", &json!("Done")).await;
    shop.record("later", 0, "default").await;
    link(&shop, "right", "d-1", &json!("Done")).await;
    link(&shop, "wrong", "d-1", &json!("Not yet")).await;
    link(&shop, "other", "d-2", &json!("Done")).await;
    shop.quiet().await;
    let mut all: Vec<String> = shop.verdicts().await.iter().map(verdict_line).collect();
    all.sort();
    assert_eq!(all, ["later 1 expected Done", "right 1 expected Done", "wrong 0 expected Not yet"]);

    let plan = BackfillPlan { since: None, limit: 10 };
    let estimate = shop.worker.estimate(&shop.shop, ("good", plan)).await.unwrap();
    assert_eq!((estimate.records, estimate.judged, estimate.max_cost), (3, 3, Some(Money::ZERO)));
}

fn verdict_line(score: &Score) -> String {
    let ScoreTarget::Trace(trace) = &score.target else { panic!("{score:?}") };
    let value = score.value.number().unwrap();
    format!("{trace} {value} {}", score.comment.as_deref().unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn code_runs_only_through_an_interpreter_of_the_operator() {
    let mut shop = Evaluating::new().await;
    shop.store(DocumentKind::Evaluator, code_evaluator(SAME)).await;
    shop.store(DocumentKind::EvaluationRule, rule(&json!({}))).await;
    shop.worker.prepare().await.unwrap();
    let all = manage::list(shop.data.folder(), &shop.shop, START).await.unwrap();
    let EvaluatorState::Paused(_, why) = &all[0].state else { panic!("{all:?}") };
    assert!(why.contains("[evaluators.code]") && why.contains("ratchet.toml"), "{why}");
    shop.record("t-1", 0, "default").await;
    shop.start();
    shop.quiet().await;
    assert!(shop.verdicts().await.is_empty());
    let all = manage::list(shop.data.folder(), &shop.shop, later(60)).await.unwrap();
    assert_eq!(all[0].last_day.skipped, 1, "what is not judged is counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_fails_says_why() {
    let mut shop = Evaluating::new().await;
    shop.worker = worker_on(&shop.data, OfflineMachine { runs_code: true });
    for (source, why) in [
        ("def evaluate(ctx):\n    raise ValueError('broken rule')", "broken rule"),
        ("def evaluate(ctx):\n    return {'scores': []}", "0 scores"),
        ("x = 1", "no function evaluate"),
        ("import os\ndef evaluate(ctx):\n    return {'scores': [{'value': len(os.environ)}]}", ""),
    ] {
        shop.store(DocumentKind::Evaluator, code_evaluator(source)).await;
        shop.store(DocumentKind::EvaluationRule, rule(&json!({}))).await;
        shop.record("t-1", 0, "default").await;
        let (_, verdicts) = shop.worker.test(&shop.shop, ("good", 1)).await.unwrap();
        match &verdicts[0].verdict {
            Ok(verdict) => assert!(why.is_empty() && format!("{verdict:?}").contains("Number(")),
            Err(said) => assert!(!why.is_empty() && said.contains(why), "{said}"),
        }
    }
}
