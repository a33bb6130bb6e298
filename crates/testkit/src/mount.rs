use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::say;

/// A small tmpfs, unmounted on drop.
#[derive(Debug)]
pub struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// Mounts a tmpfs of so many kilobytes. `None` without the privileges; prints that, since a
    /// test is skipped for it.
    pub fn mount(kilobytes: u32) -> Option<Self> {
        let disk = Self { dir: tempfile::tempdir().unwrap() };
        let size = format!("size={kilobytes}k");
        let mounted = mount(&["-t", "tmpfs", "-o", &size, "tmpfs"], disk.path());
        if let Err(why) = &mounted {
            say(&format!("SKIPPED, because a small disk cannot be mounted (run as root): {why}"));
        }
        mounted.ok().map(|()| disk)
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn folder(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Remounts with options: `size=64m`, `ro`, `rw`.
    pub fn remount(&self, options: &str) {
        mount(&["-o", &format!("remount,{options}")], self.path()).unwrap();
    }
}

fn mount(arguments: &[&str], at: &Path) -> Result<(), String> {
    let run = Command::new("mount").args(arguments).arg(at).output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    if run.status.success() { Ok(()) } else { Err(said) }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that is still ending must not block it.
        drop(Command::new("umount").arg("-l").arg(self.path()).output());
    }
}

/// A bind mount, unmounted on drop.
#[derive(Debug)]
pub struct BindMount(PathBuf);

impl BindMount {
    /// Bind-mounts a folder. `None` without the privileges; prints that, since a test is skipped
    /// for it.
    pub fn new(folder: &Path, at: &Path) -> Option<Self> {
        let from = folder.to_str().unwrap();
        match mount(&["--bind", from], at) {
            Ok(()) => Some(Self(at.to_owned())),
            Err(why) => {
                say(&format!("SKIPPED, because a folder cannot be mounted (run as root): {why}"));
                None
            }
        }
    }
}

impl Drop for BindMount {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).output());
    }
}
