use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::runtime::environment_name;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_server::api::promotions::versions::AgentVersionView;
use ratchet_stages::promote::agentcore::{DeployedRuntime, deploy_runtime};
use serde::Serialize;

use super::promote::VersionArgs;
use crate::administration::Administration;
use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::one_line;
use crate::runtime;

/// States of a promotion in which its version may be in production.
const MAY_SERVE: [&str; 4] = ["approved", "deploying", "live", "confirmed"];

/// `ratchet deploy`
#[derive(Args, Debug)]
pub(crate) struct DeployArgs {
    /// Agent to deploy
    #[arg(long, value_name = "NAME")]
    agent: String,
    /// Environment to deploy to, such as beta; prod is short for production
    #[arg(long, value_name = "NAME")]
    environment: String,
    /// File that names runtimes by agent and environment
    #[arg(long, value_name = "FILE", default_value = "deploy.toml")]
    file: PathBuf,
    #[command(flatten)]
    version: VersionArgs,
    /// Seconds until the runtime must be ready
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,
    #[command(flatten)]
    project: ProjectArgs,
}

/// What was deployed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeployView {
    agent: String,
    environment: String,
    /// Id of the agent version.
    version: String,
    runtime_arn: String,
    /// Version of the runtime, as AgentCore counts.
    runtime_version: String,
    endpoint: String,
    /// Whether there was anything to change.
    is_changed: bool,
    /// The approved promotion that is to be started now; it records what serves.
    promotion: Option<String>,
}

/// Who records that the version serves.
enum Recorded {
    Here,
    By(String),
    Already,
}

/// Runs `ratchet deploy`.
pub(crate) fn run(args: &DeployArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        let done = data_target::with(&args.project.target, "ratchet deploy", async |target| {
            let project = target.own_project(args.project.name()).await?;
            deploy(args, target, &project).await
        });
        args.project.output.show(&done.await?, text)?;
        Ok(Outcome::Done)
    })
}

async fn deploy(
    args: &DeployArgs,
    target: &Administration,
    project: &str,
) -> anyhow::Result<DeployView> {
    let environment = environment_name(&args.environment).to_owned();
    let content: AgentVersion = args.version.content();
    let saved = target.save_agent_version((project, &args.agent), content.clone()).await?;
    let AgentVersionView { id: version, agent, .. } = saved;
    let recorded = permitted(target, project, (&agent, &version, &environment)).await?;
    let lookup = |name: &str| std::env::var(name).ok();
    let named = (agent.as_str(), environment.as_str());
    let work = deploy_runtime(&args.file, named, &content, &lookup, &SystemBackoffClock);
    let ended = tokio::time::timeout(Duration::from_secs(args.timeout), work).await;
    let ended = ended.with_context(|| {
        format!("not ready within {} s; the same command goes on", args.timeout)
    })?;
    let DeployedRuntime { arn, version: runtime_version, endpoint, is_changed } = ended?;
    let promotion = match recorded {
        Recorded::Here => {
            target.record_serving((project, &agent), (&version, &environment)).await?;
            None
        }
        Recorded::Already => None,
        Recorded::By(promotion) => Some(promotion),
    };
    Ok(DeployView {
        agent,
        environment,
        version,
        runtime_arn: arn,
        runtime_version,
        endpoint,
        is_changed,
        promotion,
    })
}

/// Refuses what the agent's policy leaves to promotions, before anything is deployed.
async fn permitted(
    target: &Administration,
    project: &str,
    (agent, version, environment): (&str, &str, &str),
) -> anyhow::Result<Recorded> {
    let known = target.agent_versions(project, agent).await?.serving;
    let serving = known.iter().find(|one| one.environment == environment);
    if serving.and_then(|one| one.version.as_deref()) == Some(version) {
        return Ok(Recorded::Already);
    }
    let policy = target.agent(project, agent).await?.promotion;
    if !policy.governs(environment) {
        return Ok(Recorded::Here);
    }
    let promotions = target.promotions(project, Some(agent)).await?.promotions;
    let of_version = promotions.iter().filter(|one| one.version == version);
    if let Some(found) = of_version.clone().find(|one| MAY_SERVE.contains(&one.state.as_str())) {
        return Ok(Recorded::By(found.id.clone()));
    }
    match of_version.clone().next() {
        Some(one) => bail!(
            "agent {agent}: {environment} changes only by promotion; promotion {} of this version \
             is {}; see `ratchet promote status {}`",
            one.id,
            one.state,
            one.id
        ),
        None => bail!(
            "agent {agent}: {environment} changes only by promotion; create one of version \
             {version} with `ratchet promote evidence`"
        ),
    }
}

fn text(done: &DeployView) -> String {
    let DeployView { agent, environment, version, runtime_version, endpoint, .. } = done;
    let (agent, environment) = (one_line(agent), one_line(environment));
    let verb = if done.is_changed { "deployed" } else { "already deployed" };
    let mut text = format!(
        "{verb}: version {version} of {agent} in {environment}\n{} version {}, endpoint {}\n",
        one_line(&done.runtime_arn),
        one_line(runtime_version),
        one_line(endpoint)
    );
    if let Some(promotion) = &done.promotion {
        text += &format!("next: ratchet promote start {promotion}\n");
    }
    text
}
