use std::path::PathBuf;

use clap::Args;
use ratchet_agent::claude::watchdog::{Supervision, SupervisorCommand};
use ratchet_agent::claude::watchdog_main::supervise;

use crate::exit::Outcome;

/// The name of the command.
const NAME: &str = "supervise";

/// `ratchet supervise TEMP`
#[derive(Args, Debug)]
pub(crate) struct SuperviseArgs {
    /// The agent's folder for temporary files
    temp: PathBuf,
}

/// How this program supervises the agents that it runs.
pub(crate) fn supervision() -> Supervision {
    Supervision::By(SupervisorCommand::this_program([NAME]))
}

/// Runs `ratchet supervise`: its orders come on standard input, which closes with its host.
pub(crate) fn run(args: &SuperviseArgs) -> Outcome {
    supervise(std::io::stdin(), &args.temp);
    Outcome::Done
}
