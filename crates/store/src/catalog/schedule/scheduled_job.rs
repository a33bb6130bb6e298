use ratchet_core::money::Money;
use ratchet_core::quality::report::ReportScope;

/// What a schedule runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduledJob {
    /// Scores the sessions of the last complete week and reports on it.
    WeeklyReport {
        scoring: ScheduledScoring,
        /// The file that suggestions are appended to.
        learnings: Option<String>,
    },
    /// Scores the sessions of the seven days before the run, without a report.
    Scoring(ScheduledScoring),
    /// Draws the review sample of the last complete week.
    ReviewDraw,
    /// Publishes each agent's document of the latest week whose review is closed.
    Feedback,
}

/// How a scheduled job scores sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledScoring {
    /// Name of the judge.
    pub judge: String,
    pub rubric: String,
    /// Cost limit of a run.
    pub max_cost: Option<Money>,
    /// The part of the project that is scored and reported on.
    pub scope: ReportScope,
}

impl ScheduledJob {
    /// The names of all jobs.
    pub const KINDS: [&'static str; 4] =
        [Self::WEEKLY_REPORT, Self::SCORING, Self::REVIEW_DRAW, Self::FEEDBACK];
    /// The name of the weekly report.
    pub const WEEKLY_REPORT: &'static str = "weekly-report";
    /// The name of scoring without a report.
    pub const SCORING: &'static str = "score";

    /// The name of the draw of a week's review sample.
    pub const REVIEW_DRAW: &'static str = "review-draw";
    /// The name of the publication of weekly documents.
    pub const FEEDBACK: &'static str = "feedback";

    /// Builds a job from its name; `None` for an unknown name.
    pub fn new(kind: &str, scoring: ScheduledScoring, learnings: Option<String>) -> Option<Self> {
        match kind {
            Self::WEEKLY_REPORT => Some(Self::WeeklyReport { scoring, learnings }),
            Self::SCORING => Some(Self::Scoring(scoring)),
            Self::REVIEW_DRAW => Some(Self::ReviewDraw),
            Self::FEEDBACK => Some(Self::Feedback),
            _ => None,
        }
    }

    /// Returns its name.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::WeeklyReport { .. } => Self::WEEKLY_REPORT,
            Self::Scoring(_) => Self::SCORING,
            Self::ReviewDraw => Self::REVIEW_DRAW,
            Self::Feedback => Self::FEEDBACK,
        }
    }

    /// Returns how it scores sessions; `None` if it does not.
    pub const fn scoring(&self) -> Option<&ScheduledScoring> {
        match self {
            Self::WeeklyReport { scoring, .. } | Self::Scoring(scoring) => Some(scoring),
            Self::ReviewDraw | Self::Feedback => None,
        }
    }

    /// Returns the file that suggestions are appended to.
    pub fn learnings(&self) -> Option<&str> {
        match self {
            Self::WeeklyReport { learnings, .. } => learnings.as_deref(),
            Self::Scoring(_) | Self::ReviewDraw | Self::Feedback => None,
        }
    }
}
