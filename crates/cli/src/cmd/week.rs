use std::cell::Cell;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use ratchet_core::calendar::{Week, Zone};
use ratchet_core::judge::rubric;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::report::{ReportScope, TextDetail};
use ratchet_core::secret::Secret;
use ratchet_remote::webhook::Webhook;
use ratchet_server::clock::Clock;
use ratchet_server::shutdown;
use ratchet_server::shutdown::Stop;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::score::ScoringContext;
use ratchet_stages::weekly_report::{ReportStore, SessionScoring, WeekDelivery, WeeklyPipeline};
use ratchet_store::catalog::ReportEffect;
use serde_json::{Value, json};

use crate::cmd::score::{AttachArgs, JudgeArgs};
use crate::config::Config;
use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::local_environment;
use crate::print::print;
use crate::runtime;
use crate::signals::Signals;

/// The variable that holds what messages to a webhook are signed with.
const WEBHOOK_SECRET: &str = "RATCHET_WEBHOOK_SECRET";

/// `ratchet week`
#[derive(Args, Debug)]
pub(crate) struct WeekArgs {
    /// Report on the week that contains this day, such as 2026-11-08 or `today`; weeks start on
    /// Sunday [default: the last full week]
    #[arg(long, value_name = "DATE")]
    of: Option<String>,
    /// Time zone, such as Europe/Berlin [default: local]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    #[command(flatten)]
    target: ScoringArgs,
    /// Rubric name or file
    #[arg(long, value_name = "NAME|FILE", default_value = rubric::DEFAULT)]
    rubric: String,
    #[command(flatten)]
    scope: ScopeArgs,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    attach: AttachArgs,
    /// Append new suggestions to this file [default: `reports.learnings` in ratchet.toml]
    #[arg(long, value_name = "FILE")]
    learnings: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Show all rows in the text
    #[arg(long)]
    wide: bool,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    notify: NotifyArgs,
}

/// The part of a project that a report is about. Such a report is printed and not stored.
#[derive(Args, Debug)]
pub(crate) struct ScopeArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only sessions in this environment
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: Option<String>,
    /// Only sessions of this release
    #[arg(long, value_name = "NAME")]
    pub(crate) release: Option<String>,
    /// Only sessions with this prompt version, such as `support v3`; they are scored with the others
    #[arg(long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Only sessions with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Only sessions of this user
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
}

impl ScopeArgs {
    pub(crate) fn scope(&self) -> ReportScope {
        ReportScope {
            agent: self.agent.clone(),
            environment: self.environment.clone(),
            release: self.release.clone(),
            prompt: self.prompt.clone(),
            tag: self.tag.clone(),
            user: self.user.clone(),
        }
    }
}

/// Receivers of report notifications.
#[derive(Args, Debug)]
pub(crate) struct NotifyArgs {
    /// Slack webhook URL to notify
    #[arg(long, value_name = "URL")]
    pub(crate) slack: Option<String>,
    /// Webhook URL to notify, signed with the secret in `RATCHET_WEBHOOK_SECRET`
    #[arg(long, value_name = "URL")]
    pub(crate) webhook: Option<String>,
}

/// How a report reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text for a terminal.
    Text,
    /// Markdown.
    Markdown,
    /// Standalone HTML page.
    Html,
    /// JSON.
    Json,
}

impl NotifyArgs {
    pub(crate) fn hooks(&self) -> anyhow::Result<Vec<Webhook>> {
        let slack = self.slack.clone().map(|url| Webhook::Slack(Secret::new(url)));
        let webhook = match self.webhook.clone() {
            Some(url) => Some(Webhook::Signed(Secret::new(url), webhook_secret()?)),
            None => None,
        };
        Ok(slack.into_iter().chain(webhook).collect())
    }
}

/// What messages to webhooks are signed with.
pub(crate) fn webhook_secret() -> anyhow::Result<Secret> {
    let set = std::env::var(WEBHOOK_SECRET).ok().filter(|secret| !secret.is_empty());
    let secret =
        set.with_context(|| format!("webhook messages are signed: set {WEBHOOK_SECRET}"))?;
    Ok(Secret::new(secret))
}

/// Runs `ratchet week`.
pub(crate) fn run(args: &WeekArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        let signals = Signals::listen()?;
        let (stopper, stop) = shutdown::signal();
        let outcome = Cell::new(Outcome::Done);
        let work = data_target::with_scoring(&args.target, "ratchet week", async |target| {
            let delivery = Box::pin(run_week(args, target, &stop)).await?;
            print(&answer(args, &delivery)?)?;
            outcome.set(match (delivery.is_cut(), delivery.scoring.failed) {
                (true, _) => Outcome::OverBudget,
                (false, 0) => Outcome::Done,
                (false, _) => Outcome::FoundBad,
            });
            Ok(())
        });
        signals.supervise(work, &stopper).await?;
        Ok(outcome.get())
    })
}

async fn run_week(
    args: &WeekArgs,
    target: &ScoringTarget,
    stop: &Stop,
) -> anyhow::Result<WeekDelivery> {
    let config = Config::load(&args.target.config, Vec::new())?;
    let judge = &args.judge;
    let scoring = SessionScoring {
        run: target.run.clone(),
        rubric: target.rubric(&args.rubric)?,
        scope: args.scope.scope(),
        judge: if judge.is_none() { None } else { Some(Box::pin(judge.open(target)).await?) },
        at_once: judge.concurrency,
        batch: judge.batch(),
        attach: args.attach.target(),
    };
    let (week, reports) = (args.week()?, target.reports().await?);
    let project = target.project().await;
    let link = page(args, (&week, project.as_ref()), &reports);
    let pipeline = WeeklyPipeline {
        project: project.map(|(_, name)| name),
        week,
        scoring,
        templates: local_environment::templates(&config.data)?,
        instructions: local_environment::suggestion_instructions(target.data())?,
        learnings: args.learnings.clone().or_else(|| config.reports.learnings.clone()),
        // A report on a part is printed, and not stored.
        files: target
            .data()
            .filter(|_| args.scope.scope().is_all())
            .map(|data| (data.to_owned(), target.journal.project.clone())),
        hooks: args.notify.hooks()?,
        // The user of the command chooses the address.
        outbound: OutboundPolicy::unrestricted(),
        link,
        labelling: None,
    };
    let ctx = ScoringContext {
        source: &target.source,
        sink: &target.sink,
        journal: &target.journal,
        clock: &|| Clock::System.now(),
        is_stopping: &|| stop.is_requested(),
        watch: &|_| (),
    };
    Ok(pipeline.run(&ctx, reports).await?)
}

/// The page of the report, where a server stores it.
fn page(
    args: &WeekArgs,
    (week, project): (&Week, Option<&(String, String)>),
    reports: &ReportStore<'_>,
) -> Option<String> {
    let ReportStore::Server(server) = reports else { return None };
    let (id, _) = project.filter(|_| args.scope.scope().is_all())?;
    let base = server.base().trim_end_matches('/');
    Some(format!("{base}/project/{id}/reports/{}", week.days().0))
}

impl WeekArgs {
    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    fn week(&self) -> anyhow::Result<Week> {
        let zone = zone(self.zone.as_deref())?;
        let now = Clock::System.now();
        match self.of.as_deref() {
            None => Ok(Week::last_ended(now, &zone)),
            Some("today") => Ok(Week::of(now, &zone)),
            Some(day) => {
                let week = Week::parse(day, &zone).with_context(|| format!("--of {day}"))?;
                ensure!(week.start() <= now, "the week of {day} has not started");
                Ok(week)
            }
        }
    }
}

/// The zone of that name, or this machine's.
pub(crate) fn zone(name: Option<&str>) -> anyhow::Result<Zone> {
    name.map_or_else(|| Ok(Zone::of_this_machine()), |name| Ok(Zone::parse(name)?))
}

fn answer(args: &WeekArgs, delivery: &WeekDelivery) -> anyhow::Result<String> {
    let report = &delivery.done.report;
    let detail = if args.wide { TextDetail::Wide } else { TextDetail::Short };
    Ok(match args.format() {
        Format::Text => report.to_text(detail),
        Format::Markdown => report.to_markdown(),
        Format::Html => ratchet_web::report_document(report),
        Format::Json => serde_json::to_string_pretty(&view(delivery)?)? + "\n",
    })
}

fn view(delivery: &WeekDelivery) -> anyhow::Result<Value> {
    let effect = match delivery.done.saved.effect {
        ReportEffect::Made => "made",
        ReportEffect::Changed => "changed",
        ReportEffect::Same => "same",
    };
    let tracked = delivery.done.saved.suggestions.iter();
    let tracked = tracked.map(|kept| {
        let (first, last) = (&kept.first_week, &kept.last_week);
        let progress = kept.progress.as_str();
        json!({ "id": kept.id, "progress": progress, "first_week": first, "last_week": last })
    });
    Ok(json!({
        "effect": effect,
        "scored": delivery.scoring.scored,
        "failed": delivery.scoring.failed,
        "too_short": delivery.scoring.short,
        "cost": delivery.cost().total.dollars(),
        "approximate_cost": delivery.cost().approximate.dollars(),
        "stopped_by_budget": delivery.is_cut(),
        "report": serde_json::to_value(&delivery.done.report)?,
        "tracked": tracked.collect::<Vec<_>>(),
    }))
}
