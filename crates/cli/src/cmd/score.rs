mod judge;
mod estimate;
/// Prompts for others, and their verdicts.
mod external_verdicts;
/// The report of a run, as text and JSON.
mod report;
/// Progress on stderr.
mod progress;

use std::cell::Cell;

use clap::{Args, Subcommand, ValueEnum};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric;
use ratchet_remote::langfuse::client::TimeWindow;
use ratchet_server::clock::Clock;
use ratchet_server::shutdown;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::score::attach::Attach;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::score::previous_scores::PreviousScores;
use ratchet_stages::score::sample::SampleRate;
use ratchet_stages::score::select_sessions::{MIN_OBSERVATIONS, SessionCriteria, SessionFilter};
use ratchet_stages::score::{self, Request, Rescore, ScoringContext, WritePolicy};
use ratchet_stages::source::session_title::session_titles;

use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::print::OutputArgs;
use crate::runtime;
use crate::signals::Signals;
use estimate::EstimateView;
pub(crate) use judge::{JudgeArgs, dollars, prices};
pub(crate) use progress::ScoringReporter;
use report::ScoringView;

const MINUTE: i64 = 60_000_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

/// `ratchet score …`
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScoreCommand {
    #[command(subcommand)]
    one: Option<One>,
    #[command(flatten)]
    args: ScoreArgs,
}

#[derive(Debug, Subcommand)]
enum One {
    /// Score one session of any length and show the rationale; shows existing scores
    Session(SessionArgs),
    /// Print the judge prompt of a session, for an external judge
    Prompt(external_verdicts::PromptArgs),
    /// Submit an external verdict from standard input: JSON with `session_id`, `chunk`,
    /// `prompt_hash` and `verdict`
    Submit(external_verdicts::SubmitArgs),
}

/// What scores are attached to.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct AttachArgs {
    /// Attach scores to the session, or to its first trace: for a Langfuse too old for scores of
    /// sessions
    #[arg(long, value_name = "TARGET", value_enum, default_value_t = AttachTarget::Session)]
    attach: AttachTarget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AttachTarget {
    Session,
    FirstTrace,
}

impl AttachArgs {
    pub(crate) fn target(self) -> Attach {
        match self.attach {
            AttachTarget::Session => Attach::Session,
            AttachTarget::FirstTrace => Attach::FirstTrace,
        }
    }
}

/// By what sessions are judged.
#[derive(Args, Debug)]
struct RubricArgs {
    /// Rubric name or file
    #[arg(long, value_name = "NAME|FILE", default_value = rubric::DEFAULT)]
    rubric: String,
}

/// What is scored, by whom, and how the command answers.
#[derive(Args, Debug)]
struct HowArgs {
    #[command(flatten)]
    target: ScoringArgs,
    #[command(flatten)]
    rubric: RubricArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    /// Estimate tokens and cost without calling a judge
    #[arg(long)]
    estimate: bool,
    /// Rescore; earlier scores are kept and marked as superseded
    #[arg(long)]
    rescore: bool,
    #[command(flatten)]
    attach: AttachArgs,
    /// Dry run: write no scores and call no paid judge
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct ScoreArgs {
    /// Only sessions with a trace in the last N days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    days: u16,
    /// Skip sessions with fewer traces, unless they have enough observations
    #[arg(long, value_name = "N", default_value_t = 3)]
    min_traces: u64,
    /// Score sessions with fewer traces too if they have this many observations
    #[arg(long, value_name = "N", default_value_t = MIN_OBSERVATIONS)]
    min_observations: u64,
    /// Skip sessions that may still be active: those with a trace in the last N minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    idle: u16,
    /// Only sessions of this user
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only sessions of this release
    #[arg(long, value_name = "NAME")]
    release: Option<String>,
    /// Only sessions in this environment
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    /// Only sessions with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Sample rate, such as 0.2; deterministic
    #[arg(long, value_name = "RATE", value_parser = sample)]
    sample: Option<SampleRate>,
    /// Show all sessions, with all dimensions
    #[arg(long)]
    wide: bool,
    #[command(flatten)]
    how: HowArgs,
}

#[derive(Args, Debug)]
struct SessionArgs {
    /// Session ID
    #[arg(value_name = "ID", value_parser = session_id)]
    session: SessionId,
    #[command(flatten)]
    how: HowArgs,
}

fn sample(text: &str) -> Result<SampleRate, String> {
    let rate = text.parse().ok().and_then(SampleRate::new);
    rate.ok_or_else(|| "the sample rate must be more than 0 and at most 1".to_owned())
}

fn session_id(text: &str) -> Result<SessionId, String> {
    SessionId::parse(text).map_err(|why| why.to_string())
}

/// Runs `ratchet score`.
pub(crate) fn run(command: &ScoreCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.one {
            None => {
                let args = &command.args;
                let table = if args.wide { report::wide } else { report::short };
                supervised(&args.how, args.wanted(), table).await
            }
            Some(One::Session(args)) => one_session(args).await,
            Some(One::Prompt(args)) => external_verdicts::prompt(args).await,
            Some(One::Submit(args)) => external_verdicts::submit(args).await,
        }
    })
}

impl ScoreArgs {
    fn wanted(&self) -> SessionFilter {
        let now = Clock::System.now();
        let from = now.plus_nanos(-DAY * i64::from(self.days));
        SessionFilter::Active(SessionCriteria {
            between: TimeWindow { from: Some(from), to: None },
            min_traces: self.min_traces,
            min_observations: self.min_observations,
            idle_nanos: MINUTE * i64::from(self.idle),
            user: self.user.clone(),
            agent: self.agent.clone(),
            release: self.release.clone(),
            environment: self.environment.clone(),
            tag: self.tag.clone(),
            sample: self.sample,
        })
    }
}

async fn one_session(args: &SessionArgs) -> anyhow::Result<Outcome> {
    let wanted = SessionFilter::These(vec![args.session.clone()]);
    supervised(&args.how, wanted, report::detail).await
}

async fn supervised(
    how: &HowArgs,
    wanted: SessionFilter,
    text: fn(&ScoringView) -> String,
) -> anyhow::Result<Outcome> {
    let signals = Signals::listen()?;
    let (stopper, stop) = shutdown::signal();
    let outcome = Cell::new(Outcome::Done);
    let work = data_target::with_scoring(&how.target, "ratchet score", async |target| {
        let request = how.request(target, wanted).await?;
        let reporter = ScoringReporter::new();
        let ctx = ScoringContext {
            is_stopping: &|| stop.is_requested(),
            watch: &|progress| reporter.report(progress),
            ..scoring_context(target)
        };
        if how.estimate {
            let briefing = judge::briefing(target).await?;
            let found = score::estimate(&ctx, &request, &briefing).await?;
            reporter.done();
            let (prices, now) = (judge::prices(target), Clock::System.now());
            let view = EstimateView::new(&found, &how.judge.name()?, &prices, now);
            return Ok(how.output.show(&view, EstimateView::text)?);
        }
        let view = scored(target, &ctx, &request).await;
        reporter.done();
        let mut view = view?;
        if !how.output.json {
            view.titles = session_titles(&target.source, view.listed()).await?;
        }
        how.output.show(&view, text)?;
        outcome.set(view.outcome());
        Ok(())
    });
    signals.supervise(work, &stopper).await?;
    Ok(outcome.get())
}

impl HowArgs {
    async fn request(
        &self,
        target: &ScoringTarget,
        wanted: SessionFilter,
    ) -> anyhow::Result<Request> {
        Ok(Request {
            run: target.run.clone(),
            // An estimate needs no key.
            judge: if self.estimate { Judge::Offline } else { self.judge.open(target).await? },
            rubric: target.rubric(&self.rubric.rubric)?,
            wanted,
            again: if self.rescore { Rescore::Always } else { Rescore::IfGrown },
            keeping: if self.dry_run { WritePolicy::Nothing } else { WritePolicy::Write },
            attach: self.attach.target(),
            at_once: self.judge.concurrency,
            batch: self.judge.batch(),
        })
    }
}

/// Scoring context without progress output.
pub(crate) fn scoring_context(target: &ScoringTarget) -> ScoringContext<'_> {
    ScoringContext {
        source: &target.source,
        sink: &target.sink,
        journal: &target.journal,
        clock: &|| Clock::System.now(),
        is_stopping: &|| false,
        watch: &|_| {},
    }
}

async fn scored(
    target: &ScoringTarget,
    ctx: &ScoringContext<'_>,
    request: &Request,
) -> anyhow::Result<ScoringView> {
    let report = score::run(ctx, request).await?;
    let mut view = ScoringView::new(request, &report);
    if let SessionFilter::These(sessions) = &request.wanted {
        // A session that is requested by id is shown even if it was scored long ago.
        let by = (request.rubric.name.as_str(), request.attach);
        for session in sessions {
            let known = PreviousScores::read(&target.source, session, by).await?;
            view.show_known(session, &known);
        }
    }
    Ok(view)
}
