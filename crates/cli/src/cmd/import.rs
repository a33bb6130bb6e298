/// `ratchet import claude-code`
mod claude_code;
/// `ratchet import langfuse`
mod langfuse;
/// `ratchet import jsonl`
mod jsonl;
/// `ratchet import csv`
mod csv;
/// Rows of files, however they are written.
mod rows;
/// Where a transcript's records go.
mod sink;
/// Where all other records go.
mod receiver;

use clap::{Args, Subcommand};

use crate::data_target::TargetArgs;
use crate::exit::Outcome;
use crate::print::OutputArgs;
use crate::runtime;

/// `ratchet import …`
#[derive(Args, Debug)]
pub(crate) struct ImportCommand {
    #[command(subcommand)]
    source: Source,
}

#[derive(Debug, Subcommand)]
enum Source {
    /// Import Claude Code transcripts; safe to repeat
    ClaudeCode(claude_code::ClaudeCodeArgs),
    /// Import a project from a Langfuse server, or update an earlier import
    Langfuse(langfuse::LangfuseArgs),
    /// Import runs or exported records from JSON Lines
    Jsonl(jsonl::JsonlArgs),
    /// Import runs from CSV
    Csv(csv::CsvArgs),
}

/// Where imported records go, and how the command answers.
#[derive(Args, Debug)]
struct IntoArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Project name or ID in the data folder; required only if there are several
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `ratchet import`.
pub(crate) fn run(command: &ImportCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.source {
            Source::ClaudeCode(args) => claude_code::run(args).await,
            Source::Langfuse(args) => langfuse::run(args).await,
            Source::Jsonl(args) => jsonl::run(args).await,
            Source::Csv(args) => csv::run(args).await,
        }
    })
}
