/// `ratchet serve`
pub(crate) mod serve;
/// `ratchet demo`
pub(crate) mod demo;
/// `ratchet week`
pub(crate) mod week;
/// `ratchet feedback`
pub(crate) mod feedback;
/// `ratchet proposals`
pub(crate) mod proposals;
/// `ratchet metrics`
pub(crate) mod metrics;
/// `ratchet suggestions`
pub(crate) mod suggestions;
/// `ratchet schedule`
pub(crate) mod schedule;
/// `ratchet jobs`
pub(crate) mod jobs;
/// `ratchet agents`
pub(crate) mod agents;
/// `ratchet evaluators`
pub(crate) mod evaluators;
/// `ratchet gate`
pub(crate) mod gate;
/// `ratchet promote`
pub(crate) mod promote;
/// `ratchet ab`
pub(crate) mod ab;
/// `ratchet deploy`
pub(crate) mod deploy;
/// `ratchet experiment`
pub(crate) mod experiment;
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
    about = "Observability and evaluation for AI agents, in one binary with one data folder",
    after_help = "Settings: flags over RATCHET_* variables over ratchet.toml; see `ratchet config show`.\n\
                  Exit codes: 0 success, 1 failure, 2 wrong usage, 3 problems found,\n\
                  130 and 143 terminated by a second SIGINT or SIGTERM.",
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
    /// Run the server: APIs, OTLP ingestion and web UI
    Serve(serve::ServeArgs),
    /// Run a server with two weeks of sample data, scored and reported
    Demo(demo::DemoArgs),
    /// Import traces from other tools
    Import(import::ImportCommand),
    /// Score sessions with a rubric and a judge
    Score(Box<score::ScoreCommand>),
    /// Label this week's sample of sessions, blind to the judge's scores
    Label(Box<label::LabelCommand>),
    /// Measure agreement between judge and human labels
    Calibrate(Box<calibrate::CalibrateArgs>),
    /// Create a weekly quality report: score sessions, aggregate, suggest changes, notify
    Week(Box<week::WeekArgs>),
    /// Propose changes to agents: what failed in a week, why, where in the code, what it is worth
    Feedback(Box<feedback::FeedbackArgs>),
    /// List and decide proposals, and show what they were worth
    Proposals(Box<proposals::ProposalsCommand>),
    /// Show weekly review metrics: accuracy of agent and judge, satisfaction, reviews, dataset growth
    Metrics(Box<metrics::MetricsCommand>),
    /// List and track suggestions of weekly reports
    Suggestions(Box<suggestions::SuggestionsCommand>),
    /// Manage scheduled runs
    Schedule(Box<schedule::ScheduleCommand>),
    /// List background jobs, and retry or discard dead letters
    Jobs(Box<jobs::JobsCommand>),
    /// Manage agents: aliases, owner, on-call rota, targets and review capacity
    Agents(Box<agents::AgentsCommand>),
    /// List, test, pause and resume online evaluators, and judge what was recorded before
    Evaluators(Box<evaluators::EvaluatorsCommand>),
    /// Decide in CI whether a run of an agent over a dataset may go on
    Gate(Box<gate::GateArgs>),
    /// Promote agent versions: evidence, approval, start, status and rollback
    Promote(Box<promote::PromoteCommand>),
    /// Compare two versions of a prompt on live users: start, look, stop, promote the winner
    Ab(ab::AbCommand),
    /// Deploy a version of an agent to its AgentCore runtime, and record what serves
    Deploy(Box<deploy::DeployArgs>),
    /// Run an agent on the items of a dataset, and list, show, compare and cancel such runs
    Experiment(Box<experiment::ExperimentCommand>),
    /// Manage API keys
    Keys(keys::KeysCommand),
    /// Manage users
    Users(users::UsersCommand),
    /// Manage projects, retention and allowed origins
    Projects(projects::ProjectsCommand),
    /// Manage redaction rules
    Redaction(redaction::RedactionCommand),
    /// Show the audit log
    Audit(audit::AuditArgs),
    /// List, show, validate and compare rubrics
    Rubrics(rubrics::RubricsCommand),
    /// Chat with an agent that runs on the claude CLI, locally or on a server
    Chat(Box<chat::ChatArgs>),
    /// Supervise an agent process (internal)
    #[command(hide = true)]
    Supervise(supervise::SuperviseArgs),
    /// Serve sessions, scores, prompts and datasets to other agents over MCP
    Mcp(mcp::McpArgs),
    /// Back up all data into a new folder, online or offline
    Backup(backup::BackupArgs),
    /// Restore a backup into a new data folder
    Restore(restore::RestoreArgs),
    /// Reclaim disk space
    Compact(compact::CompactArgs),
    /// Check a data folder and its environment for problems
    Doctor(doctor::DoctorArgs),
    /// Show all settings, their values and sources
    Config(config::ConfigCommand),
    /// Generate a shell completion script
    Completions(completions::CompletionsArgs),
    /// Generate a man page
    Man(man::ManArgs),
}
