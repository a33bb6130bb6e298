use super::{
    FALSE_ALARMS, FeedbackReport, affected_words, effort_words, files_words, metric_words,
    printable, snapshot,
};
use crate::improve::events::WeekEvent;
use crate::improve::priority::PriorityBand;
use crate::improve::proposal::Proposal;
use crate::improve::tracking::FadedPattern;
use crate::review::metrics::WeeklyMetric;

/// The document as Markdown.
pub(super) fn markdown(report: &FeedbackReport) -> String {
    let mut text = format!(
        "# Weekly improvement report: {}\n\nWeek of {}\n",
        escaped(&report.agent_words()),
        report.week
    );
    for (agent, metrics) in &report.metrics {
        let line = |metric: &WeeklyMetric| {
            format!("- {}: {}\n", metric.name.title(), escaped(&metric_words(metric, metrics)))
        };
        let lines: String = snapshot(metrics).map(line).collect();
        let lines = if lines.is_empty() { "Not enough reviews and feedback.\n" } else { &lines };
        text += &format!("\n## Metrics of {}\n\n{lines}", escaped(agent));
    }
    for (number, proposal) in (1..).zip(&report.proposals) {
        text += &section(number, proposal);
    }
    if !report.faded.is_empty() {
        text += "\n## Earlier proposals\n\n";
        text += &listed(report.faded.iter().map(FadedPattern::line));
    }
    if let Some(model) = &report.model {
        text += &format!("\nModel: {}\n", escaped(&model.line()));
    }
    text += "\n## Events of the week\n\n";
    text += &listed(report.events.iter().map(WeekEvent::line));
    text += &format!("\n({})\n", escaped(FALSE_ALARMS));
    if !report.open.is_empty() {
        text += "\n## Still open\n\n";
        text += &listed(report.open.iter().map(super::OpenReview::line));
    }
    if let Some(quality) = &report.quality {
        // The section's own title is one level below the document's.
        let below = quality.to_markdown().replace("\n#", "\n##");
        text += &format!("\n#{below}");
    }
    printable(&text)
}

fn listed(lines: impl Iterator<Item = String>) -> String {
    let lines: String = lines.map(|line| format!("- {}\n", escaped(&line))).collect();
    if lines.is_empty() { "None.\n".to_owned() } else { lines }
}

/// A proposal, as a section of the second level.
pub(super) fn section(number: usize, proposal: &Proposal) -> String {
    let Proposal { title, reason, change, .. } = proposal;
    let component = proposal.component.title();
    let mut text = format!("\n## {number}. {} ({component})\n\n", escaped(title));
    text += &fields(&[
        ("Agent", &proposal.agent),
        ("Priority", PriorityBand::of(proposal.priority).as_str()),
        ("Cause", reason),
        ("Change", change),
        ("Evidence", &proposal.evidence.join(", ")),
        ("Affected", &affected_words(proposal)),
        ("Impact", &proposal.impact.text()),
        ("Effort", effort_words(proposal.effort)),
        ("Files", &files_words(proposal)),
    ]);
    if let Some(diff) = &proposal.diff {
        text += &format!("\n{}", code_block(diff));
    }
    text
}

fn fields(fields: &[(&str, &str)]) -> String {
    fields.iter().map(|(name, value)| format!("- {name}: {}\n", escaped(value))).collect()
}

/// A block of code. Indented: no line of a prompt ends it.
fn code_block(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Markdown that shows a text as it is.
fn escaped(text: &str) -> String {
    let special = |c: char| "\\`*_[]<>#|!".contains(c);
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}
