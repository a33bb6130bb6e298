use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use ratchet_core::calendar::Week;
use ratchet_core::improve::events::{self, WeekEvent};
use ratchet_core::improve::learned::ConfirmedDiagnosis;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::money::Money;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::improve::codebase::CodeFolder;
use ratchet_stages::improve::feedback::{FeedbackInput, FeedbackWeek};
use ratchet_stages::improve::feedback_agent::{AgentRun, FeedbackAgent};
use ratchet_stages::improve::tools::FeedbackTools;
use ratchet_stages::improve::{agent_trace, codebase, feedback, feedback_agent, repository_log};
use ratchet_stages::llm_connections::judge::open_embeddings;
use ratchet_stages::record;
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_metrics;
use ratchet_stages::score::journal::Journal;
use ratchet_stages::score::judge::Judge;
use ratchet_stages::source::Source;
use ratchet_stages::user_files;
use uuid::Uuid;

use crate::cmd::score::{JudgeArgs, dollars};
use crate::cmd::supervise::supervision;
use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::print::print;
use crate::runtime;

/// Bytes of a text of the agent's own trace.
const MAX_STEP_BYTES: usize = 1_000_000;

/// `ratchet feedback`
#[derive(Args, Debug)]
pub(crate) struct FeedbackArgs {
    /// Only traces of this agent [default: each agent]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The week that contains this day, such as 2026-11-08; weeks start on Sunday [default: the last
    /// full week]
    #[arg(long, value_name = "DATE")]
    week: Option<String>,
    /// Folder with the agent's code: prompt, tools and model configuration
    #[arg(long, value_name = "DIR")]
    code: Option<PathBuf>,
    /// TOML file with phrases of reviewers and agents that are added to the shipped ones
    #[arg(long, value_name = "FILE")]
    phrases: Option<PathBuf>,
    /// Folder of a git repository whose commits are events of the week; several may be named
    #[arg(long, value_name = "DIR")]
    repository: Vec<PathBuf>,
    /// File with incidents as JSON lines: {"at":"2026-11-04T10:00:00Z","text":"…","agent":"…"}
    #[arg(long, value_name = "FILE")]
    incidents: Option<PathBuf>,
    #[command(flatten)]
    target: ScoringArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON to stdout only
    #[arg(long)]
    json: bool,
}

/// Models that take part; without any the document is made by rules and templates.
#[derive(Args, Debug)]
struct ModelArgs {
    /// Let a model look into failures and code, and write proposals: a judge's name, such as
    /// `anthropic:MODEL`, `openai:MODEL` or `connection:NAME`
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Budget of that model in USD
    #[arg(long, value_name = "USD", value_parser = dollars, requires = "model")]
    max_cost: Option<Money>,
    /// Group failures by the vectors of this model of an OpenAI-compatible server, with
    /// `OPENAI_API_KEY` and `OPENAI_BASE_URL` [default: TF-IDF, in this program]
    #[arg(long, value_name = "MODEL")]
    embeddings: Option<String>,
    /// File with diagnoses that people confirmed, as JSON lines:
    /// {"features":[…],"diagnosed":"tool","confirmed":"model"}
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
}

/// Runs `ratchet feedback`.
pub(crate) fn run(args: &FeedbackArgs) -> anyhow::Result<Outcome> {
    let code = match &args.code {
        Some(root) => codebase::read(root).with_context(|| format!("--code {}", root.display()))?,
        None => Vec::new(),
    };
    let phrases = phrases(args.phrases.as_deref())?;
    let incidents = incidents(args.incidents.as_deref())?;
    let labels = labels(args.models.labels.as_deref())?;
    let embedder = args.models.embeddings.as_deref();
    let embedder = embedder.map(|name| open_embeddings(name, &|name: &str| env::var(name).ok()));
    let embedder = embedder.transpose().context("--embeddings")?;
    runtime::block_on(data_target::with_scoring(
        &args.target,
        "ratchet feedback",
        async |target| {
            let Journal { catalog, project } = &target.journal;
            let site = ReviewSite::new(target.source.clone(), catalog.clone(), project.clone());
            let zone = weekly_metrics::zone(&site).await?;
            let week = match &args.week {
                Some(day) => Week::parse(day, &zone).with_context(|| format!("--week {day}"))?,
                None => weekly_metrics::default_week(&site, (&zone, Clock::System.now())).await?,
            };
            let (from, agent) = ((&target.source, &site), args.agent.as_deref());
            let mut events = incidents.clone();
            for folder in &args.repository {
                let commits = repository_log::commits(folder, &week, supervision()).await;
                events
                    .extend(commits.with_context(|| format!("--repository {}", folder.display()))?);
            }
            let input = FeedbackInput {
                code: &code,
                phrases: &phrases,
                events: &events,
                labels: &labels,
                known: &[],
                embedder: embedder.as_ref(),
            };
            let read = Box::pin(feedback::read(from, &week, agent, input)).await?;
            let report = Box::pin(args.with_model(read, target)).await?;
            if args.json {
                print(&(serde_json::to_string_pretty(&report)? + "\n"))?;
            } else if args.markdown {
                print(&report.to_markdown())?;
            } else {
                print(&report.to_text())?;
            }
            Ok(())
        },
    ))?;
    Ok(Outcome::Done)
}

impl FeedbackArgs {
    /// Lets the model add its proposals. Without its answer the document is as it is.
    async fn with_model(
        &self,
        read: FeedbackWeek,
        target: &ScoringTarget,
    ) -> anyhow::Result<FeedbackReport> {
        let Some(name) = &self.models.model else { return Ok(read.report) };
        let judge = JudgeArgs::of_model(name, self.models.max_cost).open(target).await?;
        let Judge::Model(judge) = judge else { bail!("--model {name}: it is no model") };
        let folder = self.code.as_deref().map(CodeFolder::open).transpose()?.map(Arc::new);
        let read = Arc::new(read);
        let tools = FeedbackTools::new(read.clone(), folder, &judge.name);
        let words =
            user_files::prompt(target.data(), feedback_agent::FILE, feedback_agent::SHIPPED)?;
        let clock = || Clock::System.now();
        let agent = FeedbackAgent { judge: &judge, words: &words, clock: &clock };
        let run = agent.run(&tools).await;
        let mut report = read.report.clone();
        let trace = record_run(&run, target, &report.week).await?;
        run.add_to(&mut report, (&judge.name, trace));
        Ok(report)
    }
}

/// Records the run where the records are in a data folder: a trace with each step.
async fn record_run(
    run: &AgentRun,
    target: &ScoringTarget,
    week: &str,
) -> anyhow::Result<Option<String>> {
    let Source::Local(telemetry, project) = &target.source else { return Ok(None) };
    let key = Uuid::new_v4();
    let batch = agent_trace::records(run, (key, week), project.clone(), Clock::System.now())?;
    record::write(telemetry, &target.journal.catalog, batch, MAX_STEP_BYTES).await?;
    Ok(Some(key.simple().to_string()))
}

fn labels(file: Option<&Path>) -> anyhow::Result<Vec<ConfirmedDiagnosis>> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let named = || format!("--labels {}", file.display());
    let text = std::fs::read_to_string(file).with_context(named)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let label = |(at, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{}: line {}", named(), at + 1))
    };
    lines.map(label).collect()
}

fn phrases(file: Option<&Path>) -> anyhow::Result<FailurePhrases> {
    let shipped = FailurePhrases::shipped().clone();
    let Some(file) = file else { return Ok(shipped) };
    let text = std::fs::read_to_string(file);
    let text = text.with_context(|| format!("--phrases {}", file.display()))?;
    shipped.extended_by(&text).with_context(|| format!("--phrases {}", file.display()))
}

fn incidents(file: Option<&Path>) -> anyhow::Result<Vec<WeekEvent>> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let named = || format!("--incidents {}", file.display());
    let text = std::fs::read_to_string(file).with_context(named)?;
    events::read_incidents(&text).map_err(anyhow::Error::msg).with_context(named)
}
