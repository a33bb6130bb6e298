mod request;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use ratchet_core::catalog::prompt::{PRODUCTION, Pick, check_label, check_tag};
use ratchet_core::catalog::skill::content_type;
use ratchet_core::issue::Issue;
use ratchet_core::payload::Json as JsonText;
use ratchet_core::record::media::MediaHash;
use ratchet_remote::langfuse::wire::json::raw;
use ratchet_remote::langfuse::wire::skill::{
    CreateSkill, SkillContentView, SkillContents, SkillDeleted, SkillFileView, SkillList,
    SkillListMeta, SkillMetaView, SkillView, UpdateSkill, UpdateSkillLabels,
};
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_store::catalog::{NewSkill, Skill, SkillFile, SkillQuery, SkillSummary};
use ratchet_store::project::ProjectId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::request::{read_files, read_front, read_hashes, too_many};
use super::json_fields::JsonFields;
use super::params::{PageParams, Params, meta};
use super::path::PathOf;
use super::prompts::{pick, refuse, word_issues};
use super::response;
use crate::app::App;
use crate::auth::{Member, Reader};
use crate::error::{ApiError, ApiResult};

/// The `createdBy` of skills from the API.
const API: &str = "API";
/// Maximum number of labels or tags in a request.
const MAX_WORDS: usize = 100;

/// The routes of this resource.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(list, create))
        .routes(routes!(contents))
        .routes(routes!(show, tag))
        .routes(routes!(label, remove))
}

/// `GET /api/public/unstable/skills`: skills by name, with their newest version.
#[utoipa::path(
    get,
    path = "/api/public/unstable/skills",
    tag = "Skills",
    params(
        PageParams,
        ("name" = Option<String>, Query, description = "Name."),
        ("search" = Option<String>, Query, description = "Substring of the name or description."),
        ("tag" = Option<String>, Query, description = "With this tag."),
        ("fromUpdatedAt" = Option<Time>, Query, description = "Changed at this time or later."),
        ("toUpdatedAt" = Option<Time>, Query, description = "Changed before this time."),
    ),
    responses((status = 200, body = SkillList))
)]
pub(super) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Json<SkillList>> {
    let page = params.page();
    let query = SkillQuery {
        project: caller.project,
        name: params.text("name"),
        search: params.text("search"),
        tag: params.text("tag"),
        updated: params.range("fromUpdatedAt", "toUpdatedAt"),
        page,
    };
    params.finish()?;
    let found = app.store.catalog.skills(query).await?;
    let data = found.rows.into_iter().map(summary).collect();
    let meta = meta(page, found.total);
    let meta = SkillListMeta {
        page: meta.page,
        limit: meta.limit,
        total_items: meta.total_items,
        total_pages: meta.total_pages,
        has_next_page: meta.page < meta.total_pages,
    };
    Ok(Json(SkillList { data, meta }))
}

/// `GET /api/public/unstable/skills/{name}`: the version with a number or a label, `production` by
/// default.
#[utoipa::path(
    get,
    path = "/api/public/unstable/skills/{name}",
    tag = "Skills",
    params(
        ("name" = String, Path, description = "The skill's name."),
        ("version" = Option<u32>, Query, description = "The version with this number."),
        ("label" = Option<String>, Query, description = "The version with this label."),
    ),
    responses((status = 200, body = SkillView))
)]
pub(super) async fn show(
    State(app): State<App>,
    Reader(caller): Reader,
    PathOf(name): PathOf<String>,
    mut params: Params,
) -> ApiResult<Json<SkillView>> {
    let pick = pick(&mut params).unwrap_or_else(|| Pick::Label(PRODUCTION.to_owned()));
    params.finish()?;
    let found = app.store.catalog.skill(caller.project.clone(), name.clone(), pick.clone()).await?;
    let skill = found.ok_or_else(|| {
        ApiError::NotFound(match pick {
            Pick::Version(version) => format!("Skill not found: '{name}' with version {version}"),
            Pick::Label(label) => format!("Skill not found: '{name}' with label '{label}'"),
        })
    })?;
    Ok(Json(view(skill, &caller.project)))
}

/// `GET /api/public/unstable/skills/files/content`: the contents of files, by hash.
#[utoipa::path(
    get,
    path = "/api/public/unstable/skills/files/content",
    tag = "Skills",
    params((
        "sha256Hashes" = String,
        Query,
        description = "1 to 50 comma-separated SHA-256 hashes in base64."
    )),
    responses((status = 200, body = SkillContents))
)]
pub(super) async fn contents(
    State(app): State<App>,
    Reader(caller): Reader,
    mut params: Params,
) -> ApiResult<Response> {
    let asked = params.required("sha256Hashes");
    let hashes = read_hashes(&asked).map_err(|why| params.report([Issue::at("sha256Hashes", why)]));
    params.finish()?;
    let hashes = hashes.unwrap_or_default();
    let found = app.store.catalog.skill_contents(caller.project, hashes).await?;
    let bytes = found.iter().map(|(_, content)| content.len()).sum();
    let shown = |(hash, content): (MediaHash, String)| SkillContentView {
        sha256_hash: hash.to_base64(),
        content,
    };
    let view = move || SkillContents { data: found.into_iter().map(shown).collect() };
    response::json(&app, bytes, view).await
}

/// `POST /api/public/unstable/skills`: creates the next version of the skill named in `SKILL.md`.
#[utoipa::path(
    post,
    path = "/api/public/unstable/skills",
    tag = "Skills",
    request_body = CreateSkill,
    responses((status = 200, body = SkillView))
)]
pub(super) async fn create(
    State(app): State<App>,
    Member(caller): Member,
    JsonFields(sent): JsonFields<CreateSkill>,
) -> ApiResult<Json<SkillView>> {
    let files = read_files(sent.files, sent.commit_message.as_deref())?;
    let front = read_front(&app, &caller.project, &files).await?;
    let new = NewSkill {
        name: front.name,
        description: front.description,
        frontmatter: JsonText::from_value(&front.all),
        files,
        commit_message: sent.commit_message,
        created_by: API.to_owned(),
    };
    let project = caller.project.clone();
    let skill = caller.catalog(&app).create_skill(project, new, app.clock.now()).await?;
    Ok(Json(view(skill, &caller.project)))
}

/// `PATCH /api/public/unstable/skills/{name}`: sets the tags of a skill.
#[utoipa::path(
    patch,
    path = "/api/public/unstable/skills/{name}",
    tag = "Skills",
    params(("name" = String, Path, description = "The skill's name.")),
    request_body = UpdateSkill,
    responses((status = 200, description = "The newest version", body = SkillView))
)]
pub(super) async fn tag(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(name): PathOf<String>,
    JsonFields(sent): JsonFields<UpdateSkill>,
) -> ApiResult<Json<SkillView>> {
    let mut issues = word_issues("tags", &sent.tags, check_tag);
    issues.extend(too_many("tags", sent.tags.len(), MAX_WORDS));
    refuse(issues)?;
    let project = caller.project.clone();
    let skill =
        caller.catalog(&app).set_skill_tags(project, name, sent.tags, app.clock.now()).await?;
    Ok(Json(view(skill, &caller.project)))
}

/// `PATCH /api/public/unstable/skills/{name}/versions/{version}`: sets the labels of a version;
/// labels move from other versions.
#[utoipa::path(
    patch,
    path = "/api/public/unstable/skills/{name}/versions/{version}",
    tag = "Skills",
    params(
        ("name" = String, Path, description = "The skill's name."),
        ("version" = u32, Path, description = "The version's number."),
    ),
    request_body = UpdateSkillLabels,
    responses((status = 200, body = SkillView))
)]
pub(super) async fn label(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(which): PathOf<(String, u32)>,
    JsonFields(sent): JsonFields<UpdateSkillLabels>,
) -> ApiResult<Json<SkillView>> {
    let mut issues = word_issues("labels", &sent.labels, check_label);
    issues.extend(too_many("labels", sent.labels.len(), MAX_WORDS));
    refuse(issues)?;
    let project = caller.project.clone();
    let now = app.clock.now();
    let skill = caller.catalog(&app).move_skill_labels(project, which, sent.labels, now).await?;
    Ok(Json(view(skill, &caller.project)))
}

/// `DELETE /api/public/unstable/skills/{name}/versions/{version}`: deletes a version and the
/// contents that only its files had.
#[utoipa::path(
    delete,
    path = "/api/public/unstable/skills/{name}/versions/{version}",
    tag = "Skills",
    params(
        ("name" = String, Path, description = "The skill's name."),
        ("version" = u32, Path, description = "The version's number."),
    ),
    responses((status = 200, body = SkillDeleted))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Member(caller): Member,
    PathOf(which): PathOf<(String, u32)>,
) -> ApiResult<Json<SkillDeleted>> {
    caller.catalog(&app).delete_skill(caller.project, which, app.clock.now()).await?;
    Ok(Json(SkillDeleted { deleted: true }))
}

fn view(skill: Skill, project: &ProjectId) -> SkillView {
    SkillView {
        id: skill.id,
        created_at: skill.created_at.into(),
        updated_at: skill.updated_at.into(),
        project_id: project.to_string(),
        created_by: skill.created_by,
        name: skill.name,
        description: skill.description,
        frontmatter: raw(&skill.frontmatter),
        version: skill.version,
        tags: skill.tags,
        labels: skill.labels,
        commit_message: skill.commit_message,
        files: skill.files.into_iter().map(file).collect(),
    }
}

fn file(file: SkillFile) -> SkillFileView {
    SkillFileView {
        id: file.id,
        blob_id: file.hash.to_hex(),
        sha256_hash: file.hash.to_base64(),
        content_type: content_type(&file.path).to_owned(),
        content_length: file.content_length,
        path: file.path,
    }
}

fn summary(skill: SkillSummary) -> SkillMetaView {
    SkillMetaView {
        name: skill.name,
        description: skill.description,
        tags: skill.tags,
        latest_version: skill.version,
        latest_version_created_at: skill.created_at.into(),
        latest_version_last_updated_at: skill.updated_at.into(),
        production_version: skill.production,
    }
}
