mod tail;
/// Hook input of Claude Code.
mod hook;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use ratchet_server::shutdown;
use ratchet_server::shutdown::Stop;

use super::IntoArgs;
use super::sink::Sink;
use crate::data_target;
use crate::exit::Outcome;
use crate::signals::Signals;
use report::Report;
use tail::TranscriptTails;

/// How often `--follow` looks for news.
const POLL: Duration = Duration::from_millis(400);

/// `ratchet import claude-code`
#[derive(Args, Debug)]
pub(super) struct ClaudeCodeArgs {
    /// Transcript files or folders [default: projects in `CLAUDE_CONFIG_DIR` or ~/.claude]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Keep running and import new lines as they are written
    #[arg(long)]
    follow: bool,
    /// Read Claude Code hook input from stdin and import that session
    #[arg(long, conflicts_with_all = ["paths", "follow"])]
    hook: bool,
    #[command(flatten)]
    into: IntoArgs,
}

/// Runs `ratchet import claude-code`.
pub(super) async fn run(args: &ClaudeCodeArgs) -> anyhow::Result<Outcome> {
    let paths = match args.paths.as_slice() {
        [] if args.hook => hook::transcripts(std::io::stdin())?,
        [] => vec![projects()?],
        paths => paths.to_vec(),
    };
    for path in &paths {
        ensure!(path.exists() || args.follow, "there is no {}", path.display());
    }
    let signals = Signals::listen()?;
    let (stopper, stop) = shutdown::signal();
    let work = data_target::with(&args.into.target, "ratchet import claude-code", async |target| {
        let sink = Sink::open(target, args.into.project.as_deref()).await?;
        import(args, &paths, &sink, stop).await
    });
    signals.supervise(work, &stopper).await
}

/// Where Claude Code keeps its transcripts.
fn projects() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = set("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let home = || set("HOME").map(|home| Path::new(&home).join(".claude"));
    let config =
        config.or_else(home).context("HOME is not set; pass the transcripts as arguments")?;
    Ok(config.join("projects"))
}

async fn import(
    args: &ClaudeCodeArgs,
    paths: &[PathBuf],
    sink: &Sink<'_>,
    stop: Stop,
) -> anyhow::Result<()> {
    let mut tails = TranscriptTails::default();
    let mut report = Report::default();
    loop {
        tails.look(paths)?;
        while let Some(piece) = tails.read(&mut report)? {
            sink.record(piece).await?;
            report.tell_progress();
            if stop.is_requested() {
                break;
            }
        }
        if !args.follow || stop.is_requested() {
            break;
        }
        report.tell_waiting();
        tokio::select! {
            () = stop.requested() => break,
            () = tokio::time::sleep(POLL) => {}
        }
    }
    sink.record(tails.finish(&mut report)).await?;
    args.into.output.show(&report.view(), report::text)?;
    Ok(())
}
