//! The `ratchet` binary: a table of contents. Each command is one file under `cmd`.

/// Every command and its flags.
mod cmd;
/// Configuration: flags, environment, file and defaults.
mod config;
/// What a new data folder needs.
mod first_start;
mod folder;
/// What owners do to a data folder or a server.
mod administration;
/// Where commands work.
mod data_target;
/// Generator of the demo data.
mod demo;
/// What scheduled jobs need from this machine.
mod local_environment;
/// A server, from its configuration to its end.
mod server;
/// How many files the system lets a server have.
mod open_files;
/// The agents that a server runs.
mod agents;
/// The way into a running server for commands on the same machine.
mod local_socket;
/// The provider that people sign in with.
mod oidc_config;
/// Startup message of the server.
mod startup_message;
mod signals;
mod log;
mod runtime;
/// Results for people and for programs.
mod print;
/// Exit codes.
mod exit;

use std::process::ExitCode;

use clap::Parser;

use cmd::{Cli, Command};

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => cmd::serve::run(&args),
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Import(args) => cmd::import::run(&args),
        Command::Score(args) => cmd::score::run(&args),
        Command::Label(args) => cmd::label::run(&args),
        Command::Calibrate(args) => cmd::calibrate::run(&args),
        Command::Week(args) => cmd::week::run(&args),
        Command::Feedback(args) => cmd::feedback::run(&args),
        Command::Proposals(args) => cmd::proposals::run(&args),
        Command::Metrics(args) => cmd::metrics::run(&args),
        Command::Suggestions(args) => cmd::suggestions::run(&args),
        Command::Schedule(args) => cmd::schedule::run(&args),
        Command::Agents(args) => cmd::agents::run(&args),
        Command::Jobs(args) => cmd::jobs::run(&args),
        Command::Evaluators(args) => cmd::evaluators::run(&args),
        Command::Gate(args) => cmd::gate::run(&args),
        Command::Promote(command) => cmd::promote::run(&command),
        Command::Ab(command) => cmd::ab::run(&command),
        Command::Deploy(args) => cmd::deploy::run(&args),
        Command::Experiment(args) => cmd::experiment::run(&args),
        Command::Keys(args) => cmd::keys::run(&args),
        Command::Users(args) => cmd::users::run(&args),
        Command::Projects(args) => cmd::projects::run(&args),
        Command::Redaction(args) => cmd::redaction::run(&args),
        Command::Audit(args) => cmd::audit::run(&args),
        Command::Rubrics(args) => cmd::rubrics::run(&args),
        Command::Chat(args) => cmd::chat::run(&args),
        Command::Supervise(args) => Ok(cmd::supervise::run(&args)),
        Command::Mcp(args) => cmd::mcp::run(&args),
        Command::Backup(args) => cmd::backup::run(&args),
        Command::Restore(args) => cmd::restore::run(&args),
        Command::Compact(args) => cmd::compact::run(&args),
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Config(args) => cmd::config::run(&args),
        Command::Completions(args) => cmd::completions::run(&args),
        Command::Man(args) => cmd::man::run(&args),
    };
    exit::code_for(outcome)
}
