//! What a key with the role reviewer reaches: records that are in a queue, and scores on them.

use ratchet_core::catalog::annotation::{CommentedKind, ItemKind};
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::record::score::{Score, ScorePatch, ScoreSource, ScoreTarget};
use ratchet_remote::langfuse::events::EventPatches;
use ratchet_store::catalog::Role;
use ratchet_store::project::ProjectId;

use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ApiResult};

/// Returns whether a caller reaches a trace: a reviewer's key only if the trace, or the session it
/// belongs to, is in a queue.
///
/// # Errors
/// Fails only when the database does.
pub(super) async fn reaches_trace(app: &App, caller: &Caller, trace: &TraceId) -> ApiResult<bool> {
    if caller.role != Role::Reviewer {
        return Ok(true);
    }
    let project = &caller.project;
    if is_queued(app, project, (ItemKind::Trace, trace.to_string())).await? {
        return Ok(true);
    }
    let found = app.store.telemetry.trace(project.clone(), trace.clone()).await?;
    match found.and_then(|trace| trace.session) {
        Some(session) => is_queued(app, project, (ItemKind::Session, session.to_string())).await,
        None => Ok(false),
    }
}

/// Returns whether a caller reaches what a comment is on.
///
/// # Errors
/// Fails only when the database does.
pub(super) async fn reaches_commented(
    app: &App,
    caller: &Caller,
    (kind, object): (CommentedKind, &str),
) -> ApiResult<bool> {
    if caller.role != Role::Reviewer {
        return Ok(true);
    }
    match kind {
        CommentedKind::Trace => match TraceId::parse(object) {
            Ok(trace) => reaches_trace(app, caller, &trace).await,
            Err(_) => Ok(false),
        },
        CommentedKind::Observation => match ObservationId::parse(object) {
            Ok(id) => reaches_observation(app, caller, &id).await,
            Err(_) => Ok(false),
        },
        CommentedKind::Session => {
            is_queued(app, &caller.project, (ItemKind::Session, object.to_owned())).await
        }
        CommentedKind::Prompt => Ok(false),
    }
}

/// Returns whether a caller reaches a media file: a reviewer's key only if a trace that uses it is
/// reached.
///
/// # Errors
/// Fails only when the database does.
pub(super) async fn reaches_media(app: &App, caller: &Caller, media: &str) -> ApiResult<bool> {
    if caller.role != Role::Reviewer {
        return Ok(true);
    }
    let catalog = &app.store.catalog;
    for trace in catalog.traces_of_media(caller.project.clone(), media.to_owned()).await? {
        let Ok(trace) = TraceId::parse(&trace) else { continue };
        if reaches_trace(app, caller, &trace).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn reaches_observation(app: &App, caller: &Caller, id: &ObservationId) -> ApiResult<bool> {
    if is_queued(app, &caller.project, (ItemKind::Observation, id.to_string())).await? {
        return Ok(true);
    }
    let found = app.store.telemetry.observation(caller.project.clone(), id.clone()).await?;
    match found {
        Some(observation) => reaches_trace(app, caller, &observation.trace).await,
        None => Ok(false),
    }
}

async fn reaches_session(app: &App, caller: &Caller, id: &SessionId) -> ApiResult<bool> {
    is_queued(app, &caller.project, (ItemKind::Session, id.to_string())).await
}

async fn is_queued(app: &App, project: &ProjectId, item: (ItemKind, String)) -> ApiResult<bool> {
    Ok(!app.store.catalog.queues_of_object(project.clone(), item).await?.is_empty())
}

/// What a body of a reviewer's key writes.
#[derive(Debug)]
pub(super) struct ReviewedScores {
    scores: Vec<ScorePatch>,
    has_others: bool,
}

impl ReviewedScores {
    pub(super) fn of(patches: &EventPatches) -> Self {
        Self {
            scores: patches.scores.clone(),
            has_others: !patches.traces.is_empty() || !patches.observations.is_empty(),
        }
    }

    /// Refuses everything but scores of people on records in queues, and changes of scores that
    /// somebody else gave.
    ///
    /// # Errors
    /// 403, naming the score.
    pub(super) async fn check(self, app: &App, caller: &Caller) -> ApiResult<()> {
        if self.has_others {
            return Err(refused("record traces and observations; it writes scores"));
        }
        for patch in &self.scores {
            let id = &patch.id;
            if patch.source.value() == Some(&ScoreSource::Eval) {
                return Err(refused(&format!("write score {id}: its source is EVAL, a judge's")));
            }
            let is_reached = match patch.target.value() {
                Some(ScoreTarget::Trace(trace)) => reaches_trace(app, caller, trace).await?,
                Some(ScoreTarget::Observation(_, id)) => {
                    reaches_observation(app, caller, id).await?
                }
                Some(ScoreTarget::Session(session)) => {
                    reaches_session(app, caller, session).await?
                }
                Some(ScoreTarget::DatasetRun(_)) | None => false,
            };
            if !is_reached {
                return Err(refused(&format!("write score {id}: its record is in no queue")));
            }
            let known = app.store.telemetry.score(caller.project.clone(), id.clone()).await?;
            if known.is_some_and(|known| !is_same(&known, patch)) {
                return Err(refused(&format!("change score {id}, which somebody else gave")));
            }
        }
        Ok(())
    }
}

/// Whether a stored score is the one that is sent again or corrected by its author.
fn is_same(known: &Score, patch: &ScorePatch) -> bool {
    known.source != ScoreSource::Eval
        && Some(&known.target) == patch.target.value()
        && known.author.as_ref() == patch.author.value()
}

fn refused(what: &str) -> ApiError {
    ApiError::Forbidden(format!("a key with the role reviewer may not {what}"))
}
