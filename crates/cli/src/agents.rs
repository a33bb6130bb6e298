use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ratchet_agent::claude::command::ClaudeTimeouts;
use ratchet_agent::claude::environment;
use ratchet_core::chat::workspace::WorkspaceSource;
use ratchet_core::judge::judge_prompt::Seed;
use ratchet_server::clock::Clock;
use ratchet_stages::chat::prompt_layers::LayerFolders;
use ratchet_stages::chat::work_folder::Boundary;
use ratchet_stages::chat::workspace_policy::WorkspacePolicy;
use ratchet_stages::chat::{ChatFolders, ChatLimits, ChatService, Chats, Launcher};
use ratchet_store::Store;

use crate::cmd::supervise;
use crate::config::Config;

/// The folder of what agents keep, in the data folder.
const KEPT: &str = "chats";
/// What the secret behind the markers is signed for.
const SEED: &str = "marks around what chat agents are given";
/// What the name of their scratch folder is signed for.
const SCRATCH: &str = "the scratch folder of chat agents";

/// Makes ready to run agents: whatever an earlier server left running is ended first.
///
/// `workspace_source` is whose folders the chats count as that were made before that was noted.
pub(crate) async fn open(
    config: &Config,
    folder: &Store,
    workspace_source: WorkspaceSource,
) -> anyhow::Result<Chats> {
    let data = std::path::absolute(&config.data).context("cannot tell where the data folder is")?;
    let roots = config.chat.roots.clone();
    let boundary = Boundary { roots, workspace_source, data: Some(data.clone()) };
    let policy = policy(config, folder, &data, boundary)?;
    let launcher = Launcher {
        folders: ChatFolders {
            program: config.chat.program.clone(),
            families: data.join(KEPT),
            scratch: scratch(folder)?,
            supervision: supervise::supervision(),
        },
        environment: Arc::new(environment::inherited(&config.chat.env)),
        timeouts: ClaudeTimeouts::default(),
        policy: Some(policy.clone()),
    };
    let limits = ChatLimits {
        processes: config.chat.processes,
        idle: config.chat.idle,
        answer: config.chat.answers,
        text_bytes: config.limits.text_bytes,
        ..ChatLimits::default()
    };
    let service =
        ChatService::open(folder.clone(), launcher, limits, Arc::new(|| Clock::System.now()));
    let service = service.await.context("cannot make ready to run agents")?;
    Ok(Chats { service, policy })
}

fn policy(
    config: &Config,
    folder: &Store,
    data: &Path,
    boundary: Boundary,
) -> anyhow::Result<WorkspacePolicy> {
    let secret = folder.secrets.sign(SEED).context("cannot use the secret of the data folder")?;
    Ok(WorkspacePolicy {
        boundary,
        trusted: config.chat.trusted.clone(),
        layers: LayerFolders {
            platform: Some(config.chat.platform_in(data)),
            user: config.chat.user.clone(),
        },
        prompt_tokens: config.chat.prompt_tokens,
        seed: Seed::of(&secret),
    })
}

/// Where agents keep what they do not need tomorrow: the same for the same data folder, so that
/// what an earlier server left is found. The path is short, for sockets lie in it.
fn scratch(folder: &Store) -> anyhow::Result<PathBuf> {
    let name = folder.secrets.sign(SCRATCH).context("cannot use the secret of the data folder")?;
    let name: String = name.chars().take(8).collect();
    Ok(std::env::temp_dir().join(format!("ratchet-{name}")))
}
