use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::gate::decision::Verdict;
use ratchet_core::improve::agent_week::AgentWeek;
use ratchet_core::improve::proposal::{Impact, Proposal, Trend};
use ratchet_core::improve::report::FeedbackReport;
use tempfile::TempDir;

use super::*;
use crate::catalog::{AuditQuery, FeedbackEffect, NewFeedback, NewGate, NewProject};

const PROMPT: &str = "support";

struct Backlog {
    catalog: Catalog,
    project: ProjectId,
    _folder: TempDir,
}

fn at(day: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-{day}T12:00:00Z")).unwrap()
}

fn found(id: &str, failures: usize) -> Proposal {
    Proposal {
        id: id.to_owned(),
        component: Component::Prompt,
        agent: "desk".to_owned(),
        title: "Wrong tone".to_owned(),
        reason: "why".to_owned(),
        change: "Add a line".to_owned(),
        instruction: Some("Be kind.".to_owned()),
        prompt: Some(PROMPT.to_owned()),
        diff: None,
        evidence: vec!["t1".to_owned(), "t2".to_owned(), "t3".to_owned()],
        failures,
        affected: Default::default(),
        impact: Impact { value: 0.1, interval: [0.0, 0.2], at_most: true },
        effort: ratchet_core::improve::proposal::Effort::Low,
        priority: 0.1,
        trend: Trend::New,
        files: Vec::new(),
        written_by: None,
        features: Vec::new(),
    }
}

fn document(week: &str, failures: usize) -> FeedbackReport {
    FeedbackReport {
        week: week.to_owned(),
        agents: vec!["desk".to_owned()],
        proposals: vec![found("p", failures)],
        counts: vec![AgentWeek { agent: "desk".to_owned(), ..AgentWeek::default() }],
        ..FeedbackReport::default()
    }
}

impl Backlog {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let catalog = Catalog::apart(&folder.path().join("c.db")).unwrap();
        let project = ProjectId::parse("shop").unwrap();
        let new = NewProject { id: project.clone(), name: "Shop".to_owned(), retention_days: None };
        catalog.create_project(new, at("10-01")).await.unwrap();
        Self { catalog, project, _folder: folder }
    }

    async fn save(
        &self,
        report: FeedbackReport,
        day: &str,
    ) -> (FeedbackEffect, Vec<StoredProposal>) {
        let new = NewFeedback { agent: "desk".to_owned(), report, proposals: Vec::new() };
        let saved =
            self.catalog.save_feedback_report(self.project.clone(), new, at(day)).await.unwrap();
        (saved.effect, saved.proposals)
    }

    async fn act(&self, action: ProposalAction, day: &str) -> StoredProposal {
        let (project, id) = (self.project.clone(), "p".to_owned());
        self.catalog.act_on_proposal(project, id, action, at(day)).await.unwrap().unwrap()
    }

    async fn version(&self, labels: &[&str], day: &str) -> u32 {
        let new =
            NewPrompt { labels: labels.iter().map(|&one| one.to_owned()).collect(), ..prompt() };
        self.catalog.create_prompt(self.project.clone(), new, at(day)).await.unwrap().version
    }

    async fn label(&self, version: u32, day: &str) {
        let (which, labels) = ((PROMPT.to_owned(), version), vec!["production".to_owned()]);
        let project = self.project.clone();
        self.catalog.move_prompt_labels(project, which, labels, at(day)).await.unwrap();
    }

    async fn state(&self, id: &str) -> ProposalState {
        let found = self.catalog.proposal(self.project.clone(), id.to_owned()).await;
        found.unwrap().status.state
    }

    async fn gate(&self, verdict: Verdict, version: u32, day: &str) -> String {
        let new = NewGate {
            dataset: "d".to_owned(),
            run: "r".to_owned(),
            verdict,
            accuracy: 0.9,
            report: Json::from_value(&serde_json::json!({})),
            prompts: vec![(PROMPT.to_owned(), version)],
        };
        self.catalog.save_gate(self.project.clone(), new, at(day)).await.unwrap().id
    }
}

fn prompt() -> NewPrompt {
    NewPrompt {
        name: PROMPT.to_owned(),
        body: PromptBody::Text("You help.".to_owned()),
        config: Json::from_value(&serde_json::json!({})),
        labels: Vec::new(),
        tags: None,
        commit_message: None,
        created_by: "ann".to_owned(),
    }
}

#[tokio::test]
async fn what_is_found_again_is_one_proposal_until_it_was_promoted_and_comes_back() {
    let backlog = Backlog::open().await;
    let (effect, first) = backlog.save(document("2026-10-04", 3), "10-11").await;
    assert_eq!((effect, first[0].id.as_str()), (FeedbackEffect::Made, "p"));
    assert_eq!(backlog.save(document("2026-10-04", 3), "10-11").await.0, FeedbackEffect::Same);
    let (_, again) = backlog.save(document("2026-10-11", 5), "10-18").await;
    let weeks = (again[0].first_week.as_str(), again[0].last_week.as_str());
    assert_eq!((weeks, again[0].content.failures), (("2026-10-04", "2026-10-11"), 5));
    // An earlier week that is stored late changes nothing.
    let (_, late) = backlog.save(document("2026-09-27", 9), "10-18").await;
    assert_eq!((late[0].content.failures, late[0].last_week.as_str()), (5, "2026-10-11"));
    backlog.act(ProposalAction::Accept, "10-19").await;
    backlog.act(ProposalAction::Done { note: None }, "10-20").await;
    // The week of the promotion says nothing of the change; the next does.
    let (_, same) = backlog.save(document("2026-10-18", 4), "10-25").await;
    assert_eq!((same[0].id.as_str(), same[0].status.state), ("p", ProposalState::Promoted));
    let (_, back) = backlog.save(document("2026-10-25", 4), "11-01").await;
    assert_eq!((back[0].id.as_str(), back[0].status.state), ("p-2", ProposalState::New));
    let page = PageNumber { page: 1, limit: 10 };
    let all = ProposalQuery::all(backlog.project.clone(), page);
    assert_eq!(backlog.catalog.proposals(all).await.unwrap().total, Some(2));
}

#[tokio::test]
async fn a_rejected_proposal_stays_rejected_when_it_is_found_again() {
    let backlog = Backlog::open().await;
    backlog.save(document("2026-10-04", 3), "10-11").await;
    let (kind, reason) = (ratchet_core::improve::backlog::RejectionKind::Wrong, "no".to_owned());
    let rejection = ratchet_core::improve::backlog::ProposalRejection { kind, reason };
    backlog.act(ProposalAction::Reject(rejection), "10-12").await;
    let (_, again) = backlog.save(document("2026-10-11", 9), "10-18").await;
    assert_eq!((again.len(), again[0].status.state), (1, ProposalState::Rejected));
}

#[tokio::test]
async fn a_published_week_stays_as_it_is() {
    let backlog = Backlog::open().await;
    backlog.save(document("2026-10-04", 3), "10-11").await;
    let which = ("desk".to_owned(), "2026-10-04".to_owned());
    let project = backlog.project.clone();
    let published = backlog
        .catalog
        .publish_feedback_report(project.clone(), which.clone(), at("10-12"))
        .await
        .unwrap();
    assert_eq!(published.published_at, Some(at("10-12")));
    let (effect, proposals) = backlog.save(document("2026-10-04", 8), "10-13").await;
    assert_eq!((effect, proposals), (FeedbackEffect::Published, Vec::new()));
    let stored = backlog.catalog.feedback_report(project.clone(), which.clone()).await.unwrap();
    assert_eq!(stored.unwrap().report, document("2026-10-04", 3));
    let again =
        backlog.catalog.publish_feedback_report(project.clone(), which, at("10-20")).await.unwrap();
    assert_eq!(again.published_at, Some(at("10-12")));
    let missing = ("desk".to_owned(), "2026-11-01".to_owned());
    let missing = backlog.catalog.publish_feedback_report(project, missing, at("10-20")).await;
    assert!(matches!(missing, Err(StoreError::NotFound(_))));
}

#[tokio::test]
async fn gates_and_labels_of_its_prompt_version_move_a_proposal() {
    let backlog = Backlog::open().await;
    assert_eq!(backlog.version(&["production"], "10-01").await, 1);
    backlog.save(document("2026-10-04", 3), "10-11").await;
    backlog.act(ProposalAction::Accept, "10-12").await;
    let project = backlog.project.clone();
    let new = NewPrompt { labels: vec!["production".to_owned()], ..prompt() };
    let opened =
        backlog.catalog.open_proposal_experiment(project, "p".to_owned(), new, at("10-13"));
    let (stored, version) = opened.await.unwrap().unwrap();
    assert_eq!(stored.status.state, ProposalState::InExperiment);
    assert_eq!((version.version, version.labels.as_slice()), (2, &["latest".to_owned()][..]));
    // Another version is none of its business.
    backlog.gate(Verdict::Pass, 1, "10-14").await;
    assert_eq!(backlog.state("p").await, ProposalState::InExperiment);
    backlog.gate(Verdict::Block, 2, "10-14").await;
    assert_eq!(backlog.state("p").await, ProposalState::InExperiment);
    let gate = backlog.gate(Verdict::Pass, 2, "10-15").await;
    assert_eq!(backlog.state("p").await, ProposalState::Gated);
    backlog.label(2, "10-16").await;
    assert_eq!(backlog.state("p").await, ProposalState::Promoted);
    backlog.label(1, "10-17").await;
    let stored = backlog.catalog.proposal(backlog.project.clone(), "p".into()).await.unwrap();
    assert_eq!(stored.status.state, ProposalState::InExperiment);
    let notes: Vec<_> = stored.steps.iter().filter_map(|step| step.note.clone()).collect();
    assert!(notes.contains(&format!("gate {gate}: pass")), "{notes:?}");
    assert_eq!(notes.last().unwrap(), "rolled back");
    // Each step has its audit entry.
    let about =
        AuditQuery::about(backlog.project.clone(), AuditObject::Proposal, "p".to_owned(), 50);
    let entries = backlog.catalog.audit(about).await.unwrap().rows;
    assert_eq!(entries.len(), stored.steps.len() + 1);
    assert_eq!(entries[0].became.as_deref(), Some("in-experiment: rolled back"));
}
