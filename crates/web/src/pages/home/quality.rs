use maud::{Markup, html};
use ratchet_core::counted::counted;
use ratchet_core::quality::report::{
    WeekReport, agent_words, finding_words, interval_words, signed,
};
use ratchet_core::quality::synthesis::{AgentStats, WeekFinding};
use ratchet_store::aggregate::Sums;

use crate::components::stat::{self, Stat, Value};
use crate::components::{copy, figure};
use crate::frame::Section;
use crate::page_error::PageResult;
use crate::pages::reports::{self, score_now};
use crate::request_context::RequestContext;
use crate::sums::is_comparable;
use crate::web::Web;

/// Sessions of an agent from which on it can be the lowest.
const MIN_SESSIONS: usize = 5;

/// The newest weekly report in three numbers, and the way from each to its cause.
pub(super) async fn section(
    web: &Web,
    ctx: &RequestContext,
    (now, before): (&Sums, Option<&Sums>),
) -> PageResult<Markup> {
    let Some(report) = reports::newest(web, ctx).await? else {
        return Ok(
            html! { section.home-quality { (unscored(ctx)) (stat::row(&[cost(ctx, now, before)])) } },
        );
    };
    let drop = worst_drop(&report, ctx);
    Ok(html! {
        section.home-quality aria-label="Quality" {
            (stat::row(&[overall(&report, ctx), worst(&report, drop, ctx), cost(ctx, now, before)]))
            p.muted {
                "Week " (report.week) " to " (report.last_day) ", "
                (counted(report.synthesis.sessions, "session")) ". "
                @if let Some(judge) = reports::judge_words(&report) { bdi { (judge) } }
            }
            @if let Some(finding) = drop { (cause(&report, finding, ctx)) }
        }
    })
}

fn unscored(ctx: &RequestContext) -> Markup {
    html! {
        p { strong { "No quality yet: " } "no session of this project has been scored and reported." }
        (score_now::button(ctx))
        (copy::snippet(&format!("{}\n{}", ctx.command("score --days 7"), ctx.command("week --of today"))))
    }
}

fn overall(report: &WeekReport, ctx: &RequestContext) -> Stat {
    let provenance = format!("mean of {}", counted(report.synthesis.sessions, "session"));
    let stat = reports::overall_stat(&report.synthesis.overall, "Overall quality", &provenance);
    Stat { link: Some(ctx.to(&["reports", &report.week]).to_string()), ..stat }
}

/// The significant drop of the scope that is largest; releases first, since they name a cause.
fn worst_drop<'a>(report: &'a WeekReport, ctx: &RequestContext) -> Option<&'a WeekFinding> {
    let findings = report.synthesis.findings.iter();
    let is_shown = |finding: &&WeekFinding| {
        let agent = finding.agent.as_deref();
        finding.is_drop() && reports::is_in_scope(ctx, agent, &finding.environment)
    };
    // Findings are sorted, the largest drop first.
    findings.filter(is_shown).min_by_key(|finding| finding.basis.succession().is_none())
}

/// The release that fell most, or else the lowest agent.
fn worst(report: &WeekReport, drop: Option<&WeekFinding>, ctx: &RequestContext) -> Stat {
    if let Some(finding) = drop {
        let agent = agent_words(finding.agent.as_deref());
        let name = finding
            .basis
            .succession()
            .map_or(agent.clone(), |next| format!("{agent} {}", next.name));
        let [lower, upper] = finding.interval;
        return Stat {
            label: format!("Largest drop: {name}"),
            value: Value::Known {
                text: format!("{:.2}", finding.after.mean),
                interval: Some(format!("n = {}", finding.after.n)),
                provenance: finding_words(finding),
            },
            change: Some(format!(
                "{} ({} to {}), was {:.2}, n = {}",
                signed(finding.change),
                signed(lower),
                signed(upper),
                finding.before.mean,
                finding.before.n
            )),
            link: Some(reports::failed_calls(ctx, report, finding).to_string()),
            ..Stat::default()
        };
    }
    lowest(report, ctx)
}

fn lowest(report: &WeekReport, ctx: &RequestContext) -> Stat {
    let agents = report.synthesis.agents.iter();
    let is_shown = |agent: &&AgentStats| {
        agent.sessions >= MIN_SESSIONS
            && reports::is_in_scope(ctx, agent.agent.as_deref(), &agent.environment)
    };
    let marked = agents.filter(is_shown).filter_map(|agent| Some((agent, agent.overall.marks?)));
    let lowest = marked.min_by(|(_, one), (_, other)| one.mean.total_cmp(&other.mean));
    let Some((agent, marks)) = lowest else {
        let missing = format!("needs an agent with {MIN_SESSIONS} scored sessions");
        let value = Value::CannotTell(missing);
        return Stat { label: "Lowest agent".to_owned(), value, ..Stat::default() };
    };
    let name = agent_words(agent.agent.as_deref());
    let link = ctx.to(&["sessions"]).with("env", &agent.environment);
    let link = agent.agent.iter().fold(link, |link, name| link.with("agent", name));
    Stat {
        label: format!("Lowest agent: {name} in {}", agent.environment),
        value: Value::Known {
            text: format!("{:.2}", marks.mean),
            interval: Some(interval_words(marks.interval)),
            provenance: format!("mean of {}", counted(agent.sessions, "session")),
        },
        change: Some(format!("{}, no significant drop", counted(agent.sessions, "session"))),
        link: Some(link.to_string()),
        ..Stat::default()
    }
}

/// What fell in words, with the failed calls and the sessions that show it.
fn cause(report: &WeekReport, finding: &WeekFinding, ctx: &RequestContext) -> Markup {
    html! {
        p.cause {
            span.badge.bad { "drop" } " " bdi { (finding_words(finding)) } " "
            a href=(reports::failed_calls(ctx, report, finding)) { "Failed calls" } " · "
            @if let Some(session) = finding.sessions.first() {
                a href=(ctx.to(&["sessions", session])) { "Lowest session" } " · "
            }
            a href=(ctx.to(&["reports", &report.week])) { "Report" }
        }
    }
}

fn cost(ctx: &RequestContext, now: &Sums, before: Option<&Sums>) -> Stat {
    let change = match before.filter(|before| is_comparable(now, before) && before.cost.pico() > 0)
    {
        Some(before) => {
            let growth = figure::growth(now.cost.dollars() / before.cost.dollars());
            let was = figure::money_in_part(before.cost, before.approximate_cost);
            format!("{growth}, was {was} in the previous period")
        }
        None => "not enough data in the previous period".to_owned(),
    };
    Stat {
        label: format!("Cost, {}", ctx.scope.span.label()),
        value: Value::of(
            figure::money_in_part(now.cost, now.approximate_cost),
            "sum of model calls with a known price",
        ),
        change: Some(change),
        link: Some(Section::Dashboards.link(ctx).to_string()),
        ..Stat::default()
    }
}
