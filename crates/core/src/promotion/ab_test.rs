//! A/B tests of two versions of a prompt: users are assigned at random, the comparison may be
//! looked at any time, and the winner is offered for promotion.

/// The comparison of both arms.
pub mod comparison;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::comparison::{AbResult, AbSample};
use super::nanos;
use super::policy::{Responsible, Signer, people};
use super::state::Refused;
use super::watch::Mark;
use crate::catalog::prompt::{LATEST, PRODUCTION, check_label};
use crate::catalog::validation::Invalid;
use crate::time::Timestamp;

/// Prefix of a label that stands for the label that a user is assigned: `ab:USER`.
pub const ASSIGNED_LABEL: &str = "ab:";
/// The longest id of a user or session that is assigned, in bytes.
pub const MAX_UNIT_BYTES: usize = 500;
const MAX_UNITS: u32 = 20_000;
const MAX_DAYS: u32 = 90;
const MAX_WINDOW_HOURS: u32 = 7 * 24;
const NANOS_PER_HOUR: i64 = 3_600_000_000_000;

/// What a test compares, and when it ends at the latest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AbSpec {
    pub agent: String,
    pub prompt: String,
    /// Label of the version that most users get.
    pub control: String,
    pub candidate: String,
    /// Percentage of users who get the candidate.
    pub share: u32,
    /// What the candidate has to improve.
    pub primary: Mark,
    /// Users after which the test ends.
    pub max_units: u32,
    pub max_days: u32,
    /// A user counts with the traces of so many hours after the first one.
    pub window_hours: u32,
}

impl AbSpec {
    /// Creates a test of a candidate against `production`, with the usual limits.
    pub fn new(agent: &str, prompt: &str, candidate: &str) -> Self {
        Self {
            agent: agent.to_owned(),
            prompt: prompt.to_owned(),
            control: PRODUCTION.to_owned(),
            candidate: candidate.to_owned(),
            share: 50,
            primary: Mark::Quality,
            max_units: 2_000,
            max_days: 14,
            window_hours: 24,
        }
    }

    /// Validates a specification.
    ///
    /// # Errors
    /// Names the field.
    pub fn checked(self) -> Result<Self, Invalid> {
        for (field, label) in [("control", &self.control), ("candidate", &self.candidate)] {
            if let Err(why) = check_label(label) {
                return Err(Invalid { field, problem: why.to_string() });
            }
            if label == LATEST {
                let problem = "latest moves with every new version; name another label".to_owned();
                return Err(Invalid { field, problem });
            }
        }
        if self.control == self.candidate {
            let problem = "must be another label than control".to_owned();
            return Err(Invalid { field: "candidate", problem });
        }
        let numbers = [
            ("share", self.share, 1, 99),
            ("maxUnits", self.max_units, 20, MAX_UNITS),
            ("maxDays", self.max_days, 1, MAX_DAYS),
            ("windowHours", self.window_hours, 0, MAX_WINDOW_HOURS),
        ];
        for (field, value, least, most) in numbers {
            if !(least..=most).contains(&value) {
                return Err(Invalid { field, problem: format!("from {least} to {most}") });
            }
        }
        Ok(self)
    }
}

/// What a user gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    Control,
    Candidate,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbEnd {
    /// The candidate is significantly worse in a mark.
    Harm,
    /// The candidate is significantly better in the primary mark.
    Winner,
    /// The planned number of users or the time is reached.
    NoDifference,
    /// A label points to another version than the test compares.
    LabelMoved,
    Stopped,
}

impl AbEnd {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Harm => "harm",
            Self::Winner => "winner",
            Self::NoDifference => "no-difference",
            Self::LabelMoved => "label-moved",
            Self::Stopped => "stopped",
        }
    }
}

/// The end of a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbOutcome {
    pub end: AbEnd,
    pub text: String,
    #[serde(with = "nanos")]
    pub at: Timestamp,
    pub by: Signer,
}

/// A test of two versions of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbTest {
    pub spec: AbSpec,
    /// Versions that the labels pointed to at the start.
    pub control_version: u32,
    pub candidate_version: u32,
    pub author: Signer,
    #[serde(with = "nanos")]
    pub started_at: Timestamp,
    #[serde(default)]
    pub result: Option<AbResult>,
    #[serde(default)]
    pub outcome: Option<AbOutcome>,
    /// The draft promotion of the winner.
    #[serde(default)]
    pub promotion: Option<String>,
    /// Why the winner's draft could not be opened.
    #[serde(default)]
    pub offer_problem: Option<String>,
}

/// Where the labels point now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels {
    pub control: Option<u32>,
    pub candidate: Option<u32>,
}

impl AbTest {
    /// Starts a test of what the labels point to.
    ///
    /// # Errors
    /// A label is not set or both are at one version; or the agent's policy requires promotion, and
    /// the author may not approve one.
    pub fn start(
        spec: AbSpec,
        labels: Labels,
        (author, now): (Signer, Timestamp),
        responsible: &Responsible,
    ) -> Result<Self, Refused> {
        let version = |(field, label): (&'static str, &str), found: Option<u32>| {
            let problem = format!("no version of prompt {} has the label {label}", spec.prompt);
            found.ok_or(Refused::Invalid { field, problem })
        };
        let control_version = version(("control", &spec.control), labels.control)?;
        let candidate_version = version(("candidate", &spec.candidate), labels.candidate)?;
        if control_version == candidate_version {
            let problem = format!("both labels are at version {control_version}");
            return Err(Refused::Invalid { field: "candidate", problem });
        }
        let approvers = responsible.approvers();
        if responsible.policy.is_required && !author.is_one_of(&approvers) {
            let (what, who) = ("an A/B test of this agent", people(&approvers));
            return Err(Refused::NotYours { what, who });
        }
        Ok(Self {
            spec,
            control_version,
            candidate_version,
            author,
            started_at: now,
            result: None,
            outcome: None,
            promotion: None,
            offer_problem: None,
        })
    }

    /// Whether the test still assigns units.
    pub const fn is_running(&self) -> bool {
        self.outcome.is_none()
    }

    /// Returns what a user or session gets. It depends on the test and the id only, so that it stays
    /// the same and does not follow that of another test.
    pub fn arm(&self, id: &str, unit: &str) -> Arm {
        let mut digest = Sha256::new();
        digest.update(id.as_bytes());
        digest.update([0]);
        digest.update(unit.as_bytes());
        let first = digest.finalize().iter().take(8).fold(0_u64, |n, b| (n << 8) | u64::from(*b));
        // 100 does not divide 2^64; the difference is below 1e-17.
        let is_candidate = first % 100 < u64::from(self.spec.share);
        if is_candidate { Arm::Candidate } else { Arm::Control }
    }

    /// Returns label and version of an arm. When the test has ended everybody gets the control.
    pub fn served(&self, arm: Arm) -> (&str, u32) {
        match arm {
            Arm::Candidate if self.is_running() => (&self.spec.candidate, self.candidate_version),
            _ => (&self.spec.control, self.control_version),
        }
    }

    /// Returns the end of the window of a user who was first seen at a time: the user counts from
    /// then on, and traces after it do not change what was counted.
    pub fn window_end(&self, first: Timestamp) -> Timestamp {
        first.plus_nanos(i64::from(self.spec.window_hours).saturating_mul(NANOS_PER_HOUR))
    }

    /// Compares the users so far, and ends the test if a stop rule applies.
    pub fn look(&mut self, sample: &AbSample, labels: Labels, (by, now): (Signer, Timestamp)) {
        if !self.is_running() {
            return;
        }
        let moved = [
            (&self.spec.control, self.control_version, labels.control),
            (&self.spec.candidate, self.candidate_version, labels.candidate),
        ]
        .into_iter()
        .find(|(_, version, found)| *found != Some(*version));
        if let Some((label, version, _)) = moved {
            let text = format!("label {label} is not at version {version} any more");
            self.outcome = Some(AbOutcome { end: AbEnd::LabelMoved, text, at: now, by });
            return;
        }
        let most = usize::try_from(self.spec.max_units).unwrap_or(usize::MAX);
        let counted = &sample.units[..sample.units.len().min(most)];
        let result = AbResult {
            traffic: sample.traffic,
            ..AbResult::compare(counted, self.spec.share, self.spec.primary)
                .with_intervals(counted, self.spec.share)
        };
        let age = now.since(self.started_at);
        let is_over = age >= i64::from(self.spec.max_days).saturating_mul(24 * NANOS_PER_HOUR);
        let ended = result.decided().or_else(|| {
            (is_over || counted.len() >= most).then(|| (AbEnd::NoDifference, result.sentence()))
        });
        self.result = Some(result);
        self.outcome = ended.map(|(end, text)| AbOutcome { end, text, at: now, by });
    }

    /// Ends the test by hand.
    ///
    /// # Errors
    /// It has ended before.
    pub fn stop(&mut self, reason: &str, (by, now): (Signer, Timestamp)) -> Result<(), Refused> {
        if let Some(outcome) = &self.outcome {
            return Err(Refused::Ended(format!("the A/B test has ended: {}", outcome.text)));
        }
        let text = if reason.trim().is_empty() { "stopped" } else { reason.trim() }.to_owned();
        self.outcome = Some(AbOutcome { end: AbEnd::Stopped, text, at: now, by });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
