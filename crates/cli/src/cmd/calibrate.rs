/// What programs are told.
mod view;
/// What people are told.
mod text;
/// Telling the judge something else.
mod revise;
/// Who writes what it is told.
mod rewrite;

use std::collections::BTreeMap;

use clap::Args;
use ratchet_core::calibration::change::Shift;
use ratchet_core::calibration::draft::CriterionDraft;
use ratchet_core::calibration::panel::{self, PanelDrift, PanelVerdict, Sitting};
use ratchet_core::calibration::{Calibration, Marks, OVERALL, Standing, THRESHOLD};
use ratchet_core::id::SessionId;
use ratchet_core::label::DATASET;
use ratchet_core::rubric::{self, Rubric};
use ratchet_server::clock::Clock;
use ratchet_stages::score::fetch::Wanted;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::{self, Again, Keeping, Request, Scored, ScoringDesk};
use ratchet_stages::trust::{Held, Whom, asking, panel as panels};
use uuid::Uuid;

use super::score::{JudgeArgs, find_rubric};
use crate::exit::Outcome;
use crate::print::OutputArgs;
use crate::runtime;
use crate::workplace::{Workplace, WorkplaceArgs};

/// `ratchet calibrate`
#[derive(Args, Debug)]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    place: WorkplaceArgs,
    /// What is looked at; see `ratchet rubrics list`
    #[arg(long, value_name = "NAME|FILE", default_value = rubric::DEFAULT)]
    rubric: String,
    /// The dataset that labels are kept in
    #[arg(long, value_name = "NAME", default_value = DATASET)]
    dataset: String,
    /// How far marks may lie apart on average before the judge is to be told something else
    #[arg(long, value_name = "DISTANCE", default_value_t = THRESHOLD, value_parser = share)]
    threshold: f64,
    /// Hold only the first scores of this judge against people
    #[arg(long, value_name = "JUDGE")]
    of: Option<String>,
    /// Judge the panel again, the same sessions each week, to notice if the judge drifts
    #[arg(long)]
    panel: bool,
    /// Have this model write the drafts, such as anthropic; by template otherwise
    #[arg(long, value_name = "MODEL")]
    draft_with: Option<String>,
    /// Try the drafted criteria on the labelled sessions, also if the judge wants money
    #[arg(long)]
    revise: bool,
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
    /// Make the drafts the rubric's next version, and score again what it had scored; asks first
    #[arg(long)]
    apply: bool,
    /// With --apply: do not ask
    #[arg(long, requires = "apply")]
    yes: bool,
    /// With --apply: score again what was scored in so many days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a distance is a number from 0 to 1".to_owned())
}

/// All that a calibration found.
struct Found {
    rubric: Rubric,
    held: Held,
    calibration: Calibration,
    drafts: Vec<CriterionDraft>,
    /// What the drafts would change, as far as they were tried.
    trial: Vec<Shift>,
    drift: Vec<PanelDrift>,
    applied: Option<revise::Applied>,
}

impl Found {
    fn outcome(&self) -> Outcome {
        let has_drifted = self.drift.iter().any(|drift| drift.alarms().next().is_some());
        let is_bad = self.calibration.target == Standing::NotMet || has_drifted;
        if is_bad { Outcome::FoundBad } else { Outcome::Done }
    }
}

/// Runs `ratchet calibrate`.
pub(crate) fn run(args: &CalibrateArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        let found = Workplace::with(&args.place, "ratchet calibrate", async |place| {
            calibrate(place, args).await
        });
        let found = found.await?;
        args.output.show(&view::of(&found, args), |_| text::of(&found))?;
        Ok(found.outcome())
    })
}

async fn calibrate(place: &Workplace, args: &CalibrateArgs) -> anyhow::Result<Found> {
    let rubric = find_rubric(place, &args.rubric)?;
    let whom = Whom { dataset: &args.dataset, rubric: &rubric, judge: args.of.as_deref() };
    let held = Held::read(&place.source, &place.sink, whom).await?;
    let calibration = held.calibration(&rubric, args.threshold);
    let judge = args.judge.open(place).await?;
    if args.panel {
        sit(place, &held, (&rubric, &judge)).await?;
    }
    let drift = panel::drifts(&panels::read(&place.sink).await?);
    let with = args.draft_with.as_deref();
    let drafts = rewrite::drafts(with, &held, &rubric, &calibration).await?;
    let mut found =
        Found { rubric, held, calibration, drafts, trial: Vec::new(), drift, applied: None };
    let tries = args.revise || args.change.apply || !judge.wants_money();
    if !found.drafts.is_empty() && tries {
        found.trial = revise::tried(place, &found, &judge).await?;
    }
    if args.change.apply && !found.drafts.is_empty() {
        found.applied = revise::apply(place, args, &found, &judge).await?;
    }
    Ok(found)
}

/// Judges the panel, and keeps what was said for the weeks to come.
async fn sit(
    place: &Workplace,
    held: &Held,
    (rubric, judge): (&Rubric, &Judge),
) -> anyhow::Result<()> {
    let who = Sitting::new(judge.name(), rubric);
    let before = panels::read(&place.sink).await?;
    let labelled: Vec<SessionId> =
        held.opinions(rubric).into_iter().map(|one| one.session).collect();
    let members = panel::members(&before, &who, &labelled);
    let now = Clock::System.now();
    let week = asking::week(now);
    let marks = judged(place, rubric, judge, members).await?;
    let verdict = |(session, marks): (SessionId, Marks)| PanelVerdict {
        session,
        who: who.clone(),
        week: week.clone(),
        marks,
    };
    let verdicts: Vec<PanelVerdict> = marks.into_iter().map(verdict).collect();
    Ok(panels::keep(&place.sink, &verdicts, now).await?)
}

/// Has sessions judged, and keeps no score of it.
async fn judged(
    place: &Workplace,
    rubric: &Rubric,
    judge: &Judge,
    sessions: Vec<SessionId>,
) -> anyhow::Result<BTreeMap<SessionId, Marks>> {
    let wanted = Wanted::These(sessions);
    let report = scored(place, rubric, judge, (wanted, Keeping::NoScores)).await?;
    Ok(report.sessions.into_iter().map(|scored| (scored.session.clone(), marks(&scored))).collect())
}

async fn scored(
    place: &Workplace,
    rubric: &Rubric,
    judge: &Judge,
    (wanted, keeping): (Wanted, Keeping),
) -> anyhow::Result<score::Report> {
    let request = Request {
        run: Uuid::new_v4().to_string(),
        rubric: rubric.clone(),
        judge: judge.clone(),
        wanted,
        again: Again::Always,
        keeping,
        at_once: 4,
        batch: None,
    };
    let desk = ScoringDesk {
        source: &place.source,
        sink: &place.sink,
        journal: &place.journal,
        clock: &|| Clock::System.now(),
        is_stopping: &|| false,
        watch: &|_| {},
    };
    Ok(score::run(&desk, &request).await?)
}

fn marks(scored: &Scored) -> Marks {
    let dimensions = scored.verdict().dimensions.iter();
    let given = dimensions.filter_map(|it| Some((it.dimension.clone(), it.finding.value()?)));
    given.chain(scored.overall.map(|overall| (OVERALL.to_owned(), overall))).collect()
}
