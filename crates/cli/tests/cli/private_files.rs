use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ratchet_testkit::http;
use ratchet_testkit::otlp::{request, span};
use ratchet_testkit::process::Signal;

use crate::{ok, ratchet, server};

/// Everything in a folder, and the folder itself.
fn tree(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap();
        found.extend(entries.flat_map(|entry| tree(&entry.unwrap().path())));
    }
    found
}

/// Checks that only the owner can use a folder and what is in it.
#[track_caller]
pub(crate) fn assert_private(folder: &Path) {
    let paths = tree(folder);
    assert!(paths.len() > 2, "there is something to look at");
    for path in paths {
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "others can use {}: {mode:o}", path.display());
    }
}

#[test]
fn nobody_but_the_owner_can_read_data_and_backups() {
    let top = tempfile::tempdir().unwrap();
    let (data, copy, again) =
        (top.path().join("data"), top.path().join("copy"), top.path().join("again"));
    let running = server(&data).start();
    let batch = request("shop").with(span(1, 1)).to_protobuf();
    assert_eq!(running.send(http::post("/v1/traces").protobuf(batch)).status, 200);
    assert_private(&data);
    let key = |launch: ratchet_testkit::process::Launch| {
        launch.env("RATCHET_PUBLIC_KEY", "pk-lf-test").env("RATCHET_SECRET_KEY", "sk-lf-test")
    };
    ok(key(ratchet(&["backup", "--server", running.web()]).arg(&copy)));
    assert_private(&copy);
    running.signal(Signal::TERM);
    running.wait();
    ok(ratchet(&["restore"]).arg(&copy).arg("--data").arg(&again));
    assert_private(&again);
}

#[test]
fn a_folder_that_was_open_to_others_is_closed_to_them() {
    let data = crate::folder();
    for path in tree(data.path()) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let running = server(data.path()).start();
    assert_private(data.path());
    assert!(running.log().contains("restricted the data folder to its owner"), "{}", running.log());
}
