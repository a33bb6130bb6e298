use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::copy::Checkpoint;

use super::LangfuseArgs;
use crate::config::Config;

/// How far back a copy that is brought up to date begins: records may come in late.
const OVERLAP_NANOS: i64 = 3_600 * 1_000_000_000;
/// Length of the public key prefix that identifies a project in the file name.
const KEY_CHARS: usize = 8;

/// The ids that score configs and runs have got here.
type Known = (BTreeMap<String, String>, BTreeMap<String, String>);

/// The checkpoint file of a copy.
#[derive(Debug)]
pub(super) struct CheckpointFile(PathBuf);

impl CheckpointFile {
    /// The file that was named, or one that is named after the server and the project.
    pub(super) fn choose(args: &LangfuseArgs, base: &str) -> anyhow::Result<Self> {
        if let Some(named) = &args.checkpoint {
            return Ok(Self(named.clone()));
        }
        let (key, chars) = (&args.langfuse_public_key, args.langfuse_public_key.chars().count());
        let end: String = key.chars().skip(chars.saturating_sub(KEY_CHARS)).collect();
        let server = base.split_once("://").map_or(base, |(_, rest)| rest);
        let name = format!("import-{}-{}.json", plain(server), plain(&end));
        Ok(Self(match &args.into.target.server {
            Some(into) => PathBuf::from(format!("ratchet-{}-{name}", plain(into))),
            None => Config::load(&args.into.target.config, Vec::new())?.data.join(name),
        }))
    }

    pub(super) fn shown(&self) -> String {
        self.0.display().to_string()
    }

    /// Where to go on: in the middle of a copy that was stopped, at the end of one that was not,
    /// or at the beginning.
    pub(super) fn begin(
        &self,
        args: &LangfuseArgs,
        base: &str,
        now: Timestamp,
    ) -> anyhow::Result<Checkpoint> {
        let new = |since: Option<String>, known: Known| Checkpoint {
            from: base.to_owned(),
            key: args.langfuse_public_key.clone(),
            since,
            until: now.to_string(),
            parts: BTreeMap::new(),
            score_configs: known.0,
            dataset_runs: known.1,
        };
        let Some(kept) = self.read()? else {
            return Ok(new(args.since.clone(), Known::default()));
        };
        let is_same = kept.from == base && kept.key == args.langfuse_public_key;
        ensure!(
            is_same,
            "{} belongs to an import from {} with the key {}; use another file with --checkpoint",
            self.shown(),
            kept.from,
            kept.key
        );
        if args.from_start || args.since.is_some() {
            return Ok(new(args.since.clone(), (kept.score_configs, kept.dataset_runs)));
        }
        if !kept.is_done() {
            return Ok(kept);
        }
        let until = kept.between()?.to.unwrap_or(now);
        let since = until.plus_nanos(-OVERLAP_NANOS);
        Ok(new(Some(since.to_string()), (kept.score_configs, kept.dataset_runs)))
    }

    fn read(&self) -> anyhow::Result<Option<Checkpoint>> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.shown()));
            }
        };
        let kept = serde_json::from_str(&text).with_context(|| {
            format!("{} is not a valid checkpoint; delete it to start over", self.shown())
        })?;
        Ok(Some(kept))
    }

    /// Keeps a checkpoint in place of the last, whatever happens in between.
    pub(super) fn keep(&self, checkpoint: &Checkpoint) -> io::Result<()> {
        let beside = self.0.with_extension("new");
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(checkpoint)?)?;
        file.sync_all()?;
        std::fs::rename(&beside, &self.0)
    }
}

/// A text as part of a file's name.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    text.trim_matches('/').chars().map(plain).collect()
}
