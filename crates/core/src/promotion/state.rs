use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::criteria::{Criterion, CriterionState, criteria, missing};
use super::evidence::{GateResult, ItemVerdicts, PromotionEvidence, ToolTests};
use super::nanos;
use super::policy::{Responsible, Signer};
use super::watch::WatchResult;
use crate::gate::decision::Verdict;
use crate::time::Timestamp;

/// Where a promotion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromotionState {
    /// Without evidence.
    Draft,
    /// CI's part is incomplete.
    Evidence,
    /// People's part is incomplete.
    Review,
    /// All six criteria are met.
    Approved,
    /// The deployment runs; production is as it was.
    Deploying,
    /// Users get it, and it is watched.
    Live,
    /// The watch ended without an alarm.
    Confirmed,
    RolledBack,
    /// The deployment failed; production is as it was.
    Failed,
    /// Another version was promoted during the watch.
    Superseded,
    Abandoned,
}

impl PromotionState {
    pub const ALL: [Self; 11] = [
        Self::Draft,
        Self::Evidence,
        Self::Review,
        Self::Approved,
        Self::Deploying,
        Self::Live,
        Self::Confirmed,
        Self::RolledBack,
        Self::Failed,
        Self::Superseded,
        Self::Abandoned,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Evidence => "evidence",
            Self::Review => "review",
            Self::Approved => "approved",
            Self::Deploying => "deploying",
            Self::Live => "live",
            Self::Confirmed => "confirmed",
            Self::RolledBack => "rolled-back",
            Self::Failed => "failed",
            Self::Superseded => "superseded",
            Self::Abandoned => "abandoned",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Returns whether evidence is still collected.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Draft | Self::Evidence | Self::Review | Self::Approved | Self::Failed)
    }

    /// Returns whether nothing more happens, except that a version that serves can be rolled back.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Confirmed | Self::RolledBack | Self::Superseded | Self::Abandoned)
    }
}

/// What users got before: the way back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Before {
    /// Agent version, if one was recorded.
    pub version: Option<String>,
    /// Promotion that brought it there.
    #[serde(default)]
    pub promotion: Option<String>,
    /// Versions of prompts with the label; `None` where it was not set.
    pub labels: BTreeMap<String, Option<u32>>,
}

/// How a promotion ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromotionOutcome {
    pub text: String,
    /// What production looked like before and after.
    pub watch: Option<WatchResult>,
    #[serde(with = "nanos")]
    pub at: Timestamp,
    /// Why what served before could not be deployed again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_fault: Option<String>,
}

impl PromotionOutcome {
    pub(super) const fn new(text: String, watch: Option<WatchResult>, at: Timestamp) -> Self {
        Self { text, watch, at, restore_fault: None }
    }
}

/// One version of an agent on its way to production.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Promotion {
    pub agent: String,
    /// Id of the agent version.
    pub version: String,
    pub environment: String,
    /// Name of the dataset that the gate decides on.
    pub dataset: String,
    pub author: Signer,
    pub state: PromotionState,
    pub evidence: PromotionEvidence,
    /// Deployments that were started; part of their idempotency key.
    pub attempts: u32,
    /// Set when it goes live.
    pub before: Option<Before>,
    pub live_at: Option<i64>,
    /// Last finding of the watch.
    pub watch: Option<WatchResult>,
    pub outcome: Option<PromotionOutcome>,
}

/// What is true around a promotion when an action is applied.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub responsible: Responsible,
    /// When the dataset was last changed.
    pub dataset_version: Option<Timestamp>,
    /// Tools of the agent version, a commit.
    pub tools: Option<String>,
    /// What users get now.
    pub production: Before,
    /// Whether this promotion is the one that users got last.
    pub is_serving: bool,
    /// Another promotion of the agent that deploys now.
    pub deploying: Option<String>,
    /// Whether the operator has set up a deployment.
    pub can_deploy: bool,
    pub now: Timestamp,
}

/// An action on a promotion.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    ToolTests(ToolTests),
    Gate(GateResult),
    /// What is known about the items of the current gate.
    Verdicts(ItemVerdicts),
    Review {
        by: Signer,
        note: Option<String>,
    },
    Waive {
        by: Signer,
        reason: String,
    },
    Approve {
        by: Signer,
        note: Option<String>,
    },
    /// Whoever changes the version asks for another promotion than its author did.
    ChangeVersion {
        version: String,
        by: Signer,
    },
    Start,
    Deployed {
        attempt: u32,
    },
    DeployFailed {
        attempt: u32,
        why: String,
    },
    /// It was deployed, but the version must not go live any more.
    NotDeployable {
        attempt: u32,
        why: String,
    },
    /// A finding of the watch.
    Watched(WatchResult),
    /// The watch ended without an alarm.
    Confirm(WatchResult),
    Rollback {
        by: Signer,
        reason: String,
    },
    Supersede {
        by_promotion: String,
    },
    Abandon,
}

/// What must happen in the transaction that stores the promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Enqueue the deployment of the version.
    Deploy { attempt: u32 },
    /// Move labels, record what serves, mark the run as promoted.
    GoLive,
    /// Put labels back, record what serves, unmark the run.
    Restore,
    /// Enqueue the deployment of what served before.
    DeployBefore { attempt: u32 },
    /// Tell the agent's people.
    Notify,
}

/// Why an action was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("{}", missing_text(.0))]
    Missing(Vec<CriterionState>),
    /// Somebody else has to do it.
    #[error("{what} needs {who}")]
    NotYours { what: &'static str, who: String },
    #[error("the promotion is {state}: {why}")]
    State { state: &'static str, why: String },
    #[error("{0}")]
    Ended(String),
    #[error("{field}: {problem}")]
    Invalid { field: &'static str, problem: String },
}

fn missing_text(missing: &[CriterionState]) -> String {
    let one =
        |state: &CriterionState| format!("{} ({}; from {})", state.title, state.text, state.who);
    let all: Vec<String> = missing.iter().map(one).collect();
    format!("not promoted, because criteria are missing: {}", all.join("; "))
}

/// What an action did: lines for the audit log, in order, and effects or a refusal. Evidence that
/// became void stays void even if the action is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    pub audit: Vec<String>,
    pub result: Result<Vec<Effect>, Refused>,
}

impl Promotion {
    /// Returns the state of all six criteria.
    pub fn criteria(&self, responsible: &Responsible) -> Vec<CriterionState> {
        criteria(self, responsible)
    }

    /// Applies an action.
    pub fn apply(&mut self, action: Action, facts: &Facts) -> Applied {
        let mut audit: Vec<String> = self.void_outdated(facts).into_iter().collect();
        let was = self.state;
        let result = self.act(action, facts);
        if let Ok((line, _)) = &result {
            audit.extend(line.clone());
        }
        self.settle(&facts.responsible);
        if self.state != was {
            audit.push(format!("{} → {}", was.as_str(), self.state.as_str()));
        }
        Applied { audit, result: result.map(|(_, effects)| effects) }
    }

    /// Evidence belongs to one version of the dataset. Tests of tools do not depend on it.
    fn void_outdated(&mut self, facts: &Facts) -> Option<String> {
        let gate = self.evidence.gate.as_ref()?;
        let current = facts.dataset_version?;
        if !self.state.is_open() || gate.dataset_version == current {
            return None;
        }
        self.evidence.void_run();
        let was = self.state;
        self.settle(&facts.responsible);
        let change = match self.state == was {
            true => String::new(),
            false => format!(" ({} → {})", was.as_str(), self.state.as_str()),
        };
        Some(format!("evidence void: dataset {} changed{change}", self.dataset))
    }

    /// Derives the state of a promotion that still collects evidence.
    fn settle(&mut self, responsible: &Responsible) {
        if !matches!(
            self.state,
            PromotionState::Draft
                | PromotionState::Evidence
                | PromotionState::Review
                | PromotionState::Approved
        ) {
            return;
        }
        let open = missing(self, responsible);
        let is_open = |criterion| open.iter().any(|state| state.criterion == criterion);
        let waits_for_waiver =
            self.evidence.gate.as_ref().is_some_and(|gate| gate.verdict == Verdict::Inconclusive);
        let by_ci = [Criterion::ToolTests, Criterion::Gate, Criterion::NoRegression];
        let waits_for_ci = by_ci.into_iter().any(|criterion| {
            is_open(criterion) && (criterion == Criterion::ToolTests || !waits_for_waiver)
        });
        self.state = if self.evidence.is_empty() {
            PromotionState::Draft
        } else if waits_for_ci {
            PromotionState::Evidence
        } else if !open.is_empty() {
            PromotionState::Review
        } else {
            PromotionState::Approved
        };
    }
}
