use std::collections::BTreeMap;
use std::sync::Arc;

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::experiment::plan::{ExperimentPlan, PlannedTarget};
use ratchet_core::experiment::runner::{ClaimOrder, TrialResult, TrialScore};
use ratchet_core::gate::decision::{GateRule, Look};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric;
use ratchet_core::payload::Json;
use ratchet_core::promotion::ab_test::AbSpec;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::quality::report::ReportScope;
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::record::media::{MediaHash, MediaType};
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_stages::experiment::server_targets::ServerTargets;
use ratchet_stages::experiment::service::ExperimentService;
use ratchet_stages::experiment::worker::{ExperimentWorker, WorkerEvaluators};
use ratchet_stages::gate::{GateContext, GateOrder, decide};
use ratchet_stages::promote::ab;
use ratchet_stages::score::evaluators::shipped;
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_stages::weekly_report::{self, ReportStore, WeekRequest};
use ratchet_store::catalog::{
    MediaOwner, NewMedia, NewPromotion, NewPrompt, NewStoredTarget, NewView, PublishedKind,
    ReferenceLocation, ViewedPage,
};
use ratchet_testkit::build::{START, batch, project, score};

use super::Seed;
use crate::browser::Site;

/// Targets are stored and listed; none of them can be reached.
pub(super) fn run_experiments(site: &Site) {
    let targets = ServerTargets {
        operator: BTreeMap::new(),
        outbound: site.web.outbound.clone(),
        supervision: Supervision::Nobody,
        variables: |_| None,
    };
    let data = site.data.path().to_owned();
    let evaluators = WorkerEvaluators { commands: BTreeMap::new(), data };
    let (store, clock) = (site.data.folder().clone(), Arc::new(SystemBackoffClock));
    let worker = ExperimentWorker::new(store, targets, evaluators, clock);
    site.web.run_experiments(Arc::new(worker));
}

impl Seed<'_> {
    pub(super) async fn agent_data(&self) -> Vec<(&'static str, String)> {
        self.target().await;
        let (gate, promotion) = (self.gate().await, self.promotion().await);
        let (week, suggestion) = self.week().await;
        let catalog = self.site.data.catalog();
        shipped::add(catalog, self.id(), ("offline", None), START).await.unwrap();
        let session = (PublishedKind::Session, self.chosen.to_owned());
        let link = catalog.publish(self.id(), session, None, START).await.unwrap();
        vec![
            ("gate", gate),
            ("promotion", promotion),
            ("ab-test", self.ab_test().await),
            ("week", week),
            ("id", suggestion.clone()),
            ("proposal", suggestion),
            ("evaluator", shipped::NAME.to_owned()),
            ("evaluation_rule", shipped::NAME.to_owned()),
            ("token", link.token),
            ("target-chat", self.target_chat().await),
            ("media", self.media().await),
            ("view", self.view().await),
        ]
    }

    async fn target(&self) {
        let definition =
            format!("kind = \"http\"\nurl = \"https://agent.example/{}\"\n", self.mark);
        let new = NewStoredTarget {
            name: self.chosen.to_owned(),
            definition,
            references: [].into(),
            secrets: BTreeMap::new(),
        };
        let secrets = self.site.data.folder().secrets.clone();
        self.site.data.catalog().save_target(self.id(), new, secrets, START).await.unwrap();
    }

    async fn target_chat(&self) -> String {
        let id = format!("3f1c9a52-0000-4000-8000-{}", hex(self.project));
        let named = (self.chosen.to_owned(), self.mark.to_owned());
        let session = SessionId::parse(&id).unwrap();
        let catalog = self.site.data.catalog();
        catalog.count_target_turn(self.id(), session, named, START).await.unwrap();
        id
    }

    /// A run of the dataset, and a gate on it.
    async fn gate(&self) -> String {
        self.run().await;
        let (store, catalog, project) =
            (self.site.data.folder(), self.site.data.catalog(), self.id());
        let now = self.site.now();
        let context = GateContext { store, catalog, project: &project, server: "", now };
        let order = GateOrder {
            dataset: self.chosen.to_owned(),
            run: self.chosen.to_owned(),
            baseline: None,
            score: None,
            rule: GateRule { min_accuracy: Some(0.5), ..GateRule::default() },
            look: Look::Only,
            judged_again: Vec::new(),
        };
        decide(context, order).await.unwrap().0.id
    }

    async fn run(&self) {
        let store = self.site.data.folder().clone();
        let catalog = store.catalog.clone();
        let service = ExperimentService { catalog, store, project: self.id() };
        let target = PlannedTarget {
            name: self.mark.to_owned(),
            kind: "command".to_owned(),
            fingerprint: "1".to_owned(),
            ..PlannedTarget::default()
        };
        let request = ExperimentPlan {
            dataset: self.chosen.to_owned(),
            run: self.chosen.to_owned(),
            target,
            evaluators: vec!["exact".to_owned()],
            evaluator_versions: BTreeMap::new(),
            repeats: 1,
            filter: None,
            limit: None,
            max_cost: None,
            cache: false,
            description: Some(self.mark.to_owned()),
        };
        let now = self.site.now();
        service.open(request, now).await.unwrap();
        let claim = ClaimOrder {
            runner: "test".to_owned(),
            limit: 10,
            lease_seconds: 30,
            ended_runners: Vec::new(),
        };
        let trials = service.claim(self.chosen, claim, now).await.unwrap().trials;
        let exact = TrialScore { name: "exact".to_owned(), value: 1.0, ..TrialScore::default() };
        let result = |trial: ratchet_core::experiment::runner::TrialCall| TrialResult {
            id: trial.id,
            lease: trial.lease,
            call: 1,
            answer: Some(self.mark.to_owned()),
            fault: None,
            cached: false,
            started_at: now.to_string(),
            ended_at: now.to_string(),
            model: None,
            input_tokens: None,
            output_tokens: None,
            cost: None,
            calls: Vec::new(),
            scores: vec![exact.clone()],
            not_judged: Vec::new(),
            judge_calls: Vec::new(),
        };
        let results = trials.into_iter().map(result).collect();
        service.finish(self.chosen, results, now).await.unwrap();
    }

    /// An agent, and a version of it on its way to production.
    async fn promotion(&self) -> String {
        let (catalog, name) = (self.site.data.catalog(), || self.chosen.to_owned());
        let settings =
            AgentSettings { aliases: vec![self.mark.to_owned()], ..AgentSettings::default() };
        catalog.save_agent(self.id(), name(), settings, START).await.unwrap();
        let version = AgentVersion { model: Some(self.mark.to_owned()), ..AgentVersion::default() };
        let version = catalog.save_agent_version(self.id(), name(), version, START).await.unwrap();
        let new = NewPromotion { version: version.id, dataset: name(), author: None };
        catalog.create_promotion(self.id(), new, START).await.unwrap().id
    }

    /// An A/B test of the agent's prompt.
    async fn ab_test(&self) -> String {
        let (store, catalog, project) =
            (self.site.data.folder(), self.site.data.catalog(), self.id());
        let next = NewPrompt {
            name: self.chosen.to_owned(),
            body: PromptBody::Text(self.mark.to_owned()),
            config: Json::parse("{}").unwrap(),
            labels: vec!["next".to_owned()],
            tags: None,
            commit_message: None,
            created_by: "ana".to_owned(),
        };
        catalog.create_prompt(self.id(), next, START).await.unwrap();
        let now = self.site.now();
        let context = GateContext { store, catalog, project: &project, server: "", now };
        let spec = AbSpec::new(self.chosen, self.chosen, "next");
        ab::start(context, spec).await.unwrap().id
    }

    /// A report with a suggestion. Returns the week and the id of the suggestion.
    async fn week(&self) -> (String, String) {
        let week = Week::of(START, &Zone::utc());
        let start = week.start().since(START) / 1_000_000;
        let mut low = batch(&project(self.project));
        for n in 0..5 {
            for name in ["overall_quality", "tool_mastery", "execution_quality"] {
                let given = score(&format!("{name}{n}")).on(name).given(start + 1_000 + n);
                let given = given.of_session(&format!("{}-{n}", self.chosen)).comment(self.mark);
                low = low.with(given.value(ScoreValue::Numeric(0.3)).from(ScoreSource::Eval));
            }
        }
        self.site.record(low).await;
        let folder = self.site.data.folder();
        let (telemetry, catalog) = (folder.telemetry.clone(), folder.catalog.clone());
        let source = Source::Local(telemetry.clone(), self.id());
        let sink = Sink::Local(LocalSink { telemetry, catalog, project: self.id() });
        let project = self.id();
        let archive = ReportStore::Catalog { catalog: &folder.catalog, project: &project };
        let rubric = rubric::shipped().find(|rubric| rubric.name == "session-quality").unwrap();
        let (rubric, templates) = (rubric.clone(), Templates::shipped());
        let scope = ReportScope::default();
        let named = week.to_string();
        let request = WeekRequest {
            week,
            rubric,
            scope,
            templates,
            adviser: None,
            unscored: BTreeMap::new(),
            project: None,
        };
        weekly_report::report((&source, &sink), archive, &request, START).await.unwrap();
        let suggestions = folder.catalog.suggestions(self.id()).await.unwrap();
        (named, suggestions[0].id.clone())
    }

    /// A file that the trace refers to.
    async fn media(&self) -> String {
        let (bytes, hash): (&[u8], _) = match self.project {
            "shop" => (b"hello", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
            _ => (b"world", "SG6kYiTRu0+2gPNPfJrZao8k7Ii+c+qOWmxlJg6cuKc="),
        };
        let (store, hash) = (self.site.data.folder(), MediaHash::parse(hash).unwrap());
        let mut incoming = store.media.receive().unwrap();
        incoming.write(bytes).unwrap();
        store.media.save(&incoming, hash).unwrap();
        let owner = MediaOwner::Trace(self.chosen.to_owned());
        let new = NewMedia {
            hash,
            content_type: MediaType::OTHER,
            content_length: bytes.len() as u64,
            location: ReferenceLocation { owner, field: "input".to_owned() },
        };
        let media = store.catalog.announce_media(self.id(), new, START).await.unwrap();
        store.catalog.media_stored(self.id(), media.id.clone(), START).await.unwrap();
        media.id
    }

    async fn view(&self) -> String {
        let new = NewView {
            page: ViewedPage::Traces,
            name: self.mark.to_owned(),
            query: String::new(),
            author: None,
        };
        let catalog = self.site.data.catalog();
        catalog.save_view(self.id(), new, START).await.unwrap();
        let views = catalog.saved_views(self.id(), ViewedPage::Traces).await.unwrap();
        views[0].id.clone()
    }
}

/// Twelve digits that stand for a name.
fn hex(name: &str) -> String {
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits:0>12}")
}
