//! What a key with the role reviewer reads and writes: the queues that its person is assigned to, the
//! records in them, and scores on those.

use ratchet_core::catalog::annotation::CommentedKind;
use ratchet_core::id::{ObservationId, SessionId, TraceId};
use ratchet_core::record::field::{Field, Stamp};
use ratchet_core::record::score::{Score, ScorePatch, ScoreSource, ScoreTarget};
use ratchet_remote::langfuse::events::EventPatches;
use ratchet_stages::review::reviewer_scope::ReviewerScope;
use ratchet_store::StoreResult;

use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ApiResult};

/// Rejects a queue that is not a reviewer's as one that does not exist.
///
/// # Errors
/// 404, and 403 for a reviewer's key that belongs to nobody.
pub(super) async fn must_have_queue(app: &App, caller: &Caller, queue: &str) -> ApiResult<()> {
    match caller.reviewer_scope(app).await? {
        Some(scope) if !scope.has_queue(queue) => {
            Err(ApiError::NotFound(format!("annotation queue {queue} not found")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether a caller sees a trace.
///
/// # Errors
/// 403 for a reviewer's key that belongs to nobody.
pub(super) async fn has_trace(app: &App, caller: &Caller, trace: &TraceId) -> ApiResult<bool> {
    match caller.reviewer_scope(app).await? {
        Some(scope) => Ok(scope.has_trace(trace).await?),
        None => Ok(true),
    }
}

/// Returns whether a caller sees an observation.
///
/// # Errors
/// 403 for a reviewer's key that belongs to nobody.
pub(super) async fn has_observation(
    app: &App,
    caller: &Caller,
    id: &ObservationId,
) -> ApiResult<bool> {
    match caller.reviewer_scope(app).await? {
        Some(scope) => Ok(scope.has_observation(id).await?),
        None => Ok(true),
    }
}

/// Returns whether a caller sees a score: that is, the record that it is on.
///
/// # Errors
/// 403 for a reviewer's key that belongs to nobody.
pub(super) async fn has_score(app: &App, caller: &Caller, score: &Score) -> ApiResult<bool> {
    match caller.reviewer_scope(app).await? {
        Some(scope) => Ok(has_target(&scope, Some(&score.target)).await?),
        None => Ok(true),
    }
}

/// Returns whether a caller sees a session.
///
/// # Errors
/// 403 for a reviewer's key that belongs to nobody.
pub(super) async fn has_session(app: &App, caller: &Caller, id: &SessionId) -> ApiResult<bool> {
    match caller.reviewer_scope(app).await? {
        Some(scope) => Ok(scope.has_session(id).await?),
        None => Ok(true),
    }
}

/// Returns whether a caller sees a media file.
///
/// # Errors
/// 403 for a reviewer's key that belongs to nobody.
pub(super) async fn has_media(app: &App, caller: &Caller, media: &str) -> ApiResult<bool> {
    match caller.reviewer_scope(app).await? {
        Some(scope) => Ok(scope.has_media(media).await?),
        None => Ok(true),
    }
}

/// Returns whether a caller sees what a comment is on.
///
/// # Errors
/// 403 for a reviewer's key that belongs to nobody.
pub(super) async fn has_commented(
    app: &App,
    caller: &Caller,
    (kind, object): (CommentedKind, &str),
) -> ApiResult<bool> {
    let Some(scope) = caller.reviewer_scope(app).await? else { return Ok(true) };
    let found = match kind {
        CommentedKind::Trace => match TraceId::parse(object) {
            Ok(trace) => scope.has_trace(&trace).await?,
            Err(_) => false,
        },
        CommentedKind::Observation => match ObservationId::parse(object) {
            Ok(id) => scope.has_observation(&id).await?,
            Err(_) => false,
        },
        CommentedKind::Session => match SessionId::parse(object) {
            Ok(id) => scope.has_session(&id).await?,
            Err(_) => false,
        },
        CommentedKind::Prompt => false,
    };
    Ok(found)
}

/// Returns who wrote a comment: with a reviewer's key its person, and nobody else.
///
/// # Errors
/// 403 if the body names somebody else.
pub(super) fn comment_author(caller: &Caller, named: Option<String>) -> ApiResult<Option<String>> {
    match (&caller.person, named) {
        (Some(person), Some(named)) if *person != named => {
            Err(refused("comment as somebody else; leave authorUserId out"))
        }
        (Some(person), _) => Ok(Some(person.clone())),
        (None, named) => Ok(named),
    }
}

/// Gives the scores of a reviewer's key its person as their author.
pub(super) fn sign(patches: &mut EventPatches, person: &str) {
    for patch in &mut patches.scores {
        let stamp = patch.target.stamp().or_else(|| patch.name.stamp());
        patch.author =
            stamp.map_or(Field::unset(), |stamp: Stamp| Field::new(person.to_owned(), stamp));
    }
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

    /// Refuses everything but scores of people on records in queues of the key's person, and changes
    /// of scores that somebody else gave.
    ///
    /// # Errors
    /// 403, naming the score.
    pub(super) async fn check(self, app: &App, caller: &Caller) -> ApiResult<()> {
        let Some(scope) = caller.reviewer_scope(app).await? else { return Ok(()) };
        if self.has_others {
            return Err(refused("record traces and observations; it writes scores"));
        }
        for patch in &self.scores {
            let id = &patch.id;
            if patch.source.value() == Some(&ScoreSource::Eval) {
                return Err(refused(&format!("write score {id}: its source is EVAL, a judge's")));
            }
            if !has_target(&scope, patch.target.value()).await? {
                let why = "its record is in no queue of its person";
                return Err(refused(&format!("write score {id}: {why}")));
            }
            let known = app.store.telemetry.score(caller.project.clone(), id.clone()).await?;
            if known.is_some_and(|known| !is_same(&known, patch)) {
                return Err(refused(&format!("change score {id}, which somebody else gave")));
            }
        }
        Ok(())
    }
}

async fn has_target(scope: &ReviewerScope<'_>, target: Option<&ScoreTarget>) -> StoreResult<bool> {
    match target {
        Some(ScoreTarget::Trace(trace)) => scope.has_trace(trace).await,
        Some(ScoreTarget::Observation(trace, id)) => scope.has_observation_of(trace, id).await,
        Some(ScoreTarget::Session(session)) => scope.has_session(session).await,
        Some(ScoreTarget::DatasetRun(_)) | None => Ok(false),
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
