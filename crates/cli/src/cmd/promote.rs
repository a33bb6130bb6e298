use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_server::api::promotions::versions::AgentVersionsView;
use ratchet_server::api::promotions::{
    EvidenceRequest, NewPromotionRequest, PromotionActionRequest, PromotionView, PromotionsView,
};
use serde::Serialize;

use crate::administration::Administration;
use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::{one_line, table, without_control_characters};
use crate::runtime;

/// `ratchet promote …`
#[derive(Args, Debug)]
pub(crate) struct PromoteCommand {
    #[command(subcommand)]
    action: PromoteAction,
}

#[derive(Debug, Subcommand)]
enum PromoteAction {
    /// List promotions, show one with its six criteria, or show what an agent serves where
    Status(StatusArgs),
    /// Attach tool tests or a gate to a promotion; without an ID, create one
    Evidence(Box<EvidenceArgs>),
    /// Approve a promotion, or review its results or waive an inconclusive gate before
    Approve(ApproveArgs),
    /// Start a promotion: deploy first, then move the label
    Start(NamedArgs),
    /// Go back to what served before
    Rollback(RollbackArgs),
    /// Give a promotion up before it is started
    Abandon(NamedArgs),
}

#[derive(Args, Debug)]
struct StatusArgs {
    /// Promotion ID
    id: Option<String>,
    /// Only promotions of this agent, with its versions and what serves where
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    agent: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct EvidenceArgs {
    /// Promotion ID; without one, a promotion is created
    id: Option<String>,
    /// Agent to promote
    #[arg(long, value_name = "NAME", conflicts_with = "id", required_unless_present = "id")]
    agent: Option<String>,
    /// Prompt version of the agent or of a sub-agent
    #[arg(long = "prompt", value_name = "NAME=VERSION", value_parser = prompt, conflicts_with = "id")]
    prompts: Vec<(String, u32)>,
    /// Model of the agent
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    model: Option<String>,
    /// Tool set: a commit
    #[arg(long, value_name = "COMMIT")]
    tools: Option<String>,
    /// Setting of the agent in an environment
    #[arg(long = "setting", value_name = "ENVIRONMENT:NAME=VALUE", value_parser = setting, conflicts_with = "id")]
    settings: Vec<(String, String, String)>,
    /// Dataset of the gate; the agent's global one by default
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    dataset: Option<String>,
    /// Results of tool tests, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Decision of a gate on a run of the version
    #[arg(long, value_name = "ID")]
    gate: Option<String>,
    /// Where the results are from, such as the address of a CI job
    #[arg(long, value_name = "URL")]
    source: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct ApproveArgs {
    /// Promotion ID
    id: String,
    /// Only note that the results were reviewed
    #[arg(long, conflicts_with = "waive")]
    review: bool,
    /// Only accept an inconclusive gate, for this reason
    #[arg(long, value_name = "REASON")]
    waive: Option<String>,
    /// Note that is shown with the review or approval
    #[arg(long, value_name = "TEXT", conflicts_with = "waive")]
    note: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct NamedArgs {
    /// Promotion ID
    id: String,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct RollbackArgs {
    /// Promotion ID
    id: String,
    /// Why, for the audit log and the promotion's outcome
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    project: ProjectArgs,
}

/// Parts of an agent version.
#[derive(Args, Debug)]
pub(crate) struct VersionArgs {
    /// Prompt version of the agent or of a sub-agent
    #[arg(long = "prompt", value_name = "NAME=VERSION", value_parser = prompt)]
    prompts: Vec<(String, u32)>,
    /// Model of the agent
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Tool set: a commit
    #[arg(long, value_name = "COMMIT")]
    tools: Option<String>,
    /// Setting of the agent in an environment
    #[arg(long = "setting", value_name = "ENVIRONMENT:NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String, String)>,
}

impl VersionArgs {
    /// The version that the flags name.
    pub(crate) fn content(&self) -> AgentVersion {
        AgentVersion {
            prompts: self.prompts.iter().cloned().collect(),
            model: self.model.clone(),
            tools: self.tools.clone(),
            settings: by_environment(&self.settings),
        }
    }
}

fn by_environment(
    settings: &[(String, String, String)],
) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (environment, name, value) in settings {
        found.entry(environment.clone()).or_default().insert(name.clone(), value.clone());
    }
    found
}

fn prompt(text: &str) -> Result<(String, u32), String> {
    let (name, version) = text.rsplit_once('=').ok_or("must be NAME=VERSION, such as shop=3")?;
    let version = version.parse().map_err(|_| "the version must be a number".to_owned())?;
    Ok((name.to_owned(), version))
}

fn setting(text: &str) -> Result<(String, String, String), String> {
    let wanted = "must be ENVIRONMENT:NAME=VALUE";
    let (environment, rest) = text.split_once(':').ok_or(wanted)?;
    let (name, value) = rest.split_once('=').ok_or(wanted)?;
    Ok((environment.to_owned(), name.to_owned(), value.to_owned()))
}

/// Runs `ratchet promote`.
pub(crate) fn run(command: &PromoteCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            PromoteAction::Status(args) => status(args).await,
            PromoteAction::Evidence(args) => evidence(args).await,
            PromoteAction::Approve(args) => {
                let (action, reason) = match (&args.waive, args.review) {
                    (Some(reason), _) => ("waive", Some(reason.clone())),
                    (None, true) => ("review", args.note.clone()),
                    (None, false) => ("approve", args.note.clone()),
                };
                act(&args.project, &args.id, (action, reason)).await
            }
            PromoteAction::Start(args) => act(&args.project, &args.id, ("start", None)).await,
            PromoteAction::Rollback(args) => {
                let reason = Some(args.reason.clone());
                act(&args.project, &args.id, ("rollback", reason)).await
            }
            PromoteAction::Abandon(args) => act(&args.project, &args.id, ("abandon", None)).await,
        }
    })
}

/// Works on the project of the flags, or of the key.
async fn on<T>(
    args: &ProjectArgs,
    work: impl AsyncFnOnce(&Administration, &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    data_target::with(&args.target, "ratchet promote", async |target| {
        let project = target.own_project(args.name()).await?;
        work(target, &project).await
    })
    .await
}

/// Promotions of an agent, with its versions and what serves where.
#[derive(Serialize)]
struct AgentStatus {
    #[serde(flatten)]
    promotions: PromotionsView,
    #[serde(flatten)]
    versions: AgentVersionsView,
}

async fn status(args: &StatusArgs) -> anyhow::Result<Outcome> {
    let output = args.project.output;
    if let Some(id) = &args.id {
        let found = on(&args.project, async |target, project| target.promotion(project, id).await);
        output.show(&found.await?, one_text)?;
    } else if let Some(agent) = &args.agent {
        let found = on(&args.project, async |target, project| {
            Ok(AgentStatus {
                promotions: target.promotions(project, Some(agent)).await?,
                versions: target.agent_versions(project, agent).await?,
            })
        });
        output.show(&found.await?, agent_text)?;
    } else {
        let found =
            on(&args.project, async |target, project| target.promotions(project, None).await);
        output.show(&found.await?, list_text)?;
    }
    Ok(Outcome::Done)
}

async fn evidence(args: &EvidenceArgs) -> anyhow::Result<Outcome> {
    let junit = match &args.junit {
        Some(file) => Some(
            std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?,
        ),
        None => None,
    };
    let given = EvidenceRequest {
        gate: args.gate.clone(),
        junit,
        source: args.source.clone(),
        commit: args.tools.clone(),
        ..EvidenceRequest::default()
    };
    let has_evidence = given.gate.is_some() || given.junit.is_some();
    if args.id.is_some() && !has_evidence {
        bail!("give --junit or --gate");
    }
    let work = async |target: &Administration, project: &str| {
        let mut promotion = match &args.id {
            Some(id) => target.promotion(project, id).await?,
            None => target.create_promotion(project, new_promotion(args)).await?,
        };
        if has_evidence {
            let id = promotion.id.clone();
            promotion = target.give_evidence((project, &id), given).await?;
        }
        Ok(promotion)
    };
    let found = on(&args.project, work).await?;
    args.project.output.show(&found, one_text)?;
    Ok(Outcome::Done)
}

fn new_promotion(args: &EvidenceArgs) -> NewPromotionRequest {
    let content = AgentVersion {
        prompts: args.prompts.iter().cloned().collect(),
        model: args.model.clone(),
        tools: args.tools.clone(),
        settings: by_environment(&args.settings),
    };
    NewPromotionRequest {
        version: None,
        agent: args.agent.clone(),
        content: Some(content),
        dataset: args.dataset.clone(),
    }
}

async fn act(
    args: &ProjectArgs,
    id: &str,
    (action, reason): (&str, Option<String>),
) -> anyhow::Result<Outcome> {
    let request = PromotionActionRequest { action: action.to_owned(), reason, version: None };
    let done =
        on(args, async |target, project| target.act_on_promotion((project, id), request).await);
    args.output.show(&done.await?, one_text)?;
    Ok(Outcome::Done)
}

fn list_text(found: &PromotionsView) -> String {
    let row = |promotion: &PromotionView| {
        let missing = promotion.criteria.iter().filter(|state| !state.is_met).count();
        [
            promotion.id.clone(),
            one_line(&promotion.agent),
            promotion.version.clone(),
            promotion.state.clone(),
            format!("{} of 6", 6 - missing.min(6)),
            promotion.updated_at.clone(),
        ]
    };
    let rows: Vec<_> = found.promotions.iter().map(row).collect();
    table(["PROMOTION", "AGENT", "VERSION", "STATE", "CRITERIA", "CHANGED"], &rows)
}

fn agent_text(found: &AgentStatus) -> String {
    let mut seen = Vec::new();
    let mut serving = Vec::new();
    for one in &found.versions.serving {
        if !seen.contains(&&one.environment) {
            seen.push(&one.environment);
            let version = one.version.clone().unwrap_or_else(|| "not recorded".to_owned());
            serving.push([one_line(&one.environment), version, one.since.clone()]);
        }
    }
    let versions: Vec<_> = found
        .versions
        .versions
        .iter()
        .map(|one| [one.id.clone(), one_line(&one.content.summary()), one.created_at.clone()])
        .collect();
    format!(
        "{}\n{}\n{}",
        table(["ENVIRONMENT", "VERSION", "SINCE"], &serving),
        table(["VERSION", "CONTENT", "RECORDED"], &versions),
        list_text(&found.promotions)
    )
}

fn one_text(promotion: &PromotionView) -> String {
    let row = |state: &ratchet_core::promotion::criteria::CriterionState| {
        let mark = if state.is_met { "yes" } else { "no" };
        // Uncut: they say what to do next.
        let whole = |text: &str| without_control_characters(text).collect::<String>();
        let who = if state.is_met { "-".to_owned() } else { whole(&state.who) };
        [state.title.clone(), mark.to_owned(), whole(&state.text), who]
    };
    let rows: Vec<_> = promotion.criteria.iter().map(row).collect();
    let mut text = format!(
        "promotion {}: {}, agent {}, version {}, to {}\n\n{}",
        promotion.id,
        promotion.state,
        one_line(&promotion.agent),
        promotion.version,
        one_line(&promotion.environment),
        table(["CRITERION", "MET", "EVIDENCE", "WHO CAN GIVE IT"], &rows)
    );
    if let Some(watch) = &promotion.watch {
        text += &format!("\nwatch: {}\n", one_line(&watch.sentence()));
    }
    if let Some(outcome) = &promotion.outcome {
        text += &format!("\noutcome: {}\n", one_line(&outcome.text));
    }
    text
}
