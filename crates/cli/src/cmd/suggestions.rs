use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use ratchet_core::id::SessionId;
use ratchet_core::quality::suggestion::Progress;
use ratchet_server::clock::Clock;
use ratchet_stages::source::session_title::session_titles;
use ratchet_store::catalog::StoredSuggestion;
use serde_json::{Value, json};

use crate::data_target::{self, ScoringArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, one_line, table, without_control_characters};
use crate::runtime;

/// `ratchet suggestions …`
#[derive(Args, Debug)]
pub(crate) struct SuggestionsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List suggestions with their status, newest first
    List(ListArgs),
    /// Show one suggestion with its history
    Show(OneArgs),
    /// Accept a suggestion
    Accept(OneArgs),
    /// Mark a suggestion as done
    Done(OneArgs),
    /// Dismiss a suggestion
    Dismiss(OneArgs),
    /// Reopen a suggestion
    Open(OneArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only open and accepted suggestions
    #[arg(long)]
    undone: bool,
    #[command(flatten)]
    target: ScoringArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args, Debug)]
struct OneArgs {
    /// Suggestion ID
    id: String,
    #[command(flatten)]
    target: ScoringArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `ratchet suggestions`.
pub(crate) fn run(command: &SuggestionsCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Show(args) => show(args).await,
            Action::Accept(args) => decide(args, Progress::Accepted).await,
            Action::Done(args) => decide(args, Progress::Done).await,
            Action::Dismiss(args) => decide(args, Progress::Dismissed).await,
            Action::Open(args) => decide(args, Progress::Open).await,
        }
    })
}

async fn all(target: &ScoringArgs) -> anyhow::Result<Vec<StoredSuggestion>> {
    data_target::with_scoring(target, "ratchet suggestions", async |target| {
        Ok(target.reports().await?.suggestions().await?)
    })
    .await
}

async fn list(args: &ListArgs) -> anyhow::Result<Outcome> {
    let mut kept = all(&args.target).await?;
    if args.undone {
        kept.retain(|kept| matches!(kept.progress, Progress::Open | Progress::Accepted));
    }
    let views: Vec<Value> = kept.iter().map(view).collect();
    args.output.show(&views, |_| list_text(&kept))?;
    Ok(Outcome::Done)
}

async fn show(args: &OneArgs) -> anyhow::Result<Outcome> {
    let (kept, titles) =
        data_target::with_scoring(&args.target, "ratchet suggestions", async |target| {
            let all = target.reports().await?.suggestions().await?;
            let kept = all.into_iter().find(|kept| kept.id == args.id);
            let kept = kept.ok_or_else(|| {
                anyhow::anyhow!("suggestion {} not found; see `ratchet suggestions list`", args.id)
            })?;
            let sessions = kept.suggestion.sessions.iter();
            let sessions = sessions.filter_map(|id| SessionId::parse(id).ok()).collect();
            let titles = session_titles(&target.source, sessions).await?;
            Ok((kept, titles))
        })
        .await?;
    args.output.show(&view(&kept), |_| one_text(&kept, &titles))?;
    Ok(Outcome::Done)
}

async fn decide(args: &OneArgs, to: Progress) -> anyhow::Result<Outcome> {
    let kept = data_target::with_scoring(&args.target, "ratchet suggestions", async |target| {
        Ok(target.reports().await?.decide(&args.id, to, Clock::System.now()).await?)
    })
    .await?;
    args.output.show(&view(&kept), |_| {
        format!("{}: {}\n", kept.progress.as_str(), one_line(&kept.suggestion.title))
    })?;
    Ok(Outcome::Done)
}

fn view(kept: &StoredSuggestion) -> Value {
    let steps = kept.steps.iter().map(
        |step| json!({ "progress": step.progress, "actor": step.actor, "at": step.at.to_string() }),
    );
    json!({
        "id": kept.id,
        "suggestion": kept.suggestion,
        "first_week": kept.first_week,
        "last_week": kept.last_week,
        "progress": kept.progress,
        "steps": steps.collect::<Vec<_>>(),
    })
}

fn list_text(kept: &[StoredSuggestion]) -> String {
    if kept.is_empty() {
        return "No suggestions. `ratchet week` creates them from low scores and common issues.\n"
            .to_owned();
    }
    let rows: Vec<_> = kept.iter().map(row).collect();
    table(["progress", "severity", "id", "last week", "what"], &rows)
}

fn row(kept: &StoredSuggestion) -> [String; 5] {
    let suggestion = &kept.suggestion;
    [
        kept.progress.as_str().to_owned(),
        suggestion.severity.as_str().to_owned(),
        kept.id.clone(),
        kept.last_week.clone(),
        suggestion.title.clone(),
    ]
    .map(|cell| one_line(&cell))
}

fn one_text(kept: &StoredSuggestion, titles: &BTreeMap<SessionId, String>) -> String {
    let suggestion = &kept.suggestion;
    let (severity, progress) = (suggestion.severity.as_str(), kept.progress.as_str());
    let mut lines = vec![
        format!("{} ({severity}, {}, {progress})", suggestion.title, suggestion.dimension),
        String::new(),
        suggestion.reason.clone(),
        String::new(),
        format!("{}:", suggestion.edit.words()),
    ];
    lines.extend(suggestion.text.lines().map(|line| format!("    {line}")));
    if !suggestion.sessions.is_empty() {
        lines.extend([String::new(), "Sessions:".to_owned()]);
        lines.extend(suggestion.sessions.iter().map(|id| {
            let title = titles.iter().find(|(session, _)| session.to_string() == *id);
            let title = title.map(|(_, title)| format!("  {title}")).unwrap_or_default();
            format!("    {id}{title}")
        }));
    }
    lines.extend(
        kept.steps
            .iter()
            .map(|step| format!("{}  {} by {}", step.at, step.progress.as_str(), step.actor)),
    );
    lines.iter().flat_map(|line| without_control_characters(line).chain(['\n'])).collect()
}
