use maud::{Markup, html};
use ratchet_core::counted::counted;
use ratchet_core::quality::report::{
    WeekReport, agent_words, change_words, finding_words, interval_words, missing_changes,
};
use ratchet_core::quality::synthesis::{
    AgentStats, Change, DayStats, VariantStats, WeekFinding, days_between,
};

use super::dimensions::reach;
use super::{part, sessions};
use crate::components::chart::{self, OverTime, Series};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{badge, figure};
use crate::request_context::RequestContext;

/// Whether the page's scope contains an agent in an environment.
pub(in crate::pages) fn is_in_scope(
    ctx: &RequestContext,
    agent: Option<&str>,
    environment: &str,
) -> bool {
    let scope = &ctx.scope;
    scope.agent.as_deref().is_none_or(|wanted| agent == Some(wanted))
        && scope.environment.as_deref().is_none_or(|wanted| environment == wanted)
}

/// The agents in the page's scope; `None` where the page is about the whole project.
pub(super) fn chosen<'a>(
    report: &'a WeekReport,
    ctx: &RequestContext,
) -> Option<Vec<&'a AgentStats>> {
    // A report on a part has all figures of that part.
    let is_whole = ctx.scope.agent.is_none() && ctx.scope.environment.is_none();
    if is_whole || !report.scope.is_all() {
        return None;
    }
    let is_shown =
        |agent: &&AgentStats| is_in_scope(ctx, agent.agent.as_deref(), &agent.environment);
    Some(report.synthesis.agents.iter().filter(is_shown).collect())
}

/// An agent in an environment: `support-bot in prod`.
pub(super) fn name(agent: &AgentStats) -> String {
    format!("{} in {}", agent_words(agent.agent.as_deref()), agent.environment)
}

/// What the figures of agents are, each in a sentence.
fn headline(agents: &[&AgentStats]) -> String {
    let sentence = |agent: &&AgentStats| {
        let sessions = counted(agent.sessions, "session");
        let quality = agent.overall.marks.map(|marks| {
            let words = interval_words(marks.interval);
            format!(", overall quality {:.2} (95% CI {words})", marks.mean)
        });
        format!("{}: {sessions} scored{}.", name(agent), quality.unwrap_or_default())
    };
    match agents {
        [] => "No scored sessions of this agent or environment in the week.".to_owned(),
        some => some.iter().map(sentence).collect::<Vec<_>>().join(" "),
    }
}

/// Sentences about drops in a first paragraph at the most.
const MAX_DROPS: usize = 3;

/// The first paragraph on some agents: what fell, and what their figures are.
pub(super) fn summary(report: &WeekReport, agents: &[&AgentStats], ctx: &RequestContext) -> String {
    let drops = findings_in_scope(report, ctx).into_iter().filter(|finding| finding.is_drop());
    let drops = drops.take(MAX_DROPS).map(finding_words);
    drops.chain([headline(agents)]).collect::<Vec<_>>().join(" ")
}

fn findings_in_scope<'a>(report: &'a WeekReport, ctx: &RequestContext) -> Vec<&'a WeekFinding> {
    let is_shown =
        |finding: &&WeekFinding| is_in_scope(ctx, finding.agent.as_deref(), &finding.environment);
    report.synthesis.findings.iter().filter(is_shown).collect()
}

/// The significant changes in words, largest drop first, each with the sessions that show it.
pub(super) fn findings(report: &WeekReport, ctx: &RequestContext) -> Markup {
    let shown = findings_in_scope(report, ctx);
    html! {
        @if !shown.is_empty() {
            section.report-part {
                h2 { "What changed" }
                ul.findings {
                    @for finding in &shown {
                        li.(if finding.is_drop() { "drop" } else { "rise" }) {
                            p {
                                (badge::tag(if finding.is_drop() { "Drop" } else { "Rise" })) " "
                                bdi { (finding_words(finding)) }
                            }
                            @if finding.users > 0 {
                                p.muted { (counted(finding.after.n, "session")) " of "
                                    (counted(finding.users, "known user")) "." }
                            }
                            p { a href=(super::failed_calls(ctx, report, finding)) { "Failed calls" } }
                            details {
                                summary { @if finding.is_drop() { "Lowest sessions" } @else { "Highest sessions" } }
                                (sessions::list(&finding.sessions, report, ctx))
                            }
                        }
                    }
                }
                p.muted { "Significant in one test of all " (counted(report.synthesis.comparisons, "comparison"))
                    " of this report: without any change, at most 5% of quarters have such a finding." }
            }
        }
    }
}

/// Agents and environments, worst first, with their releases and prompt versions.
pub(super) fn table(report: &WeekReport, ctx: Option<&RequestContext>) -> Markup {
    let all = || report.synthesis.agents.iter().collect();
    let shown = ctx.and_then(|ctx| chosen(report, ctx)).unwrap_or_else(all);
    if shown.is_empty() {
        return html! { p.muted { "No scored sessions." } };
    }
    let has_cost = shown.iter().any(|agent| agent.cost.is_some());
    let mut columns = vec![
        Column::text("Agent"),
        Column::text("Environment"),
        Column::number("Sessions"),
        Column::number("Users"),
        Column::number("Mean"),
        Column::text("95% CI"),
    ];
    if !report.is_first() {
        columns.push(Column::wide("vs. previous week or release"));
    }
    if has_cost {
        columns.push(Column::number("Cost per session"));
        columns.push(Column::number("Share of cost"));
    }
    let rows = shown.iter().flat_map(|agent| rows(agent, report, has_cost, ctx));
    let caption = "Overall quality by agent and environment".to_owned();
    let rows = rows.collect();
    let versions = shown.iter().flat_map(|agent| agent.releases.iter().chain(&agent.prompts));
    let changes = shown.iter().map(|agent| &agent.overall.change);
    let missing = missing_changes(report, changes.chain(versions.map(|version| &version.change)));
    html! {
        div.standings { (table::table(&Table { caption, columns, rows, select_for: None })) }
        @if let Some(words) = missing { p.muted { (words) } }
    }
}

/// An agent, and its releases and prompt versions where there are several.
fn rows(
    agent: &AgentStats,
    report: &WeekReport,
    has_cost: bool,
    ctx: Option<&RequestContext>,
) -> Vec<Row> {
    let is_first = report.is_first();
    let name = agent_words(agent.agent.as_deref());
    let id = format!("{name}/{}", agent.environment);
    let marks = agent.overall.marks;
    let mut cells = vec![
        html! { strong { bdi { (name) } } },
        html! { bdi { (agent.environment) } },
        html! { (figure::grouped(agent.sessions as u64)) },
        html! { @if agent.users > 0 { (figure::grouped(agent.users as u64)) } @else { "–" } },
        marks.map_or_else(none, |marks| html! { (format!("{:.2}", marks.mean)) }),
        marks.map_or_else(none, |marks| reach(&name, marks)),
    ];
    if !is_first {
        cells.push(change(&agent.overall.change, ""));
    }
    if has_cost {
        let cost = agent.cost;
        cells.push(cost.map_or_else(none, |cost| html! { (figure::dollars(cost.per_session)) }));
        cells.push(cost.map_or_else(none, |cost| html! { (figure::percent(cost.share)) }));
    }
    let scoped = ctx.zip(agent.agent.as_ref()).map(|(ctx, agent_name)| {
        ctx.to(&["sessions"]).with("agent", agent_name).with("env", &agent.environment)
    });
    let width = cells.len();
    let main = Row { id: id.clone(), link: scoped, cells, failed: false };
    let of_kind = |kind: &'static str, variants: &[VariantStats]| -> Vec<Row> {
        let has_several = variants.len() > 1;
        let shown = variants.iter().filter(|_| has_several);
        let row = |variant: &VariantStats| Row {
            link: ctx.and_then(|ctx| part::of_version(ctx, report, agent, (kind, variant))),
            ..variant_row(&id, (kind, variant), is_first, width)
        };
        shown.map(row).collect()
    };
    let releases = of_kind("release", &agent.releases);
    let prompts = of_kind("prompt", &agent.prompts);
    std::iter::once(main).chain(releases).chain(prompts).collect()
}

fn variant_row(
    of: &str,
    (kind, variant): (&str, &VariantStats),
    is_first: bool,
    width: usize,
) -> Row {
    let named = format!("{kind} {}", variant.name);
    let marks = variant.marks;
    let against = variant.against.as_ref().map(|against| format!(" vs. {against}"));
    let mut cells = vec![
        html! { span.variant { bdi { (named) } } },
        html! { span.muted { "since " (variant.first_day) } },
        html! { (figure::grouped(variant.n as u64)) },
        html! {},
        marks.map_or_else(none, |marks| html! { (format!("{:.2}", marks.mean)) }),
        marks.map_or_else(none, |marks| reach(&named, marks)),
    ];
    if !is_first {
        cells.push(change(&variant.change, &against.unwrap_or_default()));
    }
    cells.resize_with(width, || html! {});
    Row { id: format!("{of}/{named}"), link: None, cells, failed: false }
}

fn none() -> Markup {
    html! { span.muted { "–" } }
}

/// A change; why one is missing is said once, below the table.
pub(super) fn change(change: &Change, against: &str) -> Markup {
    match change {
        Change::By { .. } if change.is_clear() => {
            html! { strong { (change_words(change)) } (against) }
        }
        Change::By { .. } => html! { (change_words(change)) (against) },
        Change::Unknown(why) => html! { span.muted title=(why) { "–" } },
    }
}

/// Overall quality by day, of all sessions or of the agents in scope.
pub(super) fn days(report: &WeekReport, ctx: Option<&RequestContext>) -> Markup {
    let agents = ctx.filter(|ctx| ctx.scope.agent.is_some() || ctx.scope.environment.is_some());
    let agents = agents.filter(|_| report.scope.is_all());
    let lines: Vec<(String, &[DayStats])> = match agents {
        None => vec![("all sessions".to_owned(), report.synthesis.days.as_slice())],
        Some(ctx) => report
            .synthesis
            .agents
            .iter()
            .filter(|agent| is_in_scope(ctx, agent.agent.as_deref(), &agent.environment))
            .take(6)
            .map(|agent| {
                let name = agent_words(agent.agent.as_deref());
                (format!("{name} in {}", agent.environment), agent.days.as_slice())
            })
            .collect(),
    };
    let seen = || lines.iter().flat_map(|(_, days)| days.iter().map(|day| day.day.as_str()));
    // A day without sessions keeps its place.
    let steps = match (seen().min(), seen().max()) {
        (Some(first), Some(last)) => days_between(first, last),
        _ => Vec::new(),
    };
    if steps.len() < 2 {
        return html! { p.muted { "The curve by day appears after two days with scored sessions." } };
    }
    let at = |days: &[DayStats], step: &str| days.iter().find(|day| day.day == step).cloned();
    let series = lines.iter().enumerate().map(|(hue, (name, days))| Series {
        name: name.clone(),
        hue,
        values: steps.iter().map(|step| at(days, step).map(|day| day.mean)).collect(),
    });
    let sessions: usize = lines.iter().flat_map(|(_, days)| days.iter()).map(|day| day.n).sum();
    let counted = counted(sessions, "session");
    let note = format!("mean of the sessions that ended on a day, {counted}");
    html! {
        (chart::over_time(&OverTime {
            title: "Overall quality by day".to_owned(),
            note,
            steps: steps.clone(),
            series: series.collect(),
            ..OverTime::default()
        }))
        details {
            summary { "Sessions and intervals by day" }
            ul.days {
                @for (name, days) in &lines {
                    @for day in *days {
                        li { (day.day) ", " bdi { (name) } ": " (format!("{:.2}", day.mean))
                            " (" (interval_words(day.interval)) ", n = " (day.n) ")" }
                    }
                }
            }
        }
    }
}
