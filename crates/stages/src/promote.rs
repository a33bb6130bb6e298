//! Promotion: evidence is gathered from gates, tests and people, decided on in `core`, and carried
//! out by the catalog in one transaction.

/// Runtimes of AgentCore.
pub mod agentcore;
/// Deployments, and what becomes of live versions.
mod worker;
/// A/B tests of prompts.
pub mod ab;
/// Sessions before and after a promotion.
mod sessions;
#[cfg(test)]
mod simulation;

use ratchet_core::catalog::agent::review_datasets;
use ratchet_core::catalog::validation::Invalid;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::evidence::{GateResult, ToolTests};
use ratchet_core::promotion::junit::{self, JunitError};
use ratchet_core::promotion::state::{Action, Refused};
use ratchet_store::StoreError;
use ratchet_store::catalog::{NewPromotion, PromotionCall, StoredAgentVersion, StoredPromotion};

use crate::gate::{self, GateContext, GateError, PromotableGate};

pub use worker::{DeployTarget, PromotionWorker, WorkerLimits};

/// Why a promotion did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum PromoteError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Gate(#[from] GateError),
    #[error(transparent)]
    Junit(#[from] JunitError),
    #[error("{}: {}", .0.field, .0.problem)]
    Invalid(Invalid),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A project's store, for one caller, who is named in evidence and in the audit log.
#[derive(Clone, Copy, Debug)]
pub struct PromoteContext<'a> {
    pub gate: GateContext<'a>,
    /// Whether the operator has set up a deployment.
    pub can_deploy: bool,
}

/// Results of tool tests, as CI sends them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentTests {
    /// A JUnit XML report; the counts below if there is none.
    pub junit: Option<String>,
    pub tests: u32,
    pub failed: u32,
    pub skipped: u32,
    /// Where the results are from.
    pub source: Option<String>,
    /// The commit that was tested.
    pub commit: Option<String>,
}

/// Records a version of an agent.
///
/// # Errors
/// Something is invalid or does not exist.
pub async fn save_version(
    context: GateContext<'_>,
    agent: &str,
    version: AgentVersion,
) -> Result<StoredAgentVersion, PromoteError> {
    let version = version.checked().map_err(PromoteError::Invalid)?;
    let (project, catalog) = (context.project.clone(), context.catalog);
    Ok(catalog.save_agent_version(project, agent.to_owned(), version, context.now).await?)
}

/// Creates a promotion of a recorded version. Without a dataset it is the agent's global one.
///
/// # Errors
/// There is no such version or dataset, or promotion is required and it is another dataset than the
/// agent's global one.
pub async fn create(
    context: PromoteContext<'_>,
    version: &str,
    dataset: Option<String>,
) -> Result<StoredPromotion, PromoteError> {
    let GateContext { catalog, project, now, .. } = context.gate;
    let stored = catalog.agent_version(project.clone(), version.to_owned()).await?;
    let [_, global] = review_datasets(&stored.agent, now);
    let responsible = catalog.responsible(project.clone(), stored.agent.clone()).await?;
    let required = responsible.policy.required_dataset(&stored.agent);
    if let (Some(required), Some(named)) = (&required, &dataset)
        && named != required
    {
        let problem = format!("the agent's policy demands gates on {required}");
        return Err(Refused::Invalid { field: "dataset", problem }.into());
    }
    let dataset = dataset.unwrap_or(global);
    gate::dataset(context.gate, &dataset).await?;
    let new = NewPromotion { version: stored.id, dataset, author: None };
    Ok(catalog.create_promotion(project.clone(), new, now).await?)
}

/// Applies an action; before it looks up what people said about the items of the gate meanwhile.
///
/// # Errors
/// It is refused, naming what is missing and who can give it.
pub async fn act(
    context: PromoteContext<'_>,
    id: &str,
    action: Action,
) -> Result<StoredPromotion, PromoteError> {
    if matches!(action, Action::Review { .. } | Action::Approve { .. } | Action::Start) {
        refresh(context, id).await?;
    }
    apply(context, id, action).await
}

/// Looks up what people said about the items of the gate, and whether production changed.
///
/// # Errors
/// There is no such promotion, or its run is gone.
pub async fn refresh(
    context: PromoteContext<'_>,
    id: &str,
) -> Result<StoredPromotion, PromoteError> {
    let GateContext { catalog, project, .. } = context.gate;
    let stored = catalog.promotion(project.clone(), id.to_owned()).await?;
    let promotion = &stored.promotion;
    let (Some(known), true) = (&promotion.evidence.gate, promotion.state.is_open()) else {
        return Ok(stored);
    };
    let found = gate::promotable(context.gate, &known.gate, &promotion.dataset).await?;
    let is_same = found.gate.id == known.gate && found.comparison == known.comparison;
    if is_same {
        return apply(context, id, Action::Verdicts(found.verdicts)).await;
    }
    attach(context, id, found).await
}

/// Attaches a gate's decision.
///
/// # Errors
/// It is on another dataset, the dataset changed since its run, or the run is of another version.
pub async fn attach_gate(
    context: PromoteContext<'_>,
    id: &str,
    gate: &str,
) -> Result<StoredPromotion, PromoteError> {
    let GateContext { catalog, project, .. } = context.gate;
    let stored = catalog.promotion(project.clone(), id.to_owned()).await?;
    let found = gate::promotable(context.gate, gate, &stored.promotion.dataset).await?;
    must_be_of(context, &stored, &found).await?;
    attach(context, id, found).await
}

/// Fails if the run of a gate names another agent version. A run may name no version, or one of a
/// kind of its own, such as a release.
async fn must_be_of(
    context: PromoteContext<'_>,
    stored: &StoredPromotion,
    found: &PromotableGate,
) -> Result<(), PromoteError> {
    let GateContext { catalog, project, .. } = context.gate;
    let wanted = &stored.promotion.version;
    let Some(named) = found.run_version.clone().filter(|named| named != wanted) else {
        return Ok(());
    };
    match catalog.agent_version(project.clone(), named.clone()).await {
        Err(StoreError::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => {
            let problem = format!("its run is of agent version {named}, the promotion of {wanted}");
            Err(Refused::Invalid { field: "gate", problem }.into())
        }
    }
}

async fn attach(
    context: PromoteContext<'_>,
    id: &str,
    found: PromotableGate,
) -> Result<StoredPromotion, PromoteError> {
    let PromotableGate { gate, report, comparison, dataset_version, verdicts, .. } = found;
    let result = GateResult {
        gate: gate.id,
        run: gate.run,
        run_name: report.run,
        verdict: report.verdict,
        accuracy: report.accuracy.value,
        min_accuracy: report.rule.min_accuracy,
        comparison,
        dataset_version,
        sentence: report.sentence,
        by: context.gate.catalog.signer(),
        at: context.gate.now,
    };
    apply(context, id, Action::Gate(result)).await?;
    apply(context, id, Action::Verdicts(verdicts)).await
}

/// Attaches results of tool tests.
///
/// # Errors
/// The report cannot be read, or is of another commit.
pub async fn attach_tests(
    context: PromoteContext<'_>,
    id: &str,
    sent: SentTests,
) -> Result<StoredPromotion, PromoteError> {
    let (tests, failed, skipped) = match &sent.junit {
        Some(report) => {
            let counts = junit::count(report)?;
            (counts.tests, counts.failed, counts.skipped)
        }
        None => (sent.tests, sent.failed, sent.skipped),
    };
    let by = context.gate.catalog.signer();
    let SentTests { source, commit, .. } = sent;
    let found = ToolTests { tests, failed, skipped, source, commit, by, at: context.gate.now };
    apply(context, id, Action::ToolTests(found)).await
}

async fn apply(
    context: PromoteContext<'_>,
    id: &str,
    action: Action,
) -> Result<StoredPromotion, PromoteError> {
    let GateContext { catalog, project, server, now, .. } = context.gate;
    let call = PromotionCall {
        project: project.clone(),
        id: id.to_owned(),
        action,
        can_deploy: context.can_deploy,
        server: server.to_owned(),
        now,
    };
    Ok(catalog.act_on_promotion(call).await??)
}
