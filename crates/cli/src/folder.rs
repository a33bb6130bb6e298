use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::redact::KnownSecrets;
use ratchet_store::{Store, StoreOptions};

use crate::config::Config;

/// Opens the data folder of the configuration.
///
/// `command` is who holds the lock from now on, for the message to others.
pub(crate) fn open(config: &Config, command: &str) -> anyhow::Result<Store> {
    let holder = format!("{command}, process {}", std::process::id());
    let options = StoreOptions {
        prices: prices(&config.data)?,
        queue_len: config.store.queue,
        readers: config.store.readers,
        holder,
        known_secrets: known_secrets(),
        reserve: config.store.reserve,
    };
    Store::open(&config.data, options)
        .with_context(|| format!("cannot open the data folder {}", config.data.display()))
}

/// The keys and tokens in this process's environment, which agents are given parts of.
fn known_secrets() -> KnownSecrets {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    KnownSecrets::from_environment(std::env::vars_os().filter_map(text))
}

/// Refuses a folder that is not there: only `ratchet serve` makes new ones.
pub(crate) fn must_exist(data: &Path) -> anyhow::Result<()> {
    let is_there = data.join("catalog.db").exists();
    anyhow::ensure!(
        is_there,
        "{} is not a ratchet data folder; set one with --data, or a server with --server",
        data.display()
    );
    Ok(())
}

/// What models cost: the built-in table, and above it the files in `<data>/prices` by name.
pub(crate) fn prices(data: &Path) -> anyhow::Result<Arc<PriceTable>> {
    let mut table = PriceTable::builtin();
    for file in overrides(data, "prices")? {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let overrides = PriceTable::parse(&text)
            .with_context(|| format!("the price file {} is not valid", file.display()))?;
        table = table.with_overrides(overrides);
    }
    Ok(Arc::new(table))
}

/// The user's own files of a kind, such as `prices`: those in `<data>/<kind>` that end in .toml, by
/// name.
pub(crate) fn overrides(data: &Path, kind: &str) -> anyhow::Result<Vec<PathBuf>> {
    let folder = data.join(kind);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    Ok(files)
}
