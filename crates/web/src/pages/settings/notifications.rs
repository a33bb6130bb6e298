//! Receivers of notifications: webhooks for programs, push messages for
//! browsers.

/// One receiver: its deliveries and settings.
mod receiver;
/// Forms that add people and issue trackers.
mod more_receivers;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::chat::delivery_retry::ReceiverKind;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::secret::Secret;
use ratchet_stages::notify::{self, NotificationRequestError};
use ratchet_store::catalog::{DeliveryOutcome, NoticeDelivery, NoticeReceiver};

use super::{Done, Tab, once, page, wrong};
use crate::assets;
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{copy, empty, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::request_context::RequestContext;
use crate::web::Web;

const NAME: FormField<'_> = FormField { name: "name", label: "Name", hint: "" };
const URL: FormField<'_> = FormField {
    name: "url",
    label: "URL",
    hint: "http or https. Encrypted at rest and never shown again.",
};

const SLACK: FormField<'_> = FormField {
    name: "slack",
    label: "Slack channel: the URL is that of an incoming webhook",
    hint: "",
};

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings/notifications", get(show).post(add))
        .route("/project/{project}/settings/notifications/browsers", post(subscribe))
        .merge(receiver::routes())
}

/// Notification types and their labels.
const fn news(kind: NotificationKind) -> (&'static str, &'static str) {
    match kind {
        NotificationKind::TurnEnded => ("turn-ended", "Turn finished"),
        NotificationKind::PersonNeeded => ("person-needed", "Input needed"),
        NotificationKind::ChatFailed => ("session-failed", "Chat failed"),
        NotificationKind::WeekReport => ("week-report", "Weekly report ready"),
        NotificationKind::ImprovementReport => ("improvement-report", "Weekly document published"),
        NotificationKind::Proposal => ("proposal", "Proposal worth a task"),
        NotificationKind::FailurePattern => ("failure-pattern", "New pattern of failures"),
        NotificationKind::ReviewDrawn => ("review-drawn", "Traces wait for review"),
        NotificationKind::ReviewAlert => ("review-alert", "Weekly review alert"),
        NotificationKind::GateBlocked => ("gate-blocked", "Gate blocked a run"),
        NotificationKind::Promotion => ("promotion", "Promotion changed"),
        NotificationKind::Test => ("test", "Test"),
    }
}

/// What a form wants to hear.
fn wanted(entered: &Entered) -> Result<Vec<NotificationKind>, NotificationRequestError> {
    let ticked =
        NotificationKind::SUBSCRIBABLE.into_iter().filter(|kind| entered.is_ticked(news(*kind).0));
    notify::events(ticked.map(NotificationKind::as_str))
}

/// The form as it is before anyone has touched it: with everything ticked.
fn preset() -> Entered {
    let all = NotificationKind::SUBSCRIBABLE.map(|kind| (news(kind).0, "yes"));
    Entered::preset(&all)
}

fn ticks(entered: &Entered) -> Markup {
    html! {
        fieldset.events {
            legend { "Events" }
            @for kind in NotificationKind::SUBSCRIBABLE {
                (field::tick(FormField { name: news(kind).0, label: news(kind).1, hint: "" }, entered))
            }
        }
    }
}

/// Says what is wrong with a form beside the field that it is about.
fn blame(entered: Entered, error: NotificationRequestError) -> PageResult<Entered> {
    match error {
        NotificationRequestError::Field("events", _) => {
            Ok(entered.and_wrong("", "Select at least one event."))
        }
        NotificationRequestError::Field(field, why) => Ok(entered.and_wrong(field, why)),
        NotificationRequestError::Push(why) => Ok(entered.and_wrong("", why.to_string())),
        NotificationRequestError::Store(error) => Err(error.into()),
    }
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    drawn(&web, &ctx, &preset(), &Markup::default()).await
}

async fn drawn(
    web: &Web,
    ctx: &RequestContext,
    entered: &Entered,
    above: &Markup,
) -> PageResult<Markup> {
    let known = web.store.catalog.notice_receivers(ctx.project_id()).await?;
    let mut rows: [Vec<Row>; 2] = Default::default();
    for one in &known {
        let key = (ctx.project_id(), one.id.clone());
        let last = web.store.catalog.notice_deliveries(key.0, key.1, 1).await?;
        let which = usize::from(one.kind == ReceiverKind::Browser);
        rows[which].push(row(one, last.first(), ctx));
    }
    let [webhooks, browsers] = rows;
    let count = known.len();
    let body = html! {
        (above)
        (this_browser(web, ctx).await?)
        section.settings {
            h2 { "Browsers" }
            @if browsers.is_empty() {
                (empty::empty("No browser notifications", &html! {
                    p { "Get a notification when an agent finishes or needs input, even when no Ratchet page is open." }
                    p { a.button href="#this-browser" { "Use this browser" } }
                }))
            } @else { (list("Browsers", "User", browsers)) }
        }
        section.settings {
            h2 { "Webhooks, e-mail and issue trackers" }
            @if webhooks.is_empty() {
                (empty::empty("No webhooks", &html! {
                    p { "A webhook receives a signed POST, retried for up to a day until it returns 2xx." }
                    @if ctx.viewer.can_own() { p { a.button href="#add" { "Add webhook" } } }
                }))
            } @else { (list("Webhooks", "Address", webhooks)) }
        }
        @if ctx.viewer.can_own() {
            (add_form(ctx, entered))
            (more_receivers::forms(ctx, entered))
        }
        script type="module" src=(assets::address("push.js")) {}
    };
    let summary = html! {
        (count) " " (if count == 1 { "receiver" } else { "receivers" })
        " for finished turns and requests for input."
    };
    Ok(page(ctx, Tab::Notifications, summary, &body))
}

/// What a script makes of the browser that shows the page.
async fn this_browser(web: &Web, ctx: &RequestContext) -> PageResult<Markup> {
    let nobody = None;
    let key = match notify::vapid(&web.store, nobody, ctx.now).await {
        Ok(key) => key.public(),
        Err(NotificationRequestError::Store(error)) => return Err(error.into()),
        Err(error) => return Err(PageError::Bad(error.to_string())),
    };
    Ok(html! {
        section.settings #this-browser data-push=(key) data-to=(Tab::Notifications.action(ctx, &["browsers"])) {
            h2 { "This browser" }
            p role="status" data-push-says {
                "Browser notifications need JavaScript."
            }
            p {
                button.button.primary type="button" data-push-on hidden { "Enable notifications" } " "
                button.button type="button" data-push-off hidden { "Disable notifications" }
            }
        }
    })
}

fn list(caption: &str, second: &'static str, rows: Vec<Row>) -> Markup {
    let columns = vec![
        Column::text("Name"),
        Column::text(second),
        Column::text("Events"),
        Column::text("Status"),
        Column::text("Last delivery"),
    ];
    table::table(&Table { caption: caption.to_owned(), columns, rows, select_for: None })
}

fn row(one: &NoticeReceiver, last: Option<&NoticeDelivery>, ctx: &RequestContext) -> Row {
    let events: Vec<&str> = one.events.iter().map(|kind| news(*kind).1).collect();
    let whose = match one.kind {
        ReceiverKind::Webhook
        | ReceiverKind::Slack
        | ReceiverKind::Email
        | ReceiverKind::Github
        | ReceiverKind::Jira => html! { code { (one.address) } },
        ReceiverKind::Browser => html! { bdi { (one.person.as_deref().unwrap_or("someone")) } },
    };
    Row {
        id: one.id.clone(),
        link: Some(ctx.to(&["settings", "notifications", &one.id])),
        cells: vec![
            html! { bdi { (one.name) } },
            whose,
            html! { (events.join(", ")) },
            html! { @if one.is_paused { span.badge.warn { "paused" } } @else { "on" } },
            html! {
                @match last {
                    Some(last) => { (outcome(last)) " " (figure::ago(last.made_at, &ctx.time)) },
                    None => { span.muted { "None yet" } },
                }
            },
        ],
        failed: last.is_some_and(is_lost),
    }
}

/// Whether it did not arrive and never will.
fn is_lost(one: &NoticeDelivery) -> bool {
    matches!(one.outcome, DeliveryOutcome::Failed | DeliveryOutcome::Refused)
}

/// Status of a delivery.
fn outcome(one: &NoticeDelivery) -> Markup {
    let word = one.outcome.as_str();
    match one.outcome {
        DeliveryOutcome::Delivered => html! { span.badge.good { (word) } },
        DeliveryOutcome::Waiting => html! { span.badge.warn { (word) } },
        DeliveryOutcome::Failed | DeliveryOutcome::Refused => {
            html! { span.badge.bad { (word) } }
        }
    }
}

fn add_form(ctx: &RequestContext, entered: &Entered) -> Markup {
    html! {
        section.settings #add {
            h2 { "Add webhook" }
            form method="post" action=(Tab::Notifications.action(ctx, &[])) {
                (ctx.viewer.form_token.field())
                (field::problem(entered))
                (field::line(NAME, entered))
                (field::line(URL, entered))
                (field::tick(SLACK, entered))
                (ticks(entered))
                button.button.primary type="submit" { "Add webhook" }
            }
        }
    }
}

async fn add(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let entered = Entered::new(form);
    let (name, url) = (entered.text("name"), entered.text("url"));
    let checked = match more_receivers::entered(&entered, &web.outbound) {
        Some(checked) => checked.map(|new| (new, None)),
        None => wanted(&entered).and_then(|events| {
            if entered.is_ticked(SLACK.name) {
                return Ok((notify::slack(name, url, events, &web.outbound)?, None));
            }
            let (new, secret) = notify::webhook(name, url, events, &web.outbound)?;
            Ok((new, Some(secret)))
        }),
    };
    let (new, secret) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            let entered = blame(entered, error)?;
            return Ok(wrong(drawn(&web, &ctx, &entered, &Markup::default()).await?));
        }
    };
    let (catalog, secrets) = (ctx.viewer.catalog(&web), web.store.secrets.clone());
    catalog.add_notice_receiver(ctx.project_id(), new, secrets, ctx.now).await?;
    let notice = secret.map_or_else(Markup::default, |secret| shown_once("Webhook added", &secret));
    Ok(once(drawn(&web, &ctx, &preset(), &notice).await?))
}

/// The secret, with what a receiver does with it.
fn shown_once(title: &str, secret: &Secret) -> Markup {
    html! {
        section.settings.shown-once role="status" {
            h2 { (title) }
            p { "Signing secret (Standard Webhooks). It is not shown again." }
            (copy::snippet(secret.expose()))
        }
    }
}

/// A script sends what the browser got from its push service.
async fn subscribe(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let entered = Entered::new(form);
    let given = (entered.raw("endpoint"), entered.raw("p256dh"), entered.raw("auth"));
    let person = Some(ctx.viewer.name().to_owned());
    let events = NotificationKind::SUBSCRIBABLE.to_vec();
    let (name, outbound) = (entered.text("name"), &web.outbound);
    let new = match notify::browser(name, given, (events, person), outbound) {
        Ok(new) => new,
        Err(NotificationRequestError::Store(error)) => return Err(error.into()),
        Err(error) => return Err(PageError::Bad(error.to_string())),
    };
    let (catalog, secrets) = (ctx.viewer.catalog(&web), web.store.secrets.clone());
    catalog.add_notice_receiver(ctx.project_id(), new, secrets, ctx.now).await?;
    Ok(Done::Added.back(&ctx, Tab::Notifications))
}
