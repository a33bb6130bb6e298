use ratchet_testkit::process::Launch;
use serde_json::Value;

use crate::{fails, json, ok, ratchet};

fn show() -> Launch {
    ratchet(&["config", "show"])
}

/// Value and source of one setting.
#[track_caller]
fn setting(shown: &Value, key: &str) -> (String, String) {
    let is_wanted = |setting: &&Value| setting["key"] == key;
    let setting = shown.as_array().unwrap().iter().find(is_wanted).unwrap();
    let text = |name: &str| setting[name].as_str().unwrap().to_owned();
    (text("value"), text("source"))
}

#[track_caller]
fn check(launch: Launch, key: &str, value: &str, source: &str) {
    assert_eq!(setting(&json(launch), key), (value.to_owned(), source.to_owned()));
}

#[test]
fn defaults_work_with_no_file() {
    insta::assert_snapshot!(ok(show().env("XDG_DATA_HOME", "/srv")));
}

#[test]
fn a_data_folder_of_the_old_default_is_used_and_told_how_to_move() {
    let elsewhere = || show().env("XDG_DATA_HOME", "/srv");
    check(elsewhere(), "data", "/srv/ratchet", "default");
    check(elsewhere().file("ratchet-data/notes", ""), "data", "/srv/ratchet", "default");
    let old = || elsewhere().file("ratchet-data/catalog.db", "");
    check(old(), "data", "./ratchet-data", "default");
    let output = old().run().stderr;
    assert!(output.contains("mv ./ratchet-data /srv/ratchet"), "{output}");
    let named = old().args(["--data", "./ratchet-data"]).run().stderr;
    assert_eq!(named, "", "who names a folder knows where it is");
}

#[test]
fn the_environment_beats_the_file_and_the_file_beats_the_default() {
    let file = "[limits]\nbody = \"1 MB\"\n";
    check(show(), "limits.body", "20 MB", "default");
    check(show().file("ratchet.toml", file), "limits.body", "1 MB", "file ./ratchet.toml");
    check(
        show().file("ratchet.toml", file).env("RATCHET_LIMITS_BODY", "2 MB"),
        "limits.body",
        "2 MB",
        "environment RATCHET_LIMITS_BODY",
    );
}

#[test]
fn a_flag_beats_everything() {
    let launch = ratchet(&["config", "show", "--data", "typed"])
        .env("RATCHET_DATA", "from-env")
        .file("ratchet.toml", "data = \"from-file\"");
    check(launch, "data", "typed", "flag --data");
}

#[test]
fn an_empty_variable_is_not_set() {
    check(show().env("RATCHET_LISTEN", ""), "listen", "127.0.0.1:3000", "default");
}

#[test]
fn the_data_folder_has_a_file_too_and_the_current_folder_beats_it() {
    let data = tempfile::tempdir().unwrap();
    let theirs = data.path().join("ratchet.toml");
    std::fs::write(&theirs, "listen = \"127.0.0.1:1\"\n[limits]\ndepth = 7").unwrap();
    let both =
        || show().arg("--data").arg(data.path()).file("ratchet.toml", "listen = \"127.0.0.1:2\"");
    check(both(), "listen", "127.0.0.1:2", "file ./ratchet.toml");
    check(both(), "limits.depth", "7", &format!("file {}", theirs.display()));
}

#[test]
fn a_data_folder_cannot_move_itself() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("ratchet.toml"), "data = \"elsewhere\"").unwrap();
    let message = fails(show().env("RATCHET_DATA", data.path()), 1);
    assert!(message.contains("not allowed in the data folder"), "{message}");
}

#[test]
fn a_named_file_replaces_the_usual_ones() {
    let launch = || {
        show()
            .file("ratchet.toml", "listen = \"127.0.0.1:1\"")
            .file("mine.toml", "[store]\nreaders = 9")
    };
    check(launch().args(["--config", "mine.toml"]), "store.readers", "9", "file mine.toml");
    check(launch().args(["--config", "mine.toml"]), "listen", "127.0.0.1:3000", "default");
    check(launch().env("RATCHET_CONFIG", "mine.toml"), "store.readers", "9", "file mine.toml");
    let message = fails(launch().args(["--config", "none.toml"]), 1);
    assert!(message.contains("cannot read the configuration file none.toml"), "{message}");
}

#[test]
fn mistakes_in_a_file_name_the_key_and_the_file() {
    let message = |file: &str| fails(show().file("ratchet.toml", file), 1);
    insta::assert_snapshot!(message("[limits]\nbdoy = 1"), @"ratchet: ./ratchet.toml sets unknown setting `limits.bdoy`; see `ratchet config show` for all settings");
    insta::assert_snapshot!(message("listen = 3000"), @r#"ratchet: `listen` is "3000" (file ./ratchet.toml) but must be an address such as 127.0.0.1:3000"#);
    insta::assert_snapshot!(message("[limits]\nbody = 1.5"), @r"
    ratchet: in ./ratchet.toml
      because: `limits.body` must be a string, a whole number or true/false
    ");
    assert!(message("listen = ").contains("./ratchet.toml is not valid TOML"));
}

#[test]
fn a_wrong_variable_is_named_and_a_misspelt_one_is_told() {
    let message = fails(show().env("RATCHET_TIMEOUTS_DRAIN", "10"), 1);
    insta::assert_snapshot!(message, @r#"ratchet: `timeouts.drain` is "10" (environment RATCHET_TIMEOUTS_DRAIN) but must be a time such as 10 s, 500 ms or 5 min"#);
    let output = show().env("RATCHET_LISTN", "x").run();
    assert_eq!(output.code, Some(0));
    assert_eq!(output.stderr, "ratchet: unknown setting RATCHET_LISTN is ignored\n");
}

#[test]
fn secrets_are_not_shown() {
    let launch =
        || show().env("RATCHET_SECRET_KEY", "hush").env("RATCHET_INIT_OWNER_PASSWORD", "hush");
    check(launch(), "secret_key", "***", "environment RATCHET_SECRET_KEY");
    assert!(!ok(launch()).contains("hush"));
}
