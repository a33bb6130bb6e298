//! The page for a new chat.

use std::path::PathBuf;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::chat::workspace::WorkspaceSource;
use ratchet_stages::chat::workspace_policy::{ChatAttachment, ChatRequest};
use ratchet_stages::chat::{ChatMessageInput, ChatSettings, NewChatRequest};
use ratchet_store::query::PageNumber;
use uuid::Uuid;

use super::actions;
use super::actions::name_of;
use super::menu::mode_choice;
use super::multipart_form;
use super::multipart_form::SentForm;
use super::outcome::{self, ChatFormError};
use super::{agents, hands, workspace_source};
use crate::components::copy;
use crate::components::field::{self, Entered, FormField};
use crate::components::figure;
use crate::frame::{Page, Section};
use crate::message_preview::one_line;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

const WORKSPACE: FormField<'_> = FormField {
    name: "workspace",
    label: "Workspace",
    hint: "Absolute path of the folder in which the agent works, on the server's machine.",
};
const TITLE: FormField<'_> =
    FormField { name: "title", label: "Title", hint: "Default: the start of the message." };
const MODEL: FormField<'_> =
    FormField { name: "model", label: "Model", hint: "Default model if empty." };
const MESSAGE: FormField<'_> = FormField { name: "text", label: "Message", hint: "" };

/// Characters of a title that is taken from a message.
const MADE_TITLE: usize = 60;
/// Number of recent chats whose workspaces are proposed.
const RECENT: u64 = 50;

/// `GET …/chats/new`: the form.
pub(super) async fn form(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let proposed = proposed(&web, &ctx).await?;
    let first = ctx.params.get("workspace").or(proposed.first().map(String::as_str));
    let entered = Entered::preset(&[("workspace", first.unwrap_or_default())]);
    Ok(page(&web, &ctx, &entered, &proposed)?.show(&ctx))
}

/// Proposed workspaces: those of recent chats, and the roots.
async fn proposed(web: &Web, ctx: &RequestContext) -> PageResult<Vec<String>> {
    let chats = agents(web)?;
    let at = PageNumber { page: 1, limit: RECENT };
    let recent = chats.service.chats(ctx.project_id(), at).await.map_err(outcome::refusal)?;
    let roots = chats.policy.boundary.roots.iter().map(|root| root.display().to_string());
    let mut proposed: Vec<String> = Vec::new();
    for folder in recent.rows.into_iter().map(|chat| chat.workspace).chain(roots) {
        if !proposed.contains(&folder) {
            proposed.push(folder);
        }
    }
    Ok(proposed)
}

fn page(
    web: &Web,
    ctx: &RequestContext,
    entered: &Entered,
    proposed: &[String],
) -> PageResult<Page> {
    let roots = &agents(web)?.policy.boundary.roots;
    let mut page = Page::new(Section::Chats, "New chat");
    page.crumbs = vec![("Chat".to_owned(), ctx.to(&["chats"]))];
    page.summary = html! { "The agent starts with your first message." };
    page.body = html! {
        form.maker.chat-new method="post" action=(ctx.to(&["chats", "new"]))
             enctype="multipart/form-data" {
            // The token is before the files, because it is checked before they are read.
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            (field::line(WORKSPACE, entered))
            @if !proposed.is_empty() {
                p.hint { "Recent: " @for folder in proposed.iter().take(6) {
                    a href=(ctx.here().with("workspace", folder)) { code { bdi { (folder) } } } " "
                } }
            }
            @if roots.is_empty() && workspace_source(ctx) == WorkspaceSource::Network {
                div.notice role="note" {
                    p { "No folders are configured in which agents may work, so no chat can be \
                         created here. The operator of the server sets them in " code { "ratchet.toml" }
                         "; " code { "ratchet chat" } " on its own machine needs none." }
                    (copy::snippet("[chat]\nroots = [\"/srv/projects\"]"))
                }
            }
            (field::area(MESSAGE, 4, entered))
            div.form-row {
                label for="files" { "Attachments" }
                input #files type="file" name="file" multiple;
                p.hint { "Texts, images and PDFs, " (figure::bytes(multipart_form::MAX_BYTES)) " together. \
                    Texts become part of the system prompt; images and PDFs are sent with the message." }
            }
            (field::line(TITLE, entered))
            (field::line(MODEL, entered))
            div.form-row {
                label for="new-mode" { "Permission mode" }
                (mode_choice("new-mode", entered.filled("mode")))
            }
            button.button.primary type="submit" { "Start chat" }
        }
    };
    Ok(page)
}

/// `POST …/chats/new`: creates a chat and sends its first message.
pub(super) async fn begin(
    State(web): State<Web>,
    ctx: RequestContext,
    Path(_): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> PageResult<Response> {
    ctx.viewer.may_change()?;
    let form = SentForm::read(&headers, body).await?;
    match begun(&web, &ctx, &form).await? {
        Ok(id) => {
            let link = ctx.to(&["chats", &id]);
            Ok(Redirect::to(&link.to_string()).into_response())
        }
        Err((field, form_error)) => {
            let mut entered = Entered::new(form.fields().clone());
            entered.wrong(field, form_error.words);
            let proposed = proposed(&web, &ctx).await?;
            let page = page(&web, &ctx, &entered, &proposed)?;
            let status = form_error.status.max(StatusCode::BAD_REQUEST);
            Ok((status, page.show(&ctx)).into_response())
        }
    }
}

/// Creates a chat. Returns its id, or the error and its field.
async fn begun(
    web: &Web,
    ctx: &RequestContext,
    form: &SentForm,
) -> PageResult<Result<String, (&'static str, ChatFormError)>> {
    let (text, chats) = (form.text("text"), hands(web, ctx)?);
    let (mut new, pictures) = match asked(form, &text) {
        Ok(asked) => asked,
        Err(wrong) => return Ok(Err(wrong)),
    };
    new.request.workspace_source = workspace_source(ctx);
    let (chat, _) = match chats.create(ctx.project_id(), new).await {
        Ok(begun) => begun,
        Err(error) => {
            let form_error = outcome::create_error(error)?;
            let is_about_folder = form_error.words.starts_with("workspace");
            return Ok(Err((if is_about_folder { "workspace" } else { "" }, form_error)));
        }
    };
    let id = chat.id.to_string();
    if !text.trim().is_empty() {
        let said =
            ChatMessageInput { id: Uuid::new_v4(), text, attached: pictures, by: name_of(ctx) };
        if let Err(error) = chats.send(ctx.project_id(), chat.id, said).await {
            return Ok(Err(("", outcome::create_error(error)?)));
        }
    }
    Ok(Ok(id))
}

/// Parses the form: the chat, and attachments of the first message.
fn asked(
    form: &SentForm,
    text: &str,
) -> Result<(NewChatRequest, Vec<ChatAttachment>), (&'static str, ChatFormError)> {
    let fields = form.fields();
    let workspace = fields.get("workspace").unwrap_or_default().trim();
    let folder = PathBuf::from(workspace);
    // A relative one would depend on where the server was started.
    if !folder.is_absolute() || workspace.contains('\0') {
        return Err((
            "workspace",
            ChatFormError::bad("an absolute path, such as /srv/projects/shop"),
        ));
    }
    let title = actions::title(fields.get("title")).map_err(|form_error| ("title", form_error))?;
    let made = Some(one_line(text.trim(), MADE_TITLE)).filter(|made| !made.is_empty());
    let title = title.or(made);
    let mode = actions::mode(fields).map_err(|form_error| ("", form_error))?;
    let model = actions::model(fields).map_err(|form_error| ("model", form_error))?;
    let files = form.files().map_err(|why| ("", ChatFormError::bad(why)))?;
    let (pictures, texts): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.block().is_some());
    if !pictures.is_empty() && text.trim().is_empty() {
        return Err((
            "text",
            ChatFormError::bad("images and PDFs are sent with a message: enter one"),
        ));
    }
    let here = |files: Vec<_>| files.into_iter().map(ChatAttachment::Here).collect::<Vec<_>>();
    let mode = mode.map(|mode| mode.as_str().to_owned());
    let settings = ChatSettings { model, mode, ..ChatSettings::default() };
    let request = ChatRequest { attached: here(texts), settings, ..ChatRequest::default() };
    Ok((NewChatRequest { id: Uuid::new_v4(), folder, title, request }, here(pictures)))
}
