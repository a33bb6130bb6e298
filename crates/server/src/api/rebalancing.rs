use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use ratchet_core::review::split_proposal::SplitProposal;
use ratchet_core::time::Timestamp;
use ratchet_stages::review::rebalancing::{self, RebalanceQuery};
use ratchet_stages::review::review_site::ReviewSite;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::path::{PathProject, ProjectParam};
use super::projects::own_project;
use super::query::asked;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ApiResult};

/// Which proposal for the split of the review sample.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct RebalanceRequest {
    /// The agent; needed only where several have samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The half-width of agent accuracy to keep, such as 0.06; 0.1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
}

impl RebalanceRequest {
    /// Returns the request as query parameters.
    pub fn pairs(self) -> Vec<(&'static str, String)> {
        let half_width = self.half_width.map(|value| value.to_string());
        let pairs = [("agent", self.agent), ("halfWidth", half_width)];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Computes the proposal.
    ///
    /// # Errors
    /// 400, naming the field.
    pub async fn read(&self, site: &ReviewSite, now: Timestamp) -> ApiResult<SplitProposal> {
        if self.half_width.is_some_and(|value| !(value > 0.0 && value < 1.0)) {
            return Err(ApiError::Invalid("halfWidth: a number between 0 and 1".to_owned()));
        }
        let query =
            RebalanceQuery { agent: self.agent.as_deref(), half_width: self.half_width, now };
        Ok(rebalancing::propose(site, query).await?)
    }
}

/// `GET /api/v1/projects/{project}/metrics/rebalance`: the split of the review sample that the
/// reviews of the last quarter propose, with what it costs and finds. To accept it, set the agent's
/// `flaggedShare`.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/metrics/rebalance",
    tag = "Quality",
    params(ProjectParam, RebalanceRequest),
    responses((status = 200, body = Object))
)]
pub(super) async fn propose(
    State(app): State<App>,
    Reader(caller): Reader,
    PathProject(project): PathProject,
    uri: Uri,
) -> ApiResult<Json<SplitProposal>> {
    own_project(&caller, &project)?;
    let request: RebalanceRequest = asked(&uri)?;
    let site = app.review_site(&project)?;
    Ok(Json(request.read(&site, app.clock.now()).await?))
}
