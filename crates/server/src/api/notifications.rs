//! Notifications about finished turns and permission prompts: `/api/v1/notifications`.
//!
//! Members list receivers and subscribe their own browsers; webhooks need an owner, because they
//! send data out of the server.

/// Request and response types.
mod wire;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ratchet_core::chat::delivery_retry::ReceiverKind;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_remote::webhook;
use ratchet_stages::notify::{self, JiraRequest, NotificationRequestError};
use ratchet_store::catalog::{NoticeReceiver, ReceiverChange};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use crate::app::App;
use crate::auth::{Caller, Member, Owner};
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
pub use wire::{
    BrowserKeysRequest, BrowserRequest, DeliveryView, NewReceiverView, PushKeyView, ReceiverState,
    ReceiverUpdate, ReceiverView, RemovedReceiver, SentNoticeView, WebhookFormat, WebhookRequest,
};

/// Maximum number of listed deliveries.
const DELIVERIES: u64 = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(add_webhook))
        .routes(routes!(add_browser))
        .routes(routes!(push_key))
        .routes(routes!(change, remove))
        .routes(routes!(test))
        .routes(routes!(deliveries))
}

impl From<NotificationRequestError> for ApiError {
    fn from(error: NotificationRequestError) -> Self {
        match error {
            NotificationRequestError::Field(..) | NotificationRequestError::Push(_) => {
                Self::Invalid(error.to_string())
            }
            NotificationRequestError::Store(error) => error.into(),
        }
    }
}

/// The subscribed events; all by default.
fn news(words: Option<&[String]>) -> ApiResult<Vec<NotificationKind>> {
    match words {
        Some(words) => Ok(notify::events(words.iter().map(String::as_str))?),
        None => Ok(NotificationKind::SUBSCRIBABLE.to_vec()),
    }
}

/// A receiver that the caller may change.
async fn theirs(app: &App, caller: &Caller, id: String) -> ApiResult<NoticeReceiver> {
    let found = app.store.catalog.notice_receiver(caller.project.clone(), id).await?;
    if found.kind != ReceiverKind::Browser {
        caller.clone().may_administer()?;
    }
    Ok(found)
}

/// `GET /api/v1/notifications/receivers`: the project's receivers of notifications, without
/// secrets.
#[utoipa::path(
    get,
    path = "/api/v1/notifications/receivers",
    tag = "Notifications",
    responses((status = 200, body = Vec<ReceiverView>))
)]
async fn list(
    State(app): State<App>,
    Member(caller): Member,
) -> ApiResult<Json<Vec<ReceiverView>>> {
    let receivers = app.store.catalog.notice_receivers(caller.project).await?;
    Ok(Json(receivers.into_iter().map(Into::into).collect()))
}

/// `POST /api/v1/notifications/webhooks`: adds a webhook. The secret that signs its messages is
/// shown only once.
#[utoipa::path(
    post,
    path = "/api/v1/notifications/webhooks",
    tag = "Notifications",
    request_body = WebhookRequest,
    responses((status = 201, body = NewReceiverView))
)]
async fn add_webhook(
    State(app): State<App>,
    Owner(caller): Owner,
    JsonBody(request): JsonBody<WebhookRequest>,
) -> ApiResult<(StatusCode, Json<NewReceiverView>)> {
    let events = news(request.events.as_deref())?;
    let outbound = &app.outbound;
    let token = request.token.as_deref().unwrap_or_default();
    let (new, secret) = match request.format.unwrap_or_default() {
        WebhookFormat::Signed => {
            let (new, secret) = notify::webhook(&request.name, &request.url, events, outbound)?;
            (new, Some(secret))
        }
        WebhookFormat::Slack => {
            (notify::slack(&request.name, &request.url, events, outbound)?, None)
        }
        WebhookFormat::Email => {
            let to = request.url.strip_prefix("mailto:").unwrap_or(&request.url);
            let document = || vec![NotificationKind::ImprovementReport];
            let events = if request.events.is_some() { events } else { document() };
            (notify::email(&request.name, to, events)?, None)
        }
        WebhookFormat::Github => {
            (notify::github(&request.name, (&request.url, token), outbound)?, None)
        }
        WebhookFormat::Jira => {
            let entered = JiraRequest {
                name: &request.name,
                url: &request.url,
                user: request.user.as_deref().unwrap_or_default(),
                token,
                project: request.jira_project.as_deref().unwrap_or_default(),
            };
            (notify::jira(entered, outbound)?, None)
        }
    };
    let (catalog, secrets) = (caller.catalog(&app), app.store.secrets.clone());
    let made = catalog.add_notice_receiver(caller.project, new, secrets, app.clock.now()).await?;
    let view = NewReceiverView::new(made, secret.as_ref());
    Ok((StatusCode::CREATED, Json(view)))
}

/// `POST /api/v1/notifications/browsers`: subscribes a browser, with the keys of its push service.
#[utoipa::path(
    post,
    path = "/api/v1/notifications/browsers",
    tag = "Notifications",
    request_body = BrowserRequest,
    responses((status = 201, body = ReceiverView))
)]
async fn add_browser(
    State(app): State<App>,
    Member(caller): Member,
    JsonBody(request): JsonBody<BrowserRequest>,
) -> ApiResult<(StatusCode, Json<ReceiverView>)> {
    let events = news(request.events.as_deref())?;
    let BrowserKeysRequest { p256dh, auth } = &request.keys;
    let given = (request.endpoint.as_str(), p256dh.as_str(), auth.as_str());
    let person = Some(caller.actor.name().to_owned()).filter(|name| !name.is_empty());
    let outbound = &app.outbound;
    let new = notify::browser(&request.name, given, (events, person), outbound)?;
    let (catalog, secrets) = (caller.catalog(&app), app.store.secrets.clone());
    let made = catalog.add_notice_receiver(caller.project, new, secrets, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// `GET /api/v1/notifications/key`: the server's public key for browser subscriptions (VAPID).
#[utoipa::path(
    get,
    path = "/api/v1/notifications/key",
    tag = "Notifications",
    responses((status = 200, body = PushKeyView))
)]
async fn push_key(State(app): State<App>, _: Member) -> ApiResult<Json<PushKeyView>> {
    let nobody = None;
    let key = notify::vapid(&app.store, nobody, app.clock.now()).await?;
    Ok(Json(PushKeyView { public_key: key.public() }))
}

/// `PATCH /api/v1/notifications/receivers/{receiver}`: changes the events of a receiver, pauses it,
/// or rotates its secret, which is shown only once.
#[utoipa::path(
    patch,
    path = "/api/v1/notifications/receivers/{receiver}",
    tag = "Notifications",
    params(("receiver" = String, Path, description = "The receiver's id.")),
    request_body = ReceiverUpdate,
    responses((status = 200, body = NewReceiverView))
)]
async fn change(
    State(app): State<App>,
    Member(caller): Member,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<ReceiverUpdate>,
) -> ApiResult<Json<NewReceiverView>> {
    let known = theirs(&app, &caller, id.clone()).await?;
    if request.new_secret && known.kind != ReceiverKind::Webhook {
        let why = "newSecret: only messages to webhooks are signed".to_owned();
        return Err(ApiError::Invalid(why));
    }
    let secret = match request.new_secret {
        true => {
            webhook::new_secret().map(Some).ok_or_else(|| ApiError::internal("no randomness"))?
        }
        false => None,
    };
    let change = ReceiverChange {
        name: request.name.as_deref().map(notify::name).transpose()?,
        events: request.events.as_deref().map(|words| news(Some(words))).transpose()?,
        is_paused: request.state.map(|state| state == ReceiverState::Paused),
        secret: secret.clone(),
    };
    let (catalog, with) = (caller.catalog(&app), (change, app.store.secrets.clone()));
    let now = app.clock.now();
    let changed = catalog.change_notice_receiver(caller.project, id, with, now).await?;
    // Deliveries that were pending while it was paused may be due now.
    catalog.wake_delivery();
    Ok(Json(NewReceiverView::new(changed, secret.as_ref())))
}

/// `DELETE /api/v1/notifications/receivers/{receiver}`: removes a receiver.
#[utoipa::path(
    delete,
    path = "/api/v1/notifications/receivers/{receiver}",
    tag = "Notifications",
    params(("receiver" = String, Path, description = "The receiver's id.")),
    responses((status = 200, body = RemovedReceiver))
)]
async fn remove(
    State(app): State<App>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> ApiResult<Json<RemovedReceiver>> {
    let known = theirs(&app, &caller, id).await?;
    let (catalog, now) = (caller.catalog(&app), app.clock.now());
    catalog.remove_notice_receiver(caller.project, known.id.clone(), now).await?;
    Ok(Json(RemovedReceiver { removed: known.id }))
}

/// `POST /api/v1/notifications/receivers/{receiver}/tests`: sends a test notification. Responds at
/// once; the list of deliveries has the result.
#[utoipa::path(
    post,
    path = "/api/v1/notifications/receivers/{receiver}/tests",
    tag = "Notifications",
    params(("receiver" = String, Path, description = "The receiver's id.")),
    responses((status = 202, body = SentNoticeView))
)]
async fn test(
    State(app): State<App>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> ApiResult<(StatusCode, Json<SentNoticeView>)> {
    let known = theirs(&app, &caller, id).await?;
    let notice = format!("test-{}", Uuid::new_v4());
    let (trial, now) = (notify::trial(notice.clone()), app.clock.now());
    caller.catalog(&app).post_notice_to(caller.project, known.id, trial, now).await?;
    Ok((StatusCode::ACCEPTED, Json(SentNoticeView { notice })))
}

/// `GET /api/v1/notifications/receivers/{receiver}/deliveries`: the last deliveries to a receiver,
/// latest first.
#[utoipa::path(
    get,
    path = "/api/v1/notifications/receivers/{receiver}/deliveries",
    tag = "Notifications",
    params(("receiver" = String, Path, description = "The receiver's id.")),
    responses((status = 200, body = Vec<DeliveryView>))
)]
async fn deliveries(
    State(app): State<App>,
    Member(caller): Member,
    Path(id): Path<String>,
) -> ApiResult<Json<Vec<DeliveryView>>> {
    let found = app.store.catalog.notice_deliveries(caller.project, id, DELIVERIES).await?;
    Ok(Json(found.into_iter().map(Into::into).collect()))
}
