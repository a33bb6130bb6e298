use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::review::weekly::{MonthAccuracy, WeeklyMetrics};
use ratchet_core::time::Timestamp;
use ratchet_stages::review::review_site::{ReviewSite, ReviewSiteError};
use ratchet_stages::review::weekly_metrics::{self, MetricsFilter};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{PathProject, ProjectParam};
use super::projects::own_project;
use super::query::asked;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ApiResult};

/// Which week's metrics, of which traffic.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReviewMetricsRequest {
    /// A day of the week, such as `2026-11-08`; by default the last full week.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week: Option<String>,
    /// Time zone of the week, such as `Europe/Berlin`; by default that of the review schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Only traces of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only traces in this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Only traces of this release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// `json` (the default) or `csv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// Agent and judge accuracy by month.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MonthsView {
    /// Oldest first.
    #[schema(value_type = Vec<Object>)]
    pub months: Vec<MonthAccuracy>,
}

impl ReviewMetricsRequest {
    /// Returns the request as query parameters.
    pub fn pairs(self) -> Vec<(&'static str, String)> {
        let pairs = [
            ("week", self.week),
            ("zone", self.zone),
            ("agent", self.agent),
            ("environment", self.environment),
            ("release", self.release),
            ("format", self.format),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Computes the metrics.
    ///
    /// # Errors
    /// 400, naming the field.
    pub async fn read(&self, site: &ReviewSite, now: Timestamp) -> ApiResult<WeeklyMetrics> {
        let zone = match &self.zone {
            Some(zone) => {
                Zone::parse(zone).map_err(|why| ApiError::Invalid(format!("zone: {why}")))?
            }
            None => weekly_metrics::zone(site).await?,
        };
        let week = match &self.week {
            Some(day) => {
                Week::parse(day, &zone).map_err(|why| ApiError::Invalid(format!("week: {why}")))?
            }
            None => weekly_metrics::default_week(site, (&zone, now)).await?,
        };
        let filter = MetricsFilter {
            agent: self.agent.clone(),
            environment: self.environment.clone(),
            release: self.release.clone(),
        };
        Ok(weekly_metrics::metrics(site, &week, &filter).await?)
    }
}

/// Which traffic the months are about.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MonthsRequest {
    /// Only traces of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only traces in this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Only traces of this release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
}

impl MonthsRequest {
    /// Returns the request as query parameters.
    pub fn pairs(self) -> Vec<(&'static str, String)> {
        let pairs =
            [("agent", self.agent), ("environment", self.environment), ("release", self.release)];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Computes the months.
    ///
    /// # Errors
    /// Fails if scores or draws cannot be read.
    pub async fn read(self, site: &ReviewSite) -> ApiResult<Vec<MonthAccuracy>> {
        let Self { agent, environment, release } = self;
        let filter = MetricsFilter { agent, environment, release };
        Ok(weekly_metrics::months(site, &filter).await?)
    }
}

/// `GET /api/v1/projects/{project}/metrics/week`: the review metrics of a week, raw and weighted,
/// with intervals and targets.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/metrics/week",
    tag = "Quality",
    params(ProjectParam, ReviewMetricsRequest),
    responses((status = 200, body = Object))
)]
pub(super) async fn week(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Response> {
    own_project(&caller, &project)?;
    let request: ReviewMetricsRequest = asked(&uri)?;
    let metrics = request.read(&app.review_site(&project)?, app.clock.now()).await?;
    match request.format.as_deref() {
        None | Some("json") => Ok(Json(metrics).into_response()),
        Some("csv") => {
            let kind = [(CONTENT_TYPE, "text/csv; charset=utf-8")];
            Ok((kind, metrics.to_csv()).into_response())
        }
        Some(other) => {
            Err(ApiError::Invalid(format!("format: must be json or csv, not {other:?}")))
        }
    }
}

/// `GET /api/v1/projects/{project}/metrics/months`: agent and judge accuracy by month.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/metrics/months",
    tag = "Quality",
    params(ProjectParam, MonthsRequest),
    responses((status = 200, body = MonthsView))
)]
pub(super) async fn months(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<MonthsView>> {
    own_project(&caller, &project)?;
    let request: MonthsRequest = asked(&uri)?;
    let months = request.read(&app.review_site(&project)?).await?;
    Ok(Json(MonthsView { months }))
}

impl From<ReviewSiteError> for ApiError {
    fn from(error: ReviewSiteError) -> Self {
        match error {
            ReviewSiteError::Store(error) => error.into(),
            other => Self::Unprocessable(other.to_string()),
        }
    }
}
