use ratchet_core::improve::backlog::{
    ProposalAction, ProposalRejection, ProposalSource, ProposalState, RejectionKind,
};
use ratchet_core::quality::suggestion::{Progress, Suggestion};
use ratchet_core::time::Timestamp;

use super::links::of_ids;
use super::{COLUMNS, PROPOSALS, StoredProposal, act, read, with_steps};
use crate::catalog::Catalog;
use crate::project::ProjectId;
use crate::{StoreError, StoreResult};

/// Maximum number of listed suggestions.
const MAX_SUGGESTIONS: u64 = 500;
/// The reason of a rejection that names none.
const DISMISSED: &str = "dismissed";

/// A proposal of a weekly quality report, as that knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSuggestion {
    /// That of the proposal.
    pub id: String,
    pub suggestion: Suggestion,
    /// The week that first suggested it.
    pub first_week: String,
    pub last_week: String,
    pub progress: Progress,
    /// Status history, oldest first.
    pub steps: Vec<SuggestionStep>,
    pub created_at: Timestamp,
}

/// A decision about a suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestionStep {
    pub progress: Progress,
    pub actor: String,
    pub at: Timestamp,
}

impl Catalog {
    /// Returns the proposals of a project's weekly quality reports, latest weeks first.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn suggestions(&self, project: ProjectId) -> StoreResult<Vec<StoredSuggestion>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM proposal WHERE project = $1 AND source = $2 \
             ORDER BY last_week DESC, first_week DESC, id LIMIT $3"
        );
        let source = ProposalSource::WeeklyReport.as_str();
        self.transact(move |tx| {
            let values = [(&project).into(), source.into(), MAX_SUGGESTIONS.into()];
            let found = tx.rows(&sql, &values, read)?;
            let found = found.into_iter().map(|stored| with_steps(tx, &project, stored));
            let found: Vec<StoredProposal> = found.collect::<StoreResult<_>>()?;
            let mut found: Vec<_> = found.into_iter().filter_map(of).collect();
            let order = |one: &StoredSuggestion| {
                (std::cmp::Reverse(one.last_week.clone()), one.suggestion.severity)
            };
            found.sort_by_key(order);
            Ok(found)
        })
        .await
    }

    /// Records a decision about a suggestion, by the catalog's actor. Idempotent.
    ///
    /// # Errors
    /// Fails if the project has no such suggestion, or if the transition is not allowed.
    pub async fn decide_suggestion(
        &self,
        project: ProjectId,
        id: String,
        to: Progress,
        now: Timestamp,
    ) -> StoreResult<StoredSuggestion> {
        self.transact(move |tx| {
            let missing = || StoreError::NotFound(format!("suggestion {id}"));
            let stored = PROPOSALS.find(tx, &project, &id)?.ok_or_else(missing)?;
            let mut stored = with_steps(tx, &project, stored)?;
            let is = progress(stored.status.state);
            if stored.content.suggestion.is_none() {
                return Err(missing());
            }
            if is == to {
                return of(stored).ok_or_else(missing);
            }
            if !is.next().contains(&to) {
                let (is, to) = (is.as_str(), to.as_str());
                let why = format!("a suggestion that is {is} cannot become {to}; open it first");
                return Err(StoreError::BadQuery(why));
            }
            for action in actions(is, to) {
                stored = act(tx, &project, (stored, of_ids(action)), now)?
                    .map_err(|refused| StoreError::BadQuery(refused.to_string()))?;
            }
            of(stored).ok_or_else(missing)
        })
        .await
    }
}

/// What a decision is on the backlog. What is done at once was accepted first.
fn actions(is: Progress, to: Progress) -> Vec<ProposalAction> {
    let done = ProposalAction::Done { note: None };
    match to {
        Progress::Open => vec![ProposalAction::Reopen],
        Progress::Accepted => vec![ProposalAction::Accept],
        Progress::Done if is == Progress::Open => vec![ProposalAction::Accept, done],
        Progress::Done => vec![done],
        Progress::Dismissed => vec![ProposalAction::Reject(ProposalRejection {
            kind: RejectionKind::Declined,
            reason: DISMISSED.to_owned(),
        })],
    }
}

const fn progress(state: ProposalState) -> Progress {
    match state {
        ProposalState::New => Progress::Open,
        ProposalState::Accepted | ProposalState::InExperiment | ProposalState::Gated => {
            Progress::Accepted
        }
        ProposalState::Promoted => Progress::Done,
        ProposalState::Rejected => Progress::Dismissed,
    }
}

/// A proposal as its quality report knows it.
pub(in crate::catalog) fn of(stored: StoredProposal) -> Option<StoredSuggestion> {
    let step = |step: super::ProposalStep| SuggestionStep {
        progress: progress(step.state),
        actor: step.actor,
        at: step.at,
    };
    Some(StoredSuggestion {
        suggestion: stored.content.as_suggestion()?,
        id: stored.id,
        first_week: stored.first_week,
        last_week: stored.last_week,
        progress: progress(stored.status.state),
        steps: stored.steps.into_iter().map(step).collect(),
        created_at: stored.created_at,
    })
}
