use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use ratchet_core::catalog::prompt::{Pick, PromptBody, PromptKind, check_message, check_name};
use ratchet_core::json_size::small_tree;
use ratchet_core::payload::Json;
use ratchet_store::catalog::{NewPrompt, Prompt, PromptReferences};
use serde_json::Value;

use crate::form::PageForm;
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::pages::folders;
use crate::request_context::{Link, Params, RequestContext};
use crate::web::Web;

/// The parameter of a new prompt that begins as a copy.
const COPY: &str = "copy";
/// Types that people choose from.
const KINDS: [(PromptKind, &str); 2] =
    [(PromptKind::Text, "Text"), (PromptKind::Chat, "Chat: messages as JSON")];

/// The fields of a new version, as they were filled in.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct VersionForm {
    name: String,
    kind: Option<PromptKind>,
    text: String,
    /// A JSON object.
    config: String,
    message: String,
    /// Field and reason of a refused form.
    problem: Option<(&'static str, String)>,
}

impl VersionForm {
    pub(in crate::pages) fn read(form: &Params) -> Self {
        let text = |name: &str| form.get(name).unwrap_or_default().replace("\r\n", "\n");
        Self {
            name: text("name").trim().to_owned(),
            kind: form.get("kind").and_then(PromptKind::parse),
            text: text("text"),
            config: text("config"),
            message: text("message").trim().to_owned(),
            problem: None,
        }
    }

    fn of(prompt: &Prompt) -> Self {
        let text = match &prompt.body {
            PromptBody::Text(text) => text.clone(),
            chat @ PromptBody::Chat(_) => pretty(&chat.to_json()),
        };
        let config = small_tree(prompt.config.as_str()).unwrap_or_default();
        Self {
            name: prompt.name.clone(),
            kind: Some(prompt.body.kind()),
            text,
            config: if config == Value::Object(Default::default()) {
                String::new()
            } else {
                pretty(&config)
            },
            ..Self::default()
        }
    }

    fn renamed(self) -> Self {
        Self { name: format!("{} copy", self.name), ..self }
    }

    /// Validates the fields.
    ///
    /// The error is the field and the reason.
    pub(in crate::pages) fn new_prompt(
        &self,
        ctx: &RequestContext,
    ) -> Result<NewPrompt, (&'static str, String)> {
        check_name(&self.name).map_err(|why| ("name", why.to_string()))?;
        check_message(&self.message).map_err(|why| ("message", why.to_string()))?;
        let kind = self.kind.unwrap_or(PromptKind::Text);
        let wrong = |why: String| ("text", why);
        let json = match kind {
            PromptKind::Text => Value::from(self.text.as_str()),
            PromptKind::Chat => small_tree(&self.text).map_err(|why| wrong(why.to_string()))?,
        };
        let body = PromptBody::read(kind, json).map_err(|why| wrong(why.to_string()))?;
        Ok(NewPrompt {
            name: self.name.clone(),
            body,
            config: config(&self.config)?,
            labels: Vec::new(),
            tags: None,
            commit_message: Some(self.message.clone()).filter(|message| !message.is_empty()),
            created_by: ctx.viewer.name().to_owned(),
        })
    }

    fn problem(&self, field: &str) -> Markup {
        let found = self.problem.as_ref().filter(|(known, _)| *known == field);
        html! { @if let Some((_, why)) = found { p.wrong role="alert" { (why) } } }
    }
}

fn pretty(json: &Value) -> String {
    serde_json::to_string_pretty(json).unwrap_or_default()
}

fn config(text: &str) -> Result<Json, (&'static str, String)> {
    if text.trim().is_empty() {
        return Ok(Json::from_value(&Value::Object(Default::default())));
    }
    match small_tree(text) {
        Ok(config @ Value::Object(_)) => Ok(Json::from_value(&config)),
        Ok(_) => Err(("config", "must be a JSON object".to_owned())),
        Err(why) => Err(("config", why.to_string())),
    }
}

/// Link to the editor, for a new version based on another one or for a new prompt.
pub(super) fn link(ctx: &RequestContext, base: Option<&Prompt>) -> Link {
    let editor = ctx.to(&["prompt-editor"]);
    match base {
        Some(base) => editor.with("prompt", &base.name).with("version", base.version.to_string()),
        None => editor,
    }
}

/// Link to the editor, for a new prompt in a folder.
pub(super) fn new_link(ctx: &RequestContext, folder: &str) -> Link {
    let editor = link(ctx, None);
    if folder.is_empty() { editor } else { editor.with("folder", folder) }
}

/// Link to the editor, for a new prompt that begins as a copy of another one.
pub(super) fn copy_link(ctx: &RequestContext, of: &Prompt) -> Link {
    link(ctx, Some(of)).with(COPY, "yes")
}

fn is_copy(ctx: &RequestContext) -> bool {
    ctx.params.get(COPY).is_some()
}

/// `GET …/prompt-editor`: the editor.
pub(super) async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    ctx.viewer.may_change()?;
    let values = match ctx.params.get("prompt") {
        None => {
            let name = folders::beginning(folders::open(&ctx));
            VersionForm { name, ..VersionForm::default() }
        }
        Some(name) => {
            let version = ctx.params.get("version").and_then(|number| number.parse().ok());
            let version = version.ok_or_else(|| PageError::not_there("prompt version"))?;
            let (project, pick) = (ctx.project_id(), Pick::Version(version));
            let raw = PromptReferences::Raw;
            let found = web.store.catalog.prompt(project, name.to_owned(), pick, raw).await?;
            let (prompt, _) = found.ok_or_else(|| PageError::not_there("prompt version"))?;
            let values = VersionForm::of(&prompt);
            if is_copy(&ctx) { values.renamed() } else { values }
        }
    };
    Ok(page(&ctx, &values))
}

/// `POST …/prompt-editor`: saves a new version without labels. A refused form is shown again as it
/// was filled in.
pub(super) async fn save(
    State(web): State<Web>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    let values = VersionForm::read(&form);
    match values.new_prompt(&ctx) {
        Ok(new) => Ok(create(&web, &ctx, new).await?.into_response()),
        Err(problem) => {
            let refused = VersionForm { problem: Some(problem), ..values };
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page(&ctx, &refused)).into_response())
        }
    }
}

/// Stores a version and leads to it.
pub(in crate::pages) async fn create(
    web: &Web,
    ctx: &RequestContext,
    new: NewPrompt,
) -> PageResult<Redirect> {
    let name = new.name.clone();
    let made = ctx.viewer.catalog(web).create_prompt(ctx.project_id(), new, ctx.now).await?;
    let to = ctx.to(&["prompts", &name]).with("version", made.version.to_string());
    Ok(Redirect::to(&to.with("done", "made").to_string()))
}

fn page(ctx: &RequestContext, values: &VersionForm) -> Markup {
    let is_new = ctx.params.get("prompt").is_none() || is_copy(ctx);
    let mut page = Page::new(Section::Prompts, if is_new { "New prompt" } else { "New version" });
    page.crumbs = vec![("Prompts".to_owned(), Section::Prompts.link(ctx))];
    page.summary = html! {
        "Saved without labels: agents get it when you set it as production."
    };
    let rows = values.text.lines().count().clamp(12, 30);
    page.body = html! {
        form.maker.editor method="post" action=(ctx.here()) {
            (ctx.viewer.form_token.field())
            div.form-row {
                label for="name" { "Name" }
                input #name type="text" name="name" required maxlength="255" autocomplete="off"
                    value=(values.name) readonly[!is_new];
                (values.problem("name"))
            }
            (kinds(values, is_new))
            div.form-row {
                label for="text" { "Prompt" }
                textarea #text name="text" rows=(rows) required spellcheck="false" { "\n" (values.text) }
                (values.problem("text"))
                p.hint { "Variables in double braces, such as " code { "{{name}}" } ". Chat: a list of objects with "
                    code { "role" } " and " code { "content" } "." }
            }
            div.form-row {
                label for="config" { "Config (JSON object, optional)" }
                textarea #config name="config" rows="4" spellcheck="false" { "\n" (values.config) }
                (values.problem("config"))
            }
            div.form-row {
                label for="message" { "Commit message (optional)" }
                input #message type="text" name="message" autocomplete="off" value=(values.message);
                (values.problem("message"))
            }
            p.actions {
                button.button.primary type="submit" { "Save version" } " "
                a.button href=(Section::Prompts.link(ctx)) { "Cancel" }
            }
        }
    };
    page.show(ctx)
}

/// The type, which all versions of a prompt share.
fn kinds(values: &VersionForm, is_new: bool) -> Markup {
    let chosen = values.kind.unwrap_or(PromptKind::Text);
    html! {
        @if is_new {
            div.form-row {
                label for="kind" { "Type" }
                select #kind name="kind" {
                    @for (kind, words) in KINDS {
                        option value=(kind.as_str()) selected[kind == chosen] { (words) }
                    }
                }
            }
        } @else {
            input type="hidden" name="kind" value=(chosen.as_str());
        }
    }
}
