use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ratchet_agent::judge::JudgeName;
use ratchet_core::calendar::Zone;
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::job::JobKind;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::money::Money;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_stages::notify;
use ratchet_stages::schedule::{
    DueRun, EnvironmentError, JobEnvironment, LEASE, ReportSettings, Runner, Scheduler,
    SuggestionTexts,
};
use ratchet_stages::score::judge::Judge;
use ratchet_store::catalog::{
    LeaseStatus, NewProject, NewSchedule, Schedule, ScheduleOutcome, ScheduleRun, ScheduledJob,
    ScheduledScoring,
};
use ratchet_store::project::ProjectId;
use ratchet_testkit::build::{START, batch, project, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;
use serde_json::Value;

/// A machine whose judge is the offline one, or cannot be had.
#[derive(Debug)]
struct TestMachine {
    has_judge: bool,
}

impl JobEnvironment for TestMachine {
    fn judge<'a>(
        &'a self,
        _: &'a ProjectId,
        _: &'a JudgeName,
        _: Option<Money>,
    ) -> BoxFuture<'a, Result<Judge, EnvironmentError>> {
        let refused = EnvironmentError {
            detail: "the provider said: hush".to_owned(),
            public: "the provider refused".to_owned(),
        };
        Box::pin(std::future::ready(if self.has_judge { Ok(Judge::Offline) } else { Err(refused) }))
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

/// A project and the scheduler of a server.
struct Server {
    data: DataFolder,
    shop: ProjectId,
    scheduler: Scheduler,
}

impl Server {
    async fn start(has_judge: bool) -> Self {
        let (data, shop) = (DataFolder::new(), project("shop"));
        let new = NewProject { id: shop.clone(), name: "shop".into(), retention_days: None };
        data.catalog().create_project(new, START).await.unwrap();
        data.catalog().ensure_weekly(shop.clone(), Zone::utc(), START).await.unwrap();
        let scheduler = Scheduler {
            store: data.folder().clone(),
            environment: Arc::new(TestMachine { has_judge }),
            runner: runner(&data, "a"),
            outbound: OutboundPolicy::unrestricted(),
            server: "https://ratchet.test".to_owned(),
            clock: || START,
        };
        Self { data, shop, scheduler }
    }

    async fn schedule(&self, name: &str) -> Schedule {
        let all = self.data.catalog().schedules(self.shop.clone()).await.unwrap();
        all.into_iter().find(|schedule| schedule.name == name).unwrap()
    }

    async fn claim(&self, name: &str, now: Timestamp) -> Option<DueRun> {
        let schedule = self.schedule(name).await;
        self.scheduler.runner.claim_now(&self.shop, schedule, now).await.unwrap()
    }

    async fn last_run(&self, name: &str) -> ScheduleRun {
        let runs = self.data.catalog().schedule_runs(self.shop.clone(), name.into(), 1).await;
        runs.unwrap().pop().unwrap()
    }
}

fn runner(data: &DataFolder, name: &str) -> Runner {
    Runner { catalog: data.catalog().clone(), name: name.to_owned(), zone: Zone::utc() }
}

const fn later(seconds: i64) -> Timestamp {
    START.plus_nanos(seconds * 1_000_000_000)
}

#[tokio::test]
async fn a_new_weekly_report_is_told_to_its_subscribers_once() {
    let server = Server::start(true).await;
    let (catalog, secrets) = (server.data.catalog(), server.data.folder().secrets.clone());
    let events = vec![NotificationKind::WeekReport];
    let url = "https://example.com/";
    let (new, _) = notify::webhook("ops", url, events, &OutboundPolicy::unrestricted()).unwrap();
    let ops = catalog.add_notice_receiver(server.shop.clone(), new, secrets.clone(), START).await;
    let ops = ops.unwrap();
    for (now, effect) in [(START, "new report"), (later(9), "report unchanged")] {
        let run = server.claim("weekly", now).await.unwrap();
        let line = server.scheduler.run_one(&run, &|| false).await.unwrap();
        assert!(line.contains(effect), "{line}");
        let result =
            catalog.notice_deliveries(server.shop.clone(), ops.id.clone(), 9).await.unwrap();
        let kinds: Vec<_> = result.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [NotificationKind::WeekReport]);
    }
    let hold = (9, Duration::from_secs(60));
    let due = catalog.claim_deliveries(hold, secrets, later(10)).await.unwrap();
    let message: Value = serde_json::from_str(&due[0].message).unwrap();
    assert_eq!(message["type"], "week.report");
    let (data, week) = (&message["data"], message["data"]["week"].as_str().unwrap());
    assert_eq!(data["url"], format!("https://ratchet.test/project/shop/reports/{week}"));
    assert_eq!(data["title"], format!("Weekly quality report {week}: shop"));
    assert_eq!(data["text"], "No sessions scored in this week.");
}

#[tokio::test]
async fn a_schedule_has_one_run_at_a_time() {
    let server = Server::start(true).await;
    let first = server.claim("weekly", START).await.unwrap();
    assert_eq!(server.claim("weekly", later(1)).await, None);
    let known = server.data.catalog().schedule_runs(server.shop.clone(), "weekly".into(), 9).await;
    assert_eq!(known.unwrap().len(), 1, "a refused run leaves nothing behind");
    server.scheduler.run_one(&first, &|| false).await.unwrap();
    assert!(server.claim("weekly", later(2)).await.is_some());
}

#[tokio::test]
async fn a_schedule_may_score_without_a_report() {
    let server = Server::start(true).await;
    let weekly = server.schedule("weekly").await;
    let scoring = ScheduledScoring { max_cost: None, ..weekly.job.scoring().unwrap().clone() };
    let new = NewSchedule {
        name: "nightly".to_owned(),
        cron: weekly.cron,
        zone: weekly.zone,
        job: ScheduledJob::Scoring(scoring.clone()),
        slack: None,
        webhook: None,
    };
    let (catalog, secrets) = (server.data.catalog(), server.data.folder().secrets.clone());
    catalog.save_schedule(server.shop.clone(), new, secrets, START).await.unwrap();
    assert_eq!(server.schedule("nightly").await.job, ScheduledJob::Scoring(scoring));
    let run = server.claim("nightly", START).await.unwrap();
    let line = server.scheduler.run_one(&run, &|| false).await.unwrap();
    assert_eq!(line, "0 sessions scored, 0 failed");
    let last = server.last_run("nightly").await;
    assert_eq!((last.outcome, last.message), (ScheduleOutcome::Done, line));
    assert_eq!(catalog.reports(server.shop.clone()).await.unwrap(), []);
}

#[tokio::test]
async fn a_failure_is_recorded_without_what_the_provider_said() {
    let server = Server::start(false).await;
    let run = server.claim("weekly", START).await.unwrap();
    let error = server.scheduler.run_one(&run, &|| false).await.unwrap_err();
    assert_eq!(error.detail(), "the provider said: hush");
    let last = server.last_run("weekly").await;
    let expected = (ScheduleOutcome::Failed, "the provider refused".to_owned());
    assert_eq!((last.outcome, last.message), expected);
}

#[tokio::test]
async fn a_run_that_a_stop_ends_is_continued_by_the_next_server() {
    let server = Server::start(false).await;
    let run = server.claim("weekly", START).await.unwrap();
    server.scheduler.run_one(&run, &|| true).await.unwrap_err();
    assert_eq!(server.last_run("weekly").await.outcome, ScheduleOutcome::Running);
    let next = runner(&server.data, "b").claim_due(&server.shop, later(1)).await.unwrap();
    assert_eq!(next.iter().map(|run| run.due_at).collect::<Vec<_>>(), [START]);
    assert_eq!(server.last_run("weekly").await.runner, "b");
}

#[tokio::test]
async fn a_requested_or_retried_run_does_not_wait_for_a_clock_that_was_set_back() {
    let server = Server::start(false).await;
    let (catalog, ten_years) = (server.data.catalog(), later(10 * 365 * 86_400));
    let shop = || server.shop.clone();
    catalog.request_run(shop(), "weekly".into(), ten_years).await.unwrap();
    let due = runner(&server.data, "b").claim_due(&server.shop, START).await.unwrap();
    assert_eq!(due.iter().map(|run| run.due_at).collect::<Vec<_>>(), [ten_years]);
    server.scheduler.run_one(&due[0], &|| false).await.unwrap_err();

    let key = (JobKind::ScheduleRun, due[0].lease.id.clone());
    catalog.requeue_dead_job(shop(), key, ten_years).await.unwrap();
    let due = runner(&server.data, "c").claim_due(&server.shop, later(1)).await.unwrap();
    assert_eq!(due.len(), 1);

    // Nor for a lease of a server that is gone: an hour is the longest.
    let renewed = catalog.renew_job(due[0].lease.clone(), LEASE, ten_years).await.unwrap();
    assert_eq!(renewed, LeaseStatus::Held);
    catalog.request_run(shop(), "weekly".into(), later(2)).await.unwrap();
    for (now, expected) in [(later(3), 0), (later(3_604), 1)] {
        let due = runner(&server.data, "d").claim_due(&server.shop, now).await.unwrap();
        assert_eq!(due.len(), expected);
    }
}

#[tokio::test]
async fn the_review_sample_is_drawn_on_monday_and_announced_once() {
    let server = Server::start(true).await;
    let (catalog, secrets) = (server.data.catalog(), server.data.folder().secrets.clone());
    let events = vec![NotificationKind::ReviewDrawn];
    let url = "https://example.com/";
    let (new, _) = notify::webhook("ops", url, events, &OutboundPolicy::unrestricted()).unwrap();
    let ops = catalog.add_notice_receiver(server.shop.clone(), new, secrets, START).await.unwrap();
    let on_call = vec!["ann@shop.example".to_owned()];
    let settings = AgentSettings { on_call, ..AgentSettings::default() };
    catalog.save_agent(server.shop.clone(), "support".into(), settings, START).await.unwrap();
    let review = server.schedule("review").await;
    assert_eq!(review.cron.to_string(), "0 6 * * MON");
    let recorded = batch(&server.shop).with(trace("t").beginning(0).agent("support")).build();
    server.data.telemetry().record(recorded).await.unwrap();
    let drawn = "1 of 1 trace drawn into weekly-review";
    for (seconds, expected) in [(0, drawn), (9, "weekly-review was drawn before")] {
        let run = server.claim("review", later(7 * 86_400 + seconds)).await.unwrap();
        let line = server.scheduler.run_one(&run, &|| false).await.unwrap();
        assert_eq!(line, expected);
        let told = catalog.notice_deliveries(server.shop.clone(), ops.id.clone(), 9).await.unwrap();
        let kinds: Vec<_> = told.iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [NotificationKind::ReviewDrawn]);
    }
    let secrets = server.data.folder().secrets.clone();
    let limits = (9, Duration::from_secs(60));
    let due = catalog.claim_deliveries(limits, secrets, later(8 * 86_400)).await.unwrap();
    let message: Value = serde_json::from_str(&due[0].message).unwrap();
    assert_eq!(message["data"]["onCall"], "ann@shop.example", "{message}");
    assert!(message["data"]["text"].as_str().unwrap().ends_with("On call: ann@shop.example."));
}

#[tokio::test]
async fn the_weekly_document_is_due_on_mondays_at_eight_once_also_after_a_restart() {
    let server = Server::start(true).await;
    assert_eq!(server.schedule("feedback").await.cron.to_string(), "0 8 * * MON");
    // The tests begin on a Monday at eight.
    let monday = 7 * 86_400;
    let due = async |name, seconds| {
        let claimed = runner(&server.data, name).claim_due(&server.shop, later(seconds)).await;
        let claimed = claimed.unwrap().into_iter();
        claimed.filter(|run| run.schedule.name == "feedback").collect::<Vec<_>>()
    };
    assert_eq!(due("a", monday - 1).await, []);
    assert_eq!(due("a", monday).await.len(), 1);
    assert_eq!(due("b", monday + 1).await, [], "another server has it");
    // The first one died: the next one continues when its lease has expired.
    let run = due("b", monday + 3_600).await.remove(0);
    assert_eq!(run.due_at, later(monday));
    let line = server.scheduler.run_one(&run, &|| false).await.unwrap();
    assert_eq!(line, "no new document: no further week has a finished review");
    assert_eq!(due("c", monday + 6 * 86_400).await, []);
    assert_eq!(due("c", 2 * monday).await.len(), 1);
}
