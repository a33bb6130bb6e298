/// Proposals and their value, for people.
mod text;

use clap::{Args, Subcommand};
use ratchet_server::api::proposals::{ProposalActionRequest, ProposalsRequest};

use crate::administration::Administration;
use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::runtime;

/// `ratchet proposals …`
#[derive(Args, Debug)]
pub(crate) struct ProposalsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the backlog, highest priority first
    List(ListArgs),
    /// Show one proposal: change, evidence, links and history
    Show(OneArgs),
    /// Accept a proposal
    Accept(OneArgs),
    /// Reject a proposal
    Reject(RejectArgs),
    /// Make a proposal undecided again
    Reopen(OneArgs),
    /// Open the experiment of an accepted proposal: its change becomes a prompt version without labels
    Experiment(ExperimentArgs),
    /// Note that the change was made elsewhere, such as in code, and users get it
    Done(DoneArgs),
    /// Show what proposals were worth: accepted, wrong, time to action, lift
    Value(ValueArgs),
}

#[derive(Args, Debug)]
struct ListArgs {
    /// Only about this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only new, accepted, in-experiment, gated, promoted or rejected ones
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only about prompt, tool, model, knowledge or judge
    #[arg(long, value_name = "COMPONENT")]
    component: Option<String>,
    /// Page number
    #[arg(long, value_name = "N")]
    page: Option<u64>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct OneArgs {
    /// Proposal ID
    id: String,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct RejectArgs {
    /// Proposal ID
    id: String,
    /// Why; shown with the proposal
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// wrong: the diagnosis is; unhelpful: the change would be; declined: not worth it now
    #[arg(long, value_name = "KIND", default_value = "declined", value_parser = ["wrong", "unhelpful", "declined"])]
    kind: String,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct ExperimentArgs {
    /// Proposal ID
    id: String,
    /// Prompt to change [default: the one that the evidence used]
    #[arg(long, value_name = "NAME")]
    prompt: Option<String>,
    /// Version of the prompt that has the change already
    #[arg(long, value_name = "N", requires = "prompt")]
    version: Option<u32>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct DoneArgs {
    /// Proposal ID
    id: String,
    /// Note that is shown with it, such as a commit
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
}

#[derive(Args, Debug)]
struct ValueArgs {
    #[command(flatten)]
    project: ProjectArgs,
}

/// Runs `ratchet proposals`.
pub(crate) fn run(command: &ProposalsCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Show(args) => show(args).await,
            Action::Accept(args) => decide(&args.project, &args.id, named("accept")).await,
            Action::Reopen(args) => decide(&args.project, &args.id, named("reopen")).await,
            Action::Reject(args) => {
                let (reason, kind) = (Some(args.reason.clone()), Some(args.kind.clone()));
                let request = ProposalActionRequest { reason, kind, ..named("reject") };
                decide(&args.project, &args.id, request).await
            }
            Action::Experiment(args) => {
                let (prompt, version) = (args.prompt.clone(), args.version);
                let request = ProposalActionRequest { prompt, version, ..named("experiment") };
                decide(&args.project, &args.id, request).await
            }
            Action::Done(args) => {
                let request = ProposalActionRequest { reason: args.note.clone(), ..named("done") };
                decide(&args.project, &args.id, request).await
            }
            Action::Value(args) => value(args).await,
        }
    })
}

fn named(action: &str) -> ProposalActionRequest {
    ProposalActionRequest { action: action.to_owned(), ..ProposalActionRequest::default() }
}

/// Works on the project of the flags, or of the key.
async fn on<T>(
    args: &ProjectArgs,
    work: impl AsyncFnOnce(&Administration, &str) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    data_target::with(&args.target, "ratchet proposals", async |target| {
        let project = target.own_project(args.name()).await?;
        work(target, &project).await
    })
    .await
}

async fn list(args: &ListArgs) -> anyhow::Result<Outcome> {
    let request = ProposalsRequest {
        agent: args.agent.clone(),
        state: args.state.clone(),
        component: args.component.clone(),
        page: args.page,
        ..ProposalsRequest::default()
    };
    let found = on(&args.project, async |target, project| target.proposals(project, request).await);
    args.project.output.show(&found.await?, text::list)?;
    Ok(Outcome::Done)
}

async fn show(args: &OneArgs) -> anyhow::Result<Outcome> {
    let found = on(&args.project, async |target, project| target.proposal(project, &args.id).await);
    args.project.output.show(&found.await?, text::one)?;
    Ok(Outcome::Done)
}

async fn decide(
    args: &ProjectArgs,
    id: &str,
    request: ProposalActionRequest,
) -> anyhow::Result<Outcome> {
    let done =
        on(args, async |target, project| target.act_on_proposal((project, id), request).await);
    args.output.show(&done.await?, text::decided)?;
    Ok(Outcome::Done)
}

async fn value(args: &ValueArgs) -> anyhow::Result<Outcome> {
    let found = on(&args.project, async |target, project| target.proposal_value(project).await);
    args.project.output.show(&found.await?, text::value)?;
    Ok(Outcome::Done)
}
