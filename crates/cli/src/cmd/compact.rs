use clap::Args;

use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, bytes_text};
use crate::runtime;

/// `ratchet compact`
#[derive(Args, Debug)]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `ratchet compact`.
pub(crate) fn run(args: &CompactArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        eprintln!("compacting; this may take some minutes, ingestion continues");
        let report = data_target::with(&args.target, "ratchet compact", async |target| {
            target.compact().await
        });
        args.output.show(&report.await?, |report| {
            let (before, after) = (bytes_text(report.bytes_before), bytes_text(report.bytes_after));
            format!("{before} before, {after} after\n")
        })?;
        Ok(Outcome::Done)
    })
}
