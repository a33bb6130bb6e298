/// `ratchet serve`
pub(crate) mod serve;
/// `ratchet demo`
pub(crate) mod demo;
/// `ratchet week`
pub(crate) mod week;
/// `ratchet suggestions`
pub(crate) mod suggestions;
/// `ratchet schedule`
pub(crate) mod schedule;
/// `ratchet keys`
pub(crate) mod keys;
/// `ratchet users`
pub(crate) mod users;
/// `ratchet import`
pub(crate) mod import;
/// `ratchet score`
pub(crate) mod score;
/// `ratchet label`
pub(crate) mod label;
/// `ratchet calibrate`
pub(crate) mod calibrate;
/// `ratchet projects`
pub(crate) mod projects;
/// `ratchet redaction`
pub(crate) mod redaction;
/// `ratchet audit`
pub(crate) mod audit;
/// `ratchet rubrics`
pub(crate) mod rubrics;
/// `ratchet chat`
pub(crate) mod chat;
/// `ratchet supervise`, which only Ratchet itself runs
pub(crate) mod supervise;
/// `ratchet mcp`
pub(crate) mod mcp;
/// `ratchet backup`
pub(crate) mod backup;
/// `ratchet restore`
pub(crate) mod restore;
/// `ratchet compact`
pub(crate) mod compact;
/// `ratchet doctor`
pub(crate) mod doctor;
/// `ratchet config show`
pub(crate) mod config;
/// `ratchet completions`
pub(crate) mod completions;
/// `ratchet man`
pub(crate) mod man;

use clap::{Parser, Subcommand};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "ratchet",
    version,
    about = "Records what AI agents do, in one program and one folder of data",
    after_help = "Settings: flags over RATCHET_* variables over ratchet.toml; see `ratchet config show`.\n\
                  Exit codes: 0 done, 1 failed, 2 wrong usage, 3 looked and found something bad,\n\
                  130 and 143 ended at once by a second SIGINT or SIGTERM.",
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What `ratchet` can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record what agents send, until stopped
    Serve(serve::ServeArgs),
    /// Record a made-up week of agent traffic and stay up to be looked at
    Demo(demo::DemoArgs),
    /// Record what other programs have kept
    Import(import::ImportCommand),
    /// Score sessions on what matters, with reasons and evidence
    Score(Box<score::ScoreCommand>),
    /// Mark this week's sample of sessions without seeing the judge's marks
    Label(Box<label::LabelCommand>),
    /// Tell how far the judge agrees with people, and draft what it should be told
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Report on a week: score its sessions, sum them up, suggest what to change, tell people
    Week(Box<week::WeekArgs>),
    /// List what weekly reports suggest, and say what became of it
    Suggestions(Box<suggestions::SuggestionsCommand>),
    /// Say what runs by itself, and see how that went
    Schedule(Box<schedule::ScheduleCommand>),
    /// Make, list and revoke API keys
    Keys(keys::KeysCommand),
    /// Say who may sign in to the web pages
    Users(users::UsersCommand),
    /// List and make projects, and set how long they keep telemetry and whose pages may call
    Projects(projects::ProjectsCommand),
    /// Say what must not be kept of whatever is recorded
    Redaction(redaction::RedactionCommand),
    /// List who changed what
    Audit(audit::AuditArgs),
    /// List, show, check and compare what sessions are judged by
    Rubrics(rubrics::RubricsCommand),
    /// Talk to an agent on the claude program, here or through a server
    Chat(Box<chat::ChatArgs>),
    /// End an agent when the process that runs it is gone; started by Ratchet itself
    #[command(hide = true)]
    Supervise(supervise::SuperviseArgs),
    /// Let other agents ask about sessions, scores and reports, over the Model Context Protocol
    Mcp(mcp::McpArgs),
    /// Copy all data into a new folder, also while a server is running
    Backup(backup::BackupArgs),
    /// Put a backup into a new data folder
    Restore(restore::RestoreArgs),
    /// Give disk space that is no longer needed back
    Compact(compact::CompactArgs),
    /// Look for what is wrong with a data folder and its surroundings
    Doctor(doctor::DoctorArgs),
    /// Show every setting, its value and where it came from
    Config(config::ConfigCommand),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print a manual page
    Man(man::ManArgs),
}
