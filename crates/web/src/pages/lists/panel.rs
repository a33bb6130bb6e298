//! One row beside the list: `?peek=ID`, as links of Langfuse's SDKs and pages have it.

use axum::extract::State;
use maud::{Markup, html};
use ratchet_core::counted::noun_of;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::trace::{Content, Trace};
use ratchet_core::record::usage::Cost;

use super::column::ListColumn;
use super::row::ListedRow;
use super::session_row::{SessionRow, first_and_last};
use super::state::here;
use crate::components::icon::{Icon, icon};
use crate::components::{badge, copy, figure};
use crate::filter::ListKind;
use crate::message_preview;
use crate::message_preview::Side;
use crate::page_error::PageResult;
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Side panel.
enum Peeked {
    Trace(Box<Trace>),
    Step(Box<Observation>),
    Session(Box<SessionRow>),
    Nothing(String),
}

/// `GET …/list/{list}/panel?peek=ID`: the panel alone, for scripts.
pub(super) async fn show<R: ListedRow>(
    State(web): State<Web>,
    ctx: RequestContext,
) -> PageResult<Markup> {
    panel::<R>(&web, &ctx).await
}

/// The panel of the row that the address names; nothing if it names none.
pub(super) async fn panel<R: ListedRow>(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let Some(wanted) = ctx.params.get("peek") else { return Ok(Markup::default()) };
    let peeked = find(web, ctx, wanted, R::ON).await?;
    Ok(html! {
        aside.peek-panel #peek tabindex="-1" aria-label="Row preview" data-peeked=(wanted) {
            (draw(&peeked, ctx, R::ON))
        }
    })
}

/// A step where one is named, otherwise the trace; in a list of steps an id may be either.
async fn find(web: &Web, ctx: &RequestContext, wanted: &str, on: ListKind) -> PageResult<Peeked> {
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    let nothing = || Peeked::Nothing(ratchet_core::record::limit::elide(wanted, 100).into_owned());
    let step = match on {
        ListKind::Sessions => {
            let session = find_session(web, ctx, wanted).await?;
            return Ok(session.map_or_else(nothing, |row| Peeked::Session(Box::new(row))));
        }
        ListKind::Traces => ctx.params.get("observation"),
        ListKind::Observations => ctx.params.get("observation").or(Some(wanted)),
    };
    if let Some(Ok(step)) = step.map(ObservationId::parse)
        && let Some(step) = telemetry.observation(project.clone(), step).await?
    {
        return Ok(Peeked::Step(Box::new(step)));
    }
    let trace = match TraceId::parse(wanted) {
        Ok(id) => telemetry.trace(project, id).await?,
        Err(_) => None,
    };
    Ok(trace.map_or_else(nothing, |trace| Peeked::Trace(Box::new(trace))))
}

async fn find_session(
    web: &Web,
    ctx: &RequestContext,
    wanted: &str,
) -> PageResult<Option<SessionRow>> {
    let Ok(id) = SessionId::parse(wanted) else { return Ok(None) };
    let (telemetry, project) = (&web.store.telemetry, ctx.project_id());
    let Some(session) = telemetry.session(project.clone(), id.clone()).await? else {
        return Ok(None);
    };
    let ends = telemetry.session_ends(project, vec![id]).await?.into_iter().next();
    Ok(Some(SessionRow { session, ends: ends.unwrap_or_default(), bookmarked: false }))
}

fn draw(peeked: &Peeked, ctx: &RequestContext, on: ListKind) -> Markup {
    let close = here(ctx, on);
    match peeked {
        Peeked::Trace(trace) => {
            let link = ctx.to(&["traces", &trace.id.to_string()]);
            html! {
                (head(trace.name.as_deref(), &link, &close))
                (facts_of_trace(trace, ctx))
                (words(trace.content.as_ref(), &trace.id, ctx))
            }
        }
        Peeked::Step(step) => {
            let link = ctx.to(&["traces", &step.trace.to_string()]);
            let link = link.with("observation", step.id.to_string());
            html! {
                (head(step.name.as_deref(), &link, &close))
                (facts_of_step(step, ctx))
                (words(step.content.as_ref(), &step.trace, ctx))
            }
        }
        Peeked::Session(row) => {
            let id = row.session.id.to_string();
            let trace = row.ends.first.as_ref().map(|trace| &trace.id);
            let content = first_and_last(row.ends.clone());
            html! {
                (head(Some(&id), &ctx.to(&["sessions", &id]), &close))
                (facts_of_session(row, ctx))
                @if let Some(trace) = trace { (words(Some(&content), trace, ctx)) }
            }
        }
        Peeked::Nothing(wanted) => html! {
            (close_link(&close))
            p.notice role="status" {
                "No record with the ID " code { bdi { (wanted) } } ". It may have been deleted or not arrived yet."
            }
        },
    }
}

fn close_link(close: &Link) -> Markup {
    html! {
        a.quiet href=(close) data-unpeek { (icon(Icon::Close)) span.sr { "Close" } }
    }
}

fn head(name: Option<&str>, link: &Link, close: &Link) -> Markup {
    html! {
        header.peek-head {
            h2 { bdi { (ratchet_core::record::limit::elide(name.unwrap_or("unnamed"), 120)) } }
            a.button.primary href=(link) { "Open" }
            (close_link(close))
        }
    }
}

fn facts_of_trace(trace: &Trace, ctx: &RequestContext) -> Markup {
    let sums = &trace.summary;
    html! {
        dl.facts {
            dt { "Trace" } dd { (copy::id(&trace.id.to_string())) }
            dt { "Time" } dd { (figure::when(trace.timestamp, &ctx.time)) }
            @if let Some(latency) = sums.latency() { dt { "Latency" } dd { (figure::duration(latency)) } }
            dt { "Observations" }
            dd {
                (figure::count(sums.levels.total()))
                @if sums.levels.error > 0 { ", " span.bad { (figure::count(sums.levels.error)) " " (noun_of(sums.levels.error, "error")) } }
            }
            @if sums.total_tokens > 0 {
                dt { "Tokens" } dd { (figure::tokens_in_part(sums.total_tokens, sums.approximate_cost)) }
                dt { "Cost" } dd { (figure::cost_in_part(sums.cost, sums.approximate_cost)) }
            }
            @if let Some(user) = &trace.user { dt { "User" } dd { bdi { (user) } } }
            @if !trace.tags.is_empty() {
                dt { "Tags" } dd { span.badges { @for tag in &trace.tags { (badge::tag(tag)) } } }
            }
        }
    }
}

fn facts_of_session(row: &SessionRow, ctx: &RequestContext) -> Markup {
    let columns = ListColumn::of(ListKind::Sessions).filter(|column| !column.is_content());
    html! {
        dl.facts {
            @for column in columns { dt { (column.title()) } dd { (row.cell(column, ctx)) } }
        }
    }
}

fn facts_of_step(step: &Observation, ctx: &RequestContext) -> Markup {
    html! {
        dl.facts {
            dt { "Observation" } dd { (copy::id(&step.id.to_string())) }
            dt { "Type" } dd { (badge::glyph(step.kind)) " " (badge::kind_name(step.kind)) (badge::level(step.level)) }
            dt { "Time" } dd { (figure::when(step.start, &ctx.time)) }
            @if let Some(latency) = step.latency() { dt { "Latency" } dd { (figure::duration(latency)) } }
            @if let Some(model) = &step.model { dt { "Model" } dd { bdi { (model) } } }
            @if !step.usage.is_empty() {
                dt { "Tokens" } dd { (figure::tokens_in_part(step.usage.total(), step.approximate_cost())) }
                dt { "Cost" } dd {
                    (figure::cost_in_part(step.cost.as_ref().map(Cost::total), step.approximate_cost()))
                }
            }
            @if let Some(status) = &step.status_message {
                dt { "Status" } dd { bdi { (ratchet_core::record::limit::elide(status, 300)) } }
            }
        }
    }
}

fn words(content: Option<&Content>, trace: &TraceId, ctx: &RequestContext) -> Markup {
    let input = content.and_then(|content| content.input.as_ref()).map(Payload::as_str);
    let output = content.and_then(|content| content.output.as_ref()).map(Payload::as_str);
    let sides = [("Input", input, Side::Input), ("Output", output, Side::Output)];
    html! {
        @for (title, payload, side) in sides {
            h3 { (title) }
            @match payload {
                Some(payload) => { (message_preview::show(payload, side, trace, ctx)) },
                None => { p.muted { "none" } },
            }
        }
    }
}
