use ratchet_core::improve::value::{MIN_CLOSED, ProposalLift, ProposalValue, ValueFigure};
use ratchet_server::api::proposals::{ProposalView, ProposalsView};

use crate::print::{one_line, table, without_control_characters};

pub(super) fn list(found: &ProposalsView) -> String {
    if found.proposals.is_empty() {
        return "No proposals. `ratchet feedback --save` stores those of the last week.\n"
            .to_owned();
    }
    let row = |one: &ProposalView| {
        [
            one.id.clone(),
            one.state.clone(),
            one.content.component.as_str().to_owned(),
            one.content.agent.clone().unwrap_or_default(),
            impact(one),
            one.content.effort.as_str().to_owned(),
            one.content.title.clone(),
        ]
        .map(|cell| one_line(&cell))
    };
    let rows: Vec<_> = found.proposals.iter().map(row).collect();
    let header = ["ID", "STATE", "COMPONENT", "AGENT", "IMPACT", "EFFORT", "TITLE"];
    let listed = table(header, &rows);
    match found.total > rows.len() as u64 {
        false => listed,
        true => format!("{listed}{} of {}; see --page\n", rows.len(), found.total),
    }
}

fn impact(one: &ProposalView) -> String {
    match &one.content.impact {
        Some(impact) => format!("{}, n = {}", impact.text(), one.content.failures),
        None => "not measured".to_owned(),
    }
}

pub(super) fn decided(one: &ProposalView) -> String {
    let mut text = format!("{}: {}\n", one.state, one_line(&one.content.title));
    if let Some(prompt) = &one.prompt_version {
        text += &format!("prompt {} v{}\n", one_line(&prompt.name), prompt.version);
    }
    text
}

pub(super) fn one(one: &ProposalView) -> String {
    let content = &one.content;
    let agent = content.agent.as_deref().unwrap_or("no agent alone");
    let mut lines = vec![
        format!("{} ({}, {})", content.title, content.component.as_str(), one.state),
        format!("Agent:    {agent}"),
        format!("Weeks:    {} to {}", one.first_week, one.last_week),
        format!("Cause:    {}", content.reason),
        "Change:".to_owned(),
    ];
    lines.extend(content.change.lines().map(|line| format!("    {line}")));
    let diff = content.diff.iter().flat_map(|diff| diff.lines());
    lines.extend(diff.map(|line| format!("    {line}")));
    lines.push(format!("Impact:   {}", impact(one)));
    lines.push(format!("Effort:   {}", content.effort.as_str()));
    for (name, ids) in [("Traces:", &content.evidence), ("Sessions:", &content.sessions)] {
        if !ids.is_empty() {
            lines.push(format!("{name:<9} {}", ids.join(", ")));
        }
    }
    if !content.files.is_empty() {
        lines.push(format!("Files:    {}", content.files.join(", ")));
    }
    if let Some(prompt) = &one.prompt_version {
        lines.push(format!("Prompt:   {} v{}", prompt.name, prompt.version));
    }
    if let Some(gate) = &one.gate {
        lines.push(format!("Gate:     {} {}", gate.gate, gate.verdict.as_str()));
    }
    if let Some(promotion) = &one.promotion {
        lines.push(format!("Promoted: {promotion}"));
    }
    lines.extend(one.steps.iter().map(|step| {
        let note = step.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        format!("{}  {} by {}{note}", step.at, step.state, step.actor)
    }));
    lines.extend(one.url.clone());
    lines.iter().flat_map(|line| without_control_characters(line).chain(['\n'])).collect()
}

pub(super) fn value(found: &ProposalValue) -> String {
    let percent = |value: f64| format!("{:.0}%", 100.0 * value);
    let days = |value: f64| format!("{value:.1}");
    let mut text = format!("{} proposals, {} decided\n", found.made, found.decided);
    text += &number("Accepted", found.acceptance.as_ref(), percent);
    text += &number("False positives", found.false_positives.as_ref(), percent);
    text += &number("Days to decision", found.days_to_decision.as_ref(), days);
    text += &number("Days to experiment", found.days_to_experiment.as_ref(), days);
    match &found.fix_rate {
        Some(rate) => text += &number("Failures fixed", Some(rate), percent),
        None => {
            text += &format!(
                "Failures fixed: cannot tell before {MIN_CLOSED} promoted proposals with a lift\n"
            );
        }
    }
    if found.needs_recalibration {
        text += "Fewer than half are accepted: look at the diagnoses that miss.\n";
    }
    for one in &found.diagnoses {
        let misses: Vec<String> = one.misses.iter().map(|miss| one_line(miss)).collect();
        text += &format!(
            "  {}: {} accepted, {} rejected, {} false positives{}{}\n",
            one.component.as_str(),
            one.accepted,
            one.rejected,
            one.false_positives,
            if misses.is_empty() { "" } else { ": " },
            misses.join("; "),
        );
    }
    for lift in &found.lifts {
        text += &lift_line(lift);
        text.push('\n');
    }
    text
}

fn number(title: &str, found: Option<&ValueFigure>, shown: impl Fn(f64) -> String) -> String {
    let Some(found) = found else { return format!("{title}: cannot tell yet\n") };
    let interval = found
        .interval
        .map(|[lower, upper]| format!("95% CI {} to {}, ", shown(lower), shown(upper)));
    let interval = interval.unwrap_or_default();
    format!("{title}: {} ({interval}n = {})\n", shown(found.value), found.n)
}

fn lift_line(lift: &ProposalLift) -> String {
    let title = one_line(&lift.title);
    match (lift.lift, lift.interval) {
        (Some(value), Some([lower, upper])) => format!(
            "Lift of {title}: {:+.1}% of traffic (95% CI {:+.1}% to {:+.1}%, {} untouched groups)",
            100.0 * value,
            100.0 * lower,
            100.0 * upper,
            lift.controls
        ),
        _ => format!("Lift of {title}: {}", lift.why.as_deref().unwrap_or("cannot tell yet")),
    }
}
