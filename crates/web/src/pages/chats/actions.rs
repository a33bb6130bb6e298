//! Form posts in a chat.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_agent::claude::control::{Rewind, RewindReport};
use ratchet_agent::claude::options::PermissionMode;
use ratchet_core::chat::config_layer::Trust;
use ratchet_core::chat::state::PermissionPromptId;
use ratchet_core::money::Money;
use ratchet_stages::chat::workspace_policy::ChatAttachment;
use ratchet_stages::chat::{
    BudgetChoice, ChatChange, ChatError, ChatMessageInput, ChatSettings, MAX_TITLE_CHARS,
    ModelChoice,
};
use uuid::Uuid;

use super::conversation::Conversation;
use super::multipart_form::SentForm;
use super::one::ChatContent;
use super::outcome::{self, ChatFormError};
use super::{find, hands, permission_prompts};
use crate::components::figure;
use crate::form::PageForm;
use crate::page_error::PageResult;
use crate::request_context::{Params, RequestContext};
use crate::web::Web;

const MAX_MESSAGE_BYTES: usize = 2_000_000;
/// Number of files that are listed before they are restored.
const MAX_FILES: usize = 50;

type ChatPath = Path<(String, String)>;

/// Name of the viewer as other clients of the chat see it.
pub(super) fn name_of(ctx: &RequestContext) -> Option<String> {
    Some(ctx.viewer.actor().name().to_owned())
}

/// Result of a command.
fn went<T>(
    said: Result<T, ChatError>,
    done: Option<&'static str>,
) -> PageResult<Result<Option<&'static str>, ChatFormError>> {
    match said {
        Ok(_) => Ok(Ok(done)),
        Err(error) => Ok(Err(outcome::form_error(error)?)),
    }
}

/// `POST …/messages`: sends a message to the agent.
pub(super) async fn send(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    body: Body,
) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    let chat = find(&web, &ctx, &id).await?;
    let form = SentForm::read(&headers, body).await?;
    let text = form.text("text");
    let went = match checked(&form, &text) {
        Err(form_error) => Err(form_error),
        Ok(attached) => {
            let by = name_of(&ctx);
            let said = ChatMessageInput { id: Uuid::new_v4(), text: text.clone(), attached, by };
            match hands(&web, &ctx)?.send(ctx.project_id(), chat.id, said).await {
                Ok(_) => Ok(None),
                Err(error) => Err(outcome::create_error(error)?),
            }
        }
    };
    outcome::answer((&web, &ctx), &headers, &id, (went, &text)).await
}

/// Validates the text of a message.
pub(super) fn checked(form: &SentForm, text: &str) -> Result<Vec<ChatAttachment>, ChatFormError> {
    let files = form.files().map_err(ChatFormError::bad)?;
    if text.trim().is_empty() && files.is_empty() {
        return Err(ChatFormError::bad("Enter a message, or attach a file."));
    }
    if text.len() > MAX_MESSAGE_BYTES {
        let most = figure::bytes(MAX_MESSAGE_BYTES);
        return Err(ChatFormError::bad(format!(
            "The message is longer than {most}; attach it as a file."
        )));
    }
    Ok(files.into_iter().map(ChatAttachment::Here).collect())
}

/// `POST …/stop`: interrupts the running turn.
pub(super) async fn stop(
    State(web): State<Web>,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let said = hands(&web, &ctx)?.service.interrupt(ctx.project_id(), chat.id).await;
    outcome::answer((&web, &ctx), &headers, &id, (went(said, None)?, "")).await
}

/// `POST …/answers`: answers a prompt of the agent. The first answer counts.
pub(super) async fn answer(
    State(web): State<Web>,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let ask = PermissionPromptId::new(form.get("ask").unwrap_or_default());
    let went = match permission_prompts::decision(&form) {
        Err(why) => Err(ChatFormError::bad(why)),
        Ok(decision) => {
            let (chats, by) = (hands(&web, &ctx)?.service, name_of(&ctx));
            let said = chats.answer(ctx.project_id(), chat.id, (ask, decision), by).await;
            went(said, None)?
        }
    };
    outcome::answer((&web, &ctx), &headers, &id, (went, "")).await
}

/// Parses a permission mode. Bypassing permissions is not offered, as in the API.
pub(super) fn mode(form: &Params) -> Result<Option<PermissionMode>, ChatFormError> {
    let Some(word) = form.get("mode") else { return Ok(None) };
    let mode = PermissionMode::parse(word).filter(|mode| *mode != PermissionMode::Bypass);
    mode.map(Some)
        .ok_or_else(|| ChatFormError::bad("mode: default, acceptEdits, plan, dontAsk or auto"))
}

/// Validates the name of a model; empty for the default.
pub(super) fn model(form: &Params) -> Result<Option<String>, ChatFormError> {
    let Some(name) = form.get("model").map(str::trim).filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let is_plain = name.chars().all(|c| c.is_ascii_graphic()) && !name.starts_with('-');
    let is_name = is_plain && name.len() <= 200;
    if is_name {
        Ok(Some(name.to_owned()))
    } else {
        Err(ChatFormError::bad("model: the name of one"))
    }
}

/// Validates a budget; empty for no limit.
fn budget(form: &Params) -> Result<Option<BudgetChoice>, ChatFormError> {
    let Some(text) = form.get("budget").map(str::trim) else { return Ok(None) };
    if text.is_empty() {
        return Ok(Some(BudgetChoice::Unlimited));
    }
    let dollars = text.strip_prefix('$').unwrap_or(text).parse().ok();
    let money = dollars.and_then(Money::from_dollars).filter(|money| *money > Money::ZERO);
    let money = money.ok_or_else(|| ChatFormError::bad("budget: US dollars, more than 0"))?;
    Ok(Some(BudgetChoice::Limit(money)))
}

/// Parses whether the server's trust in the workspace applies.
fn trust(form: &Params) -> Option<Trust> {
    form.get("trust").map(|word| if word == "none" { Trust::Untrusted } else { Trust::Trusted })
}

/// `POST …/mode`: changes permission mode, model, budget and trust in the workspace.
pub(super) async fn set_mode(
    State(web): State<Web>,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let kept = ChatSettings::read(&chat.settings).map_err(outcome::refusal)?;
    let went = match (mode(&form), model(&form), budget(&form)) {
        (Err(form_error), _, _) | (_, Err(form_error), _) | (_, _, Err(form_error)) => {
            Err(form_error)
        }
        (Ok(mode), Ok(model), Ok(budget)) => {
            let mode = mode.filter(|mode| kept.mode.as_deref() != Some(mode.as_str()));
            let named = || model.clone().map_or(ModelChoice::Usual, ModelChoice::Named);
            let model = (model != kept.model).then(named);
            let budget = budget.filter(|budget| budget.limit() != kept.limit());
            let trust = trust(&form)
                .filter(|trust| (*trust == Trust::Untrusted) != kept.distrusts_workspace);
            let change = ChatChange { mode, model, budget, trust };
            let said = hands(&web, &ctx)?.service.change(ctx.project_id(), chat.id, change).await;
            went(said, Some("set"))?
        }
    };
    outcome::answer((&web, &ctx), &headers, &id, (went, "")).await
}

/// Validates a title; empty for none.
pub(super) fn title(typed: Option<&str>) -> Result<Option<String>, ChatFormError> {
    let title = typed.map(str::trim).filter(|title| !title.is_empty());
    if title.is_some_and(|title| title.chars().count() > MAX_TITLE_CHARS) {
        return Err(ChatFormError::bad(format!("title: at most {MAX_TITLE_CHARS} characters")));
    }
    Ok(title.map(str::to_owned))
}

/// `POST …/title`: renames a chat.
pub(super) async fn rename(
    State(web): State<Web>,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let went = match title(form.get("title")) {
        Err(form_error) => Err(form_error),
        Ok(title) => {
            let said = hands(&web, &ctx)?.service.rename(ctx.project_id(), chat.id, title).await;
            went(said, Some("renamed"))?
        }
    };
    outcome::answer((&web, &ctx), &headers, &id, (went, "")).await
}

/// `POST …/fork`: creates a chat that continues from this one, or from one of its messages.
pub(super) async fn fork(
    State(web): State<Web>,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let chats = hands(&web, &ctx)?.service;
    let Ok(at) = form.get("at").map(Uuid::parse_str).transpose() else {
        let went = Err(ChatFormError::bad("at: the id of a message"));
        return outcome::answer((&web, &ctx), &headers, &id, (went, "")).await;
    };
    match chats.fork(ctx.project_id(), chat.id, Uuid::new_v4(), at).await {
        Ok(copy) => {
            let link = ctx.to(&["chats", &copy.id.to_string()]).with("done", "forked");
            Ok(Redirect::to(&link.to_string()).into_response())
        }
        Err(error) => {
            let went = Err(outcome::form_error(error)?);
            outcome::answer((&web, &ctx), &headers, &id, (went, "")).await
        }
    }
}

/// `POST …/close`: closes a chat for good. Its messages are kept.
pub(super) async fn close(
    State(web): State<Web>,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    PageForm { ctx, .. }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let said = hands(&web, &ctx)?.service.close(ctx.project_id(), chat.id).await;
    outcome::answer((&web, &ctx), &headers, &id, (went(said, Some("closed"))?, "")).await
}

/// `POST …/rewind`: lists the files that would be restored to their state before a message;
/// restores them once that is confirmed.
pub(super) async fn rewind(
    State(web): State<Web>,
    Path((_, id)): ChatPath,
    headers: HeaderMap,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let chat = find(&web, &ctx, &id).await?;
    let Ok(message) = Uuid::parse_str(form.get("message").unwrap_or_default()) else {
        let went = Err(ChatFormError::bad("message: the id of one"));
        return outcome::answer((&web, &ctx), &headers, &id, (went, "")).await;
    };
    let is_sure = form.get("sure") == Some("yes");
    let way = if is_sure { Rewind::Apply } else { Rewind::DryRun };
    match hands(&web, &ctx)?.service.rewind(ctx.project_id(), chat.id, message, way).await {
        Ok(_) if is_sure => {
            let went = Ok(Some("rewound"));
            outcome::answer((&web, &ctx), &headers, &id, (went, "")).await
        }
        Ok(report) => {
            let problem = confirm(&ctx, &id, &message, &report);
            let content = ChatContent { problem, text: String::new() };
            let page = Conversation::read(&web, &ctx, &id).await?.page(&ctx, &content);
            Ok(page.show(&ctx).into_response())
        }
        Err(error) => {
            let went = Err(outcome::form_error(error)?);
            outcome::answer((&web, &ctx), &headers, &id, (went, "")).await
        }
    }
}

fn confirm(ctx: &RequestContext, id: &str, message: &Uuid, report: &RewindReport) -> Markup {
    let files = &report.files_changed;
    if !report.can_rewind || files.is_empty() {
        return html! { section.problem role="alert" { p {
            "Nothing to restore: the agent has changed no file since that message."
        } } };
    }
    html! {
        section.problem role="alert" {
            p { strong { "Restore these files?" } " " (figure::grouped(report.insertions))
                " lines added, " (figure::grouped(report.deletions)) " removed." }
            ul { @for file in files.iter().take(MAX_FILES) { li { code { bdi { (file) } } } } }
            @if files.len() > MAX_FILES { p { "and " (files.len() - MAX_FILES) " more" } }
            form method="post" action=(ctx.to(&["chats", id, "rewind"])) {
                (ctx.viewer.form_token.field())
                input type="hidden" name="message" value=(message);
                button.button.danger name="sure" value="yes" { "Restore" }
                " " a.quiet href=(ctx.to(&["chats", id])) { "Cancel" }
            }
        }
    }
}
