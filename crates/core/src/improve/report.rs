use serde::{Deserialize, Serialize};

use super::agent_week::AgentWeek;
use super::events::WeekEvent;
use super::proposal::{Effort, Proposal, Trend};
use super::tracking::FadedPattern;
use crate::counted::counted;
use crate::quality::learnings;
use crate::quality::report::WeekReport;
use crate::review::metrics::{MetricName, WeeklyMetric};
use crate::review::weekly::{WeeklyMetrics, change_text, interval_text, value_text};

/// The layout of a terminal.
mod text;
mod markdown;
mod model_note;
/// The document as it is sent: short, and the same for every channel.
pub mod digest;

pub use model_note::ModelNote;

/// What computed events are worth.
pub const FALSE_ALARMS: &str = "changes in traffic: at most 1 of 20 quarters has a false one";

/// The weekly document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FeedbackReport {
    /// The first day of the week.
    pub week: String,
    /// The agents that it is about.
    pub agents: Vec<String>,
    /// Highest priority first.
    pub proposals: Vec<Proposal>,
    /// Earlier proposals that have too few failures left, or none.
    #[serde(default)]
    pub faded: Vec<FadedPattern>,
    /// Events of the week.
    pub events: Vec<WeekEvent>,
    /// What a model was asked for, and what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelNote>,
    /// Traces that were not read because there were too many: the oldest.
    pub left_out: usize,
    /// Samples of this and later weeks whose review is not finished.
    #[serde(default)]
    pub open: Vec<OpenReview>,
    /// The section about the quality of sessions; `None` without a stored one.
    #[serde(default)]
    pub quality: Option<WeekReport>,
    /// Metrics by agent.
    #[serde(default)]
    pub metrics: Vec<(String, WeeklyMetrics)>,
    /// Failures by agent and group, from which later weeks measure what a change was worth.
    #[serde(default)]
    pub counts: Vec<AgentWeek>,
}

/// A sample whose review is not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenReview {
    /// First day of the week of the sample.
    pub week: String,
    /// `None` for traces without an agent.
    pub agent: Option<String>,
    pub reviewed: u64,
    pub drawn: u64,
}

impl OpenReview {
    /// Returns it as a line.
    pub fn line(&self) -> String {
        let agent = self.agent.as_ref().map(|agent| format!("{agent}: ")).unwrap_or_default();
        let left = self.drawn.saturating_sub(self.reviewed);
        format!(
            "{agent}{left} of {} traces of the week of {} wait for review",
            self.drawn, self.week
        )
    }
}

impl FeedbackReport {
    /// Returns the part about one agent, which is stored as one document.
    #[must_use]
    pub fn of_agent(&self, agent: &str) -> Self {
        let is_about = |other: &WeekEvent| other.agent.as_deref().is_none_or(|one| one == agent);
        let proposals = self.proposals.iter().filter(|one| one.agent == agent);
        Self {
            week: self.week.clone(),
            agents: vec![agent.to_owned()],
            proposals: proposals.cloned().collect(),
            events: self.events.iter().filter(|event| is_about(event)).cloned().collect(),
            faded: self.faded.iter().filter(|one| one.agent == agent).cloned().collect(),
            model: self.model.clone(),
            left_out: self.left_out,
            open: self.open.clone(),
            // It is stored as a report of its own.
            quality: None,
            metrics: self.metrics.iter().filter(|(name, _)| name == agent).cloned().collect(),
            counts: self.counts.iter().filter(|week| week.agent == agent).cloned().collect(),
        }
    }

    /// Returns the text for a terminal.
    pub fn to_text(&self) -> String {
        text::text(self)
    }

    /// Returns the document as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::markdown(self)
    }

    /// Returns a learnings file with missing proposals appended; `None` if it has them all.
    pub fn appended_to(&self, file: &str) -> Option<String> {
        let entry = |(number, proposal): (usize, &Proposal)| {
            let text = markdown::section(number, proposal);
            // Headings of a week's entries are below that of the week.
            (proposal.id.clone(), format!("#{}", text.trim_start()))
        };
        let entries: Vec<(String, String)> = (1..).zip(&self.proposals).map(entry).collect();
        learnings::appended_entries(file, &self.week, &entries)
    }

    /// Returns the agents as a phrase.
    pub fn agent_words(&self) -> String {
        if self.agents.is_empty() { "no agent".to_owned() } else { self.agents.join(", ") }
    }
}

/// The metrics of the snapshot that have a value.
pub fn snapshot(metrics: &WeeklyMetrics) -> impl Iterator<Item = &WeeklyMetric> {
    let is_shown = |metric: &&WeeklyMetric| {
        metric.name != MetricName::DatasetGrowth && metric.weighted.value.is_some()
    };
    metrics.metrics.iter().filter(is_shown)
}

/// Returns a metric with its target, interval and change: `82.0% (target: 90.0%) ▼ …`.
pub fn metric_words(metric: &WeeklyMetric, metrics: &WeeklyMetrics) -> String {
    let Some(value) = metric.weighted.value else { return "unknown".to_owned() };
    let shown = value_text(metric.name, value);
    if metric.name == MetricName::TracesReviewed {
        let target = value_text(metric.name, metric.target);
        let provisional = if metrics.provisional { ", not finished" } else { "" };
        return format!("{shown} / {target} target{provisional}");
    }
    let interval = metric.weighted.interval.map(|it| interval_text(metric.name, it));
    let interval = interval.map(|it| format!("; 95% CI {it}")).unwrap_or_default();
    let target = value_text(metric.name, metric.target);
    let (n, change) = (metric.weighted.n, change_words(metric));
    format!("{shown} (target: {target}){change}{interval}, n {n}")
}

/// `  ▼ −3 points from last week`; an interval that contains zero is no change.
fn change_words(metric: &WeeklyMetric) -> String {
    let Some(change) = metric.change else { return String::new() };
    let by = change_text(metric.name, change.value);
    match change.signal {
        true if change.value > 0.0 => format!("  ▲ {by} from last week"),
        true => format!("  ▼ {by} from last week"),
        false => format!("  ── no clear change ({by})"),
    }
}

/// `6 users in 3 sessions, since release 1.1`.
pub fn affected_words(proposal: &Proposal) -> String {
    let affected = &proposal.affected;
    let users = match affected.users {
        0 => counted(affected.sessions, "session"),
        users => {
            format!("{} in {}", counted(users, "user"), counted(affected.sessions, "session"))
        }
    };
    match &affected.since_release {
        Some(release) => format!("{users}, since release {release}"),
        None => users,
    }
}

/// The cited files.
pub fn files_words(proposal: &Proposal) -> String {
    if proposal.files.is_empty() {
        "not found in code".to_owned()
    } else {
        proposal.files.join(", ")
    }
}

/// The effort with what it means.
pub const fn effort_words(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "Low (text only)",
        Effort::Medium => "Medium (change of a tool)",
        Effort::High => "High (new tool, source or model)",
    }
}

/// The development over weeks.
pub const fn trend_words(trend: Trend) -> &'static str {
    match trend {
        Trend::New => "new",
        Trend::Growing => "growing",
        Trend::Steady => "steady",
        Trend::Shrinking => "shrinking",
        Trend::Back => "back",
        Trend::Gone => "gone",
    }
}

/// Without control characters: names come from traces.
fn printable(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}
