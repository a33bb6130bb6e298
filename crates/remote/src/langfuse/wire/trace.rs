use ratchet_core::money::Money;
use ratchet_core::record::trace::Trace;
use ratchet_core::url_encoding::encoded;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, both, null_as_default, object, payload};
use super::observation::ObservationView;
use super::score::ScoreView;
use super::time::{Time, seconds};

/// A trace in a list, with the ids of its observations and scores.
pub type TraceWithDetails = DetailedTrace<String, String>;
/// A trace with its full observations and scores.
pub type TraceWithFullDetails = DetailedTrace<ObservationView, ScoreView>;

/// Langfuse's value for a number that was not requested.
pub const NOT_REQUESTED: f64 = -1.0;

/// A trace.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceView {
    /// Unique id.
    pub id: String,
    /// Always null: client ids are used as they are.
    #[serde(default)]
    pub external_id: Option<String>,
    /// Start time.
    pub timestamp: Time,
    /// Name.
    pub name: Option<String>,
    /// Input.
    pub input: Option<Raw>,
    /// Output.
    pub output: Option<Raw>,
    /// Session id.
    pub session_id: Option<String>,
    /// Release of the application.
    pub release: Option<String>,
    /// Version of the trace.
    pub version: Option<String>,
    /// User id.
    pub user_id: Option<String>,
    /// Client metadata.
    pub metadata: Option<Raw>,
    /// Tags, sorted.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub tags: Vec<String>,
    /// Whether anyone with the link can view it.
    pub public: bool,
    /// Whether it is bookmarked.
    #[serde(default)]
    pub bookmarked: bool,
    /// Environment.
    pub environment: String,
    /// Project id.
    #[serde(default)]
    pub project_id: Option<String>,
    /// Creation time of the record.
    pub created_at: Option<Time>,
    /// Time of the record's last change.
    pub updated_at: Option<Time>,
}

impl TraceView {
    /// Converts a trace; with its content only if that was loaded.
    pub fn new(trace: &Trace, project: &str) -> Self {
        let content = trace.content.as_ref();
        Self {
            id: trace.id.to_string(),
            external_id: None,
            timestamp: trace.timestamp.into(),
            name: trace.name.clone(),
            input: content.and_then(|content| content.input.as_ref()).map(payload),
            output: content.and_then(|content| content.output.as_ref()).map(payload),
            session_id: trace.session.as_ref().map(ToString::to_string),
            release: trace.release.clone(),
            version: trace.version.clone(),
            user_id: trace.user.clone(),
            metadata: content.map(|content| object(&content.metadata)),
            tags: trace.tags.clone(),
            public: trace.public,
            bookmarked: trace.bookmarked,
            environment: trace.environment.to_string(),
            project_id: Some(project.to_owned()),
            created_at: Some(trace.created_at.into()),
            updated_at: Some(trace.updated_at.into()),
        }
    }
}

/// A request to delete traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteTraces {
    /// Trace ids.
    pub trace_ids: Vec<String>,
}

/// The response to a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deleted {
    /// Message text.
    pub message: String,
}

/// A trace with its observations and scores, by id or in full.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DetailedTrace<O, S> {
    /// Trace.
    #[serde(flatten)]
    pub trace: TraceView,
    /// Observations, scores and sums.
    #[serde(flatten)]
    pub details: TraceDetails<O, S>,
}

/// The observations, scores and sums of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", bound(deserialize = "O: Deserialize<'de>, S: Deserialize<'de>"))]
pub struct TraceDetails<O, S> {
    /// Path of its page.
    pub html_path: String,
    /// Seconds from the first start to the last end.
    pub latency: Option<f64>,
    /// Sum of known costs in dollars; null when none is known.
    pub total_cost: Option<f64>,
    /// Observations, by start.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub observations: Vec<O>,
    /// Scores.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub scores: Vec<S>,
}

impl<O, S> TraceDetails<O, S> {
    /// Converts a trace with its sums, without observations and scores.
    pub fn new(trace: &Trace, project: &str) -> Self {
        Self {
            html_path: html_path(project, &trace.id.to_string()),
            latency: trace.summary.latency().map(seconds),
            total_cost: trace.summary.cost.map(Money::dollars),
            observations: Vec::new(),
            scores: Vec::new(),
        }
    }
}

impl<'de, O, S> Deserialize<'de> for DetailedTrace<O, S>
where
    O: for<'any> Deserialize<'any>,
    S: for<'any> Deserialize<'any>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (trace, details) = both(deserializer)?;
        Ok(Self { trace, details })
    }
}

/// Returns the path of a trace's page, with the id escaped.
pub fn html_path(project: &str, trace: &str) -> String {
    format!("/project/{project}/traces/{}", encoded(trace))
}
