use serde::{Deserialize, Serialize};

use super::{
    FALSE_ALARMS, FeedbackReport, OpenReview, affected_words, effort_words, files_words,
    metric_words, printable, snapshot, trend_words,
};
use crate::improve::events::WeekEvent;
use crate::improve::priority::PriorityBand;
use crate::improve::proposal::Proposal;
use crate::record::limit::elide;
use crate::review::metrics::WeeklyMetric;

/// Proposals that are sent in full; the document has the others.
const MAX_PROPOSALS: usize = 8;
/// Events and open reviews that are sent.
const MAX_LINES: usize = 12;
/// Bytes of a text.
const MAX_TEXT: usize = 600;
/// Bytes of a title, a name or an id.
const MAX_NAME: usize = 150;
/// Bytes of a diff.
const MAX_DIFF: usize = 2_000;
/// Traces that are named of a proposal's evidence.
const MAX_EVIDENCE: usize = 5;

/// A weekly document as receivers get it. Every text has a bound; none is trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportDigest {
    /// First day of the week.
    pub week: String,
    pub agents: String,
    /// Name and value of each metric.
    pub metrics: Vec<DigestMetric>,
    /// Highest priority first.
    pub proposals: Vec<ProposalDigest>,
    /// Proposals that only the document has.
    pub more: usize,
    pub events: Vec<String>,
    /// Reviews that are not finished.
    pub open: Vec<String>,
    /// The quality of sessions in a sentence or two.
    pub quality: Option<String>,
    /// URL of the page of the document.
    pub url: Option<String>,
}

/// A metric of the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestMetric {
    pub name: String,
    pub value: String,
}

/// A proposal as receivers get it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProposalDigest {
    pub id: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    pub component: String,
    pub agent: String,
    pub title: String,
    /// Failures of the week, and their trend.
    pub cluster: String,
    pub affected: String,
    pub reason: String,
    pub change: String,
    pub diff: Option<String>,
    /// Ids of traces.
    pub evidence: Vec<String>,
    pub impact: String,
    pub effort: String,
    pub files: String,
}

impl ReportDigest {
    /// Shortens a document. `url` is that of its page.
    pub fn new(report: &FeedbackReport, url: Option<String>) -> Self {
        let several = report.metrics.len() > 1;
        let of_agent = |(agent, metrics): &(String, _)| {
            let name = |metric: &WeeklyMetric| match several {
                true => short(&format!("{agent}: {}", metric.name.title()), MAX_NAME),
                false => metric.name.title().to_owned(),
            };
            let one = |metric| DigestMetric {
                name: name(metric),
                value: short(&metric_words(metric, metrics), MAX_TEXT),
            };
            snapshot(metrics).map(one).collect::<Vec<_>>()
        };
        let mut metrics: Vec<DigestMetric> = report.metrics.iter().flat_map(of_agent).collect();
        metrics.truncate(MAX_LINES);
        let events = report.events.iter().map(WeekEvent::line);
        Self {
            week: report.week.clone(),
            agents: short(&report.agent_words(), MAX_NAME),
            metrics,
            proposals: report.proposals.iter().take(MAX_PROPOSALS).map(Into::into).collect(),
            more: report.proposals.len().saturating_sub(MAX_PROPOSALS),
            events: lines(events),
            open: lines(report.open.iter().map(OpenReview::line)),
            quality: report.quality.as_ref().map(|it| short(&it.summary().join(" "), MAX_TEXT)),
            url,
        }
    }

    /// Returns the heading.
    pub fn title(&self) -> String {
        format!("Weekly improvement report {}: {}", self.week, self.agents)
    }

    /// Returns the document in a sentence.
    pub fn headline(&self) -> String {
        let first = self.proposals.first();
        let count = self.proposals.len() + self.more;
        match (first, count) {
            (None, _) => "No pattern of failures needs a change.".to_owned(),
            (Some(first), 1) => format!("One proposal: {}.", first.title),
            (Some(first), count) => format!("{count} proposals, first: {}.", first.title),
        }
    }

    /// Returns the plain text of a message.
    pub fn to_text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.title(), self.headline());
        for DigestMetric { name, value } in &self.metrics {
            text += &format!("\n{name}: {value}");
        }
        for (number, proposal) in (1..).zip(&self.proposals) {
            text += &format!("\n\n{number}. {}", proposal.to_text());
        }
        if self.more > 0 {
            text += &format!("\n\n{} more proposals are in the document.", self.more);
        }
        text += &part("Events", &self.events);
        text += &format!("\n({FALSE_ALARMS})");
        if !self.open.is_empty() {
            text += &part("Still open", &self.open);
        }
        if let Some(quality) = &self.quality {
            text += &format!("\n\nSession quality\n{quality}");
        }
        if let Some(url) = &self.url {
            text += &format!("\n\n{url}");
        }
        text + "\n"
    }
}

fn part(title: &str, lines: &[String]) -> String {
    let none = [String::from("none")];
    let lines = if lines.is_empty() { none.as_slice() } else { lines };
    let lines: String = lines.iter().map(|line| format!("\n- {line}")).collect();
    format!("\n\n{title}{lines}")
}

impl ProposalDigest {
    /// Returns its fields with their names, in the order of the document.
    pub fn fields(&self) -> [(&'static str, String); 8] {
        [
            ("Cluster", self.cluster.clone()),
            ("Affected", self.affected.clone()),
            ("Root cause", self.reason.clone()),
            ("Proposal", self.change.clone()),
            ("Files", self.files.clone()),
            ("Evidence", self.evidence.join(", ")),
            ("Impact", self.impact.clone()),
            ("Effort", self.effort.clone()),
        ]
    }

    /// Returns the heading: `Title (Prompt, priority high)`.
    pub fn heading(&self) -> String {
        format!("{} ({}, priority {})", self.title, self.component, self.priority)
    }

    /// Returns it as plain text.
    pub fn to_text(&self) -> String {
        let fields = self.fields();
        let fields: String =
            fields.iter().map(|(name, value)| format!("\n   {name}: {value}")).collect();
        let diff = self.diff.as_deref().unwrap_or_default();
        let diff: String = diff.lines().map(|line| format!("\n   | {line}")).collect();
        format!("{}{fields}{diff}", self.heading())
    }
}

impl From<&Proposal> for ProposalDigest {
    fn from(proposal: &Proposal) -> Self {
        let trend = trend_words(proposal.trend);
        let evidence = proposal.evidence.iter().take(MAX_EVIDENCE);
        Self {
            id: short(&proposal.id, MAX_NAME),
            priority: PriorityBand::of(proposal.priority).as_str().to_owned(),
            component: proposal.component.title().to_owned(),
            agent: short(&proposal.agent, MAX_NAME),
            title: short(&proposal.title, MAX_NAME),
            cluster: format!("{} failures this week, {trend}", proposal.failures),
            affected: short(&affected_words(proposal), MAX_TEXT),
            reason: short(&proposal.reason, MAX_TEXT),
            change: short(&proposal.change, MAX_TEXT),
            diff: proposal.diff.as_ref().map(|diff| elide(&printable(diff), MAX_DIFF).into_owned()),
            evidence: evidence.map(|id| short(id, MAX_NAME)).collect(),
            impact: proposal.impact.text(),
            effort: effort_words(proposal.effort).to_owned(),
            files: short(&files_words(proposal), MAX_TEXT),
        }
    }
}

fn lines(all: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let left = all.len().saturating_sub(MAX_LINES);
    let more = (left > 0).then(|| format!("{left} more in the document"));
    all.take(MAX_LINES).map(|line| short(&line, MAX_TEXT)).chain(more).collect()
}

/// One line of limited length without control characters.
fn short(text: &str, most: usize) -> String {
    let line: Vec<&str> = text.split(|c: char| c.is_control() || c.is_whitespace()).collect();
    let line = line.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    elide(&line, most).into_owned()
}

#[cfg(test)]
mod tests;
