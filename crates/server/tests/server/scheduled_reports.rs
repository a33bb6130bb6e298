//! Scheduled weekly reports on a remote Langfuse, which a second Ratchet server stands in for, and
//! on a part of a project.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ratchet_agent::judge::JudgeName;
use ratchet_core::calendar::Zone;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::money::Money;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::payload::Payload;
use ratchet_core::quality::report::{ReportScope, WeekReport};
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::secret::Secret;
use ratchet_remote::langfuse::client::ServerCredentials;
use ratchet_stages::improve::settings::FeedbackSettings;
use ratchet_stages::improve::trace_comments;
use ratchet_stages::notify;
use ratchet_stages::schedule::{
    EnvironmentError, JobEnvironment, ReportSettings, Runner, Scheduler, SuggestionTexts,
};
use ratchet_stages::score::judge::Judge;
use ratchet_stages::weekly_report::REPORTS_FOLDER;
use ratchet_store::catalog::{NewProject, NewSchedule, Role, ScheduledJob, ScheduledScoring};
use ratchet_store::project::ProjectId;
use ratchet_testkit::build::{self, BatchBuilder, START, batch, json, score, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;
use serde_json::Value;

use crate::harness::{TestServer, project, public_key};

/// Two and a half days before the test's moment, a Monday: in the last complete week.
const LAST_WEEK: i64 = -216_000_000;
const MINUTE: i64 = 60_000;

/// A machine with the offline judge, whose sessions may be on another server.
#[derive(Debug)]
struct ReportMachine {
    data: PathBuf,
    langfuse: Option<ServerCredentials>,
}

impl JobEnvironment for ReportMachine {
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
        let (data, langfuse) = (Some(self.data.clone()), self.langfuse.clone());
        let feedback = FeedbackSettings { comments: true, ..FeedbackSettings::default() };
        Ok(ReportSettings { data, learnings: None, langfuse, feedback })
    }

    fn webhook_secret(&self) -> Result<Secret, EnvironmentError> {
        Ok(Secret::new("shared"))
    }
}

/// A project with its scheduler.
struct ScheduledProject {
    data: DataFolder,
    project: ProjectId,
    scheduler: Scheduler,
}

impl ScheduledProject {
    async fn open(langfuse: Option<ServerCredentials>) -> Self {
        let (data, project) = (DataFolder::new(), build::project("shop"));
        let new = NewProject { id: project.clone(), name: "shop".into(), retention_days: None };
        data.catalog().create_project(new, START).await.unwrap();
        data.catalog().ensure_weekly(project.clone(), Zone::utc(), START).await.unwrap();
        let catalog = data.catalog().clone();
        let scheduler = Scheduler {
            store: data.folder().clone(),
            environment: Arc::new(ReportMachine { data: data.path().to_owned(), langfuse }),
            runner: Runner { catalog, name: "a".to_owned(), zone: Zone::utc() },
            outbound: OutboundPolicy::unrestricted(),
            server: "https://ratchet.test".to_owned(),
            clock: || START,
        };
        Self { data, project, scheduler }
    }

    /// Runs a schedule now; returns its summary.
    async fn run(&self, name: &str) -> String {
        let all = self.data.catalog().schedules(self.project.clone()).await.unwrap();
        let schedule = all.into_iter().find(|schedule| schedule.name == name).unwrap();
        let run = self.scheduler.runner.claim_now(&self.project, schedule, START).await.unwrap();
        self.scheduler.run_one(&run.unwrap(), &|| false).await.unwrap()
    }

    /// Runs a new schedule of a part; returns its summary.
    async fn run_scoped(&self, scope: &ReportScope) -> String {
        let all = self.data.catalog().schedules(self.project.clone()).await.unwrap();
        let weekly = all.iter().find(|schedule| schedule.name == "weekly").unwrap().clone();
        let whole = weekly.job.scoring().unwrap().clone();
        let scoring = ScheduledScoring { scope: scope.clone(), ..whole };
        let name = format!("part-{}", all.len());
        let new = NewSchedule {
            name: name.clone(),
            cron: weekly.cron,
            zone: weekly.zone,
            job: ScheduledJob::WeeklyReport { scoring, learnings: None },
            slack: None,
            webhook: None,
        };
        let secrets = self.data.folder().secrets.clone();
        let catalog = self.data.catalog();
        catalog.save_schedule(self.project.clone(), new, secrets, START).await.unwrap();
        self.run(&name).await
    }

    /// The only report file of a part, which is then removed.
    fn scoped_report(&self) -> WeekReport {
        let folder = self.data.path().join(REPORTS_FOLDER).join(self.project.as_str());
        let files = self.files();
        let [data] = files.iter().filter(|name| name.ends_with(".json")).collect::<Vec<_>>()[..]
        else {
            panic!("one report, not {files:?}")
        };
        let report = std::fs::read_to_string(folder.join(data)).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        serde_json::from_str(&report).unwrap()
    }

    /// The names of the report files.
    fn files(&self) -> Vec<String> {
        let folder = self.data.path().join(REPORTS_FOLDER).join(self.project.as_str());
        let entries = std::fs::read_dir(folder).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().into_string().unwrap()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

fn payload(text: &str) -> Payload {
    Payload::Json(json(text))
}

/// Sessions of an agent with four traces each, in the last complete week.
fn sessions(mut batch: BatchBuilder, agent: &str, count: i64) -> BatchBuilder {
    for session in 0..count {
        for turn in 0..4 {
            let at = LAST_WEEK + session * 10 * MINUTE + turn * MINUTE;
            let asked = format!(r#"{{"role":"user","content":"Where is order {session}?"}}"#);
            let id = format!("{agent}-{session}-{turn}");
            let record = trace(&id).beginning(at).named(agent).agent(agent);
            let record = record.in_session(&format!("{agent}-{session}"));
            batch = batch.with(record.input(payload(&asked)).output(payload("\"Here.\"")));
        }
    }
    batch
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sunday_run_scores_and_reports_on_another_server() {
    let langfuse = TestServer::start().await;
    let recorded = sessions(batch(&project()), "support", 3).build();
    langfuse.app.store.telemetry.record(recorded).await.unwrap();
    let access = ServerCredentials {
        url: format!("http://{}", langfuse.web),
        public_key: public_key(Role::Member),
        secret_key: Secret::new("sk"),
    };
    let home = ScheduledProject::open(Some(access)).await;
    let (catalog, secrets) = (home.data.catalog(), home.data.folder().secrets.clone());
    let events = vec![NotificationKind::WeekReport];
    let to = "https://example.com/";
    let (new, _) = notify::webhook("ops", to, events, &OutboundPolicy::unrestricted()).unwrap();
    catalog.add_notice_receiver(home.project.clone(), new, secrets.clone(), START).await.unwrap();

    let line = home.run("weekly").await;
    assert!(line.contains("3 sessions scored, 0 failed, new report"), "{line}");
    assert!(line.ends_with("; 3 sessions wait for labels"), "{line}");
    let kept = catalog.reports(home.project.clone()).await.unwrap();
    let report: WeekReport = serde_json::from_str(kept[0].document.as_str()).unwrap();
    assert_eq!((kept.len(), report.synthesis.sessions), (1, 3));
    assert!(report.source.is_some(), "the report says where its sessions are");
    let hold = (9, Duration::from_secs(60));
    let due = catalog.claim_deliveries(hold, secrets, START.plus_nanos(1_000_000_000)).await;
    let message: Value = serde_json::from_str(&due.unwrap()[0].message).unwrap();
    let told = message["data"]["text"].as_str().unwrap();
    let page = format!("http://{}/project/{}/datasets", langfuse.web, project());
    let labels = format!("3 sessions wait for labels: {page} (dataset ground-truth; ");
    assert!(told.contains(&labels), "the sample is on the other server: {told}");
    let scores = langfuse.get("/api/public/v2/scores?name=overall_quality").send().await.json();
    let sessions: BTreeSet<&str> = scores["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|score| score["sessionId"].as_str())
        .collect();
    assert_eq!(sessions, BTreeSet::from(["support-0", "support-1", "support-2"]), "{scores}");

    langfuse.stop().await;
}

#[tokio::test]
async fn a_schedule_of_a_part_scores_it_and_leaves_the_projects_report_alone() {
    let home = ScheduledProject::open(None).await;
    let recorded = sessions(batch(&home.project), "support", 3);
    home.data.telemetry().record(sessions(recorded, "coder", 2).build()).await.unwrap();
    let all = home.data.catalog().schedules(home.project.clone()).await.unwrap();
    let weekly = all.into_iter().find(|schedule| schedule.name == "weekly").unwrap();
    let whole = weekly.job.scoring().unwrap().clone();
    let scope = ReportScope { agent: Some("support".to_owned()), ..ReportScope::default() };
    let scoring = ScheduledScoring { scope, ..whole };
    let job = ScheduledJob::WeeklyReport { scoring, learnings: None };
    let new = NewSchedule {
        name: "support".to_owned(),
        cron: weekly.cron,
        zone: weekly.zone,
        job: job.clone(),
        slack: None,
        webhook: None,
    };
    let (catalog, secrets) = (home.data.catalog(), home.data.folder().secrets.clone());
    catalog.save_schedule(home.project.clone(), new, secrets, START).await.unwrap();
    let stored = catalog.schedules(home.project.clone()).await.unwrap();
    let stored = stored.into_iter().find(|schedule| schedule.name == "support").unwrap();
    assert_eq!(stored.job, job, "the scope is stored");

    let line = home.run("support").await;
    assert!(line.starts_with("agent support: ") && line.contains("3 sessions scored"), "{line}");
    assert!(!line.contains("wait for labels"), "a sample is of the whole project: {line}");
    assert_eq!(catalog.reports(home.project.clone()).await.unwrap(), [], "no page changes");
    let files = home.files();
    let [markdown, data] = ["md", "json"].map(|ending| {
        let is_it = |name: &&String| {
            name.starts_with("2026-02-22-agent-support-") && name.ends_with(&format!(".{ending}"))
        };
        files.iter().find(is_it).unwrap_or_else(|| panic!("{ending} in {files:?}"))
    });
    assert_eq!(files.len(), 2, "{markdown} {data} {files:?}");

    let line = home.run("weekly").await;
    assert!(line.contains("2 sessions scored") && line.contains("new report"), "{line}");
    assert!(home.files().contains(&"2026-02-22.md".to_owned()), "{:?}", home.files());
}

/// Each flag of a scope selects on another server what it selects here: the sessions that are scored,
/// and those that the report is about.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_of_a_part_of_another_server_scores_and_reports_on_that_part() {
    let langfuse = TestServer::start().await;
    let mut recorded = batch(&project());
    for (at, (agent, environment, tag, user)) in [
        ("support", "prod", "vip", "ann"),
        ("support", "prod", "vip", "bob"),
        ("support", "prod", "new", "ann"),
        ("support", "staging", "vip", "ann"),
        ("coder", "prod", "vip", "ann"),
    ]
    .into_iter()
    .enumerate()
    {
        for turn in 0_i64..4 {
            let begins = LAST_WEEK + turn * MINUTE;
            let record = trace(&format!("t{at}-{turn}")).beginning(begins).named(agent);
            let record = record.in_environment(environment).tagged(tag).for_user(user);
            let record = record.in_session(&format!("s{at}")).input(payload("\"Where is it?\""));
            recorded = recorded.with(record.output(payload("\"Here.\"")));
        }
    }
    langfuse.app.store.telemetry.record(recorded.build()).await.unwrap();
    let access = ServerCredentials {
        url: format!("http://{}", langfuse.web),
        public_key: public_key(Role::Member),
        secret_key: Secret::new("sk"),
    };
    let home = ScheduledProject::open(Some(access)).await;
    let some = |text: &str| Some(text.to_owned());
    let whole = ReportScope {
        agent: some("support"),
        environment: some("prod"),
        tag: some("vip"),
        user: some("ann"),
        ..ReportScope::default()
    };
    // From the narrowest: what was scored before is not scored again.
    let without_user = ReportScope { user: None, ..whole.clone() };
    let without_tag = ReportScope { tag: None, ..without_user.clone() };
    let without_environment = ReportScope { environment: None, ..without_tag.clone() };
    let scopes = [
        (whole, vec!["s0"]),
        (without_user, vec!["s0", "s1"]),
        (without_tag, vec!["s0", "s1", "s2"]),
        (without_environment, vec!["s0", "s1", "s2", "s3"]),
    ];
    for (scope, expected) in scopes {
        let line = home.run_scoped(&scope).await;
        assert!(line.contains("1 session scored, 0 failed"), "{scope:?}: {line}");
        let scores = langfuse.get("/api/public/v2/scores?name=overall_quality").send().await.json();
        let scored: BTreeSet<&str> = scores["data"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|score| score["sessionId"].as_str())
            .collect();
        assert_eq!(scored, expected.iter().copied().collect(), "{scope:?}");
        let report = home.scoped_report();
        assert_eq!(report.synthesis.sessions, expected.len(), "{scope:?}");
        assert_eq!(report.scope, scope);
    }
    langfuse.stop().await;
}

/// Six requests of three sessions that the agent could not answer, and four that it could, all
/// reviewed.
fn failures(mut batch: BatchBuilder) -> BatchBuilder {
    for n in 0..10 {
        let (id, is_failed) = (format!("trace-{n}"), n < 6);
        let answer = if is_failed { "\"I don't have that information.\"" } else { "\"Here.\"" };
        let record = trace(&id).beginning(LAST_WEEK).named("support").agent("support");
        let record = record.in_session(&format!("session-{}", n % 3)).in_environment("production");
        let record = record.input(payload("\"When is it open?\"")).output(payload(answer));
        let review = score(&format!("review-{n}")).of_trace(&id).on("correctness");
        let value = f64::from(u8::from(!is_failed));
        batch = batch.with(record).with(review.number(value).given(LAST_WEEK + MINUTE));
    }
    batch
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_document_comments_once_on_each_trace_that_it_cites_on_another_server() {
    let langfuse = TestServer::start().await;
    let recorded = failures(batch(&project())).build();
    langfuse.app.store.telemetry.record(recorded).await.unwrap();
    let access = ServerCredentials {
        url: format!("http://{}", langfuse.web),
        public_key: public_key(Role::Member),
        secret_key: Secret::new("sk"),
    };
    let home = ScheduledProject::open(Some(access)).await;
    let line = home.run("review").await;
    assert!(line.starts_with("10 of 10 traces drawn"), "{line}");
    let line = home.run("feedback").await;
    assert_eq!(line, "support: week 2026-02-22, 1 proposal, 1 task");

    let catalog = home.data.catalog();
    let tasks = catalog.announced(home.project.clone(), "task/".to_owned()).await.unwrap();
    let proposal = tasks.keys().next().unwrap().strip_prefix("task/").unwrap().to_owned();
    // A server died after it had written this one.
    let written = serde_json::json!({
        "projectId": project().to_string(), "objectType": "TRACE", "objectId": "trace-0",
        "content": format!("Earlier. (ratchet proposal {proposal})"),
    });
    let reply = langfuse.post("/api/public/comments").json(written.to_string()).send().await;
    reply.check(200, "");
    let environment = home.scheduler.environment.as_ref();
    let (store, now) = (home.data.folder(), START.plus_nanos(1_000_000_000));
    trace_comments::write(store, environment, "a", now).await.unwrap();
    for trace in ["trace-0", "trace-1", "trace-2"] {
        let path = format!("/api/public/comments?objectType=TRACE&objectId={trace}");
        let comments = langfuse.get(&path).send().await.json();
        let comments = comments["data"].as_array().unwrap();
        assert_eq!(comments.len(), 1, "{trace}: {comments:?}");
        assert!(comments[0]["content"].as_str().unwrap().contains(&proposal), "{comments:?}");
    }
    langfuse.stop().await;
}
