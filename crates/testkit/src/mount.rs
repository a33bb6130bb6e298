use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::say;

/// A small file system in memory, gone with the value.
#[derive(Debug)]
pub struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// Mounts a disk of so many kilobytes. `None` where that takes rights we do not have; says so
    /// loudly, since a test is skipped for it.
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

    /// Makes it larger or smaller, or readable only: `size=64m`, `ro`, `rw`.
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
        // Lazily: a process that is still dying must not keep it.
        drop(Command::new("umount").arg("-l").arg(self.path()).output());
    }
}

/// A folder that is seen in a second place, until the value is gone.
#[derive(Debug)]
pub struct BindMount(PathBuf);

impl BindMount {
    /// Shows a folder in the place of another. `None` where that takes rights we do not have; says
    /// so loudly, since a test is skipped for it.
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
