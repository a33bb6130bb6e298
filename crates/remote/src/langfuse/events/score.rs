use crate::langfuse::wire::ingestion::ScoreBody;
use crate::langfuse::wire::maybe::Maybe;
use ratchet_core::issue::Issue;
use ratchet_core::record::field::Field;
use ratchet_core::record::score::draft::ScoreDraft;
use ratchet_core::record::score::rule::ScoreInvalid;
use ratchet_core::record::score::{ScorePatch, ScoreSource, ScoreTarget};

use super::{Saying, Submitter, parse_id};

/// What an event says about a score. Whatever Langfuse would drop later without a word is refused.
pub(super) fn patch(body: ScoreBody, saying: &Saying<'_>) -> Result<ScorePatch, Issue> {
    let target = target(&body)?;
    let source = body.source.as_value().map_or(ScoreSource::Api, |word| word.0);
    if source == ScoreSource::Annotation && saying.rules.submitter == Submitter::Recorder {
        let why =
            "a key that only records may not say what people said; use one with the role member";
        return Err(Issue::at("source", why));
    }
    let public = saying.public_sender();
    if let Some(public) = &public {
        public.check(&body, source)?;
    }
    let draft = ScoreDraft {
        id: saying.id(&body.id)?,
        target,
        source,
        stamp: saying.stamp,
        timestamp: body.timestamp.value().map_or(saying.stamp.at, |time| time.0),
        name: body.name.value().map(|name| saying.shortened(name)),
        value: body.value.value().map(Into::into),
        data_type: body.data_type.value().map(|word| word.0),
        config: saying.label(body.config_id),
        environment: saying.environment(body.environment),
        comment: saying.text(body.comment),
        author: Field::unset(),
        queue: saying.label(body.queue_id),
        metadata: saying.metadata(body.metadata),
    };
    let patch = draft.validate(&saying.rules.score_configs);
    let patch = patch.map_err(|ScoreInvalid { field, why }| Issue::at(field, why))?;
    match public {
        Some(public) => public.confine(patch),
        None => Ok(patch),
    }
}

fn target(body: &ScoreBody) -> Result<ScoreTarget, Issue> {
    let given = |id: &Maybe<String>| id.as_value().filter(|text| !text.is_empty()).cloned();
    let trace = given(&body.trace_id);
    let observation = given(&body.observation_id);
    match (trace, given(&body.session_id), given(&body.dataset_run_id)) {
        (Some(trace), None, None) => {
            let trace = parse_id("traceId", &trace)?;
            Ok(match observation {
                None => ScoreTarget::Trace(trace),
                Some(id) => ScoreTarget::Observation(trace, parse_id("observationId", &id)?),
            })
        }
        _ if observation.is_some() => Err(Issue::at(
            "observationId",
            "needs the traceId of its trace, and neither a sessionId nor a datasetRunId",
        )),
        (None, Some(session), None) => Ok(ScoreTarget::Session(parse_id("sessionId", &session)?)),
        (None, None, Some(run)) => Ok(ScoreTarget::DatasetRun(run)),
        (None, None, None) => {
            Err(Issue::at("traceId", "a score needs a traceId, a sessionId or a datasetRunId"))
        }
        _ => Err(Issue::at(
            "traceId",
            "a score takes only one of traceId, sessionId and datasetRunId",
        )),
    }
}
