//! What could be changed so that next week is better: exact edits, each with its reason.

/// The texts that suggestions are made from.
mod template;
/// Suggestions of a model.
pub mod advice;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::quality::synthesis::{CommonIssue, POOR, Standing, Synthesis, WANTING};
pub use template::{BadTemplate, Template, Templates};

/// Issues that get a suggestion each.
const TOP_ISSUES: usize = 3;
/// Sessions that a suggestion cites.
const MOST_SESSIONS: usize = 10;

/// A change that would make sessions better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// What it is known by from week to week: the same advice has the same key.
    pub key: String,
    pub severity: Severity,
    /// Which dimension it is to lift.
    pub dimension: String,
    /// What to do, in a line.
    pub title: String,
    pub edit: Edit,
    /// The text to add there.
    pub text: String,
    /// What in the week asks for it.
    pub reason: String,
    /// The sessions that show it.
    pub sessions: Vec<String>,
}

/// How much a suggestion matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The dimension stands under 0.5.
    High,
    /// It stands under 0.7, or an issue asks for it.
    Medium,
}

impl Severity {
    /// Every severity, the greatest first.
    pub const ALL: [Self; 2] = [Self::High, Self::Medium];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word)
    }
}

/// What a suggestion changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Edit {
    /// Lines of the project's instructions.
    #[serde(rename = "CLAUDE.md")]
    Instructions,
    /// The text of a skill.
    #[serde(rename = "skill")]
    Skill,
    /// The text of a prompt.
    #[serde(rename = "prompt")]
    Prompt,
}

impl Edit {
    /// Everything that can be changed.
    pub const ALL: [Self; 3] = [Self::Instructions, Self::Skill, Self::Prompt];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "CLAUDE.md",
            Self::Skill => "skill",
            Self::Prompt => "prompt",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|edit| edit.as_str() == word)
    }
}

/// How far a suggestion has come.
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

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|progress| progress.as_str() == word)
    }

    /// Where it can go from here. What is settled can be opened again.
    pub const fn next(self) -> &'static [Self] {
        match self {
            Self::Open => &[Self::Accepted, Self::Done, Self::Dismissed],
            Self::Accepted => &[Self::Done, Self::Dismissed, Self::Open],
            Self::Done | Self::Dismissed => &[Self::Open],
        }
    }
}

/// Makes the suggestions of a week: one for each dimension under 0.7 and for each of the top three
/// issues, the gravest first. Two that would say the same are one.
pub fn suggest(week: &Synthesis, templates: &Templates) -> Vec<Suggestion> {
    let issues = week.issues.iter().take(TOP_ISSUES);
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

fn is_wanting(standing: &Standing) -> bool {
    standing.mean().is_some_and(|mean| mean < WANTING)
}

fn severity(standing: Option<&Standing>) -> Severity {
    let is_high = standing.and_then(Standing::mean).is_some_and(|mean| mean < POOR);
    if is_high { Severity::High } else { Severity::Medium }
}

fn of_issue(week: &Synthesis, issue: &CommonIssue, templates: &Templates) -> Option<Suggestion> {
    let template = templates.for_issue(&issue.dimension, &issue.key)?;
    let standing = week.dimensions.iter().find(|standing| standing.name == issue.dimension);
    let count = issue.sessions.len();
    let reason = format!("{count} sessions below {WANTING}: {}", issue.title);
    Some(made(template, &issue.dimension, Some(issue), severity(standing), reason))
}

fn of_dimension(
    week: &Synthesis,
    standing: &Standing,
    templates: &Templates,
) -> Option<Suggestion> {
    let issue = week.issues.iter().find(|issue| issue.dimension == standing.name);
    let template = match issue {
        Some(issue) => templates.for_issue(&standing.name, &issue.key),
        None => templates.for_dimension(&standing.name),
    }?;
    let mean = standing.mean()?;
    let sessions = if standing.n == 1 { "session" } else { "sessions" };
    let reason = format!("{}: mean {mean:.2} over {} {sessions}", standing.name, standing.n);
    let mut made = made(template, &standing.name, issue, severity(Some(standing)), reason);
    if made.sessions.is_empty() {
        let poor = week.poor.iter().map(|outlier| outlier.session.clone());
        made.sessions = poor.take(MOST_SESSIONS).collect();
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
    let text = template.text.replace("{issue}", words).trim().to_owned();
    let sessions = issue.map(|issue| issue.sessions.iter().take(MOST_SESSIONS).cloned().collect());
    Suggestion {
        key: key(dimension, template.edit, &text),
        severity,
        dimension: dimension.to_owned(),
        title: template.title.clone(),
        edit: template.edit,
        text,
        reason,
        sessions: sessions.unwrap_or_default(),
    }
}

/// What advice is known by: the same words on the same dimension are the same advice.
pub fn key(dimension: &str, edit: Edit, text: &str) -> String {
    let whole = [dimension, edit.as_str(), text].join("\u{0}");
    let hash = Sha256::digest(whole.as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl Suggestion {
    /// Takes the reason and the sessions of another that says the same.
    fn join(&mut self, other: Self) {
        self.severity = self.severity.min(other.severity);
        self.reason = format!("{}; {}", self.reason, other.reason);
        for session in other.sessions {
            if self.sessions.len() < MOST_SESSIONS && !self.sessions.contains(&session) {
                self.sessions.push(session);
            }
        }
    }
}

#[cfg(test)]
mod tests;
