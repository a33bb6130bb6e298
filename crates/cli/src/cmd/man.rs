use anyhow::Context;
use clap::{Args, CommandFactory};

use crate::cmd::Cli;
use crate::exit::Outcome;
use crate::print::print;

/// `ratchet man [COMMAND]…`
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Command, such as `keys create` [default: ratchet]
    command: Vec<String>,
}

/// Runs `ratchet man`.
pub(crate) fn run(args: &ManArgs) -> anyhow::Result<Outcome> {
    let mut root = Cli::command();
    root.build();
    let mut command = &root;
    for word in &args.command {
        let found = command.find_subcommand(word);
        command =
            found.with_context(|| format!("`{}` has no command `{word}`", command.get_name()))?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    print(&String::from_utf8(page)?)?;
    Ok(Outcome::Done)
}
