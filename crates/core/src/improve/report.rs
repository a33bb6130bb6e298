use serde::{Deserialize, Serialize};

use super::agent_week::AgentWeek;
use super::events::WeekEvent;
use super::proposal::{Effort, Proposal};
use crate::review::metrics::MetricName;
use crate::review::weekly::{WeeklyMetrics, change_text, value_text};

const WIDE: &str = "══════════════════════════════════════════════════════════════";
/// What computed events are worth.
const FALSE_ALARMS: &str = "(changes in traffic: at most 1 of 20 quarters has a false one)";
const THIN: &str = "──────────────────────────────────────────────────────────────";

/// The weekly document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeedbackReport {
    /// The first day of the week.
    pub week: String,
    /// The agents that it is about.
    pub agents: Vec<String>,
    /// Highest priority first.
    pub proposals: Vec<Proposal>,
    /// Events of the week.
    pub events: Vec<WeekEvent>,
    /// Traces that were not read because there were too many: the oldest.
    pub left_out: usize,
    /// Metrics by agent.
    #[serde(default)]
    pub metrics: Vec<(String, WeeklyMetrics)>,
    /// Failures by agent and group, from which later weeks measure what a change was worth.
    #[serde(default)]
    pub counts: Vec<AgentWeek>,
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
            left_out: self.left_out,
            metrics: self.metrics.iter().filter(|(name, _)| name == agent).cloned().collect(),
            counts: self.counts.iter().filter(|week| week.agent == agent).cloned().collect(),
        }
    }

    /// Returns the text for a terminal.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let agents =
            if self.agents.is_empty() { "no agent".to_owned() } else { self.agents.join(", ") };
        text += &format!(
            "{WIDE}\n  WEEKLY IMPROVEMENT REPORT — {agents}\n  Week of {}\n{WIDE}\n",
            self.week
        );
        for (agent, metrics) in &self.metrics {
            text += &format!("\nMETRICS SNAPSHOT  {agent}\n{}", snapshot(metrics));
        }
        if self.proposals.is_empty() {
            text += "\nNo proposals: no pattern has three failed traces of two sessions.\n";
        }
        if self.left_out > 0 {
            text +=
                &format!("\n{} traces were left out: too many for one report.\n", self.left_out);
        }
        for (number, proposal) in (1..).zip(&self.proposals) {
            text += &format!("\n{THIN}\n{}", proposal_text(number, proposal));
        }
        text += &format!("\n{WIDE}\n  EVENTS THIS WEEK\n");
        for event in &self.events {
            text += &format!("  - {}\n", event.line());
        }
        if self.events.is_empty() {
            text += "  none\n";
        }
        text += &format!("  {FALSE_ALARMS}\n");
        printable(&format!("{text}{WIDE}\n"))
    }

    /// Returns the document as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "# Weekly improvement report: {}\n\nWeek of {}\n",
            escaped(&self.agents.join(", ")),
            self.week
        );
        for (agent, metrics) in &self.metrics {
            let lines = snapshot(metrics);
            let shown = lines.lines().map(|line| format!("- {}\n", escaped(line.trim())));
            text += &format!("\n## Metrics of {}\n\n{}", escaped(agent), shown.collect::<String>());
        }
        for (number, proposal) in (1..).zip(&self.proposals) {
            let Proposal { title, reason, change, .. } = proposal;
            text +=
                &format!("\n## {number}. {} ({})\n\n", escaped(title), proposal.component.title());
            text += &format!(
                "- Agent: {}\n- Cause: {}\n- Change: {}\n",
                escaped(&proposal.agent),
                escaped(reason),
                escaped(change)
            );
            text += &format!(
                "- Evidence: {}\n- Affected: {}\n- Impact: {}\n- Effort: {}\n- Files: {}\n",
                escaped(&proposal.evidence.join(", ")),
                escaped(&affected(proposal)),
                proposal.impact.text(),
                effort(proposal.effort),
                escaped(&files(proposal))
            );
            if let Some(diff) = &proposal.diff {
                // Indented: no line of a prompt ends the block.
                let lines = diff.lines().map(|line| format!("    {line}\n"));
                text += &format!("\n{}", lines.collect::<String>());
            }
        }
        text += "\n## Events of the week\n\n";
        for event in &self.events {
            text += &format!("- {}\n", escaped(&event.line()));
        }
        if self.events.is_empty() {
            text += "None.\n";
        }
        text += &format!("\n{}\n", escaped(FALSE_ALARMS));
        printable(&text)
    }
}

fn snapshot(metrics: &WeeklyMetrics) -> String {
    let line = |metric: &crate::review::metrics::WeeklyMetric| {
        let value = metric.weighted.value?;
        let change = metric.change.as_ref().map_or_else(String::new, |change| {
            format!("  {} from last week", change_text(metric.name, change.value))
        });
        let (value, target) =
            (value_text(metric.name, value), value_text(metric.name, metric.target));
        Some(format!(
            "  {:<20}{value} (target: {target}){change}\n",
            format!("{}:", metric.name.title())
        ))
    };
    let wanted = |metric: &&crate::review::metrics::WeeklyMetric| {
        !matches!(metric.name, MetricName::DatasetGrowth)
    };
    let lines: String = metrics.metrics.iter().filter(wanted).filter_map(line).collect();
    if lines.is_empty() { "  not enough reviews and feedback\n".to_owned() } else { lines }
}

fn proposal_text(number: usize, proposal: &Proposal) -> String {
    let shown: Vec<&str> = proposal.evidence.iter().take(3).map(String::as_str).collect();
    let trend = format!("{:?}", proposal.trend).to_lowercase();
    format!(
        "PROPOSAL {number}  [Priority: {:.4}]  [Component: {}]\n{THIN}\nCluster:    {} ({} failures this week, {trend})\nAgent:      {}\nAffected:   {}\nRoot cause: {}\n            {}\nProposal:   {}\n{}Evidence:   {} ({} traces)\nImpact:     {}\nEffort:     {}\n",
        proposal.priority,
        proposal.component.title(),
        proposal.title,
        proposal.failures,
        proposal.agent,
        affected(proposal),
        proposal.reason,
        files(proposal),
        proposal.change,
        diff_text(proposal),
        shown.join(", "),
        proposal.evidence.len(),
        proposal.impact.text(),
        effort(proposal.effort),
    )
}

/// The diff below the change.
fn diff_text(proposal: &Proposal) -> String {
    let diff = proposal.diff.as_deref().unwrap_or_default();
    diff.lines().map(|line| format!("            {line}\n")).collect()
}

fn affected(proposal: &Proposal) -> String {
    let affected = &proposal.affected;
    let users = match affected.users {
        0 => format!("{} sessions", affected.sessions),
        users => format!("{users} users in {} sessions", affected.sessions),
    };
    match &affected.since_release {
        Some(release) => format!("{users}, since release {release}"),
        None => users,
    }
}

fn files(proposal: &Proposal) -> String {
    if proposal.files.is_empty() {
        "not found in code".to_owned()
    } else {
        proposal.files.join(", ")
    }
}

const fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Low => "Low (text only)",
        Effort::Medium => "Medium (change of a tool)",
        Effort::High => "High (new tool, source or model)",
    }
}

/// Without control characters: names come from traces.
fn printable(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// Markdown that shows a text as it is.
fn escaped(text: &str) -> String {
    let special = |c: char| "\\`*_[]<>#|!".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}
