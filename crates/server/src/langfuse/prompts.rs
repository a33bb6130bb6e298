use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use ratchet_core::catalog::prompt::{
    BodyError, ChatMessage, Graph, LATEST, PRODUCTION, Pick, PromptBody, PromptKind,
    PromptNameError, check_label, check_message, check_name, check_tag,
};
use ratchet_core::issue::{Issue, PathStep};
use ratchet_core::payload::Json as JsonText;
use ratchet_core::promotion::ab_test::ASSIGNED_LABEL;
use ratchet_remote::langfuse::wire::json::{Raw, raw};
use ratchet_remote::langfuse::wire::page::Paged;
use ratchet_remote::langfuse::wire::prompt::{
    CreatePrompt, PromptMetaView, PromptView, UpdatePrompt,
};
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::WireName;
use ratchet_stages::promote::ab;
use ratchet_store::catalog::{NewPrompt, Prompt, PromptQuery, PromptReferences, PromptSummary};
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::json_fields::{JsonFields, LongJsonFields};
use super::params::{PageParams, Params, meta};
use super::path::PathOf;
use super::response;
use crate::app::App;
use crate::auth::{Caller, Member, Reader};
use crate::error::{ApiError, ApiResult};

/// The `createdBy` of prompts from the API.
const API: &str = "API";

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(show, remove))
        .routes(routes!(label))
}

/// `GET /api/public/v2/prompts`: prompts by name, with their versions and labels.
#[utoipa::path(
    get,
    path = "/api/public/v2/prompts",
    tag = "Prompts",
    params(
        PageParams,
        ("name" = Option<String>, Query, description = "Name."),
        ("label" = Option<String>, Query, description = "Versions with this label."),
        ("tag" = Option<String>, Query, description = "With this tag."),
        ("fromUpdatedAt" = Option<Time>, Query, description = "Versions changed at this time or later."),
        ("toUpdatedAt" = Option<Time>, Query, description = "Versions changed before this time."),
    ),
    responses((status = 200, body = Paged<PromptMetaView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<Paged<PromptMetaView>>> {
    let page = params.page();
    let query = PromptQuery {
        project: caller.project,
        name: params.text("name"),
        text: None,
        folder: None,
        label: params.text("label"),
        tag: params.text("tag"),
        updated: params.range("fromUpdatedAt", "toUpdatedAt"),
        page,
    };
    params.finish()?;
    let found = app.store.catalog.prompts(query).await?;
    let data = found.rows.into_iter().map(summary).collect();
    Ok(Json(Paged { data, meta: meta(page, found.total) }))
}

/// `GET /api/public/v2/prompts/{name}`: the version with a number or a label, `production` by
/// default.
#[utoipa::path(
    get,
    path = "/api/public/v2/prompts/{name}",
    tag = "Prompts",
    params(
        ("name" = String, Path, description = "The prompt's name; slashes are encoded."),
        ("version" = Option<u32>, Query, description = "The version with this number."),
        ("label" = Option<String>, Query, description = "The version with this label."),
        ("resolve" = Option<bool>, Query, description = "False: references are not resolved."),
    ),
    responses((status = 200, body = PromptView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(name): PathOf<String>,
    params: Params,
) -> ApiResult<Response> {
    find(&app, caller.project, name, params).await
}

/// The version of a prompt that the parameters select.
pub(super) async fn find(
    app: &App,
    project: ProjectId,
    name: String,
    mut params: Params,
) -> ApiResult<Response> {
    let pick = pick(&mut params).unwrap_or_else(|| Pick::Label(PRODUCTION.to_owned()));
    let wanted = params.parsed("resolve", |text| match text {
        "true" => Ok(PromptReferences::Composed),
        "false" => Ok(PromptReferences::Raw),
        other => Err(format!("must be true or false, not {other}")),
    });
    params.finish()?;
    let wanted = wanted.unwrap_or(PromptReferences::Composed);
    let catalog = &app.store.catalog;
    let pick = assigned(app, (&project, &name), pick).await?;
    let found = catalog.prompt(project.clone(), name.clone(), pick.clone(), wanted).await?;
    let (prompt, graph) = found.ok_or_else(|| missing(&name, Some(&pick)))?;
    shown(app, prompt, graph, project).await
}

/// The version that a user is assigned, for the label `ab:USER`. Labels have no colon, so that no
/// other one is meant.
async fn assigned(app: &App, (project, name): (&ProjectId, &str), pick: Pick) -> ApiResult<Pick> {
    let Pick::Label(label) = &pick else { return Ok(pick) };
    let Some(unit) = label.strip_prefix(ASSIGNED_LABEL) else { return Ok(pick) };
    let found = ab::assignment((&app.store.catalog, project), name, unit).await?;
    Ok(found.version.map_or(Pick::Label(found.label), Pick::Version))
}

/// `POST /api/public/v2/prompts`: creates the next version of a prompt.
#[utoipa::path(
    post,
    path = "/api/public/v2/prompts",
    tag = "Prompts",
    request_body = CreatePrompt,
    responses((status = 200, body = PromptView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    sent: LongJsonFields<CreatePrompt>,
) -> ApiResult<Response> {
    make(&app, caller, sent).await
}

/// Creates the next version of a prompt.
pub(super) async fn make(
    app: &App,
    caller: Caller,
    sent: LongJsonFields<CreatePrompt>,
) -> ApiResult<Response> {
    let new = sent.read(app, read_new).await?;
    let project = caller.project.clone();
    let prompt = caller.catalog(app).create_prompt(project, new, app.clock.now()).await?;
    shown(app, prompt, None, caller.project).await
}

/// `PATCH /api/public/v2/prompts/{name}/versions/{version}`: moves labels to a version.
#[utoipa::path(
    patch,
    path = "/api/public/v2/prompts/{name}/versions/{version}",
    tag = "PromptVersion",
    params(
        ("name" = String, Path, description = "The prompt's name; slashes are encoded."),
        ("version" = u32, Path, description = "The version's number."),
    ),
    request_body = UpdatePrompt,
    responses((status = 200, body = PromptView))
)]
pub(super) async fn label(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(which): PathOf<(String, u32)>,
    JsonFields(sent): JsonFields<UpdatePrompt>,
) -> ApiResult<Response> {
    let mut issues = word_issues("newLabels", &sent.new_labels, check_label);
    if sent.new_labels.iter().any(|label| label == LATEST) {
        let why = "latest always points to the newest version and cannot be moved";
        issues.push(Issue::at("newLabels", why));
    }
    refuse(issues)?;
    let project = caller.project.clone();
    let labelled = caller
        .catalog(&app)
        .move_prompt_labels(project, which, sent.new_labels, app.clock.now())
        .await?;
    shown(&app, labelled, None, caller.project).await
}

/// `DELETE /api/public/v2/prompts/{name}`: deletes one version, the one with a label, or all.
#[utoipa::path(
    delete,
    path = "/api/public/v2/prompts/{name}",
    tag = "Prompts",
    params(
        ("name" = String, Path, description = "The prompt's name; slashes are encoded."),
        ("version" = Option<u32>, Query, description = "Only the version with this number."),
        ("label" = Option<String>, Query, description = "Only the version with this label."),
    ),
    responses((status = 204, description = "Deleted."))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(name): PathOf<String>,
    mut params: Params,
) -> ApiResult<StatusCode> {
    let pick = pick(&mut params);
    params.finish()?;
    let now = app.clock.now();
    caller.catalog(&app).delete_prompts(caller.project, name, pick, now).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The requested version or label, if any.
pub(super) fn pick(params: &mut Params) -> Option<Pick> {
    let version = params.parsed("version", |text| {
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("must be a whole number from 1, not {text}"))
    });
    let label = params.text("label");
    if version.is_some() && label.is_some() {
        params.report([Issue::at("label", "version and label cannot both be given")]);
    }
    version.map(Pick::Version).or(label.map(Pick::Label))
}

fn missing(name: &str, pick: Option<&Pick>) -> ApiError {
    let which = match pick {
        Some(Pick::Version(version)) => format!(" with version {version}"),
        Some(Pick::Label(label)) => format!(" with label '{label}'"),
        None => String::new(),
    };
    ApiError::NotFound(format!("Prompt not found: '{name}'{which}"))
}

fn read_new(sent: CreatePrompt) -> ApiResult<NewPrompt> {
    let kind = sent.kind.map_or(PromptKind::Text, |WireName(kind)| kind);
    let mut issues = Vec::new();
    issues.extend(check_name(&sent.name).err().map(|why| Issue::at("name", why.to_string())));
    issues.extend(word_issues("labels", &sent.labels, check_label));
    issues.extend(word_issues("tags", sent.tags.as_deref().unwrap_or_default(), check_tag));
    let message = sent.commit_message.as_deref().map(check_message);
    let message = message.and_then(Result::err);
    issues.extend(message.map(|why| Issue::at("commitMessage", why.to_string())));
    let body = read_body(kind, &sent.prompt).map_err(|issue| issues.push(issue));
    let config = sent.config.as_deref().map_or("{}", |config| config.get());
    let config = JsonText::parse(config);
    if config.is_none() {
        issues.push(Issue::at("config", "nests too deep"));
    }
    refuse(issues)?;
    let (Ok(body), Some(config)) = (body, config) else {
        return Err(ApiError::internal("a prompt was refused without a reason"));
    };
    Ok(NewPrompt {
        name: sent.name,
        body,
        config,
        labels: sent.labels,
        tags: sent.tags,
        commit_message: sent.commit_message,
        created_by: API.to_owned(),
    })
}

fn read_body(kind: PromptKind, sent: &Raw) -> Result<PromptBody, Issue> {
    let at = |why: BodyError| {
        let steps = [
            Some(PathStep::Field("prompt".to_owned())),
            why.message.map(PathStep::Index),
            why.field.map(|field| PathStep::Field(field.to_owned())),
        ];
        Issue { path: steps.into_iter().flatten().collect(), message: why.why }
    };
    let json = JsonText::parse(sent.get())
        .and_then(|json| serde_json::from_str(json.as_str()).ok())
        .ok_or_else(|| Issue::at("prompt", "nests too deep"))?;
    PromptBody::read(kind, json).map_err(at)
}

/// The validation errors of a list of texts.
pub(super) fn word_issues(
    field: &str,
    words: &[String],
    check: fn(&str) -> Result<(), PromptNameError>,
) -> Vec<Issue> {
    let issue = |(index, word): (usize, &String)| {
        let why = check(word).err()?;
        let path = vec![PathStep::Field(field.to_owned()), PathStep::Index(index)];
        Some(Issue { path, message: why.to_string() })
    };
    words.iter().enumerate().filter_map(issue).collect()
}

/// Fails if there are errors.
pub(super) fn refuse(issues: Vec<Issue>) -> ApiResult<()> {
    if issues.is_empty() { Ok(()) } else { Err(ApiError::InvalidFields(issues)) }
}

/// Responds with a prompt, which may be long.
async fn shown(
    app: &App,
    prompt: Prompt,
    graph: Option<Graph>,
    project: ProjectId,
) -> ApiResult<Response> {
    let said = match &prompt.body {
        PromptBody::Text(text) => text.len(),
        PromptBody::Chat(messages) => messages.iter().map(said).sum(),
    };
    let bytes = said + prompt.config.as_str().len();
    response::json(app, bytes, move || view(prompt, graph, &project)).await
}

/// Approximate bytes of a message.
fn said(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::Said { content, rest, .. } => content.len() + 100 * (1 + rest.len()),
        ChatMessage::Placeholder { name } => name.len(),
    }
}

fn view(prompt: Prompt, graph: Option<Graph>, project: &ProjectId) -> PromptView {
    PromptView {
        kind: WireName(prompt.body.kind()),
        prompt: raw(&JsonText::from_value(&prompt.body.to_json())),
        config: raw(&prompt.config),
        is_active: Some(prompt.labels.iter().any(|label| label == PRODUCTION)),
        id: prompt.id,
        name: prompt.name,
        version: prompt.version,
        labels: prompt.labels,
        tags: prompt.tags,
        commit_message: prompt.commit_message,
        resolution_graph: graph.map(Into::into),
        project_id: Some(project.to_string()),
        created_by: Some(prompt.created_by),
        created_at: Some(prompt.created_at.into()),
        updated_at: Some(prompt.updated_at.into()),
    }
}

fn summary(prompt: PromptSummary) -> PromptMetaView {
    PromptMetaView {
        name: prompt.name,
        kind: WireName(prompt.kind),
        versions: prompt.versions,
        labels: prompt.labels,
        tags: prompt.tags,
        last_updated_at: prompt.last_updated_at.into(),
        last_config: raw(&prompt.last_config),
    }
}
