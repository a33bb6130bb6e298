use std::collections::BTreeMap;

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{Position, TraceRefFilter};

use super::previous_scores::text;
use crate::source::{Source, SourceResult};

/// The metadata of a score on a trace: the session that it is about.
pub const SESSION: &str = "session_id";

/// What the scores of a session are attached to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attach {
    #[default]
    Session,
    /// The session's first trace, for a Langfuse that is too old for scores of sessions.
    FirstTrace,
}

/// Returns the session that a score of a judge is about.
pub fn session_of(score: &Score) -> Option<SessionId> {
    match &score.target {
        ScoreTarget::Session(session) => Some(session.clone()),
        ScoreTarget::Trace(_) => SessionId::parse(&text(score, SESSION)?).ok(),
        ScoreTarget::Observation(..) | ScoreTarget::DatasetRun(_) => None,
    }
}

/// Returns when each trace of a session began, by its id.
pub(super) async fn traces(
    source: &Source,
    session: &SessionId,
) -> SourceResult<BTreeMap<TraceId, Timestamp>> {
    let asked = TraceRefFilter { session: Some(session.clone()), ..TraceRefFilter::default() };
    let mut traces: BTreeMap<TraceId, Timestamp> = BTreeMap::new();
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.trace_refs(&asked, &at).await?;
        for trace_ref in slice.rows {
            // Where a trace is named several times, it began at the earliest of them.
            let began = traces.entry(trace_ref.trace).or_insert(trace_ref.timestamp);
            *began = trace_ref.timestamp.min(*began);
        }
        next = slice.next;
    }
    Ok(traces)
}

/// Returns the scores about a session: its own, or else those that its first trace carries for it.
///
/// # Errors
/// Fails if the source cannot be read.
pub async fn scores_about(source: &Source, session: &SessionId) -> SourceResult<Vec<Score>> {
    let mut scores = source.scores_of_session(session).await?;
    // People annotate the session itself, wherever the judge's scores are.
    if scores.iter().any(|score| score.source != ScoreSource::Annotation) {
        return Ok(scores);
    }
    let traces = traces(source, session).await?;
    let Some((first, _)) = traces.into_iter().min_by_key(|(id, began)| (*began, id.clone())) else {
        return Ok(scores);
    };
    let mut carried = source.scores_of_trace(&first).await?;
    carried.retain(|score| session_of(score).as_ref() == Some(session));
    scores.extend(carried);
    Ok(scores)
}
