use axum::extract::State;
use maud::{Markup, html};
use ratchet_core::counted::noun_of;
use ratchet_store::aggregate::{AggregateDimension, Sums};
use ratchet_store::query::TimeRange;

use super::split::Split;
use super::trace_latency::{self, TraceLatency};
use super::{keys, panel, tabs};
use crate::components::stat::{self, Stat, Value};
use crate::components::{empty, figure};
use crate::filter::Filter;
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::sums::{self, ScanRange, Timed, float, natural};
use crate::web::Web;

/// Data of the page: the period, the previous period, and the scanned range.
pub(super) struct OverviewData {
    pub(super) split: Split,
    /// All observations.
    pub(super) now: Timed,
    /// Model calls only.
    pub(super) calls: Timed,
    /// Latencies of traces.
    pub(super) traces: TraceLatency,
    /// The previous period; `None` for all time, or if it was not read completely.
    pub(super) before: Option<Timed>,
    reach: ScanRange,
    /// Environments that the figures leave out.
    left_out: Vec<String>,
}

pub(super) async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let whole = sums::whole(&web, &ctx, ctx.range()).await?;
    let shown = gather(&web, &ctx).await?;
    let mut page = Page::new(Section::Dashboards, "Dashboards");
    page.summary = html! {
        (figure::count(natural(whole.count))) " " (noun_of(natural(whole.count), "observation")) " " (ctx.scope.span.within())
        @if shown.split.by.is_some() { ", " (shown.split.label) } "."
    };
    page.action = tabs(&ctx, true);
    page.body = if whole.count == 0 { nothing(&ctx) } else { body(&ctx, &shown, &whole) };
    Ok(page.show(&ctx))
}

async fn gather(web: &Web, ctx: &RequestContext) -> PageResult<OverviewData> {
    let split = Split::asked(ctx);
    let by = split.by.as_slice();
    let is_kept = by.iter().copied().all(AggregateDimension::is_kept) && ctx.scope.agent.is_none();
    let reads_all = is_kept || ctx.params.get("all").is_some();
    let reach =
        if reads_all { ScanRange::All } else { sums::scan_start(web, ctx, ctx.range()).await? };
    let range = match reach {
        ScanRange::All => ctx.range(),
        ScanRange::Since(from) => TimeRange { from: Some(from), ..ctx.range() },
    };
    let (now, calls) = sums::over_time_with_calls(web, ctx, range, by).await?;
    let traces = trace_latency::read(web, ctx, range, &now.course).await?;
    let before = match (ctx.scope.span.before(ctx.now), reach) {
        (Some(range), ScanRange::All) => match sums::scan_start(web, ctx, range).await? {
            ScanRange::Since(_) if !reads_all => None,
            ScanRange::All | ScanRange::Since(_) => {
                Some(sums::over_time(web, ctx, range, by).await?)
            }
        },
        _ => None,
    };
    // Next to nothing is no time to compare with: all would have grown a thousandfold.
    let before = before.filter(|before| sums::is_comparable(&now.whole(), &before.whole()));
    let is_about = split.by == Some(AggregateDimension::Environment);
    let left_out =
        if is_about { Vec::new() } else { sums::left_out(web, ctx, ctx.range()).await? };
    Ok(OverviewData { split, now, calls, traces, before, reach, left_out })
}

impl OverviewData {
    /// What the lists behind the figures have in common: what the figures leave out.
    pub(super) fn filter(&self) -> Filter {
        sums::list_without(&self.left_out)
    }
}

fn nothing(ctx: &RequestContext) -> Markup {
    let how = html! {
        p {
            "Cost, tokens, latency, errors and volume appear here, by any dimension, as soon as "
            "traces are recorded in this time range."
        }
        p {
            a.button href=(ctx.here().with("range", "all")) { "Show all time" }
            " "
            a.button href=(ctx.to(&[])) { "Connect an SDK" }
        }
    };
    empty::empty("No traces in this time range", &how)
}

fn body(ctx: &RequestContext, shown: &OverviewData, whole: &Sums) -> Markup {
    let before = shown.before.as_ref().map(Timed::whole);
    html! {
        (stat::row(&figures(ctx, shown, before.as_ref())))
        div.toolbar { (shown.split.choice(ctx)) (partly(ctx, shown, whole)) }
        (panel::draw(ctx, shown))
        (keys::table(ctx, shown))
    }
}

/// Says so when only the newest records were read.
fn partly(ctx: &RequestContext, shown: &OverviewData, whole: &Sums) -> Markup {
    html! {
        @if let ScanRange::Since(since) = shown.reach {
            p.partly role="note" {
                @match &ctx.scope.agent {
                    Some(agent) => { "Agent " bdi { (agent) } ": only observations" },
                    None => {
                        "Based on the newest " (figure::grouped(natural(shown.now.whole().count)))
                        " of " (figure::counted(natural(whole.count), "observation")) ","
                    },
                }
                " since " (figure::when(since, &ctx.time)) " (hourly rollups do not have this dimension). "
                a href=(ctx.here().with("all", "1")) { "Query all observations" }
                ", which may take a minute."
            }
        }
    }
}

/// The costs together, and how much of them is approximate.
fn known_cost(now: &Sums, stat: Stat, provenance: &str) -> Stat {
    let share = figure::of_which(now.approximate_cost);
    let provenance = share.map_or(provenance.to_owned(), |share| format!("{provenance}, {share}"));
    let text = figure::money_in_part(now.cost, now.approximate_cost);
    Stat { value: Value::of(text, provenance), ..stat }
}

fn figures(ctx: &RequestContext, shown: &OverviewData, before: Option<&Sums>) -> Vec<Stat> {
    let time = &ctx.scope.span.label();
    let now = &shown.now.whole();
    let provenance = format!("n = {}", figure::counted(natural(now.count), "observation"));
    let one = |label: &str, text: Option<String>, of: fn(&Sums) -> Option<f64>| Stat {
        label: label.to_owned(),
        value: text.map_or_else(
            || Value::CannotTell("no completed observations".to_owned()),
            |text| Value::of(text, &provenance),
        ),
        change: before.map(|before| changed(of(now), of(before), time)),
        ..Stat::default()
    };
    let calls = shown.calls.whole();
    let of_calls = format!("n = {}", figure::counted(natural(calls.count), "model call"));
    let latency = |percent: u8| {
        let text = calls.latency.percentile(percent).map(figure::duration);
        latency_stat(&format!("p{percent} model call"), text, &of_calls)
    };
    let traces = &shown.traces;
    let of_traces =
        format!("n = {}{}", figure::counted(traces.count, "trace"), traces.note(&ctx.time));
    let of_trace = |name: &str, seconds: Option<f64>| {
        latency_stat(name, seconds.map(trace_latency::read_seconds), &of_traces)
    };
    let tokens = figure::count_in_part(natural(now.total_tokens), now.approximate_cost);
    vec![
        one("Observations", Some(figure::count(natural(now.count))), |sums| {
            Some(float(sums.count))
        }),
        one(
            "Error rate",
            Some(figure::percent(float(now.errors) / float(now.count).max(1.0))),
            |sums| Some(float(sums.errors) / float(sums.count).max(1.0)),
        ),
        known_cost(now, one("Cost", None, |sums| Some(sums.cost.dollars())), &provenance),
        one("Tokens", Some(tokens), |sums| Some(float(sums.total_tokens))),
        of_trace("p50 trace", traces.whole[0]),
        of_trace("p95 trace", traces.whole[1]),
        latency(50),
        latency(95),
    ]
}

/// A latency, of traces or of model calls.
fn latency_stat(name: &str, text: Option<String>, provenance: &str) -> Stat {
    let unknown = || Value::CannotTell("nothing has completed".to_owned());
    Stat {
        label: format!("{name} latency"),
        value: text.map_or_else(unknown, |text| Value::of(text, provenance)),
        ..Stat::default()
    }
}

/// The comparison period: `previous 7 days` for `last 7 days`.
fn previous(time: &str) -> String {
    time.strip_prefix("last ")
        .map_or_else(|| "previous period".to_owned(), |length| format!("previous {length}"))
}

/// Change of a metric as text.
fn changed(now: Option<f64>, before: Option<f64>, time: &str) -> String {
    match (now, before) {
        (Some(now), Some(before)) if before > 0.0 => {
            format!("{} vs. {}", figure::growth(now / before), previous(time))
        }
        (Some(0.0), Some(_)) => "unchanged".to_owned(),
        _ => format!("no data in the {}", previous(time)),
    }
}
