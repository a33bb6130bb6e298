//! Where an agent may work: folders under allowed roots, and nothing that leads out of them.
//!
//! What is decided here is decided on canonical paths, of which symbolic links and `..` are gone
//! already. They must then be opened step by step from the root, since a path may have
//! come to mean something else meanwhile.

use std::path::{Component, Path, PathBuf};

/// System folders that are never a workspace, nor anything in them: what is there is no file, or
/// leads to those of other processes.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Who names the folder that an agent is to work in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceSource {
    /// The local user, who could open the folder anyway: `ratchet chat`, or a
    /// server without sign-in, which only this machine reaches.
    OwnMachine,
    /// A client with a key, or a signed-in user.
    #[default]
    Network,
}

/// Folders under which agents may work. Invariant: absolute paths without `.` and `..`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots(Vec<PathBuf>);

/// A folder that an agent may work in, as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedWorkspace {
    root: PathBuf,
    inside: PathBuf,
}

/// Why an agent may not work there, or not reach that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoundaryError {
    /// A root must mean the same wherever the server was started.
    #[error("the root {} must be an absolute path without '.' and '..'", .0.display())]
    BadRoot(PathBuf),
    /// A remote client, and no workspace roots are configured.
    #[error(
        "this server has no workspace roots: name the folders that agents may work in as \
         chat.roots in ratchet.toml, or as RATCHET_CHAT_ROOTS; `ratchet chat` on the server's own \
         machine needs none"
    )]
    NoRoots,
    #[error("the workspace is under none of the folders that agents may work in (chat.roots)")]
    Outside,
    /// The whole machine, or what stands for its processes and devices.
    #[error(
        "{} is never a workspace: it holds the system itself; name a folder that holds only what \
         the agent works on", .0.display()
    )]
    System(PathBuf),
    /// The data folder, something in it or something around it.
    #[error(
        "the workspace is, holds or lies in Ratchet's own data folder, whose secrets no agent may \
         read: choose another workspace, or stop ratchet, move the data folder and name it with \
         --data or RATCHET_DATA"
    )]
    DataFolder,
    /// A path that leads out of a workspace, or nowhere.
    #[error("must be a relative path inside the workspace, without '..'")]
    LeadsOut,
}

impl Roots {
    /// Takes folders as they were configured.
    ///
    /// # Errors
    /// Names the first that is no absolute path, or is one with `..` in it.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Result<Self, BoundaryError> {
        let check = |path: PathBuf| match is_plain(&path) {
            true => Ok(path),
            false => Err(BoundaryError::BadRoot(path)),
        };
        paths.into_iter().map(check).collect::<Result<_, _>>().map(Self)
    }

    /// Whether none was named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The folders.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// Decides whether an agent may work in a folder, given its canonical path.
    ///
    /// With no roots the folder is its own root, provided that someone at this machine names it.
    /// Of nested roots the innermost counts: the way down from there is shortest.
    ///
    /// # Errors
    /// The folder is under no root, there are none and others ask, or it is the system's.
    pub fn admit(
        &self,
        canonical: &Path,
        workspace_source: WorkspaceSource,
    ) -> Result<AllowedWorkspace, BoundaryError> {
        if !is_plain(canonical) {
            return Err(BoundaryError::Outside);
        }
        if self.is_empty() {
            return match workspace_source {
                WorkspaceSource::OwnMachine if is_system(canonical) => {
                    Err(BoundaryError::System(canonical.to_owned()))
                }
                WorkspaceSource::OwnMachine => {
                    Ok(AllowedWorkspace { root: canonical.to_owned(), inside: PathBuf::new() })
                }
                WorkspaceSource::Network => Err(BoundaryError::NoRoots),
            };
        }
        let around = self.iter().filter(|root| canonical.starts_with(root));
        let root = around.max_by_key(|root| root.components().count());
        let root = root.ok_or(BoundaryError::Outside)?;
        if is_system(canonical) {
            return Err(BoundaryError::System(canonical.to_owned()));
        }
        let inside = canonical.strip_prefix(root).map_err(|_| BoundaryError::Outside)?;
        Ok(AllowedWorkspace { root: root.to_owned(), inside: inside.to_owned() })
    }
}

impl AllowedWorkspace {
    /// The root it is under.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The way down from there; empty if it is the root itself.
    pub fn inside(&self) -> &Path {
        &self.inside
    }

    /// The whole path.
    pub fn path(&self) -> PathBuf {
        // Joining an empty path would add a slash.
        if self.inside.as_os_str().is_empty() {
            return self.root.clone();
        }
        self.root.join(&self.inside)
    }
}

/// Whether a folder is the whole machine's, or stands for its processes and devices.
fn is_system(canonical: &Path) -> bool {
    canonical.parent().is_none() || SYSTEM.iter().any(|system| canonical.starts_with(system))
}

/// Whether two canonical paths are the same folder, or one is around the other.
pub fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Whether a path is absolute and every part of it a name.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    let is_absolute = parts.next() == Some(Component::RootDir);
    is_absolute && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Checks a path inside a workspace and takes it apart into names.
///
/// # Errors
/// The path is absolute, empty, has `..` in it, or bytes that no name has.
pub fn names_inside(path: &str) -> Result<Vec<&str>, BoundaryError> {
    let part = |part| match part {
        Component::Normal(name) => name.to_str().ok_or(BoundaryError::LeadsOut),
        _ => Err(BoundaryError::LeadsOut),
    };
    if path.contains('\0') {
        return Err(BoundaryError::LeadsOut);
    }
    // A leading `./` is what shells and people write.
    let path = path.strip_prefix("./").unwrap_or(path);
    let names: Vec<&str> = Path::new(path).components().map(part).collect::<Result<_, _>>()?;
    if names.is_empty() { Err(BoundaryError::LeadsOut) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn roots(paths: &[&str]) -> Roots {
        Roots::new(paths.iter().map(PathBuf::from)).unwrap()
    }

    #[track_caller]
    fn admits(roots: &Roots, path: &str, root: &str, inside: &str) {
        let admitted = roots.admit(Path::new(path), WorkspaceSource::Network).unwrap();
        assert_eq!((admitted.root(), admitted.inside()), (Path::new(root), Path::new(inside)));
        assert_eq!(admitted.path(), Path::new(path));
    }

    #[test]
    fn folders_under_a_root_are_admitted() {
        let roots = roots(&["/srv/work", "/srv/work/ada", "/opt"]);
        admits(&roots, "/srv/work", "/srv/work", "");
        admits(&roots, "/srv/work/bob/site", "/srv/work", "bob/site");
        admits(&roots, "/srv/work/ada/site", "/srv/work/ada", "site");
    }

    #[test]
    fn others_are_refused() {
        let roots = roots(&["/srv/work"]);
        for path in ["/srv/workshop", "/srv", "/", "/srv/work/../etc", "srv/work", ""] {
            let refused = roots.admit(Path::new(path), WorkspaceSource::OwnMachine);
            assert_eq!(refused, Err(BoundaryError::Outside), "{path}");
        }
    }

    #[test]
    fn without_roots_only_this_machine_may_name_one() {
        let (none, home) = (Roots::default(), Path::new("/srv/ada"));
        assert_eq!(none.admit(home, WorkspaceSource::OwnMachine).unwrap().root(), home);
        assert_eq!(none.admit(home, WorkspaceSource::Network), Err(BoundaryError::NoRoots));
    }

    #[test]
    fn the_system_is_never_a_workspace() {
        let everything = roots(&["/"]);
        for path in ["/", "/proc", "/proc/1/root", "/sys", "/dev/shm"] {
            let system = Err(BoundaryError::System(PathBuf::from(path)));
            assert_eq!(everything.admit(Path::new(path), WorkspaceSource::Network), system);
            assert_eq!(
                Roots::default().admit(Path::new(path), WorkspaceSource::OwnMachine),
                system
            );
        }
        for path in ["/process", "/srv/proc", "/srv/ada"] {
            admits(&everything, path, "/", path.trim_start_matches('/'));
        }
    }

    #[test]
    fn folders_overlap_if_one_is_around_the_other() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(overlap(Path::new(one), Path::new(other)), expected, "{one} {other}");
            assert_eq!(overlap(Path::new(other), Path::new(one)), expected, "{other} {one}");
        };
        check("/a/data", "/a/data", true);
        check("/a/data", "/a", true);
        check("/a/data", "/", true);
        check("/a/data", "/a/data/chats/x", true);
        check("/a/data", "/a/database", false);
        check("/a/data", "/b", false);
    }

    #[test]
    fn roots_are_absolute() {
        for path in ["work", "./work", "/srv/../etc", ""] {
            assert!(Roots::new([PathBuf::from(path)]).is_err(), "{path}");
        }
    }

    #[test]
    fn paths_inside_are_names() {
        assert_eq!(names_inside("./docs//a b.md"), Ok(vec!["docs", "a b.md"]));
        for path in ["", ".", "/etc/passwd", "../x", "a/../../x", "a\0b", "..", "./.."] {
            assert_eq!(names_inside(path), Err(BoundaryError::LeadsOut), "{path:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_admitted_is_under_its_root(path in "(/[a-c.]{1,2}){0,5}") {
            let roots = roots(&["/a", "/a/b", "/c/c"]);
            if let Ok(admitted) = roots.admit(Path::new(&path), WorkspaceSource::Network) {
                prop_assert!(roots.iter().any(|root| root == admitted.root()));
                let mut parts = admitted.inside().components();
                prop_assert!(parts.all(|part| matches!(part, Component::Normal(_))));
                prop_assert_eq!(admitted.path(), Path::new(&path));
            }
        }

        #[test]
        fn names_lead_down(path in "[a./\\\\]{0,12}") {
            if let Ok(names) = names_inside(&path) {
                prop_assert!(names.iter().all(|name| !name.contains('/') && *name != ".."));
            }
        }
    }
}
