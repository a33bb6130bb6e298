//! Who is told when a turn ends or a person is needed: `/api/v1/notifications`.
//!
//! Members see who is told and have their own browsers told; webhooks are an owner's affair, for
//! they send what happens here to somewhere else.

/// What clients send and see.
mod wire;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ratchet_core::chat::delivery_retry::ReceiverKind;
use ratchet_core::chat::notification::NotificationKind;
use ratchet_remote::webhook;
use ratchet_stages::notify::{self, NotificationRequestError};
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
    ReceiverUpdate, ReceiverView, RemovedReceiver, SentNoticeView, WebhookRequest,
};

/// Deliveries that a list shows.
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

/// Which news is wanted; all of it when nobody says.
fn news(words: Option<&[String]>) -> ApiResult<Vec<NotificationKind>> {
    match words {
        Some(words) => Ok(notify::events(words.iter().map(String::as_str))?),
        None => Ok(NotificationKind::NEWS.to_vec()),
    }
}

/// A receiver that the caller may change.
async fn theirs(app: &App, caller: &Caller, id: String) -> ApiResult<NoticeReceiver> {
    let found = app.store.catalog.notice_receiver(caller.project.clone(), id).await?;
    if found.kind == ReceiverKind::Webhook {
        caller.clone().may_administer()?;
    }
    Ok(found)
}

/// `GET /api/v1/notifications/receivers`: who is told of the project's news, without secrets.
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

/// `POST /api/v1/notifications/webhooks`: has a program told. The secret that messages are signed
/// with is shown this once.
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
    let outbound = &app.settings.outbound;
    let (new, secret) = notify::webhook(&request.name, &request.url, events, outbound)?;
    let (catalog, secrets) = (caller.catalog(&app), app.store.secrets.clone());
    let made = catalog.add_notice_receiver(caller.project, new, secrets, app.clock.now()).await?;
    let view = NewReceiverView::new(made, Some(&secret));
    Ok((StatusCode::CREATED, Json(view)))
}

/// `POST /api/v1/notifications/browsers`: has a browser told, with what its push service gave it.
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
    let outbound = &app.settings.outbound;
    let new = notify::browser(&request.name, given, (events, person), outbound)?;
    let (catalog, secrets) = (caller.catalog(&app), app.store.secrets.clone());
    let made = catalog.add_notice_receiver(caller.project, new, secrets, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(made.into())))
}

/// `GET /api/v1/notifications/key`: the server's public key, which browsers subscribe with.
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

/// `PATCH /api/v1/notifications/receivers/{receiver}`: changes what someone is told, leaves them
/// alone for a while, or signs with another secret, which is shown this once.
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
    // What waited while it was paused may be told now.
    catalog.tell_soon();
    Ok(Json(NewReceiverView::new(changed, secret.as_ref())))
}

/// `DELETE /api/v1/notifications/receivers/{receiver}`: someone is told nothing any more.
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

/// `POST /api/v1/notifications/receivers/{receiver}/tests`: tells someone that nothing happened, to
/// see whether it arrives. It answers at once; the list of deliveries says how it went.
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

/// `GET /api/v1/notifications/receivers/{receiver}/deliveries`: what someone was told lately and
/// how that went, the latest first.
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
