use std::fs as plain;
use std::os::unix::fs::symlink;

use ratchet_testkit::mount::SmallDisk;
use tempfile::{TempDir, tempdir};

use super::*;

const BOTH: [ResolveMethod; 2] = [ResolveMethod::Kernel, ResolveMethod::Walk];

/// A folder `inside` with a file and a folder, and a secret beside it.
fn place() -> TempDir {
    let top = tempdir().unwrap();
    plain::create_dir_all(top.path().join("inside/docs")).unwrap();
    plain::write(top.path().join("inside/docs/a.md"), "hello").unwrap();
    plain::write(top.path().join("secret"), "key").unwrap();
    top
}

fn folder(top: &TempDir, way: ResolveMethod) -> ConfinedFolder {
    ConfinedFolder::open_in(&top.path().canonicalize().unwrap().join("inside"), way).unwrap()
}

#[track_caller]
fn refused(folder: &ConfinedFolder, path: &str, expected: &str) {
    let why = folder.read(path, 100).unwrap_err().to_string();
    assert!(why.contains(expected), "{path}: {why}");
    assert!(folder.write(path, b"x").is_err() || !path.contains('/'), "{path} was written");
}

#[test]
fn files_are_read_written_listed_and_removed() {
    for way in BOTH {
        let top = place();
        let folder = folder(&top, way);
        assert_eq!(folder.read("docs/a.md", 5).unwrap().unwrap(), b"hello");
        assert_eq!(folder.read("./docs/a.md", 5).unwrap().unwrap(), b"hello");
        assert_eq!(folder.read("docs/b.md", 5).unwrap(), None);
        assert_eq!(folder.read("docs/a.md/x", 5).unwrap(), None);
        folder.write("new/deep/b.md", b"one").unwrap();
        folder.write("new/deep/b.md", b"two").unwrap();
        assert_eq!(folder.files("new", 9).unwrap(), ["deep/b.md"]);
        assert_eq!(folder.read("new/deep/b.md", 9).unwrap().unwrap(), b"two");
        folder.remove("new/deep/b.md").unwrap();
        folder.remove("new/deep/b.md").unwrap();
        assert!(!top.path().join("inside/new").exists(), "empty folders go too");
        assert_eq!(folder.files("new", 9).unwrap(), [""; 0]);
        assert!(top.path().join("inside").exists());
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    for way in BOTH {
        let top = place();
        let folder = folder(&top, way);
        let absolute = top.path().join("secret").display().to_string();
        for path in ["../secret", "docs/../../secret", &absolute, "", "..", "/etc/passwd"] {
            refused(&folder, path, "inside the workspace");
            assert!(folder.remove(path).is_err() && folder.files(path, 9).is_err());
        }
        assert_eq!(plain::read(top.path().join("secret")).unwrap(), b"key");
    }
}

#[test]
fn links_are_not_followed() {
    for way in BOTH {
        let top = place();
        let folder = folder(&top, way);
        symlink("../secret", top.path().join("inside/link")).unwrap();
        symlink(top.path(), top.path().join("inside/out")).unwrap();
        symlink("/proc/self/root", top.path().join("inside/magic")).unwrap();
        refused(&folder, "link", "symbolic link");
        refused(&folder, "out/secret", "symbolic link");
        refused(&folder, "magic/etc/passwd", "symbolic link");
        assert!(folder.files("out", 9).is_err());
        assert!(folder.remove("out/secret").is_err());
        // Writing replaces a link, and never what it points to.
        folder.write("link", b"mine").unwrap();
        assert_eq!(plain::read(top.path().join("secret")).unwrap(), b"key");
        assert_eq!(folder.read("link", 9).unwrap().unwrap(), b"mine");
        let listed = folder.files("docs", 9).unwrap();
        assert_eq!(listed, ["a.md"]);
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_during_use_is_refused() {
    for way in BOTH {
        let top = place();
        let folder = folder(&top, way);
        let (docs, aside) = (top.path().join("inside/docs"), top.path().join("inside/aside"));
        plain::create_dir(top.path().join("elsewhere")).unwrap();
        plain::write(top.path().join("elsewhere/a.md"), "secret").unwrap();
        for _ in 0..50 {
            assert_eq!(folder.read("docs/a.md", 9).unwrap().unwrap(), b"hello");
            plain::rename(&docs, &aside).unwrap();
            symlink("../elsewhere", &docs).unwrap();
            refused(&folder, "docs/a.md", "symbolic link");
            plain::remove_file(&docs).unwrap();
            plain::rename(&aside, &docs).unwrap();
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn whoever_swaps_without_rest_gets_nothing_from_outside() {
    use rustix::fs::RenameFlags;
    for way in BOTH {
        let top = place();
        let folder = folder(&top, way);
        let docs = top.path().join("inside/docs");
        let link = top.path().join("inside/link");
        plain::create_dir(top.path().join("elsewhere")).unwrap();
        plain::write(top.path().join("elsewhere/a.md"), "secret").unwrap();
        symlink("../elsewhere", &link).unwrap();
        std::thread::scope(|scope| {
            let swapping = scope.spawn(|| {
                for _ in 0..4_000 {
                    fs::renameat_with(fs::CWD, &docs, fs::CWD, &link, RenameFlags::EXCHANGE)
                        .unwrap();
                }
            });
            while !swapping.is_finished() {
                if let Ok(Some(read)) = folder.read("docs/a.md", 9) {
                    assert_eq!(read, b"hello");
                }
                let _written = folder.write("docs/new.md", b"x");
            }
        });
        assert!(!top.path().join("elsewhere/new.md").exists());
    }
}

#[test]
fn a_folder_that_is_moved_away_stays_the_one_that_was_opened() {
    let top = place();
    let folder = folder(&top, ResolveMethod::Kernel);
    plain::rename(top.path().join("inside"), top.path().join("moved")).unwrap();
    plain::create_dir(top.path().join("inside")).unwrap();
    folder.write("b.md", b"x").unwrap();
    assert!(top.path().join("moved/b.md").exists());
}

#[test]
fn other_disks_are_not_entered() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    plain::write(disk.path().join("a.md"), "other disk").unwrap();
    let parent = disk.path().parent().unwrap().canonicalize().unwrap();
    let name = disk.path().file_name().unwrap().to_str().unwrap();
    for way in BOTH {
        let folder = ConfinedFolder::open_in(&parent, way).unwrap();
        refused(&folder, &format!("{name}/a.md"), "another disk is mounted");
        assert!(folder.folder(Path::new(name)).is_err());
        // By its own name it may be opened: then it is the root.
        let own = ConfinedFolder::open_in(&parent.join(name), way).unwrap();
        assert_eq!(own.read("a.md", 99).unwrap().unwrap(), b"other disk");
    }
}

#[test]
fn only_plain_files_of_some_length_are_read() {
    for way in BOTH {
        let top = place();
        let folder = folder(&top, way);
        refused(&folder, "docs", "not a file");
        let made =
            std::process::Command::new("mkfifo").arg(top.path().join("inside/pipe")).status();
        assert!(made.unwrap().success());
        refused(&folder, "pipe", "not a file");
        let why = folder.read("docs/a.md", 4).unwrap_err().to_string();
        assert_eq!(why, "docs/a.md: more than 4 bytes");
        for n in 0..4 {
            folder.write(&format!("many/{n}"), b"").unwrap();
        }
        assert!(folder.files("many", 3).is_err());
        assert_eq!(folder.files("many", 4).unwrap().len(), 4);
    }
}

#[test]
fn the_way_to_a_folder_has_no_links() {
    let top = place();
    let real = top.path().canonicalize().unwrap();
    symlink(real.join("inside"), real.join("link")).unwrap();
    for way in BOTH {
        assert!(ConfinedFolder::open_in(&real.join("link"), way).is_err());
        assert!(ConfinedFolder::open_in(&real.join("link/docs"), way).is_err());
        assert!(ConfinedFolder::open_in(&real.join("secret"), way).is_err());
    }
}
