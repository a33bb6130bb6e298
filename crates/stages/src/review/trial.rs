use std::collections::BTreeMap;

use ratchet_core::id::SessionId;
use ratchet_core::quality::calibration::change::{self, ScoreShift};
use ratchet_core::quality::calibration::draft::{self, CriterionDraft};
use ratchet_core::quality::calibration::{self, Calibration, Marks};
use ratchet_store::catalog::RunOutcome;

use super::judge_scores;
use super::judge_scores::JudgeScore;
use super::{LabelComparison, ReviewError};
use crate::score::select_sessions::{self, SessionFilter};
use crate::score::{self, JudgingCost, Request, Rescore, ScoringContext, WritePolicy};
use crate::source::{Source, SourceResult};

/// What drafts would change, as far as they were tried.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftTrial {
    /// Who judged, by its name.
    pub judge: String,
    /// How many labelled sessions it had judged first, and was to judge again.
    pub of: usize,
    pub judged: usize,
    /// Those that could not be judged, and why.
    pub failed: Vec<(SessionId, String)>,
    pub cost: JudgingCost,
    /// Whether it came to its end.
    pub outcome: RunOutcome,
    /// Whether calls were not made because they could have exceeded the budget.
    pub is_over_budget: bool,
    /// What the drafts change, the overall mark first.
    pub shifts: Vec<ScoreShift>,
}

/// Judges the labelled sessions with the drafts, and reports what changes. No
/// score is written.
///
/// Only sessions that the same judge had judged first: with two judges, one could not tell what
/// the draft did.
///
/// # Errors
/// Fails if sessions cannot be read or a model call fails.
pub async fn run(
    ctx: &ScoringContext<'_>,
    held: &LabelComparison,
    (before, drafts): (&Calibration, &[CriterionDraft]),
    request: &Request,
) -> Result<DraftTrial, ReviewError> {
    let judge = request.judge.name().to_owned();
    let is_theirs = |(_, spoken): &(&SessionId, &JudgeScore)| spoken.judge == judge;
    let sessions: Vec<SessionId> =
        held.spoken.iter().filter(is_theirs).map(|(session, _)| session.clone()).collect();
    let rubric = draft::revised(&request.rubric, drafts);
    let request = Request {
        rubric: rubric.clone(),
        wanted: SessionFilter::These(there(ctx.source, &sessions).await?),
        again: Rescore::Always,
        keeping: WritePolicy::NoScores,
        ..request.clone()
    };
    let report = score::run(ctx, &request).await?;
    let marks: BTreeMap<&SessionId, Marks> = report
        .sessions
        .iter()
        .map(|scored| (&scored.session, judge_scores::marks(scored)))
        .collect();
    let labelled_sessions = held.labelled_sessions_with(&rubric, |session| marks.get(session));
    let after = calibration::report(&rubric, &labelled_sessions, before.threshold);
    Ok(DraftTrial {
        judge,
        of: sessions.len(),
        judged: report.sessions.len(),
        shifts: change::compare(before, &after),
        cost: report.cost(),
        failed: report.failed,
        outcome: report.outcome,
        is_over_budget: report.is_over_budget,
    })
}

/// Returns those of the sessions that are still there: labels outlive what retention takes.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn there(source: &Source, sessions: &[SessionId]) -> SourceResult<Vec<SessionId>> {
    let mut there = Vec::with_capacity(sessions.len());
    for session in sessions {
        if select_sessions::span(source, session).await?.is_some() {
            there.push(session.clone());
        }
    }
    Ok(there)
}
