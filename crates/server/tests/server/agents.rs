use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_agent::claude::command::ClaudePatience;
use ratchet_agent::claude::environment::{self, EnvNames};
use ratchet_agent::claude::supervision::Supervision;
use ratchet_core::judging::Seed;
use ratchet_core::major::prompt::USUAL_BUDGET;
use ratchet_core::major::workspace::{Exposure, Roots};
use ratchet_stages::major::given::LayerFolders;
use ratchet_stages::major::ground::ChatGround;
use ratchet_stages::major::work_folder::Boundary;
use ratchet_stages::major::{Chats, Launcher, Major, MajorLimits, MajorPlaces};
use ratchet_testkit::claude;

use crate::harness::TestServer;

/// Has a server run agents on the fake program: under a root, with what is theirs in a place. The
/// workspace `trusted` there may run programs.
pub(crate) async fn run_agents(
    server: &TestServer,
    root: PathBuf,
    place: &Path,
    limits: MajorLimits,
) {
    run_agents_under(server, Some(root), place, limits).await;
}

/// The same, perhaps without roots.
pub(crate) async fn run_agents_under(
    server: &TestServer,
    root: Option<PathBuf>,
    place: &Path,
    limits: MajorLimits,
) {
    let roots = Roots::new(root.clone()).unwrap();
    let data = Some(server.data_path());
    let boundary = Boundary { roots, exposure: Exposure::Network, data };
    let ground = ChatGround {
        boundary,
        trusted: root.map(|root| root.join("trusted")).into_iter().collect(),
        layers: LayerFolders { platform: Some(place.join("platform")), user: None },
        prompt_tokens: USUAL_BUDGET,
        seed: Seed::new([7; 32]),
    };
    let launcher = Launcher {
        ground: Some(ground.clone()),
        places: MajorPlaces {
            program: claude::fake(),
            families: place.join("families"),
            scratch: place.join("s"),
            supervision: Supervision::Nobody,
        },
        environment: Arc::new(environment::inherited(&EnvNames::default())),
        patience: ClaudePatience::default(),
    };
    let clock = server.app.clock.clone();
    let store = server.app.store.clone();
    let major = Major::open(store, launcher, limits, Arc::new(move || clock.now())).await;
    server.app.run_agents(Chats { major: major.unwrap(), ground });
}
