use super::{WeekReport, left_out_words};
use crate::counted::counted;
use crate::environment::DEFAULT_ENVIRONMENT;
use crate::quality::synthesis::{AgentStats, Basis, Change, OVERALL, Succession, WeekFinding};

/// Sentences about drops, and about rises, at the most.
const MAX_DROPS: usize = 3;
const MAX_RISES: usize = 2;
/// Sessions of the agent that is called the lowest.
const MIN_OF_LOWEST: usize = 5;

/// The first paragraph: what fell, what all of it was, what rose, and what follows.
pub(super) fn sentences(report: &WeekReport) -> Vec<String> {
    let findings = &report.synthesis.findings;
    let (drops, rises): (Vec<&WeekFinding>, Vec<&WeekFinding>) =
        findings.iter().partition(|finding| finding.is_drop());
    let more = drops.len().saturating_sub(MAX_DROPS);
    let more = (more > 0).then(|| format!("{more} more fell; see below."));
    let lowest = if drops.is_empty() { lowest(&report.synthesis.agents) } else { None };
    let shown = drops.into_iter().take(MAX_DROPS).map(finding);
    // The largest rise is the last one.
    let risen = rises.into_iter().rev().take(MAX_RISES).map(finding);
    let has_marks = report.synthesis.overall.marks.is_some();
    let left_out = left_out_words(&report.left_out).filter(|_| has_marks);
    let figures = std::iter::once(report.headline()).chain(left_out);
    let sentences = shown.chain(more).chain(figures).chain(risen).chain(lowest);
    sentences.chain(first_week(report)).collect()
}

/// Describes a finding: `support-bot fell from 0.81 to 0.62 (95% CI of the change −0.27 to −0.11,
/// n = 34 and 41) since release 2.4.1, in prod.`
pub(super) fn finding(finding: &WeekFinding) -> String {
    let agent = agent_words(finding.agent.as_deref());
    let subject = match finding.measure.as_str() {
        OVERALL => agent,
        dimension => format!("{dimension} of {agent}"),
    };
    let [lower, upper] = finding.interval.map(signed);
    let (before, after) = (finding.before, finding.after);
    let place = place(&finding.environment);
    let moved = |since: &str| {
        let verb = if finding.is_drop() { "fell" } else { "rose" };
        format!(
            "{subject} {verb} from {:.2} to {:.2} (95% CI of the change {lower} to {upper}, \
             n = {} and {}) {since}{place}",
            before.mean, after.mean, before.n, after.n
        )
    };
    let beside = |kind: &str, Succession { name, against, .. }: &Succession| {
        format!(
            "{subject} scored {:.2} with {kind} {name} and {:.2} with {against} (95% CI of the \
             difference {lower} to {upper}, n = {} and {}){place}",
            after.mean, before.mean, after.n, before.n
        )
    };
    let main = match &finding.basis {
        Basis::Week => moved("against the previous week"),
        Basis::Release(release) if release.is_since => {
            moved(&format!("since release {}", release.name))
        }
        Basis::Release(release) => beside("release", release),
        Basis::Prompt(prompt) if prompt.is_since => moved(&format!("since prompt {}", prompt.name)),
        Basis::Prompt(prompt) => beside("prompt", prompt),
    };
    format!("{main}{}.", most(finding))
}

/// The dimensions that moved the same way, most first.
fn most(finding: &WeekFinding) -> String {
    let same = finding.dimensions.iter().filter(|one| (one.change < 0.0) == finding.is_drop());
    let mut same: Vec<_> = same.collect();
    same.sort_by(|one, other| other.change.abs().total_cmp(&one.change.abs()));
    let named: Vec<String> =
        same.iter().take(2).map(|one| format!("{} {}", one.name, signed(one.change))).collect();
    if named.is_empty() { String::new() } else { format!("; most in {}", named.join(" and ")) }
}

/// Names the agent with the lowest mean, among several.
fn lowest(agents: &[AgentStats]) -> Option<String> {
    let known = |one: &&AgentStats| one.sessions >= MIN_OF_LOWEST;
    let mut known: Vec<(f64, [f64; 2], &AgentStats)> = agents
        .iter()
        .filter(known)
        .filter_map(|one| {
            let marks = one.overall.marks?;
            Some((marks.mean, marks.interval?, one))
        })
        .collect();
    known.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let (mean, [lower, upper], lowest) = known.first().filter(|_| known.len() > 1)?;
    let agent = agent_words(lowest.agent.as_deref());
    let (n, place) = (lowest.overall.n, place(&lowest.environment));
    Some(format!(
        "The lowest mean is that of {agent}{place}: {mean:.2} (95% CI {lower:.2} to {upper:.2}, \
         n = {n})."
    ))
}

/// What a project that has one week will see in the next.
fn first_week(report: &WeekReport) -> Option<String> {
    let is_first = report.is_first() && report.synthesis.sessions > 0;
    let words = "This is the first week: changes by agent and release appear in the next report, \
                 trends after 8 weeks.";
    is_first.then(|| words.to_owned())
}

/// The summary in one sentence.
pub(super) fn headline(report: &WeekReport) -> String {
    let synthesis = &report.synthesis;
    let sessions = match unscored(report) {
        0 => counted(synthesis.sessions, "session"),
        others => {
            let all = counted(synthesis.sessions + others, "session");
            format!("{} of {all}", synthesis.sessions)
        }
    };
    let Some(marks) = synthesis.overall.marks else {
        return "No sessions scored in this week.".to_owned();
    };
    let interval =
        marks.interval.map(|[lower, upper]| format!(" (95% CI {lower:.2} to {upper:.2})"));
    let change = match &synthesis.overall.change {
        Change::By { value, interval: [lower, upper], .. }
            if synthesis.overall.change.is_clear() =>
        {
            let word = if *value > 0.0 { "better" } else { "worse" };
            let (lower, upper) = (signed(*lower), signed(*upper));
            format!(
                ", {word} than the previous week by {:.2} (95% CI of the change {lower} to {upper})",
                value.abs()
            )
        }
        Change::By { p: Some(_), .. } => ", no significant change vs. the previous week".to_owned(),
        Change::By { p: None, .. } | Change::Unknown(_) => String::new(),
    };
    let interval = interval.unwrap_or_default();
    format!("{sessions} scored, overall quality {:.2}{interval}{change}.", marks.mean)
}

/// The sessions of the week that are not in the figures.
fn unscored(report: &WeekReport) -> usize {
    let by_others = report.synthesis.other_judges.iter().map(|(_, count)| count);
    by_others.sum::<usize>() + report.left_out.iter().map(|one| one.sessions).sum::<usize>()
}

/// Names an agent.
pub fn agent_words(agent: Option<&str>) -> String {
    agent.unwrap_or("unnamed agent").to_owned()
}

/// `, in prod`; nothing for sessions that name no environment, and where it is not known.
pub(super) fn place(environment: &str) -> String {
    match environment {
        DEFAULT_ENVIRONMENT | "" => String::new(),
        named => format!(", in {named}"),
    }
}

/// Formats a change with its sign: `−0.27`.
pub fn signed(value: f64) -> String {
    let text = format!("{value:+.2}");
    match text.strip_prefix('-') {
        Some("0.00") => "0.00".to_owned(),
        Some(digits) => format!("−{digits}"),
        None if text == "+0.00" => "0.00".to_owned(),
        None => text,
    }
}
