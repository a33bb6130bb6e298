use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::value::ConfigPath;

/// The old default: the current folder.
const OLD_DEFAULT: &str = "./ratchet-data";

/// The default data folder: the platform's data directory, or the old default
/// if it exists.
pub(super) fn default() -> ConfigPath {
    let old = PathBuf::from(OLD_DEFAULT);
    let is_there = old.join("catalog.db").exists();
    let new = || of_platform(std::env::var_os("XDG_DATA_HOME"), std::env::home_dir());
    ConfigPath(if is_there { old } else { new().unwrap_or_else(|| PathBuf::from(OLD_DEFAULT)) })
}

/// Warns on stderr that the old default folder is used.
pub(super) fn warn_of_old_default(data: &Path) {
    if data != Path::new(OLD_DEFAULT) {
        return;
    }
    let Some(new) = of_platform(std::env::var_os("XDG_DATA_HOME"), std::env::home_dir()) else {
        return;
    };
    eprintln!(
        "ratchet: using the existing {OLD_DEFAULT}; the default data folder is now {new}, outside agent workspaces: stop the server, then `mv {OLD_DEFAULT} {new}`, or set --data",
        new = new.display()
    );
}

/// The platform's place for a program's data: `$XDG_DATA_HOME` if it is set (and absolute, as its
/// specification has it), else a folder of the user's home. `None` without a home.
fn of_platform(xdg: Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let xdg = xdg.map(PathBuf::from).filter(|path| path.is_absolute());
    let usual =
        if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
    let home = home.filter(|home| home.is_absolute());
    let data = xdg.or_else(|| Some(home?.join(usual)))?;
    Some(data.join("ratchet"))
}

#[cfg(all(test, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(xdg: Option<&str>, home: Option<&str>, expected: Option<&str>) {
        let found = of_platform(xdg.map(OsString::from), home.map(PathBuf::from));
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    fn data_lies_where_the_platform_keeps_it() {
        check(Some("/x"), Some("/h/a"), Some("/x/ratchet"));
        check(None, Some("/h/a"), Some("/h/a/.local/share/ratchet"));
        check(Some("relative"), Some("/h/a"), Some("/h/a/.local/share/ratchet"));
        check(Some(""), None, None);
    }
}
