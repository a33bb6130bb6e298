use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cmd::Cli;
use crate::exit::Outcome;
use crate::print::print;

/// `ratchet completions SHELL`
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

/// Runs `ratchet completions`.
pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ratchet", &mut script);
    print(&String::from_utf8(script)?)?;
    Ok(Outcome::Done)
}
