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

use crate::exit::Outcome;
use crate::print::OutputArgs;
use crate::runtime;
use crate::target::TargetArgs;

/// `ratchet import …`
#[derive(Args, Debug)]
pub(crate) struct ImportCommand {
    #[command(subcommand)]
    source: Source,
}

#[derive(Debug, Subcommand)]
enum Source {
    /// Record Claude Code's transcripts; again and again, without doubling anything
    ClaudeCode(claude_code::ClaudeCodeArgs),
    /// Copy a project out of a Langfuse server, or bring a copy up to date
    Langfuse(langfuse::LangfuseArgs),
    /// Record runs or exported records, one JSON object a line
    Jsonl(jsonl::JsonlArgs),
    /// Record runs, one a line of a table
    Csv(csv::CsvArgs),
}

/// Where imported records go, and how the command answers.
#[derive(Args, Debug)]
struct IntoArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Which project of the folder, by name or id; needed only if there are several
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
