/// Sends the document.
mod delivery;
/// Models that take part.
mod models;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use ratchet_core::calendar::Week;
use ratchet_core::counted::counted;
use ratchet_core::improve::events::{self, WeekEvent};
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::improve::report::digest::ReportDigest;
use ratchet_remote::webhook;
use ratchet_server::clock::Clock;
use ratchet_stages::improve::feedback::FeedbackInput;
use ratchet_stages::improve::{backlog, codebase, feedback, repository_log};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_metrics;
use ratchet_stages::score::journal::Journal;

use crate::cmd::supervise::supervision;
use crate::cmd::week::NotifyArgs;
use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::print::print;
use crate::runtime;
use models::ModelArgs;

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
    /// Store the documents, one for each agent, and add their proposals to the backlog; published weeks
    /// stay as they are
    #[arg(long)]
    save: bool,
    #[command(flatten)]
    models: ModelArgs,
    /// Append new proposals to this file [default: `reports.learnings` in ratchet.toml, of a report
    /// on all agents]
    #[arg(long, value_name = "FILE")]
    learnings: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Short for --format markdown
    #[arg(long, conflicts_with_all = ["json", "format"])]
    markdown: bool,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    notify: NotifyArgs,
    /// E-mail address to send the document to, by the server of `smtp.server`
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
}

/// How the document reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text for a terminal.
    Text,
    /// Markdown.
    Markdown,
    /// Standalone HTML page.
    Html,
    /// Blocks of a message in Slack.
    Slack,
    /// JSON.
    Json,
}

impl FeedbackArgs {
    const fn format(&self) -> Format {
        match (self.json, self.markdown) {
            (true, _) => Format::Json,
            (_, true) => Format::Markdown,
            (false, false) => self.format,
        }
    }
}

/// Runs `ratchet feedback`.
pub(crate) fn run(args: &FeedbackArgs) -> anyhow::Result<Outcome> {
    let code = match &args.code {
        Some(root) => codebase::read(root).with_context(|| format!("--code {}", root.display()))?,
        None => Vec::new(),
    };
    let phrases = phrases(args.phrases.as_deref())?;
    let incidents = incidents(args.incidents.as_deref())?;
    let (labels, embedder) = (args.models.labels()?, args.models.embedder()?);
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
            let mut report =
                Box::pin(args.models.extend(read, (args.code.as_deref(), target))).await?;
            report.quality = target.reports().await?.report(&week.days().0).await?;
            if args.save {
                let archive = target.reports().await?;
                let kept = backlog::keep(archive, &report, Clock::System.now()).await?;
                eprintln!(
                    "{} in the backlog; see `ratchet proposals list`",
                    counted(kept, "proposal")
                );
            }
            Box::pin(delivery::deliver(args, &report)).await?;
            print(&printed(args.format(), &report)?)?;
            Ok(())
        },
    ))?;
    Ok(Outcome::Done)
}

fn printed(format: Format, report: &FeedbackReport) -> anyhow::Result<String> {
    Ok(match format {
        Format::Text => report.to_text(),
        Format::Markdown => report.to_markdown(),
        Format::Html => ratchet_web::feedback_document(report),
        Format::Slack => {
            let blocks = webhook::slack_report(&ReportDigest::new(report, None));
            serde_json::to_string_pretty(&blocks)? + "\n"
        }
        Format::Json => serde_json::to_string_pretty(report)? + "\n",
    })
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
