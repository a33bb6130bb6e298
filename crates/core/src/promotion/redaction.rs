use super::evidence::{GateResult, ToolTests};
use super::state::Action;
use crate::record::redact::{LimitedRedactor, Redact};

impl Redact for Action {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        match self {
            Self::ToolTests(found) => Self::ToolTests(ToolTests {
                source: found.source.redact(rules),
                commit: found.commit.redact(rules),
                ..found
            }),
            Self::Gate(found) => Self::Gate(GateResult {
                run_name: found.run_name.redact(rules),
                sentence: found.sentence.redact(rules),
                ..found
            }),
            Self::Review { by, note } => Self::Review { by, note: note.redact(rules) },
            Self::Approve { by, note } => Self::Approve { by, note: note.redact(rules) },
            Self::Waive { by, reason } => Self::Waive { by, reason: reason.redact(rules) },
            Self::Rollback { by, reason } => Self::Rollback { by, reason: reason.redact(rules) },
            Self::DeployFailed { attempt, why } => {
                Self::DeployFailed { attempt, why: why.redact(rules) }
            }
            Self::NotDeployable { attempt, why } => {
                Self::NotDeployable { attempt, why: why.redact(rules) }
            }
            // Numbers, and ids by which records are joined.
            plain @ (Self::Verdicts(_)
            | Self::ChangeVersion { .. }
            | Self::Start
            | Self::Deployed { .. }
            | Self::Watched(_)
            | Self::Confirm(_)
            | Self::Supersede { .. }
            | Self::Abandon) => plain,
        }
    }
}
