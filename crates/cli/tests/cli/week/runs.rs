use ratchet_core::calendar::Zone;
use ratchet_core::job::JobKind;
use ratchet_core::time::Timestamp;
use ratchet_stages::schedule::{LEASE, Runner};
use ratchet_store::catalog::{LeaseStatus, NewProject, ScheduleOutcome, ScheduleToggle};
use ratchet_store::project::ProjectId;
use ratchet_testkit::folder::DataFolder;

const MINUTE: i64 = 60 * 1_000_000_000;
/// The lease of a run, in nanoseconds.
const HOLD: i64 = LEASE.as_secs() as i64 * 1_000_000_000;

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// A project since a Wednesday, and servers that share its catalog.
struct Servers {
    data: DataFolder,
    project: ProjectId,
}

impl Servers {
    async fn since(moment: &str) -> Self {
        let (data, project) = (DataFolder::new(), ProjectId::parse("shop").unwrap());
        let new = NewProject { id: project.clone(), name: "shop".into(), retention_days: None };
        data.catalog().create_project(new, time(moment)).await.unwrap();
        let servers = Self { data, project };
        assert_eq!(servers.due("first", time(moment)).await, [""; 0]);
        // The other schedules that every project has.
        for other in ["review", "feedback"] {
            let (catalog, off) = (servers.data.catalog(), ScheduleToggle::Off);
            let project = servers.project.clone();
            catalog.switch_schedule(project, other.into(), off, time(moment)).await.unwrap();
        }
        servers
    }

    fn runner(&self, name: &str) -> Runner {
        let catalog = self.data.catalog().clone();
        Runner { catalog, name: name.to_owned(), zone: Zone::utc() }
    }

    /// The runs that a server gets, by when they were due.
    async fn due(&self, name: &str, now: Timestamp) -> Vec<String> {
        let runs = self.runner(name).claim_due(&self.project, now).await.unwrap();
        runs.iter().map(|run| run.due_at.to_string()).collect()
    }
}

#[tokio::test]
async fn a_run_is_due_once_for_one_server_of_many() {
    let servers = Servers::since("2026-11-11T10:00:00Z").await;
    let sunday = time("2026-11-15T02:00:10Z");
    assert_eq!(servers.due("a", time("2026-11-15T01:59:59Z")).await, [""; 0]);
    assert_eq!(servers.due("a", sunday).await, ["2026-11-15T02:00:00.000Z"]);
    assert_eq!(servers.due("b", sunday).await, [""; 0]);
    assert_eq!(servers.due("a", sunday).await, [""; 0]);
}

#[tokio::test]
async fn of_missed_runs_the_last_is_made_up_for_once() {
    let servers = Servers::since("2026-10-14T10:00:00Z").await;
    let later = time("2026-11-18T10:00:00Z");
    let runner = servers.runner("a");
    let runs = runner.claim_due(&servers.project, later).await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].due_at, time("2026-11-15T02:00:00Z"));
    assert_eq!(runs[0].week().to_string(), "2026-11-08");
    let ended = runner.end(&runs[0], Ok("fine".into()), later).await.unwrap();
    assert_eq!(ended, LeaseStatus::Held);
    assert_eq!(servers.due("b", later.plus_nanos(HOLD * 10)).await, [""; 0]);
    let known = servers.data.catalog();
    let known = known.schedule_runs(servers.project.clone(), "weekly".into(), 10).await.unwrap();
    assert_eq!((known.len(), known[0].outcome), (1, ScheduleOutcome::Done));
    assert_eq!(known[0].message, "fine");
}

#[tokio::test]
async fn a_run_whose_server_died_is_taken_over_when_its_claim_ran_out() {
    let servers = Servers::since("2026-11-11T10:00:00Z").await;
    let sunday = time("2026-11-15T02:00:10Z");
    let first = servers.runner("a").claim_due(&servers.project, sunday).await.unwrap();
    let soon = sunday.plus_nanos(4 * MINUTE);
    let renewed = servers.runner("a").renew(&first[0], soon).await.unwrap();
    assert_eq!(renewed, LeaseStatus::Held);
    assert_eq!(servers.due("b", sunday.plus_nanos(HOLD + MINUTE)).await, [""; 0]);
    let late = soon.plus_nanos(HOLD);
    assert_eq!(servers.due("b", late).await, ["2026-11-15T02:00:00.000Z"]);
    // The first comes back from the dead: the run is no longer its own.
    let renewed = servers.runner("a").renew(&first[0], late).await.unwrap();
    let ended = servers.runner("a").end(&first[0], Err("too late".into()), late).await.unwrap();
    assert_eq!((renewed, ended), (LeaseStatus::Lost, LeaseStatus::Lost));
    let known = servers.data.catalog();
    let known = known.schedule_runs(servers.project.clone(), "weekly".into(), 10).await.unwrap();
    assert_eq!((known[0].outcome, known[0].runner.as_str()), (ScheduleOutcome::Running, "b"));
}

#[tokio::test]
async fn what_was_missed_while_paused_is_not_made_up_for() {
    let servers = Servers::since("2026-11-11T10:00:00Z").await;
    let switch = async |to: ScheduleToggle, at: &str| {
        let catalog = servers.data.catalog();
        catalog.switch_schedule(servers.project.clone(), "weekly".into(), to, time(at)).await
    };
    switch(ScheduleToggle::Off, "2026-11-12T10:00:00Z").await.unwrap();
    assert_eq!(servers.due("a", time("2026-11-16T10:00:00Z")).await, [""; 0]);
    switch(ScheduleToggle::On, "2026-11-16T10:00:00Z").await.unwrap();
    assert_eq!(servers.due("a", time("2026-11-17T10:00:00Z")).await, [""; 0]);
    let next = servers.due("a", time("2026-11-22T03:00:00Z")).await;
    assert_eq!(next, ["2026-11-22T02:00:00.000Z"]);
}

/// A project whose weekly runs of two Sundays failed.
async fn two_failures() -> (Servers, Vec<String>) {
    let servers = Servers::since("2026-11-04T10:00:00Z").await;
    let runner = servers.runner("a");
    let mut ids = Vec::new();
    for sunday in ["2026-11-08T02:00:10Z", "2026-11-15T02:00:10Z"] {
        let runs = runner.claim_due(&servers.project, time(sunday)).await.unwrap();
        ids.push(runs[0].lease.id.clone());
        let ended = runner.end(&runs[0], Err("no key".into()), time(sunday)).await.unwrap();
        assert_eq!(ended, LeaseStatus::Held);
    }
    (servers, ids)
}

#[tokio::test]
async fn an_old_run_that_is_retried_runs_once_also_while_its_schedule_is_paused() {
    for toggle in [ScheduleToggle::On, ScheduleToggle::Off] {
        let (servers, ids) = two_failures().await;
        let (catalog, project) = (servers.data.catalog(), servers.project.clone());
        let monday = time("2026-11-16T10:00:00Z");
        catalog.switch_schedule(project.clone(), "weekly".into(), toggle, monday).await.unwrap();
        let key = (JobKind::ScheduleRun, ids[0].clone());
        catalog.requeue_dead_job(project.clone(), key, monday).await.unwrap();
        let runner = servers.runner("b");
        let runs = runner.claim_due(&project, monday).await.unwrap();
        assert_eq!(runs.len(), 1, "{toggle:?}");
        assert_eq!(runs[0].due_at, time("2026-11-08T02:00:00Z"));
        let ended = runner.end(&runs[0], Ok("fine".into()), monday).await.unwrap();
        assert_eq!(ended, LeaseStatus::Held);
        assert_eq!(servers.due("b", monday).await, [""; 0], "{toggle:?}");
    }
}

#[tokio::test]
async fn a_run_that_is_discarded_is_not_due_again() {
    let (servers, ids) = two_failures().await;
    let monday = time("2026-11-16T10:00:00Z");
    for id in ids {
        let (project, key) = (servers.project.clone(), (JobKind::ScheduleRun, id));
        servers.data.catalog().discard_job(project, key, monday).await.unwrap();
        assert_eq!(servers.due("a", monday).await, [""; 0]);
    }
    let next = servers.due("a", time("2026-11-22T03:00:00Z")).await;
    assert_eq!(next, ["2026-11-22T02:00:00.000Z"]);
}
