use ratchet_store::experiment::Experiment;

use super::evaluator::{RunEvaluator, RunEvaluators};
use super::items::DatasetItems;
use super::recorded::{Reading, RecordedRun};
use super::{GateContext, GateError};

/// An earlier run, judged as the run at the gate is.
#[derive(Debug)]
pub(super) struct EarlierRun {
    pub(super) run: RecordedRun,
    /// How its answers were judged, if not as they are stored.
    pub(super) note: Option<String>,
    /// Why they were not judged again, if the evaluator is another one.
    pub(super) not_seen: Option<String>,
}

impl EarlierRun {
    /// Reads a run. If its score comes from another evaluator than `now`, its answers are judged
    /// again where the answer alone decides. Where it does not, the verdicts count that a command
    /// with the evaluator gave since.
    pub(super) async fn read(
        context: GateContext<'_>,
        experiment: &Experiment,
        now: Option<&RunEvaluator>,
        reading: Reading<'_>,
        items: &mut DatasetItems<'_>,
    ) -> Result<Self, GateError> {
        let all = RunEvaluators::of(context, experiment).await?;
        let then = all.of_score(reading.score);
        let changed = now.filter(|now| then.as_ref().is_none_or(|then| !then.is_same(now)));
        let judge = changed.filter(|now| now.is_pure());
        let later = changed.filter(|now| !now.is_pure()).map(|now| now.later_score(reading.score));
        let reading = Reading { judge, later: later.as_deref(), ..reading };
        let run = RecordedRun::read(context, experiment, reading, items).await?;
        let before = then.as_ref().map_or_else(|| all.text(), RunEvaluator::label);
        let name = &experiment.name;
        let note = changed.filter(|_| run.judged_again > 0).map(|now| {
            format!(
                "The evaluator changed since run {name} ({before} before, {} now): {} of its answers \
                 were judged again with the new one.",
                now.label(),
                run.judged_again
            )
        });
        let left = run.not_judged_again;
        // Runs of others do not say how they were judged.
        let is_known = then.is_some() || run.judged_again > 0;
        let not_seen = changed.filter(|now| !now.is_pure() && left > 0 && is_known).map(|now| {
            format!(
                "The evaluator changed since run {name} ({before} before, {} now), and {left} of its \
                 answers were not judged again: part of the difference may be the evaluator's. A \
                 gate with --target judges them within --max-cost; without spans of the agent, what \
                 it did cannot be judged again.",
                now.label()
            )
        });
        Ok(Self { run, note, not_seen })
    }
}
