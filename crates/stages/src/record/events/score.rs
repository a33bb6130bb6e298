use ratchet_core::record::field::Field;
use ratchet_core::record::merge::Earliest;
use ratchet_core::record::score::config::ScoreConfig;
use ratchet_core::record::score::rule::{ScoreInvalid, SentScore, judge};
use ratchet_core::record::score::{ScorePatch, ScoreSource, ScoreTarget};
use ratchet_remote::langfuse::wire::error::Issue;
use ratchet_remote::langfuse::wire::ingestion::ScoreBody;
use ratchet_remote::langfuse::wire::maybe::Maybe;

use super::{Saying, parse_id};

/// What an event says about a score. Whatever Langfuse would drop later without a word is refused.
pub(super) fn patch(body: ScoreBody, saying: &Saying<'_>) -> Result<ScorePatch, Issue> {
    let target = target(&body)?;
    let source = body.source.as_value().map_or(ScoreSource::Api, |word| word.0);
    let public = saying.public_sender();
    if let Some(public) = &public {
        public.check(&body, source)?;
    }
    let config = saying.label(body.config_id);
    let verdict = judge(SentScore {
        name: body.name.value(),
        value: body.value.value().map(Into::into),
        data_type: body.data_type.value().map(|word| word.0),
        source,
        target: &target,
        config: saying.config(config.value())?,
    });
    let verdict = verdict.map_err(|ScoreInvalid { field, why }| Issue::at(field, why))?;
    let timestamp = body.timestamp.value().map_or(saying.stamp.at, |time| time.0);
    let patch = ScorePatch {
        id: saying.id(&body.id)?,
        target: Field::said(target, saying.stamp),
        name: saying.text(Maybe::Value(verdict.name)),
        value: Field::said(verdict.value, saying.stamp),
        source: Field::said(source, saying.stamp),
        timestamp: Earliest(Some(timestamp)),
        environment: saying.environment(body.environment),
        comment: saying.text(body.comment),
        author: Field::unsaid(),
        config,
        queue: saying.label(body.queue_id),
        metadata: saying.metadata(body.metadata),
    };
    match public {
        Some(public) => public.confine(patch),
        None => Ok(patch),
    }
}

impl Saying<'_> {
    /// The config that a score refers to.
    fn config(&self, id: Option<&String>) -> Result<Option<&ScoreConfig>, Issue> {
        let Some(id) = id else { return Ok(None) };
        let known = self.rules.intake.score_configs.get(id);
        let unknown = || Issue::at("configId", "there is no such score config in this project");
        known.map(Some).ok_or_else(unknown)
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
