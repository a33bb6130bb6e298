use std::sync::Arc;
use std::time::Duration;

use ratchet_core::experiment::runner::TrialCall;
use ratchet_core::experiment::trajectory::{SubAgent, Trajectory};
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Observation;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_remote::langfuse::client::{ObservationFilter, Position};
use serde_json::Value;
use tracing::warn;

use super::EvaluatorMachine;
use crate::experiment::RUN_NAME;
use crate::experiment::site::ExperimentSite;
use crate::source::{Source, SourceError};

/// How long spans may take to arrive behind the answer: exporters send them every five seconds.
const WAIT: Duration = Duration::from_secs(15);
/// How long sub-agents that are expected, and have traces of their own, are looked for after that.
const WAIT_APART: Duration = Duration::from_secs(6);
/// How often they are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The most sub-agents with traces of their own.
const MAX_APART: usize = 100;
/// The most observations of a trace that are read.
const MAX_STEPS: usize = 10_000;

/// Reads the spans that an agent sent of its way to an answer.
#[derive(Debug)]
pub(super) struct StepReader {
    source: Option<Source>,
    clock: Arc<dyn BackoffClock>,
}

impl StepReader {
    pub(super) fn new(machine: &EvaluatorMachine) -> Self {
        let source = match &machine.host {
            ExperimentSite::Folder(folder) => {
                Some(Source::Local(folder.store.telemetry.clone(), folder.project.clone()))
            }
            ExperimentSite::Server(server, _) => server.langfuse().ok().map(Source::Remote),
        };
        Self { source, clock: machine.clock.clone() }
    }

    /// Waits for the spans of a call, up to a deadline. They are complete with the one that has our
    /// root as its parent: an agent ends it last.
    pub(super) async fn trajectory(&self, trial: &TrialCall, call: u32) -> Option<Trajectory> {
        // A cached answer was given in another trace.
        if let Some(cached) = &trial.cached {
            return self.recorded(&cached.trace).await;
        }
        let own = CallTrace::of(&trial.id, trial.lease, call).ok()?;
        let deadline = self.clock.now().plus(WAIT);
        loop {
            let steps = match self.steps(&own.trace).await {
                Ok(steps) => steps,
                Err(error) => {
                    warn!(%error, item = trial.item, "the spans of the agent cannot be read");
                    Vec::new()
                }
            };
            let is_top = |step: &Observation| step.parent.as_ref() == Some(&own.root);
            if steps.iter().any(|step| is_top(step) && step.end.is_some()) {
                let mut found = Trajectory::of_observations(&steps);
                found.agents.extend(self.agents_apart(trial, (&own, &found.agents)).await);
                return Some(found);
            }
            if self.clock.now() >= deadline {
                let seconds = WAIT.as_secs();
                warn!(item = trial.item, "no spans of the agent arrived within {seconds} s");
                return None;
            }
            self.clock.pause(LOOK_EVERY).await;
        }
    }

    /// The sub-agents whose traces are their own, in the session that the target was given. Those that
    /// the item expects and that are not there yet are waited for.
    async fn agents_apart(
        &self,
        trial: &TrialCall,
        (own, known): (&CallTrace, &[SubAgent]),
    ) -> Vec<SubAgent> {
        let expected = trial.expected_output.get("agents").and_then(Value::as_object);
        let deadline = self.clock.now().plus(WAIT_APART);
        loop {
            let found = self.in_session(own).await.unwrap_or_else(|error| {
                warn!(%error, item = trial.item, "the traces of sub-agents cannot be read");
                Vec::new()
            });
            let is_there = |name: &String| known.iter().chain(&found).any(|one| one.name == *name);
            let is_complete = expected.is_none_or(|agents| agents.keys().all(is_there));
            if is_complete || self.clock.now() >= deadline {
                return found;
            }
            self.clock.pause(LOOK_EVERY).await;
        }
    }

    async fn in_session(&self, own: &CallTrace) -> Result<Vec<SubAgent>, SourceError> {
        let Some(source) = &self.source else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for session in own.sessions() {
            let mut next = Some(Position::Start);
            while let Some(at) = next.filter(|_| found.len() < MAX_APART) {
                let slice = source.whole_traces(&session, &at).await?;
                let others = slice.rows.iter().filter(|whole| whole.trace.id != own.trace);
                found.extend(others.filter_map(|whole| {
                    let name = whole.trace.name.as_deref();
                    SubAgent::of_trace(&whole.trace.id, name, &whole.observations)
                }));
                next = slice.next;
            }
        }
        Ok(found)
    }

    /// Reads the spans of a stored answer; `None` if the agent sent none, which says nothing of what
    /// it did.
    pub(super) async fn recorded(&self, trace: &str) -> Option<Trajectory> {
        let trace = TraceId::parse(trace).ok()?;
        let steps = self.agent_steps(&trace).await.inspect_err(|error| {
            warn!(%error, %trace, "the spans of the agent cannot be read");
        });
        let steps = steps.ok().filter(|steps| !steps.is_empty())?;
        Some(Trajectory::of_observations(&steps))
    }

    /// The spans of a finished trace without our own root: above the agent's spans it would look like an
    /// agent that chose them.
    async fn agent_steps(&self, trace: &TraceId) -> Result<Vec<Observation>, SourceError> {
        let mut steps = self.steps(trace).await?;
        let Some(source) = &self.source else { return Ok(steps) };
        let content = source.trace(trace).await?.and_then(|trace| trace.content);
        let mut facts = content.iter().flat_map(|content| &content.metadata);
        if facts.any(|(key, _)| key == RUN_NAME) {
            steps.retain(|step| step.parent.is_some());
        }
        Ok(steps)
    }

    async fn steps(&self, trace: &TraceId) -> Result<Vec<Observation>, SourceError> {
        let Some(source) = &self.source else { return Ok(Vec::new()) };
        let asked =
            ObservationFilter { trace: Some(trace.clone()), ..ObservationFilter::default() };
        let (mut steps, mut next) = (Vec::new(), Some(Position::Start));
        while let Some(at) = next.filter(|_| steps.len() < MAX_STEPS) {
            let slice = source.observations(&asked, &at).await?;
            steps.extend(slice.rows);
            next = slice.next;
        }
        Ok(steps)
    }
}
