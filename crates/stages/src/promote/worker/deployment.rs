use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::record::limit::elide;
use ratchet_core::secret::Secret;
use ratchet_remote::delivery::{self, DeliveryError, OutgoingMessage};
use ratchet_remote::webhook::{self, ID_HEADER};
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::PromotionWorker;
use crate::promote::agentcore::{RuntimeFault, deploy_runtime};

/// Bytes of stderr that the log quotes.
const QUOTED_BYTES: usize = 1_000;
/// Bytes of stderr that are kept while a command runs.
const KEPT_BYTES: usize = 16 * 1024;

/// How versions are deployed; only the operator can set it.
#[derive(Clone, Debug)]
pub enum DeployTarget {
    /// A program and its arguments. It gets the order as JSON on stdin, in the server's environment.
    Command(Vec<String>),
    /// An address, and the secret that signs messages to it.
    Webhook(Secret, Option<Secret>),
    /// A file that names runtimes of AgentCore by agent and environment.
    AgentCore(PathBuf),
}

/// What a worker is to deploy.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeployOrder {
    pub(super) idempotency_key: String,
    pub(super) promotion: String,
    pub(super) attempt: u32,
    pub(super) is_rollback: bool,
    pub(super) agent: String,
    pub(super) environment: String,
    pub(super) content: AgentVersion,
}

/// Why a deployment failed.
#[derive(Clone, Debug)]
pub(super) struct DeployFault {
    /// For everyone who may see the promotion.
    pub(super) why: String,
    /// What the program or the provider said of it, for the log of the operator alone.
    pub(super) reply: Option<String>,
    /// Whether another attempt may succeed.
    pub(super) may_pass: bool,
}

impl DeployFault {
    /// A fault that no other attempt changes.
    pub(super) const fn last(why: String) -> Self {
        Self { why, reply: None, may_pass: false }
    }

    const fn passing(why: String) -> Self {
        Self { why, reply: None, may_pass: true }
    }
}

pub(super) async fn deploy(
    worker: &PromotionWorker,
    target: &DeployTarget,
    payload: &str,
    order: &DeployOrder,
) -> Result<(), DeployFault> {
    let timeout = worker.limits.deploy;
    match target {
        DeployTarget::Command(words) => {
            let run = command((words, payload), &worker.supervision);
            let ended = tokio::time::timeout(timeout, run).await;
            ended.map_err(|_elapsed| DeployFault::last(format!("no result within {timeout:?}")))?
        }
        DeployTarget::Webhook(address, secret) => {
            post(worker, (address, secret.as_ref()), payload, order).await
        }
        DeployTarget::AgentCore(file) => {
            let (lookup, named) =
                (|name: &str| std::env::var(name).ok(), (&*order.agent, &*order.environment));
            let work = deploy_runtime(file, named, &order.content, &lookup, &*worker.pace);
            // It goes on in AWS: another attempt finds out how it ended.
            let ended = tokio::time::timeout(timeout, work).await.map_err(|_elapsed| {
                DeployFault::passing(format!("not ready within {timeout:?}"))
            })?;
            ended.map(drop).map_err(|RuntimeFault { why, reply, may_pass }| DeployFault {
                why,
                reply,
                may_pass,
            })
        }
    }
}

async fn command(
    (words, payload): (&[String], &str),
    supervision: &Supervision,
) -> Result<(), DeployFault> {
    let program = words.first().map(String::as_str).unwrap_or_default();
    let mut command = Command::new(program);
    command
        .args(words.iter().skip(1))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let (mut child, mut group) = supervision
        .spawn(&mut command)
        .map_err(|error| DeployFault::last(format!("promotion.command: {program}: {error}")))?;
    let (status, said) = tokio::select! {
        ended = finish(&mut child, payload) => ended,
        () = group.lost() => {
            let why = "promotion.command: the process that supervises it has ended";
            return Err(DeployFault::passing(why.to_owned()));
        }
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            let reply = (!said.is_empty()).then(|| elide(&said, QUOTED_BYTES).into_owned());
            let why = format!("promotion.command: {status}; see the server's log");
            Err(DeployFault { reply, ..DeployFault::passing(why) })
        }
        Err(error) => Err(DeployFault::passing(format!("promotion.command: {error}"))),
    }
}

/// Writes the order, and reads the last of stderr until the command has ended.
async fn finish(child: &mut Child, payload: &str) -> (io::Result<ExitStatus>, Vec<u8>) {
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // It may end without reading all of it.
            stdin.write_all(payload.as_bytes()).await.ok();
        }
    };
    let listen = async {
        let (mut said, mut piece) = (Vec::new(), [0_u8; 4_096]);
        let Some(mut stderr) = stderr else { return said };
        while let Ok(read @ 1..) = stderr.read(&mut piece).await {
            said.extend_from_slice(piece.get(..read).unwrap_or_default());
            let extra = said.len().saturating_sub(KEPT_BYTES);
            said.drain(..extra);
        }
        said
    };
    let ((), said) = tokio::join!(write, listen);
    (child.wait().await, said)
}

async fn post(
    worker: &PromotionWorker,
    (address, secret): (&Secret, Option<&Secret>),
    payload: &str,
    order: &DeployOrder,
) -> Result<(), DeployFault> {
    let url = delivery::address(address.expose())
        .ok_or_else(|| DeployFault::last("promotion.webhook: not an http address".to_owned()))?;
    let (now, key) = (worker.pace.now(), order.idempotency_key.as_str());
    let message = match secret {
        Some(secret) => webhook::signed(url, secret, (key, payload), now),
        None => OutgoingMessage {
            url,
            headers: vec![
                ("content-type", "application/json".to_owned()),
                (ID_HEADER, key.to_owned()),
            ],
            body: payload.into(),
        },
    };
    match message.deliver(&worker.outbound, worker.limits.deploy, now).await {
        Ok(answer) if answer.status.is_success() => Ok(()),
        Ok(answer) => {
            let why = format!("the webhook answered {}", answer.status);
            let is_busy = matches!(answer.status.as_u16(), 408 | 425 | 429);
            let may_pass = answer.status.is_server_error() || is_busy;
            Err(DeployFault { why, reply: None, may_pass })
        }
        Err(DeliveryError::Refused(why)) => {
            Err(DeployFault::last(format!("promotion.webhook: {why}")))
        }
        Err(DeliveryError::Unreachable(_)) => {
            Err(DeployFault::passing("the webhook cannot be reached".to_owned()))
        }
    }
}
