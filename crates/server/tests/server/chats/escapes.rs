use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ratchet_core::id::SessionId;
use ratchet_server::app::{Access, Settings};
use ratchet_stages::chat::ChatLimits;
use ratchet_store::catalog::{Permission, Role};
use ratchet_testkit::mount::SmallDisk;
use serde_json::{Value, json};
use tempfile::tempdir;

use super::Stage;
use crate::agents::{run_agents, run_agents_under};
use crate::harness::{TestServer, project, public_key};

/// A text outside of every workspace.
const SECRET: &str = "the safe is behind the picture";

impl Stage {
    fn top(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap()
    }

    /// A folder outside of all roots, with a secret.
    fn outside(&self) -> PathBuf {
        let outside = self.top().join("outside");
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("secret.md"), SECRET).unwrap();
        outside
    }

    #[track_caller]
    fn check_nothing_told(&self, response: &Value) {
        assert!(!response.to_string().contains("picture"), "{response}");
    }

    /// Everything stored of a chat.
    async fn settings(&self, chat: &str) -> String {
        let id = SessionId::parse(chat).unwrap();
        let chat = self.server.app.store.catalog.chat(project(), id).await.unwrap().unwrap();
        chat.settings.as_str().to_owned()
    }
}

#[tokio::test]
async fn no_name_of_a_workspace_leads_out_of_the_roots() {
    let stage = Stage::start().await;
    let (outside, work) = (stage.outside(), stage.work());
    symlink(&outside, work.join("link")).unwrap();
    symlink("../../outside", work.join("relative")).unwrap();
    symlink(outside.join("missing"), work.join("dead")).unwrap();
    let ways = [
        outside.clone(),
        work.join("link"),
        work.join("relative"),
        work.join("../../outside"),
        work.join("link/../../outside"),
        work.join("./.././work/../../outside/."),
        // Whether it exists must not be revealed either.
        outside.join("missing"),
        work.join("link/missing"),
        work.join("link/../missing"),
        work.join("../../missing"),
        work.join("dead"),
        work.join("dead/below"),
        PathBuf::from("/"),
        PathBuf::from("/proc/self/cwd"),
        PathBuf::from("/proc/self/root/etc"),
    ];
    for way in ways {
        let (status, response) = stage.post("", &json!({"workspace": way})).await;
        assert_eq!(status, 403, "{}: {response}", way.display());
    }
    let disk = SmallDisk::mount(64);
    if let Some(disk) = &disk {
        let on = work.join("disk");
        symlink(disk.path(), &on).unwrap();
        let (status, response) = stage.post("", &json!({"workspace": on})).await;
        assert_eq!(status, 403, "{response}");
    }
}

#[tokio::test]
async fn the_machine_and_the_data_folder_are_never_a_workspace() {
    let server = TestServer::start().await;
    let place = tempdir().unwrap();
    run_agents(&server, "/".into(), place.path(), ChatLimits::default()).await;
    server.grant(Role::Member, Permission::Chat).await;
    let data = server.data_path().canonicalize().unwrap();
    fs::write(data.join("secret.key"), SECRET).unwrap();
    symlink(&data, place.path().join("link")).unwrap();
    let up = |steps: usize| data.ancestors().nth(steps).unwrap().to_owned();
    let from_root = data.strip_prefix("/").unwrap().join("secret.key");
    let ways = [
        (PathBuf::from("/"), from_root.as_path()),
        (up(1), Path::new("secret.key")),
        (data.clone(), Path::new("secret.key")),
        (data.join("."), Path::new("secret.key")),
        (place.path().join("link"), Path::new("secret.key")),
        (PathBuf::from("/proc"), Path::new("self/environ")),
        (PathBuf::from("/proc/self"), Path::new("environ")),
        (PathBuf::from("/proc/self/root"), from_root.as_path()),
        (PathBuf::from("/dev"), Path::new("null")),
    ];
    for (workspace, file) in ways {
        let attachments = json!([{"path": file}]);
        let new = json!({"workspace": workspace, "attachments": attachments}).to_string();
        let reply = server.post("/api/v1/chats").json(new).send().await;
        let why = reply.json()["message"].to_string();
        assert_eq!(reply.status.as_u16(), 403, "{}: {why}", workspace.display());
        assert!(!why.contains("picture"), "{why}");
        let is_told = why.contains("never a workspace") || why.contains("own data folder");
        assert!(is_told, "{}: {why}", workspace.display());
    }
    let fine = json!({"workspace": place.path()}).to_string();
    server.post("/api/v1/chats").json(fine).send().await.check(201, "");
    server.stop().await;
}

#[tokio::test]
async fn without_roots_keys_start_no_agent() {
    let server = TestServer::start().await;
    let place = tempdir().unwrap();
    run_agents_under(&server, None, place.path(), ChatLimits::default()).await;
    let new = || json!({"workspace": place.path()}).to_string();
    let post = |role| server.post("/api/v1/chats").key(role).json(new());
    post(Role::Member).send().await.check(403, "without the permission chat");
    server.grant(Role::Member, Permission::Chat).await;
    for role in [Role::Member, Role::Owner] {
        post(role).send().await.check(403, "chat.roots");
    }
    // A key issued on the server's own machine, for as long as its holder exists.
    let keys = server.app.store.catalog.keys(project()).await.unwrap();
    let member = keys.iter().find(|key| key.public_key == public_key(Role::Member)).unwrap();
    let held = server.app.local_keys.register(&member.id);
    let begun = post(Role::Member).send().await.check(201, "").json();
    drop(held);
    post(Role::Member).send().await.check(403, "chat.roots");
    // A running chat accepts messages of any key.
    let messages = format!("/api/v1/chats/{}/messages", begun["id"].as_str().unwrap());
    let hello = json!({"text": "hello"}).to_string();
    server.post(&messages).json(hello).send().await.check(202, "");
    server.stop().await;
}

#[tokio::test]
async fn without_sign_in_the_folder_that_is_named_is_the_root() {
    let access = Access::Open(project());
    let server = TestServer::start_with(Settings { access, ..Settings::default() }).await;
    let place = tempdir().unwrap();
    run_agents_under(&server, None, place.path(), ChatLimits::default()).await;
    let begin = |workspace: &Path| {
        let new = json!({"workspace": workspace}).to_string();
        server.post("/api/v1/chats").json(new).send()
    };
    begin(place.path()).await.check(201, "");
    begin(Path::new("/")).await.check(403, "never a workspace");
    begin(&server.data_path()).await.check(403, "own data folder");
    server.stop().await;
}

#[tokio::test]
async fn no_attachment_leads_out_of_the_workspace() {
    let stage = Stage::start().await;
    let (outside, work) = (stage.outside(), stage.work());
    let chat = stage.begun().await;
    fs::write(work.join("own.md"), "ours").unwrap();
    symlink(outside.join("secret.md"), work.join("link.md")).unwrap();
    symlink(&outside, work.join("folder")).unwrap();
    symlink("/proc/self/environ", work.join("environ.md")).unwrap();
    fs::create_dir(work.join("a")).unwrap();
    let absolute = outside.join("secret.md");
    let ways = [
        absolute.to_str().unwrap(),
        "/etc/passwd",
        "../../outside/secret.md",
        "a/../../../outside/secret.md",
        "link.md",
        "folder/secret.md",
        "./folder/../folder/secret.md",
        "environ.md",
        "a",
        "",
        "a\\..\\secret.md",
        "own.md\0",
    ];
    let messages = format!("/{chat}/messages");
    for way in ways {
        let attachments = json!([{"path": way}]);
        let new = json!({"workspace": work, "attachments": attachments});
        let (status, response) = stage.post("", &new).await;
        assert_eq!(status, 400, "{way:?}: {response}");
        stage.check_nothing_told(&response);
        let message = json!({"text": "Look.", "attachments": attachments});
        let (status, response) = stage.post(&messages, &message).await;
        assert_eq!(status, 400, "{way:?}: {response}");
        stage.check_nothing_told(&response);
    }
    let new = json!({"workspace": work, "attachments": [{"path": "own.md"}]});
    assert_eq!(stage.post("", &new).await.0, 201);
}

#[tokio::test]
async fn a_workspace_that_becomes_a_link_is_not_followed_by_its_chat() {
    let stage = Stage::start().await;
    let (outside, work) = (stage.outside(), stage.work());
    // Another folder under the root, which is not the chat's workspace.
    let other = stage.top().join("roots/other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("secret.md"), SECRET).unwrap();
    let chat = stage.begun().await;
    fs::rename(&work, stage.top().join("roots/old")).unwrap();
    for target in [&other, &outside] {
        symlink(target, &work).unwrap();
        let message = json!({"text": "Look.", "attachments": [{"path": "secret.md"}]});
        let (status, response) = stage.post(&format!("/{chat}/messages"), &message).await;
        assert!(status == 400 || status == 403, "{status}: {response}");
        stage.check_nothing_told(&response);
        let mut events = stage.follow(&chat, "?types=error", None).await;
        assert_eq!(stage.say(&chat, "hello").await.0, 202);
        let error = events.until("error").await.pop().unwrap();
        let why = error["body"]["message"].as_str().unwrap();
        let is_refused = why.contains("not the folder any more") || why.contains("under none");
        assert!(is_refused, "{why}");
        fs::remove_file(&work).unwrap();
    }
}

/// Swaps a folder of the workspace for a link to another one and back, until it is stopped.
fn swap(folder: PathBuf, outside: PathBuf, is_over: Arc<AtomicBool>) -> impl FnOnce() {
    move || {
        let (aside, link) = (folder.with_extension("aside"), folder.with_extension("link"));
        while !is_over.load(Ordering::Relaxed) {
            symlink(&outside, &link).unwrap();
            fs::rename(&folder, &aside).unwrap();
            fs::rename(&link, &folder).unwrap();
            fs::remove_file(&folder).unwrap();
            fs::rename(&aside, &folder).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_swaps_folders_while_they_are_read_gets_nothing() {
    let stage = Stage::start().await;
    let (outside, work) = (stage.outside(), stage.work());
    fs::create_dir(work.join("docs")).unwrap();
    fs::write(work.join("docs/secret.md"), "harmless").unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn(swap(work.join("docs"), outside, is_over.clone()));
    let new = json!({"workspace": work, "attachments": [{"path": "docs/secret.md"}]});
    for _ in 0..60 {
        let (status, response) = stage.post("", &new).await;
        stage.check_nothing_told(&response);
        match status {
            201 => {
                let kept = stage.settings(response["id"].as_str().unwrap()).await;
                assert!(kept.contains("harmless") && !kept.contains("picture"), "{kept}");
            }
            400 => {}
            other => panic!("{other}: {response}"),
        }
    }
    is_over.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[tokio::test]
async fn servers_and_skills_are_neither_read_nor_written_through_links() {
    let stage = Stage::start().await;
    let (outside, work) = (stage.outside(), stage.top().join("roots/trusted"));
    fs::create_dir(&work).unwrap();
    write(&stage.top().join("platform/skills/pdf/SKILL.md"), "platform");
    let new = json!({"workspace": work});
    let server = json!({"mcpServers": {"x": {"command": SECRET}}});
    fs::write(outside.join("mcp.json"), server.to_string()).unwrap();
    symlink(outside.join("mcp.json"), work.join(".mcp.json")).unwrap();
    let (status, response) = stage.post("", &new).await;
    assert_eq!(status, 422, "{response}");
    stage.check_nothing_told(&response);
    fs::remove_file(work.join(".mcp.json")).unwrap();
    for (link, is_skills) in
        [(".claude", true), (".claude/skills", true), (".claude/skills/pdf", false)]
    {
        let at = work.join(link);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(&outside, &at).unwrap();
        let (status, response) = stage.post("", &new).await;
        // A skill of the workspace takes precedence, also one that is only a link.
        assert_eq!(status, if is_skills { 422 } else { 201 }, "{link}: {response}");
        stage.check_nothing_told(&response);
        let left: Vec<_> =
            fs::read_dir(&outside).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{link}: something was written outside: {left:?}");
        fs::remove_file(&at).unwrap();
    }
    let (status, response) = stage.post("", &new).await;
    assert_eq!(status, 201, "{response}");
    assert!(work.join(".claude/skills/pdf/SKILL.md").exists());
}
