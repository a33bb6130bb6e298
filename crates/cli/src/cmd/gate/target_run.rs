use std::path::Path;

use anyhow::bail;
use ratchet_core::experiment::plan::{AddedRepeats, ExperimentProgress};
use ratchet_core::gate::critical::CriticalState;
use ratchet_core::gate::decision::{Look, Verdict};
use ratchet_core::gate::stored_answer::AnswerVerdict;
use ratchet_remote::backoff_clock::{BackoffClock as _, SystemBackoffClock};
use ratchet_server::api::gates::{GateRequest, GateView};
use ratchet_stages::experiment::runner::RunEnd;
use ratchet_stages::experiment::site::ExperimentSite;
use tokio::sync::OnceCell;

use super::rejudging::Rejudging;
use super::{GateArgs, output, request};
use crate::administration::Administration;
use crate::cmd::experiment;
use crate::cmd::experiment::run::{IfDone, RunArgs, execute};

/// How a gate that runs its target ended.
#[derive(Debug)]
pub(super) enum GateEnd {
    Decided(Box<GateView>),
    /// The dataset is empty.
    NoItems,
    /// At its cost cap; the same run goes on with a higher one.
    OverBudget,
    /// By a signal; the same run goes on.
    Stopped,
}

/// A target that is run over a dataset, then decided on.
#[derive(Debug)]
pub(super) struct TargetRun<'a> {
    args: &'a GateArgs,
    target: &'a Administration,
    project: &'a str,
    host: ExperimentSite,
    run: RunArgs,
    /// Verdicts on answers of earlier runs; found once per gate.
    judged_again: OnceCell<Vec<AnswerVerdict>>,
}

/// Trials that all ended, or why not.
enum Trials {
    Done(Box<ExperimentProgress>),
    Ended(GateEnd),
}

impl<'a> TargetRun<'a> {
    pub(super) async fn new(
        args: &'a GateArgs,
        file: &Path,
        (target, project): (&'a Administration, &'a str),
    ) -> anyhow::Result<Self> {
        let host = experiment::host(target, Some(project)).await?;
        let stem =
            file.file_stem().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
        let name = format!("{stem} {}", SystemBackoffClock.now());
        let run = RunArgs {
            dataset: args.dataset.clone(),
            target: file.to_owned(),
            environment: args.environment.clone(),
            evaluators: args.evaluators.clone(),
            run: Some(args.run.clone().unwrap_or(name)),
            filter: None,
            limit: None,
            repeats: args.repeats,
            concurrency: None,
            max_cost: args.max_cost,
            cache: false,
            agent_version: args.agent_version.clone(),
            description: None,
            host: experiment::HostArgs {
                target: args.project.target.clone(),
                project: Some(project.to_owned()),
                output: args.project.output,
            },
        };
        Ok(Self { args, target, project, host, run, judged_again: OnceCell::new() })
    }

    /// Runs the planned repeats and decides; runs the planned extension if they do not decide.
    pub(super) async fn run(&self) -> anyhow::Result<GateEnd> {
        if let Some(end) = self.plan().await? {
            return Ok(end);
        }
        eprintln!("run {:?}; if it is interrupted, --run with this name continues it", self.name());
        let run = match self.trials().await? {
            Trials::Done(run) => run,
            Trials::Ended(end) => return Ok(end),
        };
        // A run that was extended has been looked at before.
        let look = match () {
            () if self.args.no_extension => Look::Only,
            () if run.repeats > self.args.repeats => Look::Second,
            () => Look::First,
        };
        let gate = match self.decide(&run, look).await? {
            GateEnd::Decided(gate) => gate,
            other => return Ok(other),
        };
        let is_open =
            gate.report.verdict == Verdict::Inconclusive && gate.report.look == Look::First;
        if !is_open || !self.can_extend(&run) {
            return Ok(GateEnd::Decided(gate));
        }
        let repeats = self.args.repeats * 2;
        eprintln!(
            "inconclusive after {} repeats; running the planned extension to {repeats}",
            self.args.repeats
        );
        self.extend(&run, AddedRepeats { repeats, items: Vec::new() }).await?;
        match self.trials().await? {
            Trials::Done(run) => self.decide(&run, Look::Second).await,
            Trials::Ended(end) => Ok(end),
        }
    }

    fn name(&self) -> &str {
        self.run.run.as_deref().unwrap_or_default()
    }

    /// Prints what the gate will see and cost. Returns an end if there is nothing to run, or if that is
    /// more than the cap.
    async fn plan(&self) -> anyhow::Result<Option<GateEnd>> {
        let request = request(self.args, "", Look::First);
        let plan = self.target.plan_gate(self.project, request).await?;
        if plan.items == 0 {
            return Ok(Some(GateEnd::NoItems));
        }
        eprint!("{}", output::plan(&plan, self.args));
        let is_over = plan.cost.zip(self.args.max_cost).is_some_and(|(cost, max)| cost > max);
        // A run that has begun goes on as far as its cap allows.
        let is_new =
            || async { self.args.run.is_none() || self.host.show(self.name()).await.is_err() };
        if is_over && is_new().await {
            eprintln!("ratchet: the run would cost more than --max-cost; nothing was run");
            return Ok(Some(GateEnd::OverBudget));
        }
        Ok(None)
    }

    /// Runs all trials that are open.
    async fn trials(&self) -> anyhow::Result<Trials> {
        match execute(&self.run, &self.host, IfDone::Accept).await? {
            RunEnd::Done(run) => {
                if run.unpriced > 0 && self.args.max_cost.is_some() {
                    eprintln!(
                        "ratchet: the cost of {} of {} trials is unknown and not part of --max-cost",
                        run.unpriced, run.done
                    );
                }
                Ok(Trials::Done(Box::new(run)))
            }
            RunEnd::OverBudget(run) => {
                eprintln!(
                    "ratchet: stopped at --max-cost after {} of {} trials and ${:.4}; --run {:?} with \
                     a higher one continues it",
                    run.done, run.trials, run.cost, run.name
                );
                Ok(Trials::Ended(GateEnd::OverBudget))
            }
            RunEnd::Stopped(run) => {
                eprintln!("ratchet: stopped; --run {:?} continues it", run.name);
                Ok(Trials::Ended(GateEnd::Stopped))
            }
            RunEnd::Cancelled(run) => bail!("run {} was cancelled", run.name),
        }
    }

    /// Decides. Critical items that failed are run again first: they block only if they fail again.
    async fn decide(&self, run: &ExperimentProgress, look: Look) -> anyhow::Result<GateEnd> {
        let judged_again = self.judged_again(run, look).await?;
        let request = || GateRequest {
            judged_again: judged_again.iter().cloned().map(Into::into).collect(),
            ..request(self.args, &run.id, look)
        };
        let gate = self.target.decide_gate(self.project, request()).await?;
        let failed = |state| state == CriticalState::FailedOnce;
        let again: Vec<_> = gate.report.critical.iter().filter(|it| failed(it.state)).collect();
        if again.is_empty() || gate.report.verdict == Verdict::Block {
            return Ok(GateEnd::Decided(Box::new(gate)));
        }
        for item in again {
            eprintln!("critical item {} failed; running it again", item.item);
            let repeats = u32::try_from(item.trials + 1)?;
            self.extend(run, AddedRepeats { repeats, items: vec![item.item.clone()] }).await?;
        }
        match self.trials().await? {
            Trials::Done(_) => {
                let gate = self.target.decide_gate(self.project, request()).await?;
                Ok(GateEnd::Decided(Box::new(gate)))
            }
            Trials::Ended(end) => Ok(end),
        }
    }

    /// Verdicts of the run's evaluator on answers of earlier runs that another one judged.
    async fn judged_again(
        &self,
        run: &ExperimentProgress,
        look: Look,
    ) -> anyhow::Result<&[AnswerVerdict]> {
        let (args, target, project, host) = (self.args, self.target, self.project, &self.host);
        let rejudging = Rejudging { args, target, project, host };
        let found = || rejudging.verdicts(request(args, &run.id, look), run.cost);
        Ok(self.judged_again.get_or_try_init(found).await?)
    }

    async fn extend(&self, run: &ExperimentProgress, request: AddedRepeats) -> anyhow::Result<()> {
        self.host.extend(&run.id, &request, SystemBackoffClock.now()).await?;
        Ok(())
    }

    /// Whether as many trials again are within the cost cap.
    fn can_extend(&self, run: &ExperimentProgress) -> bool {
        let verdicts = self.judged_again.get().into_iter().flatten();
        let judged_again: f64 = verdicts.filter_map(|verdict| verdict.cost).sum();
        let is_over = self.args.max_cost.is_some_and(|cap| run.cost * 2.0 + judged_again > cap);
        if is_over {
            eprintln!("ratchet: the planned extension would cost more than --max-cost; not run");
        }
        !is_over
    }
}
