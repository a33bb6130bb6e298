//! Backups of a data folder, as a folder of files with a manifest of checksums.

pub use crate::embedded::{
    BackupFile, BackupOutline, BackupReport, BackupSecrets, FileDigest, MANIFEST_FILE, Manifest,
    ManifestFile, Proof, is_backup_path, restore,
};
