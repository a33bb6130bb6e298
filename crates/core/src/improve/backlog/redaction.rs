use super::{ProposalAction, ProposalContent, ProposalRejection};
use crate::improve::events::WeekEvent;
use crate::improve::proposal::Proposal;
use crate::improve::report::FeedbackReport;
use crate::record::redact::{LimitedRedactor, Redact};

impl Redact for ProposalAction {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        match self {
            Self::Reject(ProposalRejection { kind, reason }) => {
                Self::Reject(ProposalRejection { kind, reason: reason.redact(rules) })
            }
            Self::Done { note } => Self::Done { note: note.redact(rules) },
            // Ids by which records are joined.
            plain @ (Self::Accept
            | Self::Reopen
            | Self::Experiment(_)
            | Self::Gate(_)
            | Self::Promoted { .. }
            | Self::RolledBack) => plain,
        }
    }
}

impl Redact for ProposalContent {
    /// The key stays that of the texts as they were, so that the same proposal has it every week.
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let suggestion = self.suggestion.map(|facts| super::SuggestionFacts {
            dimension: facts.dimension.redact(rules),
            ..facts
        });
        Self {
            title: self.title.redact(rules),
            reason: self.reason.redact(rules),
            change: self.change.redact(rules),
            instruction: self.instruction.redact(rules),
            diff: self.diff.redact(rules),
            suggestion,
            ..self
        }
    }
}

impl Redact for FeedbackReport {
    /// Ids by which records are joined, and numbers, stay.
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let event = |event: WeekEvent| WeekEvent { text: event.text.redact(rules), ..event };
        let proposal = |proposal: Proposal| Proposal {
            title: proposal.title.redact(rules),
            reason: proposal.reason.redact(rules),
            change: proposal.change.redact(rules),
            instruction: proposal.instruction.redact(rules),
            diff: proposal.diff.redact(rules),
            ..proposal
        };
        Self {
            events: self.events.into_iter().map(event).collect(),
            proposals: self.proposals.into_iter().map(proposal).collect(),
            ..self
        }
    }
}
