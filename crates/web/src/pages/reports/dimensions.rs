use maud::{Markup, html};
use ratchet_core::counted::counted;
use ratchet_core::quality::report::{WeekReport, change_words, interval_words, trend_words};
use ratchet_core::quality::synthesis::{
    AgentStats, BELOW_TARGET, Change, DimensionStats, Marks, MeasureStats, Trend,
};

use super::agents;
use crate::components::chart;
use crate::components::stat::{Stat, Value};
use crate::components::table::{self, Column, Row, Table};

/// Scores of all dimensions, overall quality first.
///
/// A note that holds for all dimensions is shown once below, instead of in every row.
pub(super) fn table(report: &WeekReport) -> Markup {
    let all: Vec<&DimensionStats> =
        std::iter::once(&report.synthesis.overall).chain(&report.synthesis.dimensions).collect();
    let overall = &report.synthesis.overall;
    let has_change = all.iter().any(|standing| matches!(standing.change, Change::By { .. }));
    let is_early = |trend: &Trend| matches!(trend, Trend::TooEarly(_));
    // Why it is too early for one is said once, below the table.
    let is_told = all.iter().any(|one| !is_early(&one.trend));
    let has_trend = is_told || all.iter().any(|one| is_drawn(one));
    let mut columns = vec![
        Column::text("Dimension"),
        Column::number("Sessions"),
        Column::number("Mean"),
        Column::text("95% CI"),
        Column::number("Std dev"),
        Column::number("Min"),
        Column::number("Max"),
    ];
    if has_change {
        columns.push(Column::text("vs. previous week"));
    }
    if has_trend {
        columns.push(Column::text("Trend"));
    }
    let rows = all.iter().map(|standing| row(standing, has_change, (has_trend, is_told))).collect();
    let caption = "Scores by dimension".to_owned();
    html! {
        div.standings { (table::table(&Table { caption, columns, rows, select_for: None })) }
        @if !has_change && !report.is_first() { p.muted { "Change vs. previous week: " (change_words(&overall.change)) "." } }
        @if !is_told && !report.is_first() { p.muted { "Trend: " (trend_words(&overall.trend)) "." } }
    }
}

/// Scores of the dimensions of some agents only.
pub(super) fn of_agents(agents: &[&AgentStats], is_first: bool) -> Markup {
    let mut columns = vec![
        Column::text("Dimension"),
        Column::text("Agent"),
        Column::number("Sessions"),
        Column::number("Mean"),
        Column::text("95% CI"),
    ];
    if !is_first {
        columns.push(Column::wide("vs. previous week"));
    }
    let row = |agent: &AgentStats, measure: &MeasureStats| {
        let name = agents::name(agent);
        let none = || html! { span.muted { "–" } };
        let mut cells = vec![
            html! { bdi { (measure.name) } },
            html! { bdi { (name) } },
            html! { (measure.n) },
            measure.marks.map_or_else(none, |marks| html! { (format!("{:.2}", marks.mean)) }),
            measure.marks.map_or_else(none, |marks| reach(&measure.name, marks)),
        ];
        if !is_first {
            cells.push(agents::change(&measure.change, ""));
        }
        Row { id: format!("{} {name}", measure.name), link: None, cells, failed: false }
    };
    let measures = |agent: &&AgentStats| {
        let all = std::iter::once(&agent.overall).chain(&agent.dimensions);
        all.map(|measure| row(agent, measure)).collect::<Vec<_>>()
    };
    let rows = agents.iter().flat_map(measures).collect();
    let caption = "Scores by dimension".to_owned();
    html! { div.standings { (table::table(&Table { caption, columns, rows, select_for: None })) } }
}

fn row(standing: &DimensionStats, has_change: bool, (has_trend, is_told): (bool, bool)) -> Row {
    let two = |value: f64| html! { (format!("{value:.2}")) };
    let none = || html! { span.muted { "–" } };
    let of = |read: fn(Marks) -> f64| standing.marks.map_or_else(none, |marks| two(read(marks)));
    let stdev = standing.marks.and_then(|marks| marks.stdev);
    let mut cells = vec![
        html! { bdi { (standing.name) } },
        html! { (standing.n) },
        of(|marks| marks.mean),
        standing.marks.map_or_else(none, |marks| reach(&standing.name, marks)),
        stdev.map_or_else(none, two),
        of(|marks| marks.min),
        of(|marks| marks.max),
    ];
    if has_change {
        cells.push(html! { (change_words(&standing.change)) });
    }
    if has_trend {
        cells.push(html! { @if is_told { (trend_words(&standing.trend)) } (spark(standing)) });
    }
    Row { id: standing.name.clone(), link: None, cells, failed: false }
}

/// The mean as a dot, its interval as a line, and the line below which suggestions are made.
pub(super) fn reach(name: &str, marks: Marks) -> Markup {
    let x = |value: f64| format!("{:.1}", value * 100.0);
    let words = interval_words(marks.interval);
    html! {
        span.reach {
            svg viewBox="0 0 100 12" role="img"
                aria-label={ (name) " " (format!("{:.2}", marks.mean)) ", " (words) } {
                line.reach-ground x1="0" x2="100" y1="6" y2="6" {}
                line.reach-line x1=(x(BELOW_TARGET)) x2=(x(BELOW_TARGET)) y1="0" y2="12" {}
                @if let Some([lower, upper]) = marks.interval {
                    line.reach-range x1=(x(lower)) x2=(x(upper)) y1="6" y2="6" {}
                }
                circle.reach-mean cx=(x(marks.mean)) cy="6" r="3" {}
            }
            span.muted { (words) }
        }
    }
}

fn spark(standing: &DimensionStats) -> Markup {
    html! { @if is_drawn(standing) { (chart::spark(since_first(&standing.history), &standing.name)) } }
}

/// The weeks since the first one with a value; later weeks without one keep their place.
fn since_first(history: &[Option<f64>]) -> &[Option<f64>] {
    let first = history.iter().position(Option::is_some).unwrap_or(history.len());
    history.get(first..).unwrap_or_default()
}

/// Whether there are weeks enough for a line.
fn is_drawn(standing: &DimensionStats) -> bool {
    standing.history.iter().flatten().count() > 1
}

/// Overall quality of an agent as a stat.
pub(super) fn agent_stat(agent: &AgentStats) -> Stat {
    let value = match agent.overall.marks {
        None => Value::CannotTell("no sessions scored".to_owned()),
        Some(marks) => Value::Known {
            text: format!("{:.2}", marks.mean),
            interval: Some(interval_words(marks.interval)),
            provenance: format!("mean of {}", counted(agent.overall.n, "session")),
        },
    };
    let change = format!("{} vs. previous week", change_words(&agent.overall.change));
    let change = matches!(agent.overall.change, Change::By { .. }).then_some(change);
    Stat { label: agents::name(agent), value, change, ..Stat::default() }
}

/// Score of a dimension as a stat.
pub(in crate::pages) fn stat(standing: &DimensionStats, label: &str, provenance: &str) -> Stat {
    let value = match standing.marks {
        None => Value::CannotTell("no sessions scored".to_owned()),
        Some(marks) => Value::Known {
            text: format!("{:.2}", marks.mean),
            interval: Some(interval_words(marks.interval)),
            provenance: provenance.to_owned(),
        },
    };
    let course = since_first(&standing.history).to_vec();
    let change = change_words(&standing.change);
    let change = Some(match standing.change {
        Change::By { .. } => format!("{change} vs. previous week"),
        Change::Unknown(_) => change,
    });
    Stat { label: label.to_owned(), value, change, course, link: None }
}
