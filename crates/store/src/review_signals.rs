//! Signals of a week's traces: thumbs, judge scores and people's answers, read in one pass.

use ratchet_core::id::TraceId;
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::review::allocation::ReviewPlan;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::{DrawCell, WeekDraw};

use crate::StoreResult;
use crate::project::ProjectId;
use crate::query::TimeRange;
use crate::telemetry::{Telemetry, TelemetryEngine};

/// Score names with a meaning for review.
pub const THUMBS: &str = "thumbs_feedback";
pub const QUALITY: &str = "quality";
pub const CORRECTNESS: &str = "correctness";

/// Returns the current category of a trace from its scores: the latest of each signal counts, and a
/// person's quality is no judge's.
pub fn current_category(scores: &[Score]) -> Category {
    let latest = |name: &str, counts: fn(ScoreSource) -> bool| {
        let signals = scores.iter().filter(|score| {
            let is_on_trace = matches!(score.target, ScoreTarget::Trace(_));
            is_on_trace && score.name == name && counts(score.source)
        });
        signals.max_by_key(|score| score.timestamp).and_then(|score| score.value.number())
    };
    let thumb = latest(THUMBS, |_| true).map(|number| number >= 0.5);
    Category::of(thumb, latest(QUALITY, |source| source != ScoreSource::Annotation))
}

/// Which traces to read. Those of judges and of experiments never count.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalQuery {
    pub project: ProjectId,
    pub range: TimeRange,
    pub agent: AgentScope,
    /// Any when empty.
    pub environments: Vec<String>,
    pub release: Option<String>,
}

/// Traces of which agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentScope {
    All,
    /// The agent column has one of these names.
    Named(Vec<String>),
    /// Traces without an agent.
    Unnamed,
}

impl AgentScope {
    /// Whether the traces of an agent are in it.
    pub fn has(&self, agent: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Unnamed => agent.is_none(),
            Self::Named(names) => agent.is_some_and(|agent| names.iter().any(|name| name == agent)),
        }
    }
}

/// A sample to draw from the traces of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawQuery {
    pub traces: SignalQuery,
    pub plan: ReviewPlan,
    pub seed: String,
}

/// What the signals of a week say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeekSignals {
    pub traces: u64,
    /// Current categories by environment and release.
    pub cells: Vec<DrawCell>,
    pub thumbs_up: u64,
    pub thumbs_down: u64,
    /// Traces that people answered about.
    pub reviewed: Vec<ReviewedSignal>,
}

/// A trace with a person's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewedSignal {
    pub trace: TraceId,
    /// The latest answer.
    pub correct: bool,
    /// The current category.
    pub category: Category,
    /// The judge's latest score.
    pub quality: Option<f64>,
}

impl Telemetry {
    /// Returns the agents of matching traces with the number of traces, most first; `None` for
    /// traces without an agent.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn traced_agents(
        &self,
        query: SignalQuery,
    ) -> StoreResult<Vec<(Option<String>, u64)>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.traced_agents(query).await,
        }
    }

    /// Classifies matching traces by their signals.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn week_signals(&self, query: SignalQuery) -> StoreResult<WeekSignals> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.week_signals(query).await,
        }
    }

    /// Returns people's latest answers about traces, as far as there are any.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn review_answers(
        &self,
        project: ProjectId,
        traces: Vec<TraceId>,
    ) -> StoreResult<Vec<ReviewedSignal>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.review_answers(project, traces).await,
        }
    }

    /// Returns the matching traces of a category, newest first, as many as a limit allows. Their
    /// signals are those of now, not those of a draw.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn traces_of_category(
        &self,
        query: SignalQuery,
        category: Category,
        limit: usize,
    ) -> StoreResult<Vec<TraceId>> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => {
                engine.traces_of_category(query, category, limit).await
            }
        }
    }

    /// Classifies matching traces and draws a sample of them. Stores nothing.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn draw_week(&self, query: DrawQuery) -> StoreResult<WeekDraw> {
        match &self.engine {
            TelemetryEngine::Embedded(engine) => engine.draw_week(query).await,
        }
    }
}
