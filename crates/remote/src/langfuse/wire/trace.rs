use ratchet_core::money::Money;
use ratchet_core::record::trace::Trace;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, both, null_as_default, object, payload};
use super::observation::ObservationView;
use super::score::ScoreView;
use super::time::{Time, seconds};

/// A trace in a list: its observations and scores by id.
pub type TraceWithDetails = DetailedTrace<String, String>;
/// A trace with all there is of it.
pub type TraceWithFullDetails = DetailedTrace<ObservationView, ScoreView>;

/// What Langfuse answers for a number that was not asked for.
pub const NOT_ASKED: f64 = -1.0;

/// A trace.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceView {
    /// Its id.
    pub id: String,
    /// Always null: ids of clients are ids here.
    #[serde(default)]
    pub external_id: Option<String>,
    /// When it began.
    pub timestamp: Time,
    /// What it is called.
    pub name: Option<String>,
    /// What went in.
    pub input: Option<Raw>,
    /// What came out.
    pub output: Option<Raw>,
    /// What it belongs to.
    pub session_id: Option<String>,
    /// The application's release.
    pub release: Option<String>,
    /// The trace's own version.
    pub version: Option<String>,
    /// Whom it served.
    pub user_id: Option<String>,
    /// Keys and values of the client's own.
    pub metadata: Option<Raw>,
    /// Labels, sorted.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub tags: Vec<String>,
    /// Whether anyone with the link may look.
    pub public: bool,
    /// Whether someone marked it.
    #[serde(default)]
    pub bookmarked: bool,
    /// Where it ran.
    pub environment: String,
    /// Which project it is in.
    #[serde(default)]
    pub project_id: Option<String>,
    /// When the record was first written.
    pub created_at: Option<Time>,
    /// When the record last changed.
    pub updated_at: Option<Time>,
}

impl TraceView {
    /// Shows a trace; what it carries, only if it was fetched.
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

/// Which traces to delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteTraces {
    /// Their ids.
    pub trace_ids: Vec<String>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Deleted {
    /// In words.
    pub message: String,
}

/// A trace with what hangs on it, by id or in full.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DetailedTrace<O, S> {
    /// The trace itself.
    #[serde(flatten)]
    pub trace: TraceView,
    /// What hangs on it.
    #[serde(flatten)]
    pub details: TraceDetails<O, S>,
}

/// What hangs on a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", bound(deserialize = "O: Deserialize<'de>, S: Deserialize<'de>"))]
pub struct TraceDetails<O, S> {
    /// The path of its page.
    pub html_path: String,
    /// Seconds from the first start to the last end.
    pub latency: Option<f64>,
    /// The known costs together, in dollars; null when none is known.
    pub total_cost: Option<f64>,
    /// Its observations, by start.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub observations: Vec<O>,
    /// Its scores.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(required = true)]
    pub scores: Vec<S>,
}

impl<O, S> TraceDetails<O, S> {
    /// The sums over a trace, with nothing hanging on it yet.
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

/// The path of a trace's page, safe to put behind a host whatever the id holds.
pub fn html_path(project: &str, trace: &str) -> String {
    let mut path = format!("/project/{project}/traces/");
    for byte in trace.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if is_plain {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}
