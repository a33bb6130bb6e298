use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratchet_agent::claude::command::ClaudePatience;
use ratchet_agent::claude::environment;
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
    let boundary =
        Boundary { roots: Roots::new([root.clone()]).unwrap(), exposure: Exposure::Network };
    let launcher = Launcher {
        boundary: Some(boundary.clone()),
        places: MajorPlaces {
            program: claude::fake(),
            families: place.join("families"),
            scratch: place.join("s"),
            supervision: Supervision::Nobody,
        },
        environment: Arc::new(environment::inherited()),
        patience: ClaudePatience::default(),
    };
    let clock = server.app.clock.clone();
    let store = server.app.store.clone();
    let major = Major::open(store, launcher, limits, Arc::new(move || clock.now())).await;
    let ground = ChatGround {
        boundary,
        trusted: vec![root.join("trusted")],
        layers: LayerFolders { platform: Some(place.join("platform")), user: None },
        prompt_tokens: USUAL_BUDGET,
        seed: Seed::new([7; 32]),
    };
    server.app.run_agents(Chats { major: major.unwrap(), ground });
}
