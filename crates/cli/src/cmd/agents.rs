use clap::{Args, Subcommand};
use ratchet_core::counted::counted;
use ratchet_server::api::agents::{
    AgentRequest, AgentView, AgentsView, PolicyRequest, SplitChange,
};

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
    /// Share of the reviews without feedback for traces that the judge flagged (W5), from 0 to 1, or
    /// "default"; `ratchet metrics rebalance` proposes one
    #[arg(long, value_name = "SHARE", value_parser = split_share)]
    flagged_share: Option<SplitChange>,
    /// Half-width of the accuracy's interval that weekly samples are planned for, such as 0.1
    #[arg(long, value_name = "SHARE")]
    half_width: Option<f64>,
    /// Share of the reviews for spot checks, from 0 to 0.5; they count for no estimate
    #[arg(long, value_name = "SHARE")]
    spot_share: Option<f64>,
    #[command(flatten)]
    promotion: PolicyArgs,
    #[command(flatten)]
    agents: ProjectArgs,
}

fn split_share(text: &str) -> Result<SplitChange, String> {
    if text == "default" {
        return Ok(SplitChange::Default);
    }
    let share = text.parse().map(SplitChange::FlaggedShare);
    share.map_err(|_| "must be a number from 0 to 1, or \"default\"".to_owned())
}

/// How versions of an agent are promoted.
#[derive(Args, Debug)]
struct PolicyArgs {
    /// Let the label production of the agent's prompts move only by promotion or rollback
    #[arg(long, value_name = "BOOL")]
    promotion_required: Option<bool>,
    /// Prompts of the agent, besides those of its versions; an empty value removes all
    #[arg(long = "promotion-prompt", value_name = "NAME")]
    prompts: Vec<String>,
    /// Who approves promotions, by email address; an empty value means the owner
    #[arg(long = "approver", value_name = "WHO")]
    approvers: Vec<String>,
    /// Whether a promotion needs the approval of a second person
    #[arg(long, value_name = "BOOL")]
    second_person: Option<bool>,
    /// Environment that versions are promoted to
    #[arg(long, value_name = "NAME")]
    promotion_environment: Option<String>,
    /// How long production is watched after a promotion
    #[arg(long, value_name = "HOURS")]
    watch_hours: Option<u32>,
    /// Whether a significantly worse version is rolled back without asking
    #[arg(long, value_name = "BOOL")]
    automatic_rollback: Option<bool>,
    /// Whether a promotion deploys, by the server's promotion.command, promotion.agentcore or promotion.webhook
    #[arg(long, value_name = "BOOL")]
    promotion_deploys: Option<bool>,
    /// Minimum accuracy that a gate must demand where promotion is required, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    promotion_min_accuracy: Option<f64>,
}

impl PolicyArgs {
    fn request(&self) -> PolicyRequest {
        let list = |values: &[String]| (!values.is_empty()).then(|| values.to_vec());
        PolicyRequest {
            is_required: self.promotion_required,
            prompts: list(&self.prompts),
            approvers: list(&self.approvers),
            second_person: self.second_person,
            environment: self.promotion_environment.clone(),
            watch_hours: self.watch_hours,
            automatic_rollback: self.automatic_rollback,
            deploys: self.promotion_deploys,
            min_accuracy: self.promotion_min_accuracy,
        }
    }
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
            flagged_share: self.flagged_share.unwrap_or_default(),
            half_width: self.half_width,
            spot_share: self.spot_share,
            promotion: Some(self.promotion.request()),
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
    let (targets, policy) = (&agent.targets, &agent.promotion);
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
        ("review capacity", format!("{} per week", counted(agent.review_capacity, "trace"))),
        (
            "split without feedback",
            agent.flagged_share.map_or_else(|| "default".to_owned(), split_text),
        ),
        ("planned precision", format!("±{} points", (agent.half_width * 1_000.0).round() / 10.0)),
        ("spot checks", percent(agent.spot_share)),
        ("promotion required", if policy.is_required { "yes" } else { "no" }.to_owned()),
        ("approvers", joined(&policy.approvers)),
    ]
    .map(|(name, value)| [name.to_owned(), one_line(&value)])
    .to_vec();
    table(["SETTING", "VALUE"], &rows)
}

/// The shares of flagged and quiet traces.
fn split_text(flagged: f64) -> String {
    format!("{:.1}% W5, {:.1}% W6 and U3", flagged * 100.0, (1.0 - flagged) * 100.0)
}

fn joined(texts: &[String]) -> String {
    if texts.is_empty() { "-".to_owned() } else { texts.join(", ") }
}
