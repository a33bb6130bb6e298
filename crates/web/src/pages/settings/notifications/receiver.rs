use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::chat::delivery_retry::ReceiverKind;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_remote::webhook;
use ratchet_stages::notify;
use ratchet_store::catalog::{DeliveryOutcome, NoticeDelivery, NoticeReceiver, ReceiverChange};
use uuid::Uuid;

use super::{NAME, blame, is_lost, news, outcome, shown_once, ticks, wanted};
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::settings::{ConfirmDialog, Done, Tab, once, page, question, wrong};
use crate::request_context::RequestContext;
use crate::web::Web;

const SHOWN: u64 = 50;

const PAUSED: FormField<'_> = FormField {
    name: "paused",
    label: "Paused",
    hint: "Events while paused are not delivered later.",
};

pub(super) fn routes() -> Router<Web> {
    let at = |what: &str| format!("/project/{{project}}/settings/notifications/{{receiver}}{what}");
    Router::new()
        .route(&at(""), get(show).post(change))
        .route(&at("/test"), post(test))
        .route(&at("/secret"), post(renew))
        .route(&at("/remove"), post(remove))
}

/// A receiver that the visitor may change: webhooks need the role owner.
async fn theirs(web: &Web, ctx: &RequestContext, id: String) -> PageResult<NoticeReceiver> {
    ctx.viewer.may_change()?;
    let found = find(web, ctx, id).await?;
    if found.kind != ReceiverKind::Browser {
        ctx.viewer.may_own()?;
    }
    Ok(found)
}

async fn find(web: &Web, ctx: &RequestContext, id: String) -> PageResult<NoticeReceiver> {
    let all = web.store.catalog.notice_receivers(ctx.project_id()).await?;
    let found = all.into_iter().find(|known| known.id == id);
    found.ok_or_else(|| PageError::not_there("receiver"))
}

async fn show(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let one = find(&web, &ctx, id).await?;
    drawn(&web, &ctx, &one, &settled(&one), &Markup::default()).await
}

/// The form with stored values.
fn settled(one: &NoticeReceiver) -> Entered {
    let ticked = one.events.iter().map(|kind| (news(*kind).0, "yes"));
    let paused = one.is_paused.then_some(("paused", "yes"));
    let all: Vec<_> = ticked.chain([("name", one.name.as_str())]).chain(paused).collect();
    Entered::preset(&all)
}

async fn drawn(
    web: &Web,
    ctx: &RequestContext,
    one: &NoticeReceiver,
    entered: &Entered,
    above: &Markup,
) -> PageResult<Markup> {
    let (project, id) = (ctx.project_id(), one.id.clone());
    let deliveries = web.store.catalog.notice_deliveries(project, id, SHOWN).await?;
    let may = one.kind == ReceiverKind::Browser || ctx.viewer.can_own();
    let body = html! {
        (above)
        section.settings {
            h2 { bdi { (one.name) } }
            p { (kind_words(one.kind)) " at " code { (one.address) } }
            @if may {
                (action_form(ctx, one, "test", "Send test"))
                @if one.kind == ReceiverKind::Webhook { (action_form(ctx, one, "secret", "Rotate secret")) }
                (action_form(ctx, one, "remove", "Remove"))
            }
        }
        section.settings {
            h2 { "Deliveries" }
            @if deliveries.is_empty() {
                (empty::empty("No deliveries yet", &html! {
                    p { "Send a test, or wait for the next event." }
                }))
            } @else {
                @if deliveries.first().is_some_and(|last| last.outcome == DeliveryOutcome::Refused) {
                    (not_public(one))
                }
                (list(&deliveries, ctx))
            }
        }
        @if may { (change_form(ctx, one, entered)) }
    };
    let summary = html! { "Notification receiver" };
    Ok(page(ctx, Tab::Notifications, summary, &body))
}

/// Why it is blocked, and who can change that. The resolved address is not shown: the viewer
/// may not know this network.
fn not_public(one: &NoticeReceiver) -> Markup {
    let host = host(&one.address);
    html! {
        p.problem role="alert" {
            "Delivery to " code { (host) } " is blocked: the address is private or local. "
            "The server administrator can allow it with "
            code { "outbound.allow = \"" (host) "\"" } " in ratchet.toml."
        }
    }
}

/// The host of an address as it is shown: without scheme, port and path.
fn host(address: &str) -> &str {
    let at = address.split_once("://").map_or(address, |(_, at)| at);
    let at = at.split('/').next().unwrap_or_default();
    match at.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => at.split(':').next().unwrap_or_default(),
    }
}

const fn kind_words(kind: ReceiverKind) -> &'static str {
    match kind {
        ReceiverKind::Webhook => "Webhook",
        ReceiverKind::Slack => "Slack",
        ReceiverKind::Browser => "Browser push",
        ReceiverKind::Email => "E-mail",
        ReceiverKind::Github => "GitHub issues",
        ReceiverKind::Jira => "Jira issues",
    }
}

fn action_form(ctx: &RequestContext, one: &NoticeReceiver, what: &str, words: &str) -> Markup {
    html! {
        form.inline method="post" action=(Tab::Notifications.action(ctx, &[&one.id, what])) {
            (ctx.viewer.form_token.field())
            button.button type="submit" { (words) }
        } " "
    }
}

fn change_form(ctx: &RequestContext, one: &NoticeReceiver, entered: &Entered) -> Markup {
    html! {
        section.settings {
            h2 { "Edit receiver" }
            form method="post" action=(Tab::Notifications.action(ctx, &[&one.id])) {
                (ctx.viewer.form_token.field())
                (field::problem(entered))
                (field::line(NAME, entered))
                @if !ReceiverKind::TRACKERS.contains(&one.kind) { (ticks(entered)) }
                (field::tick(PAUSED, entered))
                button.button.primary type="submit" { "Save" }
            }
        }
    }
}

fn list(deliveries: &[NoticeDelivery], ctx: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("Event"),
        Column::text("Time"),
        Column::text("Outcome"),
        Column::text("Response"),
        Column::text("Attempts"),
        Column::text("Next attempt"),
        Column::text("Chat"),
    ];
    let rows = deliveries.iter().map(|one| row(one, ctx)).collect();
    table::table(&Table { caption: "Deliveries".to_owned(), columns, rows, select_for: None })
}

fn row(one: &NoticeDelivery, ctx: &RequestContext) -> Row {
    let words = match one.kind {
        NotificationKind::Test => "test",
        kind => news(kind).1,
    };
    Row {
        id: one.notice.clone(),
        link: None,
        cells: vec![
            html! { (words) },
            figure::ago(one.made_at, &ctx.time),
            outcome(one),
            html! {
                @match one.status {
                    Some(status) => { code { (status) } },
                    None if one.tries == 0 => { span.muted { "pending" } },
                    None if one.outcome == DeliveryOutcome::Refused => { "blocked" },
                    None => { "no response" },
                }
            },
            html! { (one.tries) },
            html! {
                @if one.outcome == DeliveryOutcome::Waiting { (figure::when(one.due_at, &ctx.time)) }
                @else { span.muted { "None" } }
            },
            html! {
                @match &one.session {
                    Some(session) => { a href=(ctx.to(&["chats", session])) { "Open" span.sr { " the chat" } } },
                    None => { span.muted { "None" } },
                }
            },
        ],
        failed: is_lost(one),
    }
}

async fn change(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let one = theirs(&web, &ctx, id).await?;
    let entered = Entered::new(form);
    let is_tracker = ReceiverKind::TRACKERS.contains(&one.kind);
    let events = if is_tracker { Ok(one.events.clone()) } else { wanted(&entered) };
    let checked = events.and_then(|events| Ok((events, notify::name(entered.text("name"))?)));
    let (events, name) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            let entered = blame(entered, error)?;
            return Ok(wrong(drawn(&web, &ctx, &one, &entered, &Markup::default()).await?));
        }
    };
    let change = ReceiverChange {
        name: Some(name),
        events: Some(events),
        is_paused: Some(entered.is_ticked("paused")),
        secret: None,
    };
    let (catalog, with) = (ctx.viewer.catalog(&web), (change, web.store.secrets.clone()));
    catalog.change_notice_receiver(ctx.project_id(), one.id, with, ctx.now).await?;
    Ok(Done::Saved.back(&ctx, Tab::Notifications))
}

async fn test(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Response> {
    let one = theirs(&web, &ctx, id).await?;
    let trial = notify::trial(format!("test-{}", Uuid::new_v4()));
    let (catalog, id) = (ctx.viewer.catalog(&web), one.id.clone());
    catalog.post_notice_to(ctx.project_id(), id, trial, ctx.now).await?;
    let back = ctx.to(&["settings", "notifications", &one.id]).with("done", Done::Sent.word());
    Ok(axum::response::Redirect::to(&back.to_string()).into_response())
}

async fn renew(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let one = theirs(&web, &ctx, id).await?;
    if !Entered::new(form).is_ticked("sure") {
        let ask = ConfirmDialog {
            title: format!("Rotate the signing secret of {}?", one.name),
            lost: html! { "Receivers that verify signatures reject messages until they use the new secret." },
            action: Tab::Notifications.action(&ctx, &[&one.id, "secret"]),
            verb: "Rotate secret",
            fields: &[],
        };
        return Ok(question(&ctx, Tab::Notifications, &ask).into_response());
    }
    let none = || PageError::Bad("the system's random source is unavailable".to_owned());
    let secret = webhook::new_secret().ok_or_else(none)?;
    let change = ReceiverChange { secret: Some(secret.clone()), ..ReceiverChange::default() };
    let (catalog, with) = (ctx.viewer.catalog(&web), (change, web.store.secrets.clone()));
    let id = one.id.clone();
    let one = catalog.change_notice_receiver(ctx.project_id(), id, with, ctx.now).await?;
    let notice = shown_once("Secret rotated", &secret);
    Ok(once(drawn(&web, &ctx, &one, &settled(&one), &notice).await?))
}

async fn remove(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let one = theirs(&web, &ctx, id).await?;
    if !Entered::new(form).is_ticked("sure") {
        let ask = ConfirmDialog {
            title: format!("Remove {}?", one.name),
            lost: html! { "Pending deliveries and the delivery history are deleted." },
            action: Tab::Notifications.action(&ctx, &[&one.id, "remove"]),
            verb: "Remove",
            fields: &[],
        };
        return Ok(question(&ctx, Tab::Notifications, &ask).into_response());
    }
    let catalog = ctx.viewer.catalog(&web);
    catalog.remove_notice_receiver(ctx.project_id(), one.id, ctx.now).await?;
    Ok(Done::Removed.back(&ctx, Tab::Notifications))
}
