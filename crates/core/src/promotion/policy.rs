use serde::{Deserialize, Serialize};

use super::runtime::environment_name;
use crate::catalog::agent::review_datasets;
use crate::catalog::validation::Invalid;
use crate::time::Timestamp;

/// Approvers that an agent can name.
const MAX_APPROVERS: usize = 20;
/// Prompts that an agent can name.
const MAX_PROMPTS: usize = 50;
/// The longest watch, in hours.
const MAX_WATCH_HOURS: u32 = 24 * 90;
/// The longest name, in characters.
const MAX_CHARS: usize = 200;

/// How versions of an agent are promoted.
#[expect(clippy::struct_excessive_bools, reason = "independent switches of a form")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PromotionPolicy {
    /// Whether the label `production` of the agent's prompts moves only by promotion or rollback.
    pub is_required: bool,
    /// Prompts of the agent, besides those of its recorded versions.
    pub prompts: Vec<String>,
    /// Approvers; the agent's owner if empty.
    pub approvers: Vec<String>,
    /// Whether a second person must approve: none who created the promotion, reviewed its results or
    /// waived its gate, and no program.
    pub second_person: bool,
    /// Environment that is promoted to.
    pub environment: String,
    /// How long production is watched after a promotion, in hours.
    pub watch_hours: u32,
    /// Whether a version that is significantly worse is rolled back without asking.
    pub automatic_rollback: bool,
    /// Whether a promotion deploys: the operator's `promotion.command`, `promotion.agentcore` or `promotion.webhook`.
    pub deploys: bool,
    /// Minimum accuracy that a gate must demand, from 0 to 1, where promotion is required.
    pub min_accuracy: f64,
}

impl Default for PromotionPolicy {
    fn default() -> Self {
        Self {
            is_required: false,
            prompts: Vec::new(),
            approvers: Vec::new(),
            second_person: false,
            environment: "production".to_owned(),
            watch_hours: 7 * 24,
            automatic_rollback: false,
            deploys: false,
            min_accuracy: 0.7,
        }
    }
}

impl PromotionPolicy {
    /// Validates a policy; trims texts.
    ///
    /// # Errors
    /// Names the field.
    pub fn checked(self) -> Result<Self, Invalid> {
        let trimmed: Vec<String> = self.approvers.iter().map(|who| who.trim().to_owned()).collect();
        let approvers: Vec<String> = trimmed.into_iter().filter(|who| !who.is_empty()).collect();
        let is_bad =
            |text: &str| text.chars().count() > MAX_CHARS || text.chars().any(char::is_control);
        if approvers.len() > MAX_APPROVERS || approvers.iter().any(|who| is_bad(who)) {
            let problem = format!("at most {MAX_APPROVERS} people, by email address");
            return Err(Invalid { field: "approvers", problem });
        }
        let prompts: Vec<String> = self.prompts.iter().map(|name| name.trim().to_owned()).collect();
        let prompts: Vec<String> = prompts.into_iter().filter(|name| !name.is_empty()).collect();
        if prompts.len() > MAX_PROMPTS || prompts.iter().any(|name| is_bad(name)) {
            let problem = format!("at most {MAX_PROMPTS} prompts, by name");
            return Err(Invalid { field: "prompts", problem });
        }
        let environment = self.environment.trim().to_owned();
        if environment.is_empty() || is_bad(&environment) {
            let problem = "name an environment, such as production".to_owned();
            return Err(Invalid { field: "environment", problem });
        }
        if !(1..=MAX_WATCH_HOURS).contains(&self.watch_hours) {
            let problem = format!("from 1 to {MAX_WATCH_HOURS}");
            return Err(Invalid { field: "watchHours", problem });
        }
        if !(0.0..=1.0).contains(&self.min_accuracy) {
            let problem = "a share from 0 to 1".to_owned();
            return Err(Invalid { field: "minAccuracy", problem });
        }
        Ok(Self { prompts, approvers, environment, ..self })
    }

    /// Returns whether what serves in an environment changes only by promotion. `prod` and `production`
    /// are the same.
    pub fn governs(&self, environment: &str) -> bool {
        self.is_required && environment_name(&self.environment) == environment_name(environment)
    }

    /// Returns the only dataset that gates of the agent may decide on, if promotion is required.
    pub fn required_dataset(&self, agent: &str) -> Option<String> {
        let [_, global] = review_datasets(agent, Timestamp::from_nanos(0));
        self.is_required.then_some(global)
    }
}

/// Kind of a signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignerKind {
    Person,
    /// A program with an API key.
    Key,
    /// Whoever has the data folder, or uses a server without sign-in.
    Local,
    /// Ratchet itself.
    Server,
}

/// Who did something in a promotion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signer {
    pub kind: SignerKind,
    /// Email address of a person, public key of a program.
    pub name: String,
}

impl Signer {
    /// Returns whether this is the same person or program. Local users have no names to tell them
    /// apart, so that all of them are one.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && (self.kind == SignerKind::Local || self.name == other.name)
    }

    /// Returns whether the signer is one of these people; anybody is, if none is named. Whoever has
    /// the data folder can change the names as well.
    pub fn is_one_of(&self, named: &[String]) -> bool {
        match self.kind {
            SignerKind::Local => true,
            SignerKind::Server => false,
            SignerKind::Person => {
                named.is_empty() || named.iter().any(|name| name.eq_ignore_ascii_case(&self.name))
            }
            // Keys whose names differ in case are different keys, and none is an email address.
            SignerKind::Key => {
                let is_named = !self.name.contains('@') && named.contains(&self.name);
                named.is_empty() || is_named
            }
        }
    }
}

/// An agent's people and policy, as they are now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Responsible {
    pub owner: Option<String>,
    pub policy: PromotionPolicy,
}

impl Responsible {
    /// Returns who reviews results and waives what is inconclusive.
    pub fn owners(&self) -> Vec<String> {
        self.owner.iter().cloned().collect()
    }

    /// Returns whether a signer is named as an approver. That anybody may approve where nobody is
    /// named does not make anybody one.
    pub fn names(&self, signer: &Signer) -> bool {
        let named = self.approvers();
        !named.is_empty() && signer.is_one_of(&named)
    }

    /// Returns who approves.
    pub fn approvers(&self) -> Vec<String> {
        if self.policy.approvers.is_empty() { self.owners() } else { self.policy.approvers.clone() }
    }
}

/// Returns people as words.
pub(super) fn people(named: &[String]) -> String {
    match named {
        [] => "a member of the project".to_owned(),
        [one] => one.clone(),
        many => format!("one of {}", many.join(", ")),
    }
}
