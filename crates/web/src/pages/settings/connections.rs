//! How models are reached. Secrets go in and do not come out again.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::llm::{ConnectionRequest, LlmAdapter};
use ratchet_core::payload::Json;
use ratchet_core::secret::Secret;
use ratchet_remote::http;
use ratchet_stages::llm_connections;
use ratchet_store::catalog::{LlmConnection, LlmCredentials, NewLlmConnection};
use ratchet_store::query::PageNumber;

use super::{ConfirmDialog, Done, Tab, page, question, wrong};
use crate::components::field::{self, Entered, FormField};
use crate::components::table::{self, Column, Row, Table};
use crate::components::{empty, figure};
use crate::form::PageForm;
use crate::page_error::{PageError, PageResult};
use crate::pages::playground;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Maximum number of connections shown.
const SHOWN: PageNumber = PageNumber { page: 1, limit: 200 };

const PROVIDER: FormField<'_> = FormField {
    name: "provider",
    label: "Name",
    hint: "Used by evaluators. A connection with the same name is replaced.",
};
const ADAPTER: FormField<'_> = FormField { name: "adapter", label: "API", hint: "" };
const SECRET: FormField<'_> = FormField {
    name: "secretKey",
    label: "Secret key",
    hint: "Encrypted at rest and never shown again.",
};
const KEPT_SECRET: FormField<'_> = FormField {
    hint: "Leave empty to keep the current key. Required again when the API or base URL changes.",
    ..SECRET
};
const URL: FormField<'_> = FormField {
    name: "baseURL",
    label: "Base URL",
    hint: "Only if it differs from the provider's default.",
};
const MODELS: FormField<'_> =
    FormField { name: "customModels", label: "Custom models", hint: "One per line." };
const USUAL: FormField<'_> = FormField {
    name: "withDefaultModels",
    label: "Include the provider's default models",
    hint: "",
};
const HEADERS: FormField<'_> = FormField {
    name: "extraHeaders",
    label: "Extra headers",
    hint: "One per line, such as “x-team: support”. Values are encrypted at rest.",
};
const CONFIG: FormField<'_> = FormField {
    name: "config",
    label: "Configuration",
    hint: "JSON. Bedrock needs {\"region\": \"eu-central-1\"}; leave empty for most providers.",
};

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/project/{project}/settings/connections", get(show).post(keep))
        .route("/project/{project}/settings/connections/{connection}", get(edit))
        .route("/project/{project}/settings/connections/{connection}/remove", post(remove))
        .route("/project/{project}/settings/connections/{connection}/test", post(test))
}

async fn all(web: &Web, ctx: &RequestContext) -> PageResult<Vec<LlmConnection>> {
    Ok(web.store.catalog.llm_connections(ctx.project_id(), SHOWN).await?.rows)
}

async fn find(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<LlmConnection> {
    let found = all(web, ctx).await?.into_iter().find(|known| known.id == id);
    found.ok_or_else(|| PageError::not_there("connection"))
}

async fn show(State(web): State<Web>, ctx: RequestContext) -> PageResult<Markup> {
    let preset = Entered::preset(&[
        ("adapter", LlmAdapter::Anthropic.as_str()),
        ("withDefaultModels", "yes"),
    ]);
    drawn(&web, &ctx, &preset, &Markup::default()).await
}

/// Tests a connection with a short model call and shows the result.
async fn test(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Markup> {
    let one = find(&web, &ctx, &id).await?;
    let entered = Entered::new(form);
    let model =
        entered.filled("model").map(str::to_owned).or_else(|| llm_connections::usual_model(&one));
    let model = model.ok_or_else(|| PageError::Bad("model: required".to_owned()))?;
    let tried = playground::test_connection(&web, &ctx, (&one, &model)).await?;
    let notice = html! {
        section.settings.tried.failed[tried.outcome.is_err()] role="status" {
            h2 {
                bdi { (tried.connection) }
                @if tried.outcome.is_ok() { ": connected" } @else { ": connection failed" }
            }
            @match &tried.outcome {
                Ok(answer) => {
                    p { "“" bdi { (ratchet_core::record::limit::elide(answer.text.trim(), 200)) } "”" }
                    (playground::facts(&tried, answer))
                },
                Err(why) => {
                    p { (why) }
                    p.muted { "Model " code { bdi { (tried.model) } } ", after " (figure::duration(tried.took)) "." }
                },
            }
        }
    };
    let preset =
        Entered::preset(&[("adapter", one.adapter.as_str()), ("withDefaultModels", "yes")]);
    drawn(&web, &ctx, &preset, &notice).await
}

async fn drawn(
    web: &Web,
    ctx: &RequestContext,
    entered: &Entered,
    above: &Markup,
) -> PageResult<Markup> {
    let known = all(web, ctx).await?;
    let body = html! {
        (above)
        section.settings {
            h2 { "Connections" }
            @if known.is_empty() {
                (empty::empty("No LLM connections yet", &html! {
                    p { "LLM judges and the playground need a connection. Owners can add one." }
                    @if ctx.viewer.can_own() { p { a.button href="#add" { "Add connection" } } }
                }))
            } @else { (list(&known, ctx)) }
        }
        @if ctx.viewer.can_own() {
            section.settings #add {
                h2 { "Add connection" }
                (form(ctx, entered, SECRET))
            }
        }
    };
    let count = known.len();
    let summary = html! { (count) " " (if count == 1 { "connection" } else { "connections" }) "." };
    Ok(page(ctx, Tab::Connections, summary, &body))
}

fn list(known: &[LlmConnection], ctx: &RequestContext) -> Markup {
    let mut columns = vec![
        Column::text("Name"),
        Column::text("API"),
        Column::text("Base URL"),
        Column::text("Models"),
        Column::text("Secret"),
        Column::text("Updated"),
    ];
    if ctx.viewer.can_change() {
        columns.push(Column::text("Test"));
    }
    if ctx.viewer.can_own() {
        columns.push(Column::text("Actions"));
    }
    let rows = known.iter().map(|one| row(one, ctx)).collect();
    table::table(&Table { caption: "LLM connections".to_owned(), columns, rows, select_for: None })
}

fn row(one: &LlmConnection, ctx: &RequestContext) -> Row {
    let is_owner = ctx.viewer.can_own();
    let models: Vec<&str> = one.custom_models.iter().map(String::as_str).collect();
    let mut cells = vec![
        html! { bdi { (one.provider) } },
        html! { (one.adapter.as_str()) },
        html! { (one.base_url.as_deref().unwrap_or("default")) },
        html! { @if one.has_default_models { "default" @if !models.is_empty() { ", " } } (models.join(", ")) },
        html! { code { (one.secret_hint) } },
        figure::ago(one.updated_at, &ctx.time),
    ];
    if ctx.viewer.can_change() {
        cells.push(test_form(one, ctx));
    }
    if is_owner {
        cells.push(html! {
            form.inline method="post" action=(Tab::Connections.action(ctx, &[&one.id, "remove"])) {
                (ctx.viewer.form_token.field())
                button.quiet type="submit" { "Remove" span.sr { " " (one.provider) } }
            }
        });
    }
    let link = is_owner.then(|| ctx.to(&["settings", "connections", &one.id]));
    Row { id: one.id.clone(), link, cells, failed: false }
}

fn test_form(one: &LlmConnection, ctx: &RequestContext) -> Markup {
    html! {
        form.inline.connection-test method="post" action=(Tab::Connections.action(ctx, &[&one.id, "test"])) {
            (ctx.viewer.form_token.field())
            input type="text" name="model" required maxlength="500" placeholder="model" autocomplete="off"
                value=[llm_connections::usual_model(one)] aria-label={ "Model to test " (one.provider) " with" };
            button.button type="submit" { "Test" span.sr { " " (one.provider) } }
        }
    }
}

fn form(ctx: &RequestContext, entered: &Entered, secret: FormField<'_>) -> Markup {
    let adapters = LlmAdapter::ALL.map(|adapter| (adapter.as_str(), adapter.as_str()));
    html! {
        form method="post" action=(Tab::Connections.action(ctx, &[])) {
            (ctx.viewer.form_token.field())
            (field::problem(entered))
            (field::line(PROVIDER, entered))
            (field::choice(ADAPTER, &adapters, entered))
            (field::secret(secret, entered))
            (field::line(URL, entered))
            (field::area(MODELS, 3, entered))
            (field::tick(USUAL, entered))
            (field::area(HEADERS, 2, entered))
            (field::area(CONFIG, 2, entered))
            button.button.primary type="submit" { "Save connection" }
        }
    }
}

async fn edit(
    State(web): State<Web>,
    ctx: RequestContext,
    Path((_, id)): Path<(String, String)>,
) -> PageResult<Markup> {
    ctx.viewer.may_own()?;
    let one = find(&web, &ctx, &id).await?;
    let usual = if one.has_default_models { "yes" } else { "" };
    let entered = Entered::preset(&[
        ("provider", &one.provider),
        ("adapter", one.adapter.as_str()),
        ("baseURL", one.base_url.as_deref().unwrap_or_default()),
        ("customModels", &one.custom_models.join("\n")),
        ("withDefaultModels", usual),
        ("config", one.config.as_ref().map(Json::as_str).unwrap_or_default()),
    ]);
    Ok(edited(&ctx, &one, &entered))
}

fn edited(ctx: &RequestContext, one: &LlmConnection, entered: &Entered) -> Markup {
    let body = html! {
        section.settings {
            h2 { bdi { (one.provider) } }
            @if !one.header_names.is_empty() {
                p.hint { "Current extra headers: " (one.header_names.join(", ")) "; leave empty to keep them." }
            }
            (form(ctx, entered, KEPT_SECRET))
        }
    };
    page(ctx, Tab::Connections, html! { "LLM connection" }, &body)
}

async fn keep(State(web): State<Web>, PageForm { ctx, form }: PageForm) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let mut entered = Entered::new(form);
    if let Err(why) = http::check_entered_text(entered.text("baseURL"), &web.outbound) {
        entered.wrong("baseURL", why.to_string());
    }
    let provider = entered.text("provider").to_owned();
    let known = all(&web, &ctx).await?.into_iter().find(|one| one.provider == provider);
    let kept = match &known {
        Some(one) if goes_where_it_went(one, &entered) => {
            let (project, secrets) = (ctx.project_id(), web.store.secrets.clone());
            // Sealed with a key that is gone, it must be given again.
            web.store.catalog.llm_credentials(project, provider, secrets).await.ok()
        }
        _ => None,
    };
    if let Some(new) = read(&mut entered, kept) {
        let (catalog, secrets) = (ctx.viewer.catalog(&web), web.store.secrets.clone());
        catalog.save_llm_connection(ctx.project_id(), new, secrets, ctx.now).await?;
        return Ok(Done::Saved.back(&ctx, Tab::Connections));
    }
    match &known {
        Some(one) => Ok(wrong(edited(&ctx, one, &entered))),
        None => Ok(wrong(drawn(&web, &ctx, &entered, &Markup::default()).await?)),
    }
}

/// Whether a secret would be sent to the same place as before.
fn goes_where_it_went(one: &LlmConnection, entered: &Entered) -> bool {
    one.adapter.as_str() == entered.raw("adapter")
        && one.base_url.as_deref() == entered.filled("baseURL")
}

/// Parses the form; adds validation errors.
fn read(entered: &mut Entered, kept: Option<LlmCredentials>) -> Option<NewLlmConnection> {
    let (secret, sent) = match kept {
        Some(kept) => (kept.secret, kept.headers),
        None => (Secret::new(""), BTreeMap::new()),
    };
    let secret = entered.filled("secretKey").map_or(secret, Secret::new);
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for line in entered.lines("extraHeaders") {
        match line.split_once(':') {
            Some((name, value)) => {
                headers.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            None => entered.wrong("extraHeaders", "each line must be “name: value”"),
        }
    }
    if entered.filled("extraHeaders").is_none() {
        headers =
            sent.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
    }
    let config = entered.filled("config").map(Json::parse);
    if config == Some(None) {
        entered.wrong("config", "not valid JSON");
    }
    let config = config.flatten();
    let Some(adapter) = LlmAdapter::parse(entered.raw("adapter")) else {
        entered.wrong("adapter", "select one of the options");
        return None;
    };
    let (models, url) =
        (entered.lines("customModels"), entered.filled("baseURL").map(str::to_owned));
    let reach = ConnectionRequest {
        provider: entered.text("provider"),
        adapter,
        secret: secret.expose(),
        base_url: url.as_deref(),
        custom_models: &models,
        headers: &headers,
        config: config.as_ref(),
    };
    for fault in reach.faults() {
        entered.wrong(fault.field, fault.problem);
    }
    entered.is_fine().then(|| NewLlmConnection {
        provider: entered.text("provider").to_owned(),
        adapter,
        secret,
        base_url: url,
        custom_models: models,
        has_default_models: entered.is_ticked("withDefaultModels"),
        headers: headers.into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
        config,
    })
}

async fn remove(
    State(web): State<Web>,
    Path((_, id)): Path<(String, String)>,
    PageForm { ctx, form }: PageForm,
) -> PageResult<Response> {
    ctx.viewer.may_own()?;
    let one = find(&web, &ctx, &id).await?;
    if !Entered::new(form).is_ticked("sure") {
        let ask = ConfirmDialog {
            title: format!("Remove {}?", one.provider),
            lost: html! { "Its secret is deleted. Evaluators that use this connection will fail." },
            action: Tab::Connections.action(&ctx, &[&id, "remove"]),
            verb: "Remove",
            fields: &[],
        };
        return Ok(question(&ctx, Tab::Connections, &ask).into_response());
    }
    ctx.viewer.catalog(&web).delete_llm_connection(ctx.project_id(), id, ctx.now).await?;
    Ok(Done::Removed.back(&ctx, Tab::Connections))
}
