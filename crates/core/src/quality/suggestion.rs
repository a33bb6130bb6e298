//! Suggestions for improvement: exact edits, each with its reason.

/// Templates for suggestions.
mod template;
/// Suggestions by a model.
pub mod advice;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::counted::counted;
use crate::quality::synthesis::{
    BELOW_TARGET, CommonIssue, DimensionStats, POOR, Synthesis, issue,
};
use advice::AdviceOrigin;
pub use template::{AgentKind, BadTemplate, Template, Templates};

/// The number of issues that get a suggestion.
const TOP_ISSUES: usize = 3;
/// The least number of sessions and of traces that show an issue worth a suggestion.
const MIN_SESSIONS: usize = 2;
const MIN_TRACES: usize = 3;
/// The maximum number of cited sessions.
const MAX_SESSIONS: usize = 10;

/// A suggestion for improvement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// Stable across weeks: the same suggestion has the same key.
    pub key: String,
    pub severity: Severity,
    /// The dimension to improve.
    pub dimension: String,
    /// One line.
    pub title: String,
    pub edit: Edit,
    /// The text to add.
    pub text: String,
    pub reason: String,
    /// Session ids as evidence.
    pub sessions: Vec<String>,
}

/// The severity of a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The mean of the dimension is under 0.5.
    High,
    /// The mean is under 0.7, or a common issue is the reason.
    Medium,
}

impl Severity {
    /// All severities, highest first.
    pub const ALL: [Self; 2] = [Self::High, Self::Medium];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
        }
    }

    /// Parses the JSON name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == name)
    }
}

/// What a suggestion changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edit {
    /// The project's instructions file.
    #[serde(rename = "CLAUDE.md")]
    Instructions,
    #[serde(rename = "skill")]
    Skill,
    #[serde(rename = "prompt")]
    Prompt,
    /// What is around the agent: its tools, their limits and permissions.
    #[serde(rename = "system")]
    System,
}

impl Edit {
    /// All types.
    pub const ALL: [Self; 4] = [Self::Instructions, Self::Skill, Self::Prompt, Self::System];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "CLAUDE.md",
            Self::Skill => "skill",
            Self::Prompt => "prompt",
            Self::System => "system",
        }
    }

    /// Says what is to be done with the text of a suggestion.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Instructions => "Add to CLAUDE.md",
            Self::Skill => "Add as a skill",
            Self::Prompt => "Add to the prompt",
            Self::System => "Change around the agent",
        }
    }

    /// Parses the JSON name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edit| edit.as_str() == name)
    }
}

/// The status of a suggestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    Open,
    Accepted,
    Done,
    Dismissed,
}

impl Progress {
    pub const ALL: [Self; 4] = [Self::Open, Self::Accepted, Self::Done, Self::Dismissed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Accepted => "accepted",
            Self::Done => "done",
            Self::Dismissed => "dismissed",
        }
    }

    /// Parses the JSON name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|progress| progress.as_str() == name)
    }

    /// Returns the allowed transitions. A closed suggestion can be reopened.
    pub const fn next(self) -> &'static [Self] {
        match self {
            Self::Open => &[Self::Accepted, Self::Done, Self::Dismissed],
            Self::Accepted => &[Self::Done, Self::Dismissed, Self::Open],
            Self::Done | Self::Dismissed => &[Self::Open],
        }
    }
}

/// Creates the suggestions of a week: one for each dimension under 0.7 and for each of the top
/// three issues, where at least three traces of two sessions show it, most severe first. Duplicates
/// are merged.
pub fn suggest(week: &Synthesis, templates: &Templates) -> Vec<Suggestion> {
    let issues = week.issues.iter().filter(|issue| is_shown_often(issue)).take(TOP_ISSUES);
    let by_issue = issues.filter_map(|issue| of_issue(week, issue, templates));
    let wanting = week.dimensions.iter().filter(|standing| is_wanting(standing));
    let by_dimension = wanting.filter_map(|standing| of_dimension(week, standing, templates));
    let mut found: Vec<Suggestion> = Vec::new();
    for suggestion in by_issue.chain(by_dimension) {
        match found.iter_mut().find(|known| known.key == suggestion.key) {
            Some(known) => known.join(suggestion),
            None => found.push(suggestion),
        }
    }
    found.sort_by_key(|suggestion| suggestion.severity);
    found
}

fn is_shown_often(issue: &CommonIssue) -> bool {
    issue.sessions.len() >= MIN_SESSIONS && issue.traces >= MIN_TRACES
}

fn is_wanting(standing: &DimensionStats) -> bool {
    standing.mean().is_some_and(|mean| mean < BELOW_TARGET)
}

fn severity(standing: Option<&DimensionStats>) -> Severity {
    let is_high = standing.and_then(DimensionStats::mean).is_some_and(|mean| mean < POOR);
    if is_high { Severity::High } else { Severity::Medium }
}

fn of_issue(week: &Synthesis, issue: &CommonIssue, templates: &Templates) -> Option<Suggestion> {
    let agents = issue.agents.iter().map(|one| (one.agent.as_deref(), one.sessions));
    let kind = templates.kind(&week.coding_agents, agents);
    let template = templates.for_issue(&issue.dimension, &issue.key, kind)?;
    let standing = week.dimensions.iter().find(|standing| standing.name == issue.dimension);
    let count = issue.sessions.len();
    let reason = format!("{} below {BELOW_TARGET}: {}", counted(count, "session"), issue.title);
    Some(made(template, &issue.dimension, Some(issue), severity(standing), reason))
}

fn of_dimension(
    week: &Synthesis,
    standing: &DimensionStats,
    templates: &Templates,
) -> Option<Suggestion> {
    let low = &standing.low;
    if low.count < MIN_SESSIONS || low.traces < MIN_TRACES {
        return None;
    }
    let mut issues = week.issues.iter().filter(|issue| is_shown_often(issue));
    let issue = issues.find(|issue| issue.dimension == standing.name);
    // What is suggested is for the agents of the low sessions, not for those of most sessions.
    let agents = low.agents.iter().map(|one| (one.agent.as_deref(), one.sessions));
    let kind = templates.kind(&week.coding_agents, agents);
    let template = match issue {
        Some(issue) => templates.for_issue(&standing.name, &issue.key, kind),
        None => templates.for_dimension(&standing.name, kind),
    }?;
    let mean = standing.mean()?;
    let reason = format!("mean {mean:.2} over {}", counted(standing.n, "session"));
    let mut made = made(template, &standing.name, issue, severity(Some(standing)), reason);
    if made.sessions.is_empty() {
        made.sessions = low.sessions.iter().take(MAX_SESSIONS).cloned().collect();
    }
    Some(made)
}

fn made(
    template: &Template,
    dimension: &str,
    issue: Option<&CommonIssue>,
    severity: Severity,
    reason: String,
) -> Suggestion {
    let words = issue.map_or("low scores", |issue| issue.title.as_str());
    // What is suggested is the same while the template's title is; one about any issue is another
    // one for each issue.
    let of_issue = issue.filter(|_| template.text.contains("{issue}"));
    let name = match of_issue {
        Some(issue) => format!("{} {}", template.title, issue.key),
        None => template.title.clone(),
    };
    let text = template.text.replace("{issue}", words).trim().to_owned();
    let sessions = issue.map(|issue| issue.sessions.iter().take(MAX_SESSIONS).cloned().collect());
    Suggestion {
        key: key(dimension, template.edit, &name),
        severity,
        dimension: dimension.to_owned(),
        title: template.title.clone(),
        edit: template.edit,
        text,
        reason,
        sessions: sessions.unwrap_or_default(),
    }
}

/// Characters of a key.
const KEY_CHARS: usize = 16;

/// Returns the key of a suggestion: a hash of its dimension, type and name. The name is what stays
/// while text and evidence change.
pub fn key(dimension: &str, edit: Edit, name: &str) -> String {
    let whole = [dimension, edit.as_str(), name].join("\u{0}");
    let hash = Sha256::digest(whole.as_bytes());
    hash.iter().take(KEY_CHARS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether a text has the form of a key.
pub fn is_key(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == KEY_CHARS && text.bytes().all(is_digit)
}

/// Gives suggestions the keys of earlier ones that are the same in other words, so that what is done
/// stays done. Templates are the same by their text, which older versions made keys of; a model's
/// are by their titles, too.
pub fn keep_keys<'a>(
    suggestions: &mut [Suggestion],
    by: &AdviceOrigin,
    earlier: &(impl Iterator<Item = &'a Suggestion> + Clone),
) {
    let is_by_model = by.by != advice::TEMPLATES;
    let mut taken: BTreeSet<String> = suggestions.iter().map(|one| one.key.clone()).collect();
    for suggestion in suggestions {
        let is_same = |known: &&Suggestion| {
            let place = (&known.dimension, known.edit) == (&suggestion.dimension, suggestion.edit);
            let says = known.text == suggestion.text
                || is_by_model && issue::is_alike(&known.title, &suggestion.title);
            place && says && !taken.contains(&known.key)
        };
        if earlier.clone().any(|known| known.key == suggestion.key) {
            continue;
        }
        if let Some(known) = earlier.clone().find(is_same) {
            taken.insert(known.key.clone());
            suggestion.key.clone_from(&known.key);
        }
    }
}

impl Suggestion {
    /// Merges the reason and sessions of a duplicate.
    fn join(&mut self, other: Self) {
        self.severity = self.severity.min(other.severity);
        self.reason = format!("{}; {}", self.reason, other.reason);
        for session in other.sessions {
            if self.sessions.len() < MAX_SESSIONS && !self.sessions.contains(&session) {
                self.sessions.push(session);
            }
        }
    }
}

#[cfg(test)]
mod tests;
