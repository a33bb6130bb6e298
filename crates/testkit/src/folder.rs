use std::path::Path;
use std::sync::Arc;

use ratchet_store::catalog::Catalog;
use ratchet_store::disk_reserve::DiskReserve;
use ratchet_store::telemetry::Telemetry;
use ratchet_store::{Store, StoreOptions};
use tempfile::TempDir;

/// Options for test data folders: no prices, so that only provided costs are known.
pub fn options() -> StoreOptions {
    StoreOptions {
        prices: Arc::default(),
        queue_len: 256,
        readers: 2,
        holder: "a test".to_owned(),
        known_secrets: Default::default(),
        reserve: DiskReserve::default(),
    }
}

/// A temporary data folder, deleted on drop.
#[derive(Debug)]
pub struct DataFolder {
    folder: Store,
    dir: TempDir,
}

impl DataFolder {
    /// Creates and opens an empty data folder.
    pub fn new() -> Self {
        Self::with(options())
    }

    /// Creates and opens an empty data folder with these options.
    pub fn with(options: StoreOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = Store::open(dir.path(), options).unwrap();
        Self { folder, dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn folder(&self) -> &Store {
        &self.folder
    }

    pub fn telemetry(&self) -> &Telemetry {
        &self.folder.telemetry
    }

    pub fn catalog(&self) -> &Catalog {
        &self.folder.catalog
    }

    /// Closes the folder properly and opens it again.
    pub async fn reopened(self) -> Self {
        let Self { folder, dir } = self;
        folder.close().await.unwrap();
        let folder = Store::open(dir.path(), options()).unwrap();
        Self { folder, dir }
    }

    /// Closes the folder properly and leaves its files to the caller.
    pub async fn closed(self) -> TempDir {
        self.folder.close().await.unwrap();
        self.dir
    }
}

impl Default for DataFolder {
    fn default() -> Self {
        Self::new()
    }
}
