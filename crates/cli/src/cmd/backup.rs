use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use ratchet_core::counted::counted;
use ratchet_store::backup::{BackupReport, BackupSecrets};
use ratchet_store::secrets::SECRET_FILE;
use serde::Serialize;

use crate::config::Config;
use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::print::{OutputArgs, bytes_text};
use crate::runtime;

/// `ratchet backup TO`
#[derive(Args, Debug)]
pub(crate) struct BackupArgs {
    /// New folder for the backup
    to: PathBuf,
    #[command(flatten)]
    target: TargetArgs,
    /// Include secret.key, ratchet.toml and mcp.json; the backup can then decrypt stored secrets
    #[arg(long, conflicts_with = "server")]
    include_secret_key: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What was copied, as programs see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CopyView {
    folder: PathBuf,
    files: Vec<PathBuf>,
    bytes: u64,
    left_out: Vec<String>,
}

impl CopyView {
    /// A report about files in a folder.
    pub(crate) fn new(folder: &Path, report: BackupReport) -> Self {
        let BackupReport { files, bytes, left_out } = report;
        Self { folder: folder.to_owned(), files, bytes, left_out }
    }

    pub(crate) fn text(&self, verb: &str) -> String {
        let (count, size) = (self.files.len(), bytes_text(self.bytes));
        let mut text =
            format!("{verb} {}, {size}, in {}\n", counted(count, "file"), self.folder.display());
        if !self.left_out.is_empty() {
            text += &format!("not in the backup: {}\n", self.left_out.join(", "));
        }
        text
    }
}

/// Runs `ratchet backup`.
pub(crate) fn run(args: &BackupArgs) -> anyhow::Result<Outcome> {
    eprintln!("backing up into {}", args.to.display());
    let secrets = if args.include_secret_key {
        let data = Config::load(&args.target.config, Vec::new())?.data;
        let is_there = data.join(SECRET_FILE).exists();
        ensure!(is_there, "{} has no {SECRET_FILE}; nothing to include", data.display());
        BackupSecrets::Included
    } else {
        BackupSecrets::LeftOut
    };
    let backup = data_target::with(&args.target, "ratchet backup", async |target| {
        target.backup(&args.to, secrets).await
    });
    let report = runtime::block_on(backup)?;
    args.output.show(&CopyView::new(&args.to, report), |copy| copy.text("backed up"))?;
    Ok(Outcome::Done)
}
