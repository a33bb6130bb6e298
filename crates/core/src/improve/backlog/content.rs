use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::improve::affected::AffectedUsers;
use crate::improve::diagnosis::Component;
use crate::improve::proposal::{Effort, Impact, Proposal, Trend};
use crate::judge::offline::overrides::draft::OverrideDraft;
use crate::quality::calibration::draft::CriterionDraft;
use crate::quality::suggestion::{Edit, Severity, Suggestion};

/// Where a proposal comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProposalSource {
    /// Groups of failures, without a model.
    Failures,
    /// The quality report of a week's sessions.
    WeeklyReport,
    /// Disagreements of the judge with labels.
    Calibration,
    /// An agent, through `generate_proposal`.
    Agent,
}

impl ProposalSource {
    pub const ALL: [Self; 4] = [Self::Failures, Self::WeeklyReport, Self::Calibration, Self::Agent];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::WeeklyReport => "weekly-report",
            Self::Calibration => "calibration",
            Self::Agent => "agent",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == word)
    }
}

/// What the quality report of a week knows of a change that it suggests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuggestionFacts {
    pub severity: Severity,
    /// The dimension to improve.
    pub dimension: String,
    pub edit: Edit,
}

/// Content of a proposal as of a week, without its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposalContent {
    /// The same in every week: proposals with one key are one proposal.
    pub key: String,
    pub source: ProposalSource,
    pub component: Component,
    /// `None` where it is about no agent alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// One line.
    pub title: String,
    pub reason: String,
    pub change: String,
    /// The line to add to the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// Name of the recorded prompt that the change is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The change as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Ids of traces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Ids of sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<String>,
    /// Failures of the last week that showed it.
    #[serde(default)]
    pub failures: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected: Option<AffectedUsers>,
    /// `None` where nothing says which share of traffic it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
    pub effort: Effort,
    pub priority: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
    /// `file:line`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<SuggestionFacts>,
}

impl ProposalContent {
    /// An empty one of a source: what knows more fills in the rest.
    fn new(key: String, source: ProposalSource, component: Component) -> Self {
        Self {
            key,
            source,
            component,
            agent: None,
            title: String::new(),
            reason: String::new(),
            change: String::new(),
            instruction: None,
            prompt: None,
            diff: None,
            evidence: Vec::new(),
            sessions: Vec::new(),
            failures: 0,
            affected: None,
            impact: None,
            effort: Effort::of(component),
            priority: 0.0,
            trend: None,
            files: Vec::new(),
            suggestion: None,
        }
    }

    /// The suggestion of a quality report, if it is one.
    pub fn as_suggestion(&self) -> Option<Suggestion> {
        let SuggestionFacts { severity, dimension, edit } = self.suggestion.clone()?;
        Some(Suggestion {
            key: self.key.clone(),
            severity,
            dimension,
            title: self.title.clone(),
            edit,
            text: self.change.clone(),
            reason: self.reason.clone(),
            sessions: self.sessions.clone(),
        })
    }

    /// A proposal for the judge: a criterion of a rubric, from labels that differ from it.
    pub fn of_criterion(rubric: &str, draft: &CriterionDraft, labels: usize) -> Self {
        let CriterionDraft { dimension, before, after } = draft;
        let key = hash(&["criterion", rubric, dimension]);
        Self {
            title: format!("Criterion {dimension} of the rubric {rubric}"),
            reason: format!(
                "The judge differs from people on this dimension, over {labels} labels."
            ),
            change: after.clone(),
            diff: Some(replaced(rubric, before, after)),
            failures: labels,
            files: vec![format!("rubrics/{rubric}.toml")],
            ..Self::new(key, ProposalSource::Calibration, Component::Judge)
        }
    }

    /// A proposal for the offline judge: what its signals count, fitted to labels.
    pub fn of_overrides(rubric: &str, draft: &OverrideDraft) -> Self {
        let dimension = &draft.dimension;
        let key = hash(&["signal overrides", rubric, dimension]);
        Self {
            title: format!("Signal overrides of the offline judge for {dimension}"),
            reason: format!("{}.", draft.checked()),
            change: format!("{}.", draft.change()),
            failures: draft.labels,
            ..Self::new(key, ProposalSource::Calibration, Component::Judge)
        }
    }
}

impl From<Proposal> for ProposalContent {
    fn from(found: Proposal) -> Self {
        Self {
            agent: Some(found.agent),
            title: found.title,
            reason: found.reason,
            change: found.change,
            instruction: found.instruction,
            prompt: found.prompt,
            diff: found.diff,
            evidence: found.evidence,
            failures: found.failures,
            affected: Some(found.affected),
            impact: Some(found.impact),
            effort: found.effort,
            priority: found.priority,
            trend: Some(found.trend),
            files: found.files,
            ..Self::new(found.id, ProposalSource::Failures, found.component)
        }
    }
}

impl From<&Suggestion> for ProposalContent {
    fn from(found: &Suggestion) -> Self {
        let component = match found.edit {
            Edit::Instructions | Edit::Skill | Edit::Prompt => Component::Prompt,
            Edit::System => Component::Tool,
        };
        Self {
            title: found.title.clone(),
            reason: found.reason.clone(),
            change: found.text.clone(),
            sessions: found.sessions.clone(),
            failures: found.sessions.len(),
            suggestion: Some(SuggestionFacts {
                severity: found.severity,
                dimension: found.dimension.clone(),
                edit: found.edit,
            }),
            ..Self::new(found.key.clone(), ProposalSource::WeeklyReport, component)
        }
    }
}

/// Old lines and new lines of a criterion.
fn replaced(rubric: &str, before: &str, after: &str) -> String {
    let lines = |sign: char, text: &str| {
        text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>()
    };
    format!("--- {rubric}\n+++ {rubric}\n{}{}", lines('-', before), lines('+', after))
}

fn hash(parts: &[&str]) -> String {
    let hash = Sha256::digest(parts.join("\u{0}").as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
