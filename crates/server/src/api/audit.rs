use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use ratchet_store::catalog::{AuditEntry, AuditQuery, Noun};
use ratchet_store::project::ProjectId;
use ratchet_store::query::Page;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{PathProject, ProjectParam};
use super::query::asked;
use crate::app::App;
use crate::auth::Administrator;
use crate::error::{ApiError, ApiResult};

/// Entries of one answer, unless it is said how many.
const USUAL: u64 = 50;
/// Entries of one answer at most.
const MOST: u64 = 1_000;

/// Something that was done, as clients see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntryView {
    /// Later entries have greater numbers.
    pub number: u64,
    /// When, RFC 3339.
    pub at: String,
    /// In which project; on the whole server when null.
    pub project_id: Option<String>,
    /// By whom.
    pub actor: ActorView,
    /// What was done: `made`, `changed`, `revoked` and so on.
    pub verb: String,
    /// To what kind of thing.
    pub noun: String,
    /// Which one: its id, or its name if that is what names it.
    pub object: String,
    /// What people call it.
    pub name: String,
    /// What it was, in short.
    pub before: Option<String>,
    /// What it became, in short.
    pub after: Option<String>,
}

/// Whoever did something, as clients see them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActorView {
    /// `person`, `key`, `anyone`, `command line` or `server`.
    pub kind: String,
    /// Their id; empty where there is none.
    pub id: String,
    /// What people call them.
    pub name: String,
}

impl From<AuditEntry> for AuditEntryView {
    fn from(entry: AuditEntry) -> Self {
        let actor = ActorView {
            kind: entry.actor.kind().to_owned(),
            id: entry.actor.id().to_owned(),
            name: entry.actor.name().to_owned(),
        };
        Self {
            number: entry.number,
            at: entry.at.to_string(),
            project_id: entry.project.map(|project| project.to_string()),
            actor,
            verb: entry.verb.as_str().to_owned(),
            noun: entry.noun.as_str().to_owned(),
            object: entry.object,
            name: entry.name,
            before: entry.was,
            after: entry.became,
        }
    }
}

/// Some entries, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditView {
    /// The entries.
    pub entries: Vec<AuditEntryView>,
    /// Gives the entries before these; null at the end.
    pub cursor: Option<String>,
}

impl From<Page<AuditEntry>> for AuditView {
    fn from(page: Page<AuditEntry>) -> Self {
        Self { entries: page.rows.into_iter().map(Into::into).collect(), cursor: page.cursor }
    }
}

/// Which entries are wanted, as clients ask for them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditRequest {
    /// Only about this kind of thing, such as `API key` or `prompt`.
    pub noun: Option<String>,
    /// How many, from 1 to 1000; 50 unless it is said.
    pub limit: Option<u64>,
    /// Where the last answer stopped.
    pub cursor: Option<String>,
}

impl AuditRequest {
    /// Checks the request.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self, project: Option<ProjectId>) -> ApiResult<AuditQuery> {
        let noun = self.noun.map(|noun| {
            let nouns = || Noun::ALL.map(Noun::as_str).join(", ");
            let unknown = || ApiError::Invalid(format!("noun: one of {}", nouns()));
            Noun::parse(&noun).ok_or_else(unknown)
        });
        let limit = self.limit.unwrap_or(USUAL);
        if !(1..=MOST).contains(&limit) {
            return Err(ApiError::Invalid(format!("limit: from 1 to {MOST}")));
        }
        let query = AuditQuery { noun: noun.transpose()?, ..AuditQuery::newest(project, limit) };
        match &self.cursor {
            Some(cursor) => Ok(query.behind(cursor)?),
            None => Ok(query),
        }
    }

    /// The query of an address that asks this.
    pub fn pairs(self) -> Vec<(&'static str, String)> {
        let limit = self.limit.map(|limit| limit.to_string());
        let all = [("noun", self.noun), ("limit", limit), ("cursor", self.cursor)];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// `GET /api/v1/projects/{project}/audit`: who changed what in a project, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/audit",
    tag = "Administration",
    params(ProjectParam, AuditRequest),
    responses((status = 200, body = AuditView))
)]
pub(super) async fn of_project(
    State(app): State<App>,
    _: Administrator,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<AuditView>> {
    let query = asked::<AuditRequest>(&uri)?.check(Some(project))?;
    Ok(Json(app.store.catalog.audit(query).await?.into()))
}

/// `GET /api/v1/audit`: who changed what on the whole server, outside of projects, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/audit",
    tag = "Administration",
    params(AuditRequest),
    responses((status = 200, body = AuditView))
)]
pub(super) async fn of_server(
    State(app): State<App>,
    _: Administrator,
    uri: Uri,
) -> ApiResult<Json<AuditView>> {
    let query = asked::<AuditRequest>(&uri)?.check(None)?;
    Ok(Json(app.store.catalog.audit(query).await?.into()))
}
