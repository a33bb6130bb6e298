use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use ratchet_testkit::mount::{BindMount, SmallDisk};
use tempfile::{TempDir, tempdir};

use super::*;

/// A root with a workspace, and a folder beside the root.
fn place() -> (TempDir, PathBuf) {
    let top = tempdir().unwrap();
    let real = top.path().canonicalize().unwrap();
    fs::create_dir_all(real.join("top/work")).unwrap();
    fs::create_dir_all(real.join("other")).unwrap();
    (top, real)
}

fn root(of: &Path) -> Roots {
    Roots::new([of.join("top")]).unwrap()
}

fn open(named: &Path, roots: &Roots) -> Result<WorkFolder, WorkFolderError> {
    WorkFolder::open(named, roots, WorkspaceSource::Network)
}

fn own_machine(data: Option<PathBuf>) -> Boundary {
    Boundary { roots: Roots::default(), workspace_source: WorkspaceSource::OwnMachine, data }
}

#[track_caller]
fn refused(named: &Path, roots: &Roots, expected: &str) {
    let why = open(named, roots).unwrap_err().to_string();
    assert!(why.contains(expected), "{}: {why}", named.display());
}

#[test]
fn a_folder_under_a_root_is_opened_however_it_is_named() {
    let (_top, real) = place();
    symlink(real.join("top/work"), real.join("link")).unwrap();
    for name in ["top/work", "top/./work", "top/work/../work", "other/../top/work", "link"] {
        let work = open(&real.join(name), &root(&real)).unwrap();
        assert_eq!(work.path(), real.join("top/work"), "{name}");
        work.check().unwrap();
    }
    let work = open(&real.join("top"), &root(&real)).unwrap();
    assert_eq!(work.path(), real.join("top"));
}

#[test]
fn what_is_outside_is_refused_and_nothing_is_told_of_it() {
    let (_top, real) = place();
    symlink(real.join("other"), real.join("top/out")).unwrap();
    let outside = "under none of the folders";
    for name in ["other", "top/../other", "top/out", "top/work/../../other", "no-such", ""] {
        refused(&real.join(name), &root(&real), outside);
    }
    refused(Path::new("/"), &root(&real), outside);
    refused(&real.join("top/no-such"), &root(&real), "No such file");
    refused(&real.join("top/work"), &Roots::new([real.join("no-root")]).unwrap(), outside);
}

#[test]
fn without_roots_only_this_machine_may_name_a_folder() {
    let (_top, real) = place();
    let none = Roots::default();
    let here = WorkFolder::open(&real.join("other"), &none, WorkspaceSource::OwnMachine).unwrap();
    assert_eq!(here.path(), real.join("other"));
    refused(&real.join("other"), &none, "has no workspace roots");
    refused(&real.join("no-such"), &none, "has no workspace roots");
}

#[test]
fn a_workspace_that_is_swapped_is_noticed_at_the_next_use() {
    let (_top, real) = place();
    let work = open(&real.join("top/work"), &root(&real)).unwrap();
    fs::rename(real.join("top/work"), real.join("top/old")).unwrap();
    assert!(work.check().is_err(), "it is gone");
    symlink(real.join("other"), real.join("top/work")).unwrap();
    let why = work.check().unwrap_err().to_string();
    assert!(why.contains("symbolic link"), "{why}");
    fs::remove_file(real.join("top/work")).unwrap();
    fs::create_dir(real.join("top/work")).unwrap();
    let why = work.check().unwrap_err().to_string();
    assert!(why.contains("not the folder any more"), "{why}");
}

#[test]
fn a_path_that_leads_elsewhere_by_now_is_refused() {
    let (_top, real) = place();
    let boundary = own_machine(None);
    let path = boundary.open(&real.join("top/work"), WorkspaceSource::OwnMachine).unwrap().path();
    assert_eq!(boundary.reopen(&path, WorkspaceSource::OwnMachine).unwrap().path(), path);
    fs::rename(&path, real.join("top/old")).unwrap();
    symlink(real.join("other"), &path).unwrap();
    let why = boundary.reopen(&path, WorkspaceSource::OwnMachine).unwrap_err().to_string();
    assert!(why.contains("not the folder any more"), "{why}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_starts_in_the_folder_that_was_opened() {
    let (_top, real) = place();
    let work = open(&real.join("top/work"), &root(&real)).unwrap();
    fs::rename(real.join("top/work"), real.join("top/old")).unwrap();
    symlink(real.join("other"), real.join("top/work")).unwrap();
    let ran =
        Command::new("pwd").current_dir(work.start_path()).env_remove("PWD").output().unwrap();
    let output = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(Path::new(output.trim()), real.join("top/old"));
}

#[test]
fn a_disk_mounted_under_a_root_is_refused() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let real = disk.path().canonicalize().unwrap();
    let roots = Roots::new([real.parent().unwrap().to_owned()]).unwrap();
    refused(&real, &roots, "another disk is mounted");
    let named = Roots::new([real.clone()]).unwrap();
    assert_eq!(open(&real, &named).unwrap().path(), real);
}

#[test]
fn the_data_folder_and_what_is_around_it_are_no_workspace() {
    let (_top, real) = place();
    fs::create_dir_all(real.join("top/data/chats")).unwrap();
    symlink(real.join("top/data"), real.join("other/link")).unwrap();
    let data = Some(real.join("top/data"));
    let rooted = Boundary {
        roots: Roots::new([real.clone()]).unwrap(),
        workspace_source: WorkspaceSource::Network,
        data: data.clone(),
    };
    for (boundary, by) in
        [(own_machine(data), WorkspaceSource::OwnMachine), (rooted, WorkspaceSource::Network)]
    {
        for name in ["", "top", "top/data", "top/data/chats", "other/link", "top/work/../data"] {
            let why = boundary.open(&real.join(name), by).unwrap_err().to_string();
            assert!(why.contains("own data folder"), "{name}: {why}");
        }
        for name in ["top/work", "other"] {
            let path = boundary.open(&real.join(name), by).unwrap().path();
            boundary.reopen(&path, by).unwrap();
        }
    }
}

#[test]
fn nor_is_the_system() {
    for path in ["/", "/proc", "/dev/../proc", "/dev"] {
        let why = own_machine(None).open(Path::new(path), WorkspaceSource::OwnMachine);
        let why = why.unwrap_err().to_string();
        assert!(why.contains("is never a workspace"), "{path}: {why}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn nor_is_a_data_folder_that_is_mounted_elsewhere() {
    let (_top, real) = place();
    fs::create_dir_all(real.join("top/data/chats")).unwrap();
    let Some(_mount) = BindMount::new(&real.join("top"), &real.join("other")) else { return };
    let boundary = own_machine(Some(real.join("top/data")));
    for name in ["other", "other/data", "other/data/chats"] {
        let why =
            boundary.open(&real.join(name), WorkspaceSource::OwnMachine).unwrap_err().to_string();
        assert!(why.contains("own data folder"), "{name}: {why}");
    }
    boundary.open(&real.join("other/work"), WorkspaceSource::OwnMachine).unwrap();
}
