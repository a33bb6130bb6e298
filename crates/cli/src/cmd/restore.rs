use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use ratchet_store::backup::{self, Proof};
use ratchet_store::secrets::SECRET_FILE;

use super::backup::CopyView;
use crate::exit::Outcome;
use crate::print::OutputArgs;

/// `ratchet restore FROM --data DIR`
#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// Backup folder
    from: PathBuf,
    /// New data folder
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Accept a backup without a manifest (older versions); completeness cannot be verified
    #[arg(long)]
    without_manifest: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `ratchet restore`.
pub(crate) fn run(args: &RestoreArgs) -> anyhow::Result<Outcome> {
    eprintln!("restoring {} into {}", args.from.display(), args.data.display());
    let proof = if args.without_manifest { Proof::None } else { Proof::Manifest };
    let report = backup::restore(&args.from, &args.data, proof)
        .with_context(|| format!("cannot restore {}", args.from.display()))?;
    if !args.data.join(SECRET_FILE).exists() {
        eprintln!(
            "the backup has no {SECRET_FILE}: copy the one of the old data folder into {}, or enter stored secrets (model provider keys, webhooks) again",
            args.data.display()
        );
    }
    args.output.show(&CopyView::new(&args.data, report), |copy| copy.text("restored"))?;
    Ok(Outcome::Done)
}
