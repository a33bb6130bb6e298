//! One user: their sessions and traces, and what they cost and were worth over time.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::get;
use maud::{Markup, html};
use ratchet_core::id::SessionId;
use ratchet_core::record::score::{DataType, Score};
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_store::query::{
    Condition, Detail, Direction, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test, TraceColumn,
    TraceOrder, TraceQuery,
};
use ratchet_store::user::{UserDay, UserSums};

use super::lists::{SessionRow, errors};
use super::sessions;
use super::users;
use crate::components::chart::{self, Form, OverTime, Series};
use crate::components::stat::{self, Stat, Value};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::frame::{Page, Section};
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::time_buckets::TimeBuckets;
use crate::web::Web;

/// Traces that are looked at for sessions and scores.
const LOOKED_AT: u64 = 300;
const LISTED: usize = 25;
const SESSIONS: usize = 15;
const SCORES: u64 = 2_000;
/// Kinds of scores that are drawn.
const MAX_SERIES: usize = 4;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/project/{project}/users/{user}", get(show))
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, user)): Path<(String, String)>,
) -> PageResult<Markup> {
    let days = web.store.telemetry.user_days(users::scope(&ctx), user.clone()).await?;
    let traces = web.store.telemetry.traces(question(&ctx, &user)).await?.rows;
    let mut page = Page::new(Section::Users, user.clone());
    page.crumbs = vec![("Users".to_owned(), ctx.to(&["users"]))];
    page.action = copy::id(&user);
    page.summary = html! { "Usage " (ctx.scope.span.within()) "." };
    page.body = if days.is_empty() && traces.is_empty() {
        let how = html! {
            p { "Choose a longer time range, or another user." }
            p {
                a.button href=(ctx.here().with("range", "all")) { "Show all time" } " "
                a.button href=(ctx.to(&["users"])) { "All users" }
            }
        };
        empty::empty("No traces of this user in this time range", &how)
    } else {
        let scores = scores(&web, &ctx, &traces).await?;
        let sessions = their_sessions(&web, &ctx, &traces).await?;
        body(&Read { days, traces, scores, sessions }, &ctx)
    };
    Ok(page.show(&ctx))
}

/// What is read of a user.
struct Read {
    days: Vec<UserDay>,
    traces: Vec<Trace>,
    scores: Vec<Score>,
    sessions: Vec<Row>,
}

fn question(ctx: &RequestContext, user: &str) -> TraceQuery {
    let environment = ctx.scope.environment.as_deref();
    let environment = environment.map(|word| Condition::equals(TraceColumn::Environment, word));
    let of_user = Condition::equals(TraceColumn::User, user);
    TraceQuery {
        project: ctx.project_id(),
        range: ctx.range(),
        conditions: std::iter::once(of_user).chain(environment).collect(),
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: LOOKED_AT },
        detail: Detail::Row,
    }
}

async fn scores(web: &Web, ctx: &RequestContext, traces: &[Trace]) -> PageResult<Vec<Score>> {
    let ids = traces.iter().map(|trace| trace.id.to_string()).collect();
    let question = ScoreQuery {
        project: ctx.project_id(),
        range: ratchet_store::query::TimeRange::default(),
        on: ScoresOn::Anything,
        conditions: vec![Condition { column: ScoreColumn::Trace, test: Test::AnyOf(ids) }],
        paging: Paging::After { cursor: None, limit: SCORES },
    };
    Ok(web.store.telemetry.scores(question).await?.rows)
}

async fn their_sessions(web: &Web, ctx: &RequestContext, traces: &[Trace]) -> PageResult<Vec<Row>> {
    let mut seen = BTreeSet::new();
    let newest = traces.iter().filter_map(|trace| trace.session.clone());
    let ids: Vec<SessionId> =
        newest.filter(|session| seen.insert(session.clone())).take(SESSIONS).collect();
    let ends = web.store.telemetry.session_ends(ctx.project_id(), ids.clone()).await?;
    let mut rows = Vec::new();
    for (id, ends) in ids.into_iter().zip(ends) {
        if let Some(session) = web.store.telemetry.session(ctx.project_id(), id).await? {
            rows.push(sessions::row(&SessionRow { session, ends, bookmarked: false }, ctx));
        }
    }
    Ok(rows)
}

fn body(read: &Read, ctx: &RequestContext) -> Markup {
    let is_cut = read.traces.len() as u64 >= LOOKED_AT;
    html! {
        (stats(&read.days, ctx))
        div.charts { (costs(&read.days)) (scores_over_time(&read.scores)) }
        @if !read.sessions.is_empty() {
            section {
                h2 { "Sessions" }
                (sessions::list(read.sessions.clone()))
            }
        }
        section {
            h2 { "Newest traces" }
            (traces(&read.traces, ctx))
        }
        @if is_cut {
            p.muted { "Scores and sessions cover the newest " (LOOKED_AT) " traces; "
                "the totals above cover all." }
        }
    }
}

fn stats(days: &[UserDay], ctx: &RequestContext) -> Markup {
    let sums = days.iter().fold(UserSums::default(), |sums, day| UserSums {
        traces: sums.traces + day.sums.traces,
        errors: sums.errors + day.sums.errors,
        total_tokens: sums.total_tokens + day.sums.total_tokens,
        cost: sums.cost.into_iter().chain(day.sums.cost).reduce(|a, b| a + b),
        approximate_cost: sums.approximate_cost + day.sums.approximate_cost,
        last_at: day.sums.last_at,
    });
    let provenance = "daily rollups (UTC)";
    let known = |label: &str, text: String| Stat {
        label: label.to_owned(),
        value: Value::of(text, provenance),
        ..Stat::default()
    };
    let cost = match sums.cost {
        Some(cost) => Value::of(
            figure::money_in_part(cost, sums.approximate_cost),
            format!("${}, {provenance}", cost.dollars()),
        ),
        None => Value::CannotTell("no price known for the models".to_owned()),
    };
    html! {
        (stat::row(&[
            known("Traces", figure::grouped(sums.traces)),
            known("Errors", figure::grouped(sums.errors)),
            known("Tokens", figure::count_in_part(sums.total_tokens, sums.approximate_cost)),
            Stat {
                label: "Cost".to_owned(),
                value: cost,
                change: figure::of_which(sums.approximate_cost),
                ..Stat::default()
            },
        ]))
        p.muted { "Last seen " (figure::ago(sums.last_at, &ctx.time)) "." }
    }
}

fn costs(days: &[UserDay]) -> Markup {
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return html! {} };
    let course = TimeBuckets::by_day(first.day, last.day);
    let dollars = |day: &UserDay| day.sums.cost.map(|cost| (day.day, cost.dollars()));
    let values = course.sums(days.iter().filter_map(dollars));
    let series = vec![Series { name: "cost".to_owned(), hue: 0, values }];
    let traces: u64 = days.iter().map(|day| day.sums.traces).sum();
    let share = figure::and_of_which(days.iter().map(|day| day.sums.approximate_cost).sum());
    chart::over_time(&OverTime {
        title: "Cost over time".to_owned(),
        note: format!("n = {}{share}", figure::counted(traces, "trace")),
        steps: course.names(),
        series,
        form: Form::Bars,
        read: figure::dollars,
        exact: figure::exact_dollars,
        ..OverTime::default()
    })
}

/// The mean of each kind of number or truth, over time; the most frequent kinds.
fn scores_over_time(scores: &[Score]) -> Markup {
    let mut kinds: BTreeMap<&str, Vec<(Timestamp, f64)>> = BTreeMap::new();
    for score in scores {
        let is_number = matches!(score.value.data_type(), DataType::Numeric | DataType::Boolean);
        if let Some(number) = score.value.number().filter(|_| is_number) {
            kinds.entry(&score.name).or_default().push((score.timestamp, number));
        }
    }
    let times = || kinds.values().flatten().map(|(at, _)| *at);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return html! {};
    };
    let course = TimeBuckets::by_day(first, last);
    let count = times().count() as u64;
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let series =
        kinds.into_iter().take(MAX_SERIES).enumerate().map(|(hue, (name, values))| Series {
            name: name.chars().take(14).collect(),
            hue,
            values: course.means(values.into_iter()),
        });
    let series: Vec<Series> = series.collect();
    chart::over_time(&OverTime {
        title: chart::named("Mean scores over time", &series),
        note: format!("n = {}", figure::counted(count, "score")),
        steps: course.names(),
        series,
        ..OverTime::default()
    })
}

fn traces(traces: &[Trace], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Trace"),
        Column::text("Time"),
        Column::number("Latency"),
        Column::number("Tokens"),
        Column::number("Cost"),
        Column::number("Errors"),
    ];
    let row = |trace: &Trace| Row {
        id: trace.id.to_string(),
        link: Some(ctx.to(&["traces", &trace.id.to_string()])),
        cells: vec![
            html! { bdi { (trace.name.as_deref().unwrap_or("unnamed")) } },
            figure::when(trace.timestamp, &ctx.time),
            html! { @if let Some(latency) = trace.summary.latency() { (figure::duration(latency)) } },
            figure::tokens_in_part(trace.summary.total_tokens, trace.summary.approximate_cost),
            figure::cost_in_part(trace.summary.cost, trace.summary.approximate_cost),
            errors(trace.summary.levels.error),
        ],
        failed: trace.summary.levels.error > 0,
    };
    let rows = traces.iter().take(LISTED).map(row).collect();
    table::table(&Table { caption: "Newest traces".to_owned(), columns, rows, select_for: None })
}
