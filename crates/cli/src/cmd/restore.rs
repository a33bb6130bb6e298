use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ratchet_store::embedded;

use super::backup::CopyView;
use crate::exit::Outcome;
use crate::print::OutputArgs;

/// `ratchet restore FROM --data DIR`
#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// The folder with the backup
    from: PathBuf,
    /// A new data folder for it
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `ratchet restore`.
pub(crate) fn run(args: &RestoreArgs) -> anyhow::Result<Outcome> {
    eprintln!("restoring {} into {}", args.from.display(), args.data.display());
    let report = embedded::restore(&args.from, &args.data)
        .with_context(|| format!("cannot restore {}", args.from.display()))?;
    args.output.show(&CopyView::new(&args.data, report), |copy| copy.text("restored"))?;
    Ok(Outcome::Done)
}
