use std::ffi::OsString;
use std::path::Path;

use anyhow::Context;
use ratchet_core::record::redact::KnownSecrets;
use ratchet_stages::user_files;
use ratchet_store::{Store, StoreOptions};

use crate::config::Config;

/// Opens the data folder of the configuration.
///
/// `command` is who holds the lock from now on, for the message to others.
pub(crate) fn open(config: &Config, command: &str) -> anyhow::Result<Store> {
    let holder = format!("{command}, process {}", std::process::id());
    let options = StoreOptions {
        prices: user_files::prices(&config.data)?,
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
