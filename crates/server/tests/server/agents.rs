use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_agent::claude::command::ClaudeTimeouts;
use ratchet_agent::claude::environment::{self, EnvNames};
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::chat::system_prompt::DEFAULT_BUDGET;
use ratchet_core::chat::workspace::{Roots, WorkspaceSource};
use ratchet_core::judge::judge_prompt::Seed;
use ratchet_stages::chat::prompt_layers::LayerFolders;
use ratchet_stages::chat::work_folder::Boundary;
use ratchet_stages::chat::workspace_policy::WorkspacePolicy;
use ratchet_stages::chat::{ChatFolders, ChatLimits, ChatService, Chats, Launcher};
use ratchet_testkit::claude;

use crate::harness::TestServer;

/// Lets a server run agents with the fake program, with workspaces under a root. The workspace
/// `trusted` there may run programs.
pub(crate) async fn run_agents(
    server: &TestServer,
    root: PathBuf,
    place: &Path,
    limits: ChatLimits,
) {
    run_agents_under(server, Some(root), place, limits).await;
}

/// Like `run_agents`, with optional roots.
pub(crate) async fn run_agents_under(
    server: &TestServer,
    root: Option<PathBuf>,
    place: &Path,
    limits: ChatLimits,
) {
    let roots = Roots::new(root.clone()).unwrap();
    let data = Some(server.data_path());
    let boundary = Boundary { roots, workspace_source: WorkspaceSource::Network, data };
    let policy = WorkspacePolicy {
        boundary,
        trusted: root.map(|root| root.join("trusted")).into_iter().collect(),
        layers: LayerFolders { platform: Some(place.join("platform")), user: None },
        prompt_tokens: DEFAULT_BUDGET,
        seed: Seed::new([7; 32]),
    };
    let launcher = Launcher {
        policy: Some(policy.clone()),
        folders: ChatFolders {
            program: claude::fake(),
            families: place.join("families"),
            scratch: place.join("s"),
            supervision: Supervision::Nobody,
        },
        environment: Arc::new(environment::inherited(&EnvNames::default())),
        timeouts: ClaudeTimeouts::default(),
    };
    let clock = server.app.clock.clone();
    let store = server.app.store.clone();
    let chats = ChatService::open(store, launcher, limits, Arc::new(move || clock.now())).await;
    server.app.run_agents(Chats { service: chats.unwrap(), policy });
}
