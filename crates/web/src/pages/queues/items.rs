use std::collections::HashMap;

use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::catalog::review::{ReviewOutcome, ReviewSettings};
use ratchet_core::counted::counted;
use ratchet_core::id::SessionId;
use ratchet_core::payload::Payload;
use ratchet_core::quality::label::LabelOrigin;
use ratchet_core::record::limit::elide;
use ratchet_core::record::trace::Content;
use ratchet_stages::review::labels;
use ratchet_stages::source::session_title::session_titles;
use ratchet_store::catalog::{QueueId, QueueItem, Review};
use ratchet_store::query::{
    Condition, Detail, Direction, ObservationColumn, ObservationQuery, PageNumber, Paging,
    SessionEnds, Test, TimeRange, TraceColumn, TraceOrder, TraceQuery,
};

use super::{ROWS, must_be_assigned, review};
use crate::components::badge::{self, Decider};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure, toast};
use crate::form::PageForm;
use crate::frame::{Page, Section, menu};
use crate::message_preview;
use crate::page_error::PageResult;
use crate::pages::calibration::{ends, refused};
use crate::request_context::{Link, RequestContext};
use crate::web::Web;

/// Characters of a user's name.
const NAME: usize = 40;
/// Of a blind queue's item that waits.
const HIDDEN_REASON: &str = "drawn; why is shown after the answer";

/// What an item is about, for people.
#[derive(Clone, Debug, Default)]
struct Subject {
    who: Option<String>,
    asked: Option<String>,
    /// Why it was drawn.
    reason: Option<String>,
}

type Subjects = HashMap<(ItemKind, String), Subject>;

/// `GET …/queues/{queue}`: the items of a queue.
pub(super) async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    let of = QueueId { project: ctx.project_id(), queue: id };
    must_be_assigned(&web, &ctx, &of).await?;
    let queue = web.store.catalog.queue(of.clone()).await?;
    let at = PageNumber { page: ctx.params.page(), limit: ROWS };
    let status = ctx.params.get("status").and_then(ItemStatus::parse);
    let items = web.store.catalog.queue_items(of.clone(), status, at).await?;
    let total = items.total.unwrap_or_default();
    let reviews = web.store.catalog.reviews(of.clone()).await?;
    let mut page = Page::new(Section::Queues, queue.name.clone());
    page.crumbs = vec![("Queues".to_owned(), Section::Queues.link(&ctx))];
    page.summary = html! {
        (figure::counted(total, "item")) ". " (queue.description.as_deref().unwrap_or_default())
    };
    page.action = html! {
        (choices(&ctx, status))
        @if ctx.viewer.can_change() {
            (more(&ctx, &queue.id))
        }
        @if ctx.viewer.may_review().is_ok() {
            a.button.primary href=(ctx.to(&["queues", &queue.id, "review"])) { "Review" }
        }
    };
    let settings = web.store.catalog.review_settings(of.clone()).await?;
    let subjects = subjects(&web, &ctx, (&items.rows, &settings)).await?;
    let mut names = HashMap::new();
    for review in &reviews {
        if !names.contains_key(&review.reviewer) {
            let name = review::name(&web, review.reviewer.clone()).await;
            names.insert(review.reviewer.clone(), name);
        }
    }
    let people = People { reviews: &reviews, names: &names };
    let rows = items.rows.iter().map(|item| row(item, &subjects, &people, &ctx)).collect();
    let mut columns = vec![
        Column::text("User"),
        Column::wide("Request"),
        Column::text("Reason"),
        Column::text("Type"),
        Column::text("Status"),
        Column::text("Reviewed by"),
        Column::text("Added"),
    ];
    if ctx.viewer.can_change() {
        columns.push(Column::text("Actions"));
    }
    let caption = format!("Items of {}", queue.name);
    page.body = html! {
        (done_toast(&ctx))
        @if total == 0 { (nothing(&ctx, status.is_some())) } @else {
            (table::table(&Table { caption, columns, rows, select_for: None }))
            (table::numbers(&ctx.here().without("done"), at, total))
        }
    };
    Ok(page.show(&ctx))
}

/// What can be changed of the queue itself.
fn more(ctx: &RequestContext, queue: &str) -> Markup {
    let items = html! {
        a href=(ctx.to(&["queues", queue, "edit"])) { "Edit" }
        a href=(ctx.to(&["queues", queue, "settings"])) { "Review settings" }
        a.danger href=(ctx.to(&["queues", queue, "delete"])) { "Delete…" }
    };
    menu("More actions", "More", &items)
}

/// Toast for the `done` parameter.
fn done_toast(ctx: &RequestContext) -> Markup {
    match ctx.params.get("done") {
        Some("removed") => toast::toast("Removed from the queue"),
        Some("edited") => toast::toast("Queue saved"),
        _ => Markup::default(),
    }
}

fn nothing(ctx: &RequestContext, is_narrowed: bool) -> Markup {
    let how = html! {
        p { "Select traces, observations or sessions in a list and add them to the queue." }
        p {
            @if is_narrowed {
                a.button href=(ctx.here().without("status").without("page")) { "Show all items" } " "
            }
            a.button href=(ctx.to(&["traces"])) { "Select traces" } " "
            a.button href=(ctx.to(&["sessions"])) { "Select sessions" }
        }
    };
    empty::empty(if is_narrowed { "No items with this status" } else { "No items yet" }, &how)
}

fn choices(ctx: &RequestContext, chosen: Option<ItemStatus>) -> Markup {
    let here = ctx.here().without("page").without("done");
    html! {
        nav.segments aria-label="Status" {
            a href=(here.clone().without("status"))
              aria-current=[chosen.is_none().then_some("true")] { "all" }
            @for (status, word) in [(ItemStatus::Pending, "waiting"), (ItemStatus::Completed, "done")] {
                a href=(here.clone().with("status", status.as_str()))
                  aria-current=[(chosen == Some(status)).then_some("true")] { (word) }
            }
        }
    }
}

/// Who reviewed which items.
struct People<'a> {
    reviews: &'a [Review],
    names: &'a HashMap<String, String>,
}

impl People<'_> {
    fn of(&self, item: &str) -> Vec<&str> {
        let of_item = self.reviews.iter().filter(|review| review.item == item);
        let answered = of_item.filter(|review| review.outcome == ReviewOutcome::Answered);
        let mut names: Vec<&str> = answered
            .filter_map(|review| self.names.get(&review.reviewer))
            .map(String::as_str)
            .collect();
        names.dedup();
        names
    }
}

fn row(item: &QueueItem, subjects: &Subjects, people: &People<'_>, ctx: &RequestContext) -> Row {
    let subject = subjects.get(&(item.kind, item.object.clone())).cloned().unwrap_or_default();
    let state = match item.status {
        ItemStatus::Pending => badge::tag("waiting"),
        ItemStatus::Completed => badge::decided(Decider::Human, "done"),
    };
    let action = ctx.viewer.can_change().then(|| removal(item, ctx));
    Row {
        id: item.id.clone(),
        link: Some(link(item, ctx)),
        cells: [
            html! { bdi { (elide(subject.who.as_deref().unwrap_or("unknown"), NAME)) } },
            html! {
                span title=(item.object) {
                    bdi { (subject.asked.as_deref().unwrap_or("no text recorded")) }
                }
            },
            html! { bdi.why-drawn { (subject.reason.as_deref().unwrap_or("added by hand")) } },
            html! { (item.kind.as_str().to_lowercase()) },
            state,
            html! { bdi { (people.of(&item.id).join(", ")) } },
            figure::ago(item.created_at, &ctx.time),
        ]
        .into_iter()
        .chain(action)
        .collect(),
        failed: false,
    }
}

fn removal(item: &QueueItem, ctx: &RequestContext) -> Markup {
    html! {
        form.inline method="post" data-inline-errors
             action=(ctx.to(&["queues", &item.queue, "items", &item.id, "remove"])) {
            (ctx.viewer.form_token.field())
            button.quiet type="submit" { "Remove" span.sr { " " (item.object) } }
        }
    }
}

/// `POST …/queues/{queue}/items/{item}/remove`: takes an item out of a queue.
pub(super) async fn remove(
    State(web): State<Web>,
    Path((_, queue, item)): Path<(String, String, String)>,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Redirect> {
    let back = ctx.to(&["queues", &queue]).with("done", "removed");
    let of = QueueId { project: ctx.project_id(), queue };
    ctx.viewer.catalog(&web).remove_queue_item(of, item, ctx.now).await?;
    Ok(Redirect::to(&back.to_string()))
}

/// Where to look at an item: the review page while it waits, its record when it is done.
fn link(item: &QueueItem, ctx: &RequestContext) -> Link {
    if item.status == ItemStatus::Pending && ctx.viewer.may_review().is_ok() {
        return ctx.to(&["queues", &item.queue, "review"]).with("item", &item.id);
    }
    if !ctx.viewer.can_read() {
        return ctx.to(&["queues", &item.queue]);
    }
    match item.kind {
        ItemKind::Trace => ctx.to(&["traces", &item.object]),
        ItemKind::Session => ctx.to(&["sessions", &item.object]),
        ItemKind::Observation => ctx.to(&["find"]).with("q", &item.object),
    }
}

/// Who asked what, of each item.
async fn subjects(
    web: &Web,
    ctx: &RequestContext,
    (items, settings): (&[QueueItem], &ReviewSettings),
) -> PageResult<Subjects> {
    let ids = |kind: ItemKind| -> Vec<String> {
        let of_kind = items.iter().filter(move |item| item.kind == kind);
        of_kind.map(|item| item.object.clone()).collect()
    };
    let mut subjects = of_traces(web, ctx, ids(ItemKind::Trace)).await?;
    subjects.extend(of_observations(web, ctx, ids(ItemKind::Observation)).await?);
    subjects.extend(of_sessions(web, ctx, (items, settings)).await?);
    for item in items.iter().filter(|item| item.kind == ItemKind::Trace) {
        let reason = review::reason(web, ctx, item.object.clone()).await?;
        // The reason tells the judge's verdict.
        let is_hidden = settings.is_blind && item.status == ItemStatus::Pending;
        let reason = reason.map(|why| if is_hidden { HIDDEN_REASON.to_owned() } else { why });
        let key = (item.kind, item.object.clone());
        subjects.entry(key).or_default().reason = reason;
    }
    Ok(subjects)
}

/// Sessions of weekly samples; the judge's band is hidden from reviewers who are to answer first.
async fn of_sessions(
    web: &Web,
    ctx: &RequestContext,
    (items, settings): (&[QueueItem], &ReviewSettings),
) -> PageResult<Subjects> {
    let items = items.iter().filter(|item| item.kind == ItemKind::Session);
    let items: Vec<(SessionId, ItemStatus)> = items
        .filter_map(|item| Some((SessionId::parse(&item.object).ok()?, item.status)))
        .collect();
    if items.is_empty() {
        return Ok(Subjects::new());
    }
    let ids: Vec<SessionId> = items.iter().map(|(id, _)| id.clone()).collect();
    let (source, sink) = ends(web, ctx);
    let titles = session_titles(&source, ids.clone()).await;
    let mut titles = titles.map_err(|why| refused(why.into()))?;
    let drawn = labels::asked(&sink, &settings.dataset).await;
    let drawn = drawn.map_err(|why| refused(why.into()))?;
    let bounds = web.store.telemetry.session_ends(ctx.project_id(), ids).await?;
    let subject = |((id, status), bounds): ((SessionId, ItemStatus), SessionEnds)| {
        let is_hidden = settings.is_blind && status == ItemStatus::Pending;
        let origin = drawn.iter().rfind(|(session, _)| *session == id).map(|(_, origin)| origin);
        let users = bounds.first.into_iter().chain(bounds.last);
        let subject = Subject {
            who: users.filter_map(|trace| trace.user).next(),
            asked: titles.remove(&id),
            reason: origin.map(|origin| drawn_as(origin, is_hidden)),
        };
        ((ItemKind::Session, id.to_string()), subject)
    };
    Ok(items.into_iter().zip(bounds).map(subject).collect())
}

/// How a session was drawn.
fn drawn_as(origin: &LabelOrigin, is_hidden: bool) -> String {
    let LabelOrigin { band, population, taken, week, .. } = origin;
    let of = format!("{taken} of {} of the week of {week}", counted(*population, "session"));
    if is_hidden { format!("drawn: {of}") } else { format!("{} by the judge: {of}", band.as_str()) }
}

fn asked(content: Option<&Content>, name: Option<&str>) -> Option<String> {
    let input = content.and_then(|content| content.input.as_ref()).map(Payload::as_str);
    input.map(message_preview::opening).or_else(|| name.map(str::to_owned))
}

async fn of_traces(web: &Web, ctx: &RequestContext, ids: Vec<String>) -> PageResult<Subjects> {
    if ids.is_empty() {
        return Ok(Subjects::new());
    }
    let query = TraceQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        conditions: vec![Condition { column: TraceColumn::Id, test: Test::AnyOf(ids) }],
        order: (TraceOrder::Timestamp, Direction::Descending),
        paging: Paging::After { cursor: None, limit: ROWS },
        detail: Detail::Content,
    };
    let traces = web.store.telemetry.traces(query).await?.rows;
    let subject = |trace: ratchet_core::record::trace::Trace| {
        let asked = asked(trace.content.as_ref(), trace.name.as_deref());
        ((ItemKind::Trace, trace.id.to_string()), Subject { who: trace.user, asked, reason: None })
    };
    Ok(traces.into_iter().map(subject).collect())
}

async fn of_observations(
    web: &Web,
    ctx: &RequestContext,
    ids: Vec<String>,
) -> PageResult<Subjects> {
    if ids.is_empty() {
        return Ok(Subjects::new());
    }
    let query = ObservationQuery {
        project: ctx.project_id(),
        range: TimeRange::default(),
        trace: None,
        conditions: vec![Condition { column: ObservationColumn::Id, test: Test::AnyOf(ids) }],
        direction: Direction::Ascending,
        paging: Paging::After { cursor: None, limit: ROWS },
        detail: Detail::Content,
    };
    let found = web.store.telemetry.observations(query).await?.rows;
    let subject = |observation: ratchet_core::record::observation::Observation| {
        let asked = asked(observation.content.as_ref(), observation.name.as_deref());
        let key = (ItemKind::Observation, observation.id.to_string());
        (key, Subject { asked, ..Subject::default() })
    };
    Ok(found.into_iter().map(subject).collect())
}
