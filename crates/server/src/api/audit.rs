use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use ratchet_store::catalog::{AuditEntry, AuditObject, AuditQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::Page;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{PathProject, ProjectParam};
use super::query::{asked, page_size};
use crate::app::App;
use crate::auth::Administrator;
use crate::error::{ApiError, ApiResult};

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntryView {
    /// Later entries have greater numbers.
    pub number: u64,
    /// Time of the change, RFC 3339.
    pub at: String,
    /// The project; null for changes of the whole server.
    pub project_id: Option<String>,
    /// Who made the change.
    pub actor: ActorView,
    /// The kind of change: `made`, `changed`, `revoked` and so on.
    pub verb: String,
    /// The kind of object.
    pub noun: String,
    /// The object's id, or its name if that identifies it.
    pub object: String,
    /// The object's display name.
    pub name: String,
    /// Short old value.
    pub before: Option<String>,
    /// Short new value.
    pub after: Option<String>,
}

/// The originator of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActorView {
    /// `person`, `key`, `anyone`, `command line` or `server`.
    pub kind: String,
    /// Id of the user or key; empty for other kinds.
    pub id: String,
    /// Display name.
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

/// A page of the audit log, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditView {
    /// The entries.
    pub entries: Vec<AuditEntryView>,
    /// Cursor of the next page; null at the end.
    pub cursor: Option<String>,
}

impl From<Page<AuditEntry>> for AuditView {
    fn from(page: Page<AuditEntry>) -> Self {
        Self { entries: page.rows.into_iter().map(Into::into).collect(), cursor: page.cursor }
    }
}

/// A filter for the audit log.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditRequest {
    /// Only this kind of object, such as `API key` or `prompt`.
    pub noun: Option<String>,
    /// Page size, from 1 to 1000; 50 by default.
    pub limit: Option<u64>,
    /// Cursor from the previous page.
    pub cursor: Option<String>,
}

impl AuditRequest {
    /// Validates the request.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self, project: Option<ProjectId>) -> ApiResult<AuditQuery> {
        let noun = self.noun.map(|noun| {
            let nouns = || AuditObject::ALL.map(AuditObject::as_str).join(", ");
            let unknown = || ApiError::Invalid(format!("noun: one of {}", nouns()));
            AuditObject::parse(&noun).ok_or_else(unknown)
        });
        let limit = page_size(self.limit)?;
        let query = AuditQuery { noun: noun.transpose()?, ..AuditQuery::newest(project, limit) };
        match &self.cursor {
            Some(cursor) => Ok(query.behind(cursor)?),
            None => Ok(query),
        }
    }

    /// The query string of this request.
    pub fn pairs(self) -> Vec<(&'static str, String)> {
        let limit = self.limit.map(|limit| limit.to_string());
        let all = [("noun", self.noun), ("limit", limit), ("cursor", self.cursor)];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// `GET /api/v1/projects/{project}/audit`: the audit log of a project, newest first.
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

/// `GET /api/v1/audit`: the audit log of the server, outside of projects, newest first.
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
