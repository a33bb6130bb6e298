use std::pin::Pin;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use ratchet_core::experiment::conversation::{self, Exchange, History};
use ratchet_core::id::SessionId;
use ratchet_core::permit_pool::{NoPermit, Permit};
use ratchet_stages::experiment::target::{AnswerListener, OpenTarget};
use ratchet_stages::experiment::target_chat::{self, TargetTurn, TurnError, TurnHost, TurnRequest};
use ratchet_stages::sink::LocalSink;
use tokio::sync::mpsc;

use super::{environments, parse, refused};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::{experiments, targets};
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

/// Parts of an answer that wait to be sent. What does not fit is shown with the whole turn.
const PARTS: usize = 1_000;

/// A type that is not compressed: compression waits for more. Proxies do not wait either.
const HEADERS: [(&str, &str); 3] = [
    ("content-type", "application/octet-stream"),
    ("cache-control", "no-store"),
    ("x-accel-buffering", "no"),
];

/// A message that is ready to be sent.
pub(super) struct Message {
    web: Web,
    pub(super) chat: SessionId,
    target: OpenTarget,
    host: TurnHost,
    before: Vec<Exchange>,
    text: String,
    person: Option<String>,
    _permit: Permit<String>,
}

impl Message {
    /// Reads a message; one at a time for a chat.
    pub(super) async fn read(
        (web, ctx): (&Web, &RequestContext),
        (target, chat): (&str, &str),
        form: &Params,
    ) -> PageResult<Self> {
        let known = environments(web, ctx, target).await?;
        let environment = form.get("environment").filter(|name| !name.is_empty());
        if environment.is_some_and(|name| known.iter().all(|one| one != name)) {
            return Err(PageError::not_there("environment"));
        }
        let worker = targets::worker(web)?;
        let chat = parse(chat)?;
        let permit =
            web.target_turns().take(Some(chat.to_string())).map_err(|limit| match limit {
                NoPermit::Each(_) => {
                    PageError::Waiting("this chat waits for an answer already".to_owned())
                }
                NoPermit::Total(_) => {
                    PageError::Waiting("too many chats wait for an answer".to_owned())
                }
            })?;
        let service = experiments::service(web, ctx);
        let open = worker.targets().open(&service, (target, environment), ctx.now).await;
        let open = open.map_err(experiments::failed)?;
        let turns = target_chat::turns(&web.store, &ctx.project_id(), &chat).await?;
        let before: Vec<Exchange> = turns.iter().filter_map(TargetTurn::exchange).collect();
        let text = form.get("text").unwrap_or_default().to_owned();
        // Before the response begins: what is refused later cannot be said any more.
        let history = History::of_kind(&open.identity.kind);
        conversation::input(&before, &text, history).map_err(|why| refused(why.into()))?;
        Ok(Self {
            web: web.clone(),
            chat,
            target: open,
            host: TurnHost::Store(Box::new(LocalSink {
                telemetry: web.store.telemetry.clone(),
                catalog: ctx.viewer.catalog(web),
                project: ctx.project_id(),
            })),
            before,
            text,
            person: ctx.viewer.person().map(str::to_owned),
            _permit: permit,
        })
    }

    pub(super) async fn send(self, listener: AnswerListener<'_>) -> Result<TargetTurn, TurnError> {
        let request = TurnRequest {
            chat: &self.chat,
            before: self.before.clone(),
            text: &self.text,
            person: self.person.clone(),
        };
        target_chat::send(&self.host, &self.target, request, (&self.web.clock, listener)).await
    }
}

type Sending = Pin<Box<dyn Future<Output = Result<TargetTurn, TurnError>> + Send>>;

/// `POST …/chats/with/{target}/{chat}/stream`: sends a message; the response is the answer, as it
/// comes.
pub(super) async fn stream(
    State(web): State<Web>,
    Path((_, target, chat)): Path<(String, String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let message = Message::read((&web, &ctx), (&target, &chat), &form).await?;
    let (sender, parts) = mpsc::channel::<String>(PARTS);
    let sending: Sending = Box::pin(async move {
        // A part that does not fit is shown with the whole turn.
        let listener = move |part: &str| drop(sender.try_send(part.to_owned()));
        message.send(&listener).await
    });
    let body = Body::from_stream(try_unfold(Some((sending, parts)), piece));
    Ok((HEADERS, body).into_response())
}

/// The next part of an answer, and the end of the turn behind the last.
async fn piece(
    state: Option<(Sending, mpsc::Receiver<String>)>,
) -> Result<Option<(Bytes, Option<(Sending, mpsc::Receiver<String>)>)>, TurnError> {
    let Some((mut sending, mut parts)) = state else { return Ok(None) };
    tokio::select! {
        biased;
        Some(part) = parts.recv() => Ok(Some((Bytes::from(part), Some((sending, parts))))),
        turn = &mut sending => {
            turn?;
            let mut rest = String::new();
            while let Ok(part) = parts.try_recv() {
                rest.push_str(&part);
            }
            Ok(Some((Bytes::from(rest), None)))
        }
    }
}
