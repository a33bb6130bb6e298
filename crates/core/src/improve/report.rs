use serde::Serialize;

use super::events::WeekEvent;
use super::proposal::{Effort, Proposal, Trend};
use super::tracking::FadedPattern;
use crate::review::metrics::MetricName;
use crate::review::weekly::{WeeklyMetrics, change_text, value_text};

const WIDE: &str = "══════════════════════════════════════════════════════════════";
/// What computed events are worth.
const FALSE_ALARMS: &str = "(changes in traffic: at most 1 of 20 quarters has a false one)";
const THIN: &str = "──────────────────────────────────────────────────────────────";

/// The part that a model had in a document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelNote {
    /// Its name.
    pub name: String,
    /// Calls of tools.
    pub steps: usize,
    /// What it proposed and what was refused, with the reasons.
    pub refused: Vec<String>,
    /// Why it did not finish.
    pub error: Option<String>,
    /// What its calls cost; `None` where a price is unknown.
    pub dollars: Option<f64>,
    /// The trace of the run, where it was recorded.
    pub trace: Option<String>,
}

impl ModelNote {
    /// Returns one line for readers.
    pub fn line(&self) -> String {
        let mut line = format!("{} used {} tool calls", self.name, self.steps);
        if let Some(dollars) = self.dollars {
            line += &format!(" for {dollars:.4} USD");
        }
        if !self.refused.is_empty() {
            line += &format!("; {} of its proposals were refused", self.refused.len());
        }
        if let Some(error) = &self.error {
            line += &format!("; it did not finish: {error}");
        }
        line
    }
}

/// The weekly document.
#[derive(Clone, Debug, Serialize)]
pub struct FeedbackReport {
    /// The first day of the week.
    pub week: String,
    /// The agents that it is about.
    pub agents: Vec<String>,
    /// Highest priority first.
    pub proposals: Vec<Proposal>,
    /// Earlier proposals that have too few failures left, or none.
    pub faded: Vec<FadedPattern>,
    /// Events of the week.
    pub events: Vec<WeekEvent>,
    /// What a model was asked for, and what became of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelNote>,
    /// Traces that were not read because there were too many: the oldest.
    pub left_out: usize,
    #[serde(skip)]
    pub metrics: Vec<(String, WeeklyMetrics)>,
}

impl FeedbackReport {
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
        if !self.faded.is_empty() {
            text += &format!("\n{THIN}\nEARLIER PROPOSALS\n{THIN}\n");
            text += &self.faded.iter().map(|one| format!("{}\n", faded(one))).collect::<String>();
        }
        if let Some(model) = &self.model {
            text += &format!("\nModel: {}\n", model.line());
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
                impact(proposal),
                effort(proposal.effort),
                escaped(&files(proposal))
            );
            if let Some(diff) = &proposal.diff {
                // Indented: no line of a prompt ends the block.
                let lines = diff.lines().map(|line| format!("    {line}\n"));
                text += &format!("\n{}", lines.collect::<String>());
            }
        }
        if !self.faded.is_empty() {
            text += "\n## Earlier proposals\n\n";
            let lines = self.faded.iter().map(|one| format!("- {}\n", escaped(&faded(one))));
            text += &lines.collect::<String>();
        }
        if let Some(model) = &self.model {
            text += &format!("\nModel: {}\n", escaped(&model.line()));
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
        impact(proposal),
        effort(proposal.effort),
    )
}

/// The diff below the change.
fn diff_text(proposal: &Proposal) -> String {
    let diff = proposal.diff.as_deref().unwrap_or_default();
    diff.lines().map(|line| format!("            {line}\n")).collect()
}

fn faded(pattern: &FadedPattern) -> String {
    let FadedPattern { title, failures, before, trend, .. } = pattern;
    match trend {
        Trend::Gone => format!("{title}: gone, {before} failures before"),
        _ => format!("{title}: {failures} failures this week, {before} before"),
    }
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

fn impact(proposal: &Proposal) -> String {
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    let most = if proposal.impact.at_most { "at most " } else { "" };
    let [lower, upper] = proposal.impact.interval;
    format!(
        "{most}+{} of traffic (95% CI {} to {})",
        percent(proposal.impact.value),
        percent(lower),
        percent(upper)
    )
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
