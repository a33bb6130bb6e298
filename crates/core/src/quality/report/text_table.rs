use super::terminal::{WIDTH, more, one_line};
use super::{TextDetail, WeekReport, agent_words, interval_words, signed, standings, trend_words};
use crate::quality::synthesis::{
    AgentStats, Change, DayStats, Marks, Trend, VariantStats, days_between,
};
use crate::stats::float;

/// Agents in a short text.
const SHORT_AGENTS: usize = 8;
/// Bars of a sparkline, lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Agents and environments, worst first, with their releases.
pub(super) fn agents(report: &WeekReport, detail: TextDetail) -> String {
    let all = &report.synthesis.agents;
    if all.is_empty() {
        return String::new();
    }
    let shown = match detail {
        TextDetail::Short => SHORT_AGENTS,
        TextDetail::Wide => usize::MAX,
    };
    let change = if report.is_first() { "" } else { "vs. previous week" };
    let head = row(["agent", "environment", "n", "mean", "95% CI", change]);
    let mut lines = String::new();
    for agent in all.iter().take(shown) {
        lines.push_str(&agent_row(agent, report.is_first()));
        let change = Some(&agent.overall.change).filter(|_| detail == TextDetail::Wide);
        lines.extend(change.and_then(detectable_line));
        let releases = agent.releases.iter().chain(&agent.prompts);
        let is_shown = |variant: &&VariantStats| {
            let is_news = variant.change.is_clear() && !came_with_release(agent, variant);
            detail == TextDetail::Wide || is_news
        };
        lines.extend(releases.filter(is_shown).map(variant_row));
        lines.extend(cost_line(agent).filter(|_| detail == TextDetail::Wide));
    }
    let is_marked = lines.contains(MARK);
    let note = if is_marked { "  * significant; see docs/scoring.md for the test\n" } else { "" };
    format!("\nAgents, worst first\n{head}{lines}{}{note}", more(all.len(), shown, detail))
}

/// A day without sessions in a sparkline.
const NO_DAY: char = '·';
/// Marks a significant change.
const MARK: &str = " *";

fn agent_row(agent: &AgentStats, is_first: bool) -> String {
    let name = agent_words(agent.agent.as_deref());
    let change = if is_first { String::new() } else { change_cell(&agent.overall.change) };
    let (mean, interval) = cells(agent.overall.marks);
    let n = agent.overall.n.to_string();
    row([&name, &agent.environment, &n, &mean, &interval, &change])
}

/// Whether a prompt version has the sessions of a release, which is shown already.
fn came_with_release(agent: &AgentStats, variant: &VariantStats) -> bool {
    let is_same = |release: &VariantStats| {
        (release.n, release.marks, &release.first_day)
            == (variant.n, variant.marks, &variant.first_day)
    };
    agent.prompts.contains(variant) && agent.releases.iter().any(is_same)
}

/// The version that another one is compared with; without the prompt's name if that is the same.
fn short_against<'a>(name: &str, against: &'a str) -> &'a str {
    let (Some((prompt, _)), Some((other, version))) =
        (name.rsplit_once(' '), against.rsplit_once(' '))
    else {
        return against;
    };
    if prompt == other { version } else { against }
}

fn variant_row(variant: &VariantStats) -> String {
    let name = format!("  {}", variant.name);
    let (mean, interval) = cells(variant.marks);
    let against = variant.against.as_ref();
    let against = against.map(|against| format!(" vs. {}", short_against(&variant.name, against)));
    let change = match &variant.change {
        Change::By { .. } => change_cell(&variant.change) + &against.unwrap_or_default(),
        Change::Unknown(_) => String::new(),
    };
    // Without the year, which the head has.
    let since = format!("from {}", variant.first_day.get(5..).unwrap_or(&variant.first_day));
    row([&name, &since, &variant.n.to_string(), &mean, &interval, &change])
}

fn cost_line(agent: &AgentStats) -> Option<String> {
    let cost = agent.cost?;
    Some(format!(
        "    cost ${:.2}, ${:.4} per session (n = {}), {:.0}% of all agents\n",
        cost.total,
        cost.per_session,
        cost.n,
        cost.share * 100.0
    ))
}

fn cells(marks: Option<Marks>) -> (String, String) {
    let Some(marks) = marks else { return ("-".to_owned(), String::new()) };
    (format!("{:.2}", marks.mean), interval_words(marks.interval))
}

/// `−0.19 (−0.27 to −0.11) *`.
fn change_cell(change: &Change) -> String {
    match change {
        Change::By { value, interval: [lower, upper], .. } => {
            let mark = if change.is_clear() { MARK } else { "" };
            let (value, lower, upper) = (signed(*value), signed(*lower), signed(*upper));
            format!("{value} ({lower} to {upper}){mark}")
        }
        Change::Unknown(_) => "-".to_owned(),
    }
}

/// The change that the sessions of an insignificant one could have shown.
fn detectable_line(change: &Change) -> Option<String> {
    let Change::By { detectable: Some(least), .. } = change else { return None };
    let line = format!("      detectable at 80% power: ±{least:.2}\n");
    (!change.is_clear()).then_some(line)
}

fn row([name, place, n, mean, interval, change]: [&str; 6]) -> String {
    let (name, place) = (fit(name, 24), fit(place, 11));
    let line = format!("  {name} {place} {n:>4} {mean:>5}  {interval:<13} {change}");
    one_line(line.trim_end()) + "\n"
}

/// Overall quality by day, as a sparkline with its ends.
pub(super) fn days(days: &[DayStats]) -> Option<String> {
    let (first, last) = (days.first()?, days.last()?);
    if days.len() < 2 {
        return None;
    }
    let by_mean = |one: &&DayStats, other: &&DayStats| one.mean.total_cmp(&other.mean);
    let (low, high) = (days.iter().min_by(by_mean)?, days.iter().max_by(by_mean)?);
    let bar = |day: &DayStats| {
        let span = (high.mean - low.mean).max(f64::EPSILON);
        let part = (day.mean - low.mean) / span * float(BARS.len() - 1);
        let level = (0..BARS.len()).rev().find(|level| float(*level) <= part + 0.5);
        BARS.get(level.unwrap_or_default()).copied().unwrap_or(' ')
    };
    let calendar = days_between(&first.day, &last.day);
    let day = |name: &String| days.iter().find(|day| day.day == *name).map_or(NO_DAY, bar);
    let line: String = calendar.iter().map(day).collect();
    let is_whole = !line.contains(NO_DAY);
    let end = |day: &DayStats| format!("{:.2} on {} (n = {})", day.mean, day.day, day.n);
    let words = format!(
        "{line}  {} to {}: lowest {}, highest {}",
        first.day,
        last.day,
        end(low),
        end(high)
    );
    let words = if is_whole { words } else { format!("{words}; {NO_DAY} no sessions") };
    Some(format!("\nOverall quality by day\n{}", wrapped(&words, "  ")))
}

/// Dimensions, lowest first after the overall score.
pub(super) fn dimensions(report: &WeekReport, detail: TextDetail) -> String {
    let is_wide = detail == TextDetail::Wide;
    let mut all: Vec<_> = standings(report).collect();
    if let Some(dimensions) = all.get_mut(1..) {
        dimensions.sort_by(|one, other| {
            let mean = |mean: Option<f64>| mean.unwrap_or(f64::INFINITY);
            mean(one.mean()).total_cmp(&mean(other.mean()))
        });
    }
    let change = if report.is_first() { "" } else { "vs. previous week" };
    let head = format!("  {:<24} {:>4} {:>5}  {:<13} {change}", "dimension", "n", "mean", "95% CI");
    let mut out = format!("\nDimensions\n{}\n", head.trim_end());
    for standing in all {
        let (mean, interval) = cells(standing.marks);
        let change = if report.is_first() { String::new() } else { change_cell(&standing.change) };
        let name = fit(&standing.name, 24);
        let line = format!("  {name} {:>4} {mean:>5}  {interval:<13} {change}", standing.n);
        out.push_str(&(one_line(line.trim_end()) + "\n"));
        let tested = Some(&standing.change).filter(|_| is_wide && !report.is_first());
        out.extend(tested.and_then(detectable_line));
        if let Some(marks) = standing.marks.filter(|_| is_wide) {
            let stdev = marks.stdev.map_or_else(|| "-".to_owned(), |stdev| format!("{stdev:.2}"));
            let trend = match &standing.trend {
                Trend::TooEarly(_) => String::new(),
                trend => format!("; trend: {}", trend_words(trend)),
            };
            let line =
                format!("std dev {stdev}, min {:.2}, max {:.2}{trend}", marks.min, marks.max);
            out.push_str(&wrapped(&line, "      "));
        }
    }
    let early = super::early_trend(report).filter(|_| is_wide);
    out.extend(early.map(|words| wrapped(&words, "  ")));
    out
}

/// A text in a column of that width: padded, or cut with an ellipsis.
pub(super) fn fit(text: &str, width: usize) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let count = clean.chars().count();
    if count <= width {
        return clean + &" ".repeat(width - count);
    }
    clean.chars().take(width - 1).chain(['…']).collect()
}

/// Breaks a text into lines that fit the terminal, without control characters.
pub(super) fn wrapped(text: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    let is_space = |c: char| c.is_whitespace() || c.is_control();
    let room = WIDTH.saturating_sub(indent.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        let needed = line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && needed > room {
            out.push_str(&format!("{indent}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(room));
    }
    out.push_str(format!("{indent}{line}").trim_end());
    out.push('\n');
    out
}
