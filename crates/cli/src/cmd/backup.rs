use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use ratchet_store::embedded::BackupReport;
use ratchet_store::secrets::SECRET_FILE;
use serde::Serialize;

use crate::config::Config;
use crate::exit::Outcome;
use crate::print::{OutputArgs, bytes_text};
use crate::runtime;
use crate::target::{Target, TargetArgs};

/// `ratchet backup TO`
#[derive(Args, Debug)]
pub(crate) struct BackupArgs {
    /// A new folder for the backup
    to: PathBuf,
    #[command(flatten)]
    target: TargetArgs,
    /// Copy secret.key too: whoever has the backup can then read stored secrets
    #[arg(long, conflicts_with = "server")]
    include_secret_key: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What was copied, as programs see it.
#[derive(Serialize)]
pub(crate) struct CopyView {
    folder: PathBuf,
    files: Vec<PathBuf>,
    bytes: u64,
}

impl CopyView {
    /// A report about files in a folder.
    pub(crate) fn new(folder: &Path, report: BackupReport) -> Self {
        Self { folder: folder.to_owned(), files: report.files, bytes: report.bytes }
    }

    /// The report for people.
    pub(crate) fn text(&self, verb: &str) -> String {
        let (count, size) = (self.files.len(), bytes_text(self.bytes));
        format!("{verb} {count} files, {size}, in {}\n", self.folder.display())
    }
}

/// Runs `ratchet backup`.
pub(crate) fn run(args: &BackupArgs) -> anyhow::Result<Outcome> {
    eprintln!("backing up into {}", args.to.display());
    let backup =
        Target::with(&args.target, "ratchet backup", async |target| target.backup(&args.to).await);
    let mut report = runtime::block_on(backup)?;
    if args.include_secret_key {
        let data = Config::load(&args.target.config, Vec::new())?.data;
        copy_secret_key(&data, &args.to, &mut report)?;
    }
    args.output.show(&CopyView::new(&args.to, report), |copy| copy.text("backed up"))?;
    Ok(Outcome::Done)
}

fn copy_secret_key(data: &Path, to: &Path, report: &mut BackupReport) -> anyhow::Result<()> {
    let (from, to) = (data.join(SECRET_FILE), to.join(SECRET_FILE));
    ensure!(from.exists(), "{} holds no {SECRET_FILE}; nothing to include", data.display());
    report.bytes +=
        std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    report.files.push(to);
    Ok(())
}
