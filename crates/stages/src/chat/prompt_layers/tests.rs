use std::fs;

use ratchet_core::chat::workspace::{Roots, WorkspaceSource};
use tempfile::{TempDir, tempdir};

use super::*;

fn place() -> (TempDir, LayerFolders, WorkFolder) {
    let top = tempdir().unwrap();
    let real = top.path().canonicalize().unwrap();
    for folder in ["platform/prompts", "user/prompts", "work"] {
        fs::create_dir_all(real.join(folder)).unwrap();
    }
    let layers =
        LayerFolders { platform: Some(real.join("platform")), user: Some(real.join("user")) };
    let work = WorkFolder::open(&real.join("work"), &Roots::default(), WorkspaceSource::OwnMachine)
        .unwrap();
    (top, layers, work)
}

fn server(command: &str) -> String {
    format!(r#"{{"mcpServers": {{"lake": {{"command": "{command}"}}}}}}"#)
}

#[test]
fn three_layers_of_files_become_one_configuration() {
    let (top, layers, work) = place();
    assert!(layers.servers(&work, Trust::Trusted).unwrap().is_empty());
    let lake = |trust| layers.servers(&work, trust).unwrap().config()["mcpServers"]["lake"].clone();
    fs::write(top.path().join("platform/mcp.json"), server("one")).unwrap();
    assert_eq!(lake(Trust::Trusted)["command"], "one");
    assert_eq!(lake(Trust::Trusted)["env"]["WORKSPACE_PATH"], work.path().to_str().unwrap());
    fs::write(top.path().join("user/mcp.json"), server("two")).unwrap();
    assert_eq!(lake(Trust::Trusted)["command"], "two");
    fs::write(top.path().join("work/.mcp.json"), server("three")).unwrap();
    assert_eq!(lake(Trust::Trusted)["command"], "three");
    assert_eq!(lake(Trust::Untrusted)["command"], "two");
}

#[test]
fn bad_files_are_named_with_their_place() {
    let (top, layers, work) = place();
    fs::write(top.path().join("user/mcp.json"), "{").unwrap();
    fs::write(top.path().join("platform/mcp.json"), r#"{"mcpServers": {"a": {}}}"#).unwrap();
    let why = layers.servers(&work, Trust::Untrusted).unwrap_err().to_string();
    assert!(why.contains("user/mcp.json: EOF"), "{why}");
    assert!(why.contains("platform/mcp.json: mcpServers.a: needs a command"), "{why}");
}

#[test]
fn a_workspace_cannot_have_another_file_read_for_its_own() {
    let (top, layers, work) = place();
    fs::write(top.path().join("user/secret.json"), server("stolen")).unwrap();
    std::os::unix::fs::symlink("../user/secret.json", top.path().join("work/.mcp.json")).unwrap();
    let why = layers.servers(&work, Trust::Trusted).unwrap_err().to_string();
    assert!(why.contains("symbolic link"), "{why}");
    assert!(layers.servers(&work, Trust::Untrusted).unwrap().is_empty());
}

#[test]
fn the_words_are_the_users_else_the_platforms_else_ours() {
    let (top, layers, _) = place();
    assert_eq!(layers.base_prompt().unwrap(), system_prompt::SHIPPED);
    fs::write(top.path().join("platform/prompts/chat-system.md"), "theirs").unwrap();
    assert_eq!(layers.base_prompt().unwrap(), "theirs");
    fs::write(top.path().join("user/prompts/chat-system.md"), "mine").unwrap();
    assert_eq!(layers.base_prompt().unwrap(), "mine");
    fs::write(top.path().join("user/prompts/chat-system.md"), b"\xff").unwrap();
    assert!(layers.base_prompt().unwrap_err().to_string().contains("not UTF-8"));
}
