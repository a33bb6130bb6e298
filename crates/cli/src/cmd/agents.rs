use clap::{Args, Subcommand};
use ratchet_server::api::agents::{AgentRequest, AgentView, AgentsView};

use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::{one_line, table};
use crate::runtime;

/// `ratchet agents …`
#[derive(Args, Debug)]
pub(crate) struct AgentsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List agents; those found in traces are added
    List(ProjectArgs),
    /// Show an agent
    Show(NamedArgs),
    /// Change an agent's settings, or create it
    Set(Box<SetArgs>),
    /// Delete an agent's record; it is created again when its traces arrive
    Delete(NamedArgs),
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// Agent name or alias
    name: String,
    #[command(flatten)]
    agents: ProjectArgs,
}

#[derive(Args, Debug)]
struct SetArgs {
    /// Agent name
    name: String,
    /// Other names in traces that mean this agent; an empty value removes all
    #[arg(long = "alias", value_name = "NAME")]
    aliases: Vec<String>,
    /// Person or team responsible; empty for none
    #[arg(long, value_name = "WHO")]
    owner: Option<String>,
    /// People on call, a week each, in order; an empty value removes all
    #[arg(long, value_name = "WHO")]
    on_call: Vec<String>,
    /// Environments of the agent; an empty value removes all
    #[arg(long = "environment", value_name = "NAME")]
    environments: Vec<String>,
    /// Name of its review queue; empty for the usual one
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// Datasets of the agent; an empty value removes all
    #[arg(long = "dataset", value_name = "NAME")]
    datasets: Vec<String>,
    /// Target: share of reviewed traces that are correct, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    agent_accuracy: Option<f64>,
    /// Target: share of reviewed traces where judge and person agree, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    judge_accuracy: Option<f64>,
    /// Target: share of thumbs up, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    user_satisfaction: Option<f64>,
    /// Target: reviewed traces per week
    #[arg(long, value_name = "N")]
    traces_reviewed: Option<u32>,
    /// Traces that people review per week
    #[arg(long, value_name = "N")]
    review_capacity: Option<u32>,
    #[command(flatten)]
    agents: ProjectArgs,
}

impl SetArgs {
    fn request(&self) -> AgentRequest {
        let list = |values: &[String]| (!values.is_empty()).then(|| values.to_vec());
        AgentRequest {
            aliases: list(&self.aliases),
            owner: self.owner.clone(),
            on_call: list(&self.on_call),
            environments: list(&self.environments),
            queue: self.queue.clone(),
            datasets: list(&self.datasets),
            agent_accuracy: self.agent_accuracy,
            judge_accuracy: self.judge_accuracy,
            user_satisfaction: self.user_satisfaction,
            traces_reviewed: self.traces_reviewed,
            review_capacity: self.review_capacity,
        }
    }
}

/// Runs `ratchet agents`.
pub(crate) fn run(command: &AgentsCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Show(args) => show(args).await,
            Action::Set(args) => set(args).await,
            Action::Delete(args) => delete(args).await,
        }
    })
}

async fn list(args: &ProjectArgs) -> anyhow::Result<Outcome> {
    let found = data_target::with_project(args, "ratchet agents", async |target, project| {
        target.agents(&project.id).await
    });
    args.output.show(&found.await?, agents_text)?;
    Ok(Outcome::Done)
}

async fn show(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let found =
        data_target::with_project(&args.agents, "ratchet agents", async |target, project| {
            target.agent(&project.id, &args.name).await
        });
    args.agents.output.show(&found.await?, agent_text)?;
    Ok(Outcome::Done)
}

async fn set(args: &SetArgs) -> anyhow::Result<Outcome> {
    let saved =
        data_target::with_project(&args.agents, "ratchet agents", async |target, project| {
            target.save_agent(&project.id, &args.name, args.request()).await
        });
    args.agents.output.show(&saved.await?, agent_text)?;
    Ok(Outcome::Done)
}

async fn delete(args: &NamedArgs) -> anyhow::Result<Outcome> {
    let deleted =
        data_target::with_project(&args.agents, "ratchet agents", async |target, project| {
            target.delete_agent(&project.id, &args.name).await
        });
    args.agents
        .output
        .show(&deleted.await?, |gone| format!("deleted {}\n", one_line(&gone.deleted)))?;
    Ok(Outcome::Done)
}

fn agents_text(found: &AgentsView) -> String {
    let row = |agent: &AgentView| {
        let text = |value: &Option<String>| one_line(value.as_deref().unwrap_or("-"));
        [
            one_line(&agent.name),
            text(&agent.owner),
            text(&agent.on_call_now),
            one_line(&agent.queue),
            one_line(&joined(&agent.aliases)),
            agent.review_capacity.to_string(),
        ]
    };
    let rows: Vec<_> = found.agents.iter().map(row).collect();
    table(["AGENT", "OWNER", "ON CALL", "QUEUE", "ALIASES", "REVIEWS/WEEK"], &rows)
}

fn agent_text(agent: &AgentView) -> String {
    let targets = &agent.targets;
    let percent = |share: f64| format!("{}%", (share * 1_000.0).round() / 10.0);
    let rows: Vec<[String; 2]> = [
        ("agent", agent.name.clone()),
        ("aliases", joined(&agent.aliases)),
        ("owner", agent.owner.clone().unwrap_or_else(|| "-".to_owned())),
        ("on call", joined(&agent.on_call)),
        ("on call this week", agent.on_call_now.clone().unwrap_or_else(|| "-".to_owned())),
        ("environments", joined(&agent.environments)),
        ("queue", agent.queue.clone()),
        ("datasets", joined(&agent.datasets)),
        ("target agent accuracy", percent(targets.agent_accuracy)),
        ("target judge accuracy", percent(targets.judge_accuracy)),
        ("target user satisfaction", percent(targets.user_satisfaction)),
        ("target traces reviewed", format!("{} per week", targets.traces_reviewed)),
        ("review capacity", format!("{} traces per week", agent.review_capacity)),
    ]
    .map(|(name, value)| [name.to_owned(), one_line(&value)])
    .to_vec();
    table(["SETTING", "VALUE"], &rows)
}

fn joined(texts: &[String]) -> String {
    if texts.is_empty() { "-".to_owned() } else { texts.join(", ") }
}
