/// Drafts as proposals of the backlog.
mod backlog;
mod view;
mod text;
/// Telling the judge something else.
mod revise;
/// Rewrites criteria with a model.
mod rewrite;
/// Overrides of the offline judge's signals.
mod signals;
/// P(success), fitted to labels.
mod success;

use std::cell::Cell;
use std::collections::BTreeMap;

use clap::Args;
use ratchet_agent::budget::Budget;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::quality::calibration::panel::{self, PanelDrift};
use ratchet_core::quality::calibration::{Calibration, THRESHOLD, ThresholdResult};
use ratchet_core::quality::label::DATASET;
use ratchet_server::shutdown;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::review::trial::DraftTrial;
use ratchet_stages::review::{
    JudgeSelection, LabelComparison, RewrittenDrafts, panel as panels, trial,
};
use ratchet_stages::score::attach::Attach;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::select_sessions::SessionFilter;
use ratchet_stages::score::{self, Request, Rescore, ScoringContext, WritePolicy};
use ratchet_stages::source::session_title::session_titles;
use uuid::Uuid;

use super::score::{JudgeArgs, ScoringReporter, scoring_context};
use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::print::OutputArgs;
use crate::runtime;
use crate::signals::Signals;

/// `ratchet calibrate`
#[derive(Args, Debug)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    target: ScoringArgs,
    /// Rubric name; see `ratchet rubrics list`
    #[arg(long, value_name = "NAME|FILE", default_value = rubric::DEFAULT)]
    rubric: String,
    /// Dataset that stores the labels
    #[arg(long, value_name = "NAME", default_value = DATASET)]
    dataset: String,
    /// Mean absolute error above which a revised criterion is drafted
    #[arg(long, value_name = "DISTANCE", default_value_t = THRESHOLD, value_parser = share)]
    threshold: f64,
    /// Compare only the first scores of this judge
    #[arg(long, value_name = "JUDGE")]
    of: Option<String>,
    /// Score the panel (the same sessions each week) again to detect judge drift
    #[arg(long)]
    panel: bool,
    /// Write the drafts with this model, such as anthropic [default: template]
    #[arg(long, value_name = "MODEL")]
    draft_with: Option<String>,
    /// Test the drafted criteria on the labelled sessions, even with a paid judge
    #[arg(long)]
    revise: bool,
    /// Show all statistics
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Whether the rubric is changed.
#[derive(Args, Debug)]
struct ChangeArgs {
    /// Save the drafts as the rubric's next version and rescore, or, of the offline judge, as its
    /// signal overrides; asks for confirmation
    #[arg(long)]
    apply: bool,
    /// With --apply: skip the confirmation
    #[arg(long, requires = "apply")]
    yes: bool,
    /// With --apply: rescore sessions of the last N days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "the threshold must be a number from 0 to 1".to_owned())
}

/// All that a calibration found.
struct Found {
    rubric: Rubric,
    held: LabelComparison,
    calibration: Calibration,
    /// First requests of the sessions with the largest disagreements.
    titles: BTreeMap<SessionId, String>,
    drafts: RewrittenDrafts,
    /// What the drafts would change, if they were tried.
    trial: Option<DraftTrial>,
    /// What came of judging the panel, if it was to be.
    sat: Option<score::Report>,
    drift: Vec<PanelDrift>,
    applied: Option<revise::Applied>,
    /// Drafts of signal overrides; `None` unless the offline judge is calibrated.
    signals: Option<signals::SignalDrafts>,
    /// P(success); `None` unless the offline judge is calibrated.
    success: Option<success::Success>,
    /// Whether all statistics are shown.
    shows_all: bool,
}

impl Found {
    fn outcome(&self) -> Outcome {
        let has_drifted = self.drift.iter().any(|drift| !drift.alerts().is_empty());
        let is_bad = self.calibration.target == ThresholdResult::NotMet || has_drifted;
        match (self.is_over_budget(), is_bad) {
            (true, _) => Outcome::OverBudget,
            (false, true) => Outcome::FoundBad,
            (false, false) => Outcome::Done,
        }
    }

    /// Whether model calls were not made because they could have exceeded the budget.
    fn is_over_budget(&self) -> bool {
        self.drafts.is_over_budget
            || self.trial.as_ref().is_some_and(|trial| trial.is_over_budget)
            || self.sat.as_ref().is_some_and(|sat| sat.is_over_budget)
            || self.applied.as_ref().is_some_and(|applied| applied.is_over_budget)
    }
}

/// Runs `ratchet calibrate`.
pub(crate) fn run(args: &CalibrateArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        let signals = Signals::listen()?;
        let (stopper, stop) = shutdown::signal();
        let outcome = Cell::new(Outcome::Done);
        let work = data_target::with_scoring(&args.target, "ratchet calibrate", async |target| {
            let reporter = ScoringReporter::new();
            let ctx = ScoringContext {
                is_stopping: &|| stop.is_requested(),
                watch: &|progress| reporter.report(progress),
                ..scoring_context(target)
            };
            let found = calibrate(target, &ctx, args).await;
            reporter.done();
            let found = found?;
            args.output.show(&view::of(&found, args), |_| text::of(&found))?;
            outcome.set(found.outcome());
            Ok(())
        });
        signals.supervise(work, &stopper).await?;
        Ok(outcome.get())
    })
}

async fn calibrate(
    target: &ScoringTarget,
    ctx: &ScoringContext<'_>,
    args: &CalibrateArgs,
) -> anyhow::Result<Found> {
    revise::check(args)?;
    let rubric = target.rubric(&args.rubric)?;
    let whom =
        JudgeSelection { dataset: &args.dataset, rubric: &rubric, judge: args.of.as_deref() };
    let held = LabelComparison::read(ctx.source, ctx.sink, whom).await?;
    let calibration = held.calibration(&rubric, args.threshold);
    let apart = calibration.apart.iter().take(view::APART).map(|one| one.session.clone());
    let titles = session_titles(ctx.source, apart.collect()).await?;
    let judge = args.judge.open(target).await?;
    let sat = match args.panel {
        true => {
            Some(panels::rejudge_panel(ctx, &args.dataset, &request(args, &rubric, &judge)).await?)
        }
        false => None,
    };
    let drift = panel::drifts(&panels::read(ctx.sink).await?);
    let budget = budget(args, &judge);
    let with = (args.draft_with.as_deref(), &budget);
    // No model reads criteria for the offline judge: it gets signal overrides, unless a model is
    // to write criteria for later.
    let drafts = match judge.signals().is_some() && args.draft_with.is_none() {
        true => RewrittenDrafts::default(),
        false => rewrite::drafts(target, with, &held, (&rubric, &calibration)).await?,
    };
    let mut asked = request(args, &rubric, &judge);
    let signals = signals::draft(ctx, &held, (&judge, &rubric)).await?;
    let success = success::fit(ctx, &held, (&judge, &rubric)).await?;
    let mut found = Found {
        rubric,
        held,
        calibration,
        titles,
        drafts,
        trial: None,
        sat,
        drift,
        applied: None,
        signals,
        success,
        shows_all: args.all,
    };
    let tries = args.revise || args.change.apply || !judge.wants_money();
    if !found.drafts.drafts.is_empty() && tries {
        let drafted = (&found.calibration, found.drafts.drafts.as_slice());
        found.trial = Some(trial::run(ctx, &found.held, drafted, &asked).await?);
    }
    if args.change.apply && signals::save(target, args, &mut found, &judge)? {
        asked.judge = args.judge.open(target).await?;
        // P(success) is about the signals that it was fitted to.
        found.success = success::fit(ctx, &found.held, (&asked.judge, &found.rubric)).await?;
    }
    if args.change.apply && success::save(target, args, &mut found)? {
        asked.judge = args.judge.open(target).await?;
    }
    // Drafts that the budget left untested are not applied; the same command goes on.
    if args.change.apply && !found.drafts.drafts.is_empty() && !found.is_over_budget() {
        found.applied = revise::apply(ctx, args, &found, &asked).await?;
    }
    backlog::track(target, &found).await?;
    Ok(found)
}

/// The budget that drafts share with the judge.
fn budget(args: &CalibrateArgs, judge: &Judge) -> Budget {
    match judge {
        Judge::Model(judge) => judge.budget.clone(),
        Judge::Offline | Judge::OwnSignals(_) | Judge::HandedIn(_) => args.judge.budget(),
    }
}

/// Scoring request of the judge; sessions and policy are set later.
fn request(args: &CalibrateArgs, rubric: &Rubric, judge: &Judge) -> Request {
    Request {
        run: Uuid::new_v4().to_string(),
        rubric: rubric.clone(),
        judge: judge.clone(),
        wanted: SessionFilter::These(Vec::new()),
        again: Rescore::Always,
        keeping: WritePolicy::NoScores,
        attach: Attach::Session,
        at_once: args.judge.concurrency,
        batch: args.judge.batch(),
    }
}
