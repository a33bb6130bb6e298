use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ratchet_store::embedded::{self, Proof};
use ratchet_store::secrets::SECRET_FILE;

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
    /// Take a backup of an earlier ratchet, which has no manifest, as it is: nothing can tell
    /// whether it is whole
    #[arg(long)]
    without_manifest: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `ratchet restore`.
pub(crate) fn run(args: &RestoreArgs) -> anyhow::Result<Outcome> {
    eprintln!("restoring {} into {}", args.from.display(), args.data.display());
    let proof = if args.without_manifest { Proof::None } else { Proof::Manifest };
    let report = embedded::restore(&args.from, &args.data, proof)
        .with_context(|| format!("cannot restore {}", args.from.display()))?;
    if !args.data.join(SECRET_FILE).exists() {
        eprintln!(
            "{SECRET_FILE} was not in the backup: put the one of the old data folder into {}, or \
             enter stored secrets (keys of model providers, webhooks) again",
            args.data.display()
        );
    }
    args.output.show(&CopyView::new(&args.data, report), |copy| copy.text("restored"))?;
    Ok(Outcome::Done)
}
