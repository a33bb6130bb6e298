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
use crate::page_error::{PageError, PageResult};
use crate::pages::settings::{Ask, Done, Tab, entered, once, page, question, wrong};
use crate::request_context::RequestContext;
use crate::web::Web;

const SHOWN: u64 = 50;

const PAUSED: FormField<'_> = FormField {
    name: "paused",
    label: "Paused: send no notifications",
    hint: "Events during the pause are not sent later.",
};

pub(super) fn routes() -> Router<Web> {
    let at = |what: &str| format!("/project/{{project}}/settings/notifications/{{receiver}}{what}");
    Router::new()
        .route(&at(""), get(show).post(change))
        .route(&at("/test"), post(test))
        .route(&at("/secret"), post(renew))
        .route(&at("/remove"), post(remove))
}

/// A receiver that the visitor may change: webhooks are an owner's affair.
async fn theirs(web: &Web, place: &RequestContext, id: String) -> PageResult<NoticeReceiver> {
    place.visitor.may_change()?;
    let found = find(web, place, id).await?;
    if found.kind == ReceiverKind::Webhook {
        place.visitor.may_own()?;
    }
    Ok(found)
}

async fn find(web: &Web, place: &RequestContext, id: String) -> PageResult<NoticeReceiver> {
    let all = web.store.catalog.notice_receivers(place.project_id()).await?;
    let found = all.into_iter().find(|known| known.id == id);
    found.ok_or_else(|| PageError::not_there("receiver"))
}

async fn show(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    place.visitor.may_change()?;
    let one = find(&web, &place, id).await?;
    drawn(&web, &place, &one, &settled(&one), &Markup::default()).await
}

/// The form as it is kept.
fn settled(one: &NoticeReceiver) -> Entered {
    let ticked = one.events.iter().map(|kind| (news(*kind).0, "yes"));
    let paused = one.is_paused.then_some(("paused", "yes"));
    let all: Vec<_> = ticked.chain([("name", one.name.as_str())]).chain(paused).collect();
    Entered::preset(&all)
}

async fn drawn(
    web: &Web,
    place: &RequestContext,
    one: &NoticeReceiver,
    entered: &Entered,
    above: &Markup,
) -> PageResult<Markup> {
    let (project, id) = (place.project_id(), one.id.clone());
    let deliveries = web.store.catalog.notice_deliveries(project, id, SHOWN).await?;
    let may = one.kind == ReceiverKind::Browser || place.visitor.can_own();
    let body = html! {
        (above)
        section.settings {
            h2 { bdi { (one.name) } }
            p { (kind_words(one.kind)) " at " code { (one.address) } }
            @if may {
                (deed(place, one, "test", "Send a test"))
                @if one.kind == ReceiverKind::Webhook { (deed(place, one, "secret", "Rotate secret")) }
                (deed(place, one, "remove", "Remove"))
            }
        }
        section.settings {
            h2 { "Last notifications" }
            @if deliveries.is_empty() {
                (empty::empty("No notifications yet", &html! {
                    p { "Send a test, or wait until a turn ends or a person is needed." }
                }))
            } @else {
                @if deliveries.first().is_some_and(|last| last.outcome == DeliveryOutcome::Refused) {
                    (not_public(one))
                }
                (list(&deliveries, place))
            }
        }
        @if may { (change_form(place, one, entered)) }
    };
    let summary = html! { "Receives a notification when a turn ends or a person is needed." };
    Ok(page(place, Tab::Notifications, summary, &body))
}

/// Why it is not called, and who can change that. Where its name leads is not said: whoever looks
/// may not know this network.
fn not_public(one: &NoticeReceiver) -> Markup {
    let host = host(&one.address);
    html! {
        p.problem role="alert" {
            "This server does not call " code { (host) } ": its address is private, or this machine's own. "
            "The operator of the server can allow it with "
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
        ReceiverKind::Webhook => "A webhook",
        ReceiverKind::Browser => "A browser (Web Push)",
    }
}

fn deed(place: &RequestContext, one: &NoticeReceiver, what: &str, words: &str) -> Markup {
    html! {
        form.inline method="post" action=(Tab::Notifications.action(place, &[&one.id, what])) {
            (place.visitor.form_token.field())
            button.button type="submit" { (words) }
        } " "
    }
}

fn change_form(place: &RequestContext, one: &NoticeReceiver, entered: &Entered) -> Markup {
    html! {
        section.settings {
            h2 { "Edit" }
            form method="post" action=(Tab::Notifications.action(place, &[&one.id])) {
                (place.visitor.form_token.field())
                (field::problem(entered))
                (field::line(NAME, entered))
                (ticks(entered))
                (field::tick(PAUSED, entered))
                button.button.primary type="submit" { "Save" }
            }
        }
    }
}

fn list(deliveries: &[NoticeDelivery], place: &RequestContext) -> Markup {
    let columns = vec![
        Column::text("What"),
        Column::text("Happened"),
        Column::text("Outcome"),
        Column::text("Answer"),
        Column::text("Tries"),
        Column::text("Next attempt"),
        Column::text("Chat"),
    ];
    let rows = deliveries.iter().map(|one| row(one, place)).collect();
    table::table(&Table {
        caption: "Last notifications".to_owned(),
        columns,
        rows,
        select_for: None,
    })
}

fn row(one: &NoticeDelivery, place: &RequestContext) -> Row {
    let words = match one.kind {
        NotificationKind::Test => "a test",
        kind => news(kind).1,
    };
    Row {
        id: one.notice.clone(),
        link: None,
        cells: vec![
            html! { (words) },
            figure::ago(one.made_at, place.now),
            outcome(one),
            html! {
                @match one.status {
                    Some(status) => { code { (status) } },
                    None if one.tries == 0 => { span.muted { "not sent yet" } },
                    None if one.outcome == DeliveryOutcome::Refused => { "not called" },
                    None => { "no response" },
                }
            },
            html! { (one.tries) },
            html! {
                @if one.outcome == DeliveryOutcome::Waiting { (figure::when(one.due_at, place.now)) }
                @else { span.muted { "none" } }
            },
            html! {
                @match &one.session {
                    Some(session) => { a href=(place.to(&["chats", session])) { "Open" span.sr { " the chat" } } },
                    None => { span.muted { "none" } },
                }
            },
        ],
        failed: is_lost(one),
    }
}

async fn change(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, id)): Path<(String, String)>,
    form: String,
) -> PageResult<Response> {
    let one = theirs(&web, &place, id).await?;
    let entered = entered(&form);
    let checked =
        wanted(&entered).and_then(|events| Ok((events, notify::name(entered.text("name"))?)));
    let (events, name) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            let entered = blame(entered, error)?;
            return Ok(wrong(drawn(&web, &place, &one, &entered, &Markup::default()).await?));
        }
    };
    let change = ReceiverChange {
        name: Some(name),
        events: Some(events),
        is_paused: Some(entered.is_ticked("paused")),
        secret: None,
    };
    let (catalog, with) = (place.visitor.catalog(&web), (change, web.store.secrets.clone()));
    catalog.change_notice_receiver(place.project_id(), one.id, with, place.now).await?;
    Ok(Done::Saved.back(&place, Tab::Notifications))
}

async fn test(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Response> {
    let one = theirs(&web, &place, id).await?;
    let trial = notify::trial(format!("test-{}", Uuid::new_v4()));
    let (catalog, id) = (place.visitor.catalog(&web), one.id.clone());
    catalog.post_notice_to(place.project_id(), id, trial, place.now).await?;
    let back = place.to(&["settings", "notifications", &one.id]).with("done", Done::Sent.word());
    Ok(axum::response::Redirect::to(&back.to_string()).into_response())
}

async fn renew(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, id)): Path<(String, String)>,
    form: String,
) -> PageResult<Response> {
    let one = theirs(&web, &place, id).await?;
    if !entered(&form).is_ticked("sure") {
        let ask = Ask {
            title: format!("Rotate the secret of {}?", one.name),
            lost: html! { "Whoever checks signatures with the secret there is now refuses what comes \
            next, until they have the new one." },
            action: Tab::Notifications.action(&place, &[&one.id, "secret"]),
            verb: "Rotate secret",
            fields: &[],
        };
        return Ok(question(&place, Tab::Notifications, &ask).into_response());
    }
    let none = || PageError::Bad("the system has no randomness to give".to_owned());
    let secret = webhook::new_secret().ok_or_else(none)?;
    let change = ReceiverChange { secret: Some(secret.clone()), ..ReceiverChange::default() };
    let (catalog, with) = (place.visitor.catalog(&web), (change, web.store.secrets.clone()));
    let id = one.id.clone();
    let one = catalog.change_notice_receiver(place.project_id(), id, with, place.now).await?;
    let told = shown_once("Secret rotated", &secret);
    Ok(once(drawn(&web, &place, &one, &settled(&one), &told).await?))
}

async fn remove(
    State(web): State<Web>,
    place: RequestContext,
    Path((_, id)): Path<(String, String)>,
    form: String,
) -> PageResult<Response> {
    let one = theirs(&web, &place, id).await?;
    if !entered(&form).is_ticked("sure") {
        let ask = Ask {
            title: format!("Remove {}?", one.name),
            lost: html! { "Pending notifications and the delivery log are deleted as well." },
            action: Tab::Notifications.action(&place, &[&one.id, "remove"]),
            verb: "Remove",
            fields: &[],
        };
        return Ok(question(&place, Tab::Notifications, &ask).into_response());
    }
    let catalog = place.visitor.catalog(&web);
    catalog.remove_notice_receiver(place.project_id(), one.id, place.now).await?;
    Ok(Done::Removed.back(&place, Tab::Notifications))
}
