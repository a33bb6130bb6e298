use ratchet_core::catalog::prompt::{LATEST, PRODUCTION, Pick};
use ratchet_core::improve::backlog::{
    PromptVersion, ProposalAction, ProposalContent, ProposalRefused, ProposalState,
};
use ratchet_core::improve::diagnosis::Component;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::improve::value::{self, ProposalHistory, ProposalValue};
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    Catalog, NewFeedback, NewPrompt, Prompt, PromptReferences, SavedFeedback, StoredProposal,
};
use ratchet_store::project::ProjectId;
use ratchet_store::{StoreError, StoreResult};

use crate::weekly_report::{ReportStore, WeekError};

/// Proposals that the value is computed from: the newest.
const MAX_PROPOSALS: u64 = 2_000;

/// Why something cannot be done with a proposal.
#[derive(Debug, thiserror::Error)]
pub enum BacklogError {
    #[error(transparent)]
    Refused(#[from] ProposalRefused),
    #[error("{field}: {problem}")]
    Invalid { field: &'static str, problem: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Stores the documents of a week, one for each of its agents, and adds their proposals to the
/// backlog. Idempotent; published weeks stay as they are.
///
/// # Errors
/// Fails only when the database does.
pub async fn save(
    (catalog, project): (&Catalog, &ProjectId),
    report: &FeedbackReport,
    now: Timestamp,
) -> StoreResult<Vec<SavedFeedback>> {
    let mut saved = Vec::new();
    for agent in &report.agents {
        let (agent, report) = (agent.clone(), report.of_agent(agent));
        let new = NewFeedback { agent, report, proposals: Vec::new() };
        saved.push(catalog.save_feedback_report(project.clone(), new, now).await?);
    }
    Ok(saved)
}

/// Stores the documents of a week where reports are stored. Returns how many proposals the backlog has
/// of them.
///
/// # Errors
/// Fails if they cannot be stored there.
pub async fn keep(
    archive: ReportStore<'_>,
    report: &FeedbackReport,
    now: Timestamp,
) -> Result<usize, WeekError> {
    match archive {
        ReportStore::Catalog { catalog, project } => {
            let saved = save((catalog, project), report, now).await?;
            Ok(saved.iter().map(|one| one.proposals.len()).sum())
        }
        ReportStore::Server(server) => {
            let project = server.project().await?.id;
            let mut count = 0;
            for agent in &report.agents {
                let of_agent = report.of_agent(agent);
                count += server.keep_feedback(&project, (agent, &of_agent)).await?;
            }
            Ok(count)
        }
    }
}

/// Applies a person's action, or notes what a gate or a promotion did.
///
/// # Errors
/// Fails if there is no such proposal, or if it is not allowed now.
pub async fn act(
    (catalog, project): (&Catalog, &ProjectId),
    id: &str,
    action: ProposalAction,
    now: Timestamp,
) -> Result<StoredProposal, BacklogError> {
    Ok(catalog.act_on_proposal(project.clone(), id.to_owned(), action, now).await??)
}

/// Opens the experiment of an accepted proposal: adds its line to the prompt as a new version without
/// labels. Of other components the change is made elsewhere, and only the state moves.
///
/// `prompt` is the prompt to change, by default the one that the evidence used. `created_by` is shown
/// with the version.
///
/// # Errors
/// Fails if there is no such proposal or prompt, or if it is not accepted.
pub async fn open_experiment(
    (catalog, project): (&Catalog, &ProjectId),
    id: &str,
    (prompt, created_by): (Option<String>, String),
    now: Timestamp,
) -> Result<StoredProposal, BacklogError> {
    let stored = catalog.proposal(project.clone(), id.to_owned()).await?;
    let content = &stored.content;
    let named = prompt.is_some();
    let Some((name, line)) = prompt.or_else(|| content.prompt.clone()).zip(line(content)) else {
        if named {
            let problem = "the change of this proposal is not a line of a prompt".to_owned();
            return Err(BacklogError::Invalid { field: "prompt", problem });
        }
        return act((catalog, project), id, ProposalAction::Experiment(None), now).await;
    };
    let Some(base) = base(catalog, project, &name).await? else {
        let problem = format!("there is no prompt {name:?}; name one, or create it first");
        return Err(BacklogError::Invalid { field: "prompt", problem });
    };
    let new = NewPrompt {
        body: base.body.with_line(&line),
        name,
        config: base.config,
        labels: Vec::new(),
        tags: None,
        commit_message: Some(format!("proposal {id}")),
        created_by,
    };
    let opened =
        catalog.open_proposal_experiment(project.clone(), id.to_owned(), new, now).await??;
    Ok(opened.0)
}

/// Links the experiment of a proposal with a prompt version that somebody wrote.
///
/// # Errors
/// Fails if there is no such proposal or version, or if it is not accepted.
pub async fn link_version(
    (catalog, project): (&Catalog, &ProjectId),
    id: &str,
    version: PromptVersion,
    now: Timestamp,
) -> Result<StoredProposal, BacklogError> {
    let which = vec![(version.name.clone(), version.version)];
    if catalog.prompt_ids(project.clone(), which).await?.is_empty() {
        let problem = format!("there is no prompt {:?} v{}", version.name, version.version);
        return Err(BacklogError::Invalid { field: "version", problem });
    }
    act((catalog, project), id, ProposalAction::Experiment(Some(version)), now).await
}

/// The line that a proposal adds to a prompt, if that is what it does.
pub fn line(content: &ProposalContent) -> Option<String> {
    let is_prompt = content.component == Component::Prompt;
    let suggested = content.suggestion.as_ref().map(|_| content.change.clone());
    content.instruction.clone().or(suggested).filter(|_| is_prompt)
}

/// What users get now, or else the newest version.
async fn base(catalog: &Catalog, project: &ProjectId, name: &str) -> StoreResult<Option<Prompt>> {
    for label in [PRODUCTION, LATEST] {
        let pick = Pick::Label(label.to_owned());
        let found = catalog.prompt(project.clone(), name.to_owned(), pick, PromptReferences::Raw);
        if let Some((prompt, _)) = found.await? {
            return Ok(Some(prompt));
        }
    }
    Ok(None)
}

/// Computes what the proposals of a project were worth.
///
/// # Errors
/// Fails only when the database does.
pub async fn value(catalog: &Catalog, project: &ProjectId) -> StoreResult<ProposalValue> {
    let stored = catalog.proposal_histories(project.clone(), MAX_PROPOSALS).await?;
    let histories: Vec<ProposalHistory> = stored.into_iter().map(history).collect();
    let reports = catalog.feedback_reports(project.clone(), None).await?;
    let weeks: Vec<_> = reports
        .into_iter()
        .flat_map(|stored| {
            let week = stored.week;
            stored.report.counts.into_iter().map(move |counts| (week.clone(), counts))
        })
        .collect();
    Ok(value::value(&histories, &weeks))
}

fn history(stored: StoredProposal) -> ProposalHistory {
    let first = |is: &dyn Fn(ProposalState) -> bool| {
        stored.steps.iter().find(|step| is(step.state)).map(|step| step.at)
    };
    let last_promoted = stored.steps.iter().rev().find(|it| it.state == ProposalState::Promoted);
    ProposalHistory {
        decided_at: first(&|state| state != ProposalState::New),
        tried_at: first(&|state| state.is_acted_on() && state != ProposalState::Accepted),
        promoted_at: last_promoted.map(|step| step.at),
        id: stored.id,
        key: stored.content.key,
        title: stored.content.title,
        component: stored.content.component,
        source: stored.content.source,
        agent: stored.content.agent,
        status: stored.status,
        created_at: stored.created_at,
    }
}
