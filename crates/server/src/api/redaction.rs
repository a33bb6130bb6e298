use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ratchet_core::record::redact::preset::{self, Preset};
use ratchet_core::record::redact::{RedactionPattern, Redactor, Rule, RuleError};
use ratchet_store::catalog::StoredRule;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::path::{PathProject, ProjectParam};
use crate::app::App;
use crate::auth::Administrator;
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};

/// A redaction rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedactionRuleView {
    /// The rule's id.
    pub id: String,
    /// `pattern`, `field` or `preset`.
    pub kind: String,
    /// The pattern, the path or the preset's name.
    pub what: String,
    /// The replacement text.
    pub replacement: String,
    /// Time of creation, RFC 3339.
    pub created_at: String,
}

impl From<StoredRule> for RedactionRuleView {
    fn from(kept: StoredRule) -> Self {
        Self {
            id: kept.id,
            kind: kept.rule.what.kind().to_owned(),
            what: kept.rule.what.text().to_owned(),
            replacement: kept.rule.replacement,
            created_at: kept.created_at.to_string(),
        }
    }
}

/// A redaction rule to add: one of pattern, field and preset.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RedactionRuleRequest {
    /// A regular expression, matched in every text.
    pub pattern: Option<String>,
    /// A path such as `input.user.email`.
    pub field: Option<String>,
    /// The name of a preset.
    pub preset: Option<String>,
    /// The replacement text; the preset's, or `[redacted]`, by default.
    pub replacement: Option<String>,
}

impl RedactionRuleRequest {
    /// Validates the request alone; conflicts with other rules are found when it is added.
    ///
    /// # Errors
    /// 400, naming the field.
    pub fn check(self) -> ApiResult<Rule> {
        let what = match (self.pattern, self.field, self.preset) {
            (Some(pattern), None, None) => RedactionPattern::Pattern(pattern),
            (None, Some(field), None) => RedactionPattern::Field(field),
            (None, None, Some(name)) => RedactionPattern::Preset(name),
            _ => {
                let why = "pattern, field, preset: give one of the three".to_owned();
                return Err(ApiError::Invalid(why));
            }
        };
        Rule::new(what, self.replacement).map_err(|why| refused(&why))
    }
}

/// The client error for an invalid rule.
pub fn refused(why: &RuleError) -> ApiError {
    ApiError::Invalid(why.to_string())
}

/// A predefined pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PresetView {
    /// The preset's name.
    pub name: String,
    /// What it matches.
    pub finds: String,
    /// The regular expression.
    pub pattern: String,
    /// The replacement text.
    pub replacement: String,
}

impl From<&Preset> for PresetView {
    fn from(preset: &Preset) -> Self {
        let Preset { name, finds, pattern, replacement } = preset.clone();
        Self { name, finds, pattern, replacement }
    }
}

/// A text to test the rules on.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialRequest {
    /// The text.
    pub text: String,
    /// The field it would be in: `input`, `output` …; `input` by default.
    pub field: Option<String>,
}

/// A redacted text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RedactionTrialView {
    /// The redacted text.
    pub text: String,
}

impl TrialRequest {
    /// Applies rules to the text.
    ///
    /// # Errors
    /// 400 if there is no such field.
    pub fn run(&self, rules: Vec<StoredRule>) -> ApiResult<RedactionTrialView> {
        let rules: Vec<Rule> = rules.into_iter().map(|kept| kept.rule).collect();
        let redactor = Redactor::new(&rules).map_err(|why| refused(&why))?;
        let field = self.field.as_deref().unwrap_or("input");
        let text = redactor.trial(&self.text, field).map_err(|why| refused(&why))?;
        Ok(RedactionTrialView { text })
    }
}

/// `GET /api/v1/redaction/presets`: predefined patterns that rules can use.
#[utoipa::path(
    get,
    path = "/api/v1/redaction/presets",
    tag = "Administration",
    responses((status = 200, body = Vec<PresetView>))
)]
pub(super) async fn presets(_: Administrator) -> Json<Vec<PresetView>> {
    Json(preset::all().iter().map(PresetView::from).collect())
}

/// `GET /api/v1/projects/{project}/redaction`: the redaction rules of a project, oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/redaction",
    tag = "Administration",
    params(ProjectParam),
    responses((status = 200, body = Vec<RedactionRuleView>))
)]
pub(super) async fn list(
    State(app): State<App>,
    _: Administrator,
    PathProject(project): PathProject,
) -> ApiResult<Json<Vec<RedactionRuleView>>> {
    let rules = app.store.catalog.redaction_rules(project).await?;
    Ok(Json(rules.into_iter().map(RedactionRuleView::from).collect()))
}

/// `POST /api/v1/projects/{project}/redaction`: adds a rule for telemetry recorded from now on.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/redaction",
    tag = "Administration",
    params(ProjectParam),
    request_body = RedactionRuleRequest,
    responses((status = 201, body = RedactionRuleView))
)]
pub(super) async fn add(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<RedactionRuleRequest>,
) -> ApiResult<(StatusCode, Json<RedactionRuleView>)> {
    let rule = request.check()?;
    let added = caller.catalog(&app).add_redaction_rule(project, rule, app.clock.now()).await?;
    let added = added.map_err(|why| refused(&why))?;
    Ok((StatusCode::CREATED, Json(added.into())))
}

/// `DELETE /api/v1/projects/{project}/redaction/{rule}`: deletes a rule; redacted content stays
/// redacted.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/redaction/{rule}",
    tag = "Administration",
    params(
        ProjectParam,
        ("rule" = String, Path, description = "The rule's id."),
    ),
    responses((status = 200, body = RedactionRuleView))
)]
pub(super) async fn remove(
    State(app): State<App>,
    Administrator(caller): Administrator,
    PathProject(project): PathProject,
    Path((_, rule)): Path<(String, String)>,
) -> ApiResult<Json<RedactionRuleView>> {
    let removed =
        caller.catalog(&app).remove_redaction_rule(project, rule, app.clock.now()).await?;
    Ok(Json(removed.into()))
}

/// `POST /api/v1/projects/{project}/redaction/test`: redacts a text with the project's rules.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/redaction/test",
    tag = "Administration",
    params(ProjectParam),
    request_body = TrialRequest,
    responses((status = 200, body = RedactionTrialView))
)]
pub(super) async fn test(
    State(app): State<App>,
    _: Administrator,
    PathProject(project): PathProject,
    JsonBody(request): JsonBody<TrialRequest>,
) -> ApiResult<Json<RedactionTrialView>> {
    let rules = app.store.catalog.redaction_rules(project).await?;
    Ok(Json(request.run(rules)?))
}
