use ratchet_core::catalog::evaluator::document::EvaluationTarget;
use ratchet_core::environment::Environment;
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::judge::evaluator::EvaluatedRecord;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::record::score::ScoreTarget;
use ratchet_core::time::Timestamp;
use ratchet_store::experiment::StoredExperimentItem;
use ratchet_store::project::ProjectId;

use super::EvaluationWorker;
use super::evaluation::Subject;
use super::intake::look_again;
use crate::score::evidence;
use crate::source::{Source, SourceError, observations_of};

/// What a judge is shown.
pub(super) struct Material {
    pub(super) evidence: Evidence,
    pub(super) record: EvaluatedRecord,
    pub(super) environment: Environment,
}

impl EvaluationWorker {
    /// Reads a record; `None` if it is gone. For a session that is not quiet yet, the time to look
    /// again. The run of a dataset item comes with what the item expects.
    pub(super) async fn material(
        &self,
        subject: &Subject<'_>,
        now: Timestamp,
    ) -> Result<Option<Result<Material, Timestamp>>, SourceError> {
        let found = self.recorded(subject, now).await?;
        let Some(Ok(mut material)) = found else { return Ok(found) };
        if subject.rule.target == EvaluationTarget::Experiment {
            let Some(item) = self.item_of(subject).await? else { return Ok(None) };
            material.record =
                material.record.of_item(item.expected_output.as_ref(), item.metadata.as_ref());
        }
        Ok(Some(Ok(material)))
    }

    /// The newest dataset item that a record is the run of.
    async fn item_of(
        &self,
        subject: &Subject<'_>,
    ) -> Result<Option<StoredExperimentItem>, SourceError> {
        let (trace, observation) = match subject.target {
            ScoreTarget::Trace(trace) => (trace, None),
            ScoreTarget::Observation(trace, observation) => (trace, Some(observation)),
            ScoreTarget::Session(_) | ScoreTarget::DatasetRun(_) => return Ok(None),
        };
        let (project, traces) = (subject.project.clone(), vec![trace.clone()]);
        let items = self.store.telemetry.experiment_items_of_traces(project, traces).await?;
        let is_it = |item: &StoredExperimentItem| item.observation.as_ref() == observation;
        Ok(items.into_iter().rfind(is_it))
    }

    async fn recorded(
        &self,
        subject: &Subject<'_>,
        now: Timestamp,
    ) -> Result<Option<Result<Material, Timestamp>>, SourceError> {
        match subject.target {
            ScoreTarget::Trace(trace) => {
                let evidence = self.trace(subject.project, trace).await?;
                Ok(evidence.map(|evidence| Ok(material(evidence, None))))
            }
            ScoreTarget::Observation(trace, id) => {
                let evidence = self.trace(subject.project, trace).await?;
                let record = evidence.as_ref().and_then(|evidence| {
                    let trace = evidence.traces.first()?;
                    let step = trace.steps.iter().find(|step| step.id == *id)?;
                    Some(EvaluatedRecord::of_observation(trace, step))
                });
                let found = evidence.zip(record);
                Ok(found.map(|(evidence, record)| Ok(material(evidence, Some(record)))))
            }
            ScoreTarget::Session(session) => {
                let source = Source::Local(self.store.telemetry.clone(), subject.project.clone());
                let evidence = evidence::evidence(&source, session).await?;
                let last = evidence.traces.iter().map(|trace| trace.trace.updated_at).max();
                let Some(last) = last else { return Ok(None) };
                let due = last.plus(subject.rule.delay());
                if due > now {
                    return Ok(Some(Err(look_again(due, now))));
                }
                Ok(Some(Ok(material(evidence, None))))
            }
            ScoreTarget::DatasetRun(_) => Ok(None),
        }
    }

    async fn trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
    ) -> Result<Option<Evidence>, SourceError> {
        let telemetry = &self.store.telemetry;
        let Some(trace) = telemetry.trace(project.clone(), id.clone()).await? else {
            return Ok(None);
        };
        let steps = observations_of(telemetry, project, id).await?;
        let session: SessionId = trace.session.clone().unwrap_or_else(|| id.cast());
        let mut traces = vec![(trace, steps)];
        evidence::bound_all(&mut traces);
        Ok(Some(Evidence::new(session, traces)))
    }
}

fn material(evidence: Evidence, record: Option<EvaluatedRecord>) -> Material {
    let environment = evidence.traces.last().map(|last| last.trace.environment.clone());
    let record = record.unwrap_or_else(|| EvaluatedRecord::of(&evidence));
    Material { record, environment: environment.unwrap_or_default(), evidence }
}
