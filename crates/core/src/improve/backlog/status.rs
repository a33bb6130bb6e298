use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::gate::decision::Verdict;

/// The longest reason or note, in characters.
const MAX_REASON: usize = 1_000;

/// How far a proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProposalState {
    /// Nobody has decided.
    New,
    /// Somebody will act on it.
    Accepted,
    /// A prompt version has the change, or another experiment tries it.
    InExperiment,
    /// A gate passed the prompt version.
    Gated,
    /// Users get the change.
    Promoted,
    Rejected,
}

impl ProposalState {
    pub const ALL: [Self; 6] = [
        Self::New,
        Self::Accepted,
        Self::InExperiment,
        Self::Gated,
        Self::Promoted,
        Self::Rejected,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Accepted => "accepted",
            Self::InExperiment => "in-experiment",
            Self::Gated => "gated",
            Self::Promoted => "promoted",
            Self::Rejected => "rejected",
        }
    }

    /// Returns the name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Accepted => "Accepted",
            Self::InExperiment => "In experiment",
            Self::Gated => "Gated",
            Self::Promoted => "Promoted",
            Self::Rejected => "Rejected",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Returns whether something is still to be done.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Promoted | Self::Rejected)
    }

    /// Returns whether it was accepted and not rejected since.
    pub const fn is_acted_on(self) -> bool {
        !matches!(self, Self::New | Self::Rejected)
    }
}

/// Why a proposal was rejected. Wrong and unhelpful ones are false positives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RejectionKind {
    /// The diagnosis is wrong.
    Wrong,
    /// The diagnosis is right, the change would not help.
    Unhelpful,
    /// It is right, and not worth its effort now.
    Declined,
}

impl RejectionKind {
    pub const ALL: [Self; 3] = [Self::Wrong, Self::Unhelpful, Self::Declined];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Unhelpful => "unhelpful",
            Self::Declined => "declined",
        }
    }

    /// Returns the name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Wrong => "Wrong diagnosis",
            Self::Unhelpful => "Change would not help",
            Self::Declined => "Not worth it now",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns whether the proposal should not have been made.
    pub const fn is_false_positive(self) -> bool {
        matches!(self, Self::Wrong | Self::Unhelpful)
    }
}

/// A rejection, by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalRejection {
    pub kind: RejectionKind,
    pub reason: String,
}

/// The prompt version that has the change of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptVersion {
    pub name: String,
    pub version: u32,
}

/// The last decision on a run of the prompt version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateLink {
    /// Id of the decision.
    pub gate: String,
    /// Id of the dataset.
    pub dataset: String,
    /// Id of the run.
    pub run: String,
    pub verdict: Verdict,
}

/// How far a proposal is, and what it is linked with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalStatus {
    pub state: ProposalState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptVersion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateLink>,
    /// Id of the promotion; `None` where the label was moved by hand or the change was made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<ProposalRejection>,
}

impl Default for ProposalStatus {
    fn default() -> Self {
        let (prompt, gate, promotion, rejection) = (None, None, None, None);
        Self { state: ProposalState::New, prompt, gate, promotion, rejection }
    }
}

/// What moves a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposalAction {
    Accept,
    Reject(ProposalRejection),
    /// A rejected, accepted or applied proposal is undecided again.
    Reopen,
    /// A person opened the experiment with this prompt version; `None` where the change is not in a
    /// prompt that is stored here.
    Experiment(Option<PromptVersion>),
    /// The change was made elsewhere, such as in code, and users get it.
    Done {
        note: Option<String>,
    },
    /// A gate decided on a run of the prompt version.
    Gate(GateLink),
    /// Users get the prompt version.
    Promoted {
        promotion: Option<String>,
    },
    /// Users do not get the prompt version any more.
    RolledBack,
}

/// What an action did: the change of state, and what was said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalMove {
    pub from: ProposalState,
    pub to: ProposalState,
    pub note: Option<String>,
}

/// Why an action was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProposalRefused {
    #[error("the proposal is {}: it cannot be {what}; {hint}", .state.as_str())]
    State { state: ProposalState, what: &'static str, hint: &'static str },
    #[error("{field}: {problem}")]
    Invalid { field: &'static str, problem: String },
}

impl ProposalStatus {
    /// Applies an action. `None` if there is nothing to do: the same once more changes nothing, and
    /// gates and promotions of a proposal that has moved on are not refused.
    ///
    /// # Errors
    /// Refuses what a person may not do in this state, naming what to do first.
    pub fn apply(
        &mut self,
        action: ProposalAction,
    ) -> Result<Option<ProposalMove>, ProposalRefused> {
        let before = self.clone();
        let note = match action {
            ProposalAction::Accept => self.accept()?,
            ProposalAction::Reject(rejection) => self.reject(&rejection)?,
            ProposalAction::Reopen => self.reopen()?,
            ProposalAction::Experiment(prompt) => self.experiment(prompt)?,
            ProposalAction::Done { note } => self.done(note)?,
            ProposalAction::Gate(link) => self.gated(link),
            ProposalAction::Promoted { promotion } => self.promoted(promotion),
            ProposalAction::RolledBack => self.rolled_back(),
        };
        let moved = ProposalMove { from: before.state, to: self.state, note };
        Ok((*self != before).then_some(moved))
    }

    /// Returns the actions that a person may take, by name, in the order of buttons.
    pub const fn choices(&self) -> &'static [&'static str] {
        match self.state {
            ProposalState::New => &["accept", "reject"],
            ProposalState::Accepted => &["experiment", "done", "reject", "reopen"],
            ProposalState::InExperiment | ProposalState::Gated => &["done", "reject"],
            ProposalState::Promoted | ProposalState::Rejected => &["reopen"],
        }
    }

    fn refuse(&self, what: &'static str) -> ProposalRefused {
        let hint = match self.state {
            ProposalState::New => "accept it first",
            ProposalState::Rejected | ProposalState::Promoted => "reopen it first",
            _ => "reject it, or let its experiment decide",
        };
        ProposalRefused::State { state: self.state, what, hint }
    }

    fn accept(&mut self) -> Result<Option<String>, ProposalRefused> {
        match self.state {
            ProposalState::New => self.state = ProposalState::Accepted,
            ProposalState::Rejected => return Err(self.refuse("accepted")),
            // It was accepted before.
            _ => {}
        }
        Ok(None)
    }

    fn reject(&mut self, rejection: &ProposalRejection) -> Result<Option<String>, ProposalRefused> {
        let reason = checked("reason", &rejection.reason)?;
        if reason.is_empty() {
            let problem = "say why; the reason is shown where the same is proposed again";
            return Err(ProposalRefused::Invalid { field: "reason", problem: problem.to_owned() });
        }
        match self.state {
            ProposalState::Promoted => return Err(self.refuse("rejected")),
            ProposalState::Rejected => return Ok(None),
            _ => {}
        }
        let note = format!("{}: {reason}", rejection.kind.title());
        self.state = ProposalState::Rejected;
        self.rejection = Some(ProposalRejection { reason, kind: rejection.kind });
        Ok(Some(note))
    }

    fn reopen(&mut self) -> Result<Option<String>, ProposalRefused> {
        match self.state {
            ProposalState::InExperiment | ProposalState::Gated => Err(self.refuse("reopened")),
            _ => {
                *self = Self::default();
                Ok(None)
            }
        }
    }

    fn experiment(
        &mut self,
        prompt: Option<PromptVersion>,
    ) -> Result<Option<String>, ProposalRefused> {
        match self.state {
            ProposalState::New | ProposalState::Promoted | ProposalState::Rejected => {
                return Err(self.refuse("in an experiment"));
            }
            ProposalState::Accepted | ProposalState::InExperiment | ProposalState::Gated => {}
        }
        if self.state != ProposalState::Accepted && self.prompt == prompt {
            return Ok(None);
        }
        let note = prompt.as_ref().map(|prompt| format!("{} v{}", prompt.name, prompt.version));
        self.state = ProposalState::InExperiment;
        (self.prompt, self.gate) = (prompt, None);
        Ok(note)
    }

    fn done(&mut self, note: Option<String>) -> Result<Option<String>, ProposalRefused> {
        let note = note.map(|note| checked("reason", &note)).transpose()?;
        match self.state {
            ProposalState::New | ProposalState::Rejected => return Err(self.refuse("done")),
            ProposalState::Promoted => return Ok(None),
            _ => self.state = ProposalState::Promoted,
        }
        Ok(note.filter(|note| !note.is_empty()))
    }

    fn gated(&mut self, link: GateLink) -> Option<String> {
        let is_tried = matches!(self.state, ProposalState::InExperiment | ProposalState::Gated);
        if !is_tried || self.gate.as_ref() == Some(&link) {
            return None;
        }
        self.state = match link.verdict {
            Verdict::Pass => ProposalState::Gated,
            Verdict::Block | Verdict::Inconclusive => ProposalState::InExperiment,
        };
        let note = format!("gate {}: {}", link.gate, link.verdict.as_str());
        self.gate = Some(link);
        Some(note)
    }

    fn promoted(&mut self, promotion: Option<String>) -> Option<String> {
        if !matches!(self.state, ProposalState::InExperiment | ProposalState::Gated) {
            return None;
        }
        self.state = ProposalState::Promoted;
        let note = promotion.as_ref().map(|promotion| format!("promotion {promotion}"));
        self.promotion = promotion;
        Some(note.unwrap_or_else(|| "label production".to_owned()))
    }

    fn rolled_back(&mut self) -> Option<String> {
        if self.state != ProposalState::Promoted || self.prompt.is_none() {
            return None;
        }
        self.state = ProposalState::InExperiment;
        (self.promotion, self.gate) = (None, None);
        Some("rolled back".to_owned())
    }
}

/// A text of a person on one line.
fn checked(field: &'static str, text: &str) -> Result<String, ProposalRefused> {
    if text.chars().count() > MAX_REASON {
        let problem = format!("at most {MAX_REASON} characters");
        return Err(ProposalRefused::Invalid { field, problem });
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(line.chars().filter(|c| !c.is_control()).collect())
}
