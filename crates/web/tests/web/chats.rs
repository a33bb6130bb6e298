//! Conversations with agents, on the fake program.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::claude::command::ClaudeTimeouts;
use ratchet_agent::claude::environment::{self, EnvNames};
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::chat::system_prompt::DEFAULT_BUDGET;
use ratchet_core::chat::workspace::{Roots, WorkspaceSource};
use ratchet_core::id::SessionId;
use ratchet_core::judge::judge_prompt::Seed;
use ratchet_core::record::score::{Score, ScoreValue};
use ratchet_stages::chat::prompt_layers::LayerFolders;
use ratchet_stages::chat::work_folder::Boundary;
use ratchet_stages::chat::workspace_policy::WorkspacePolicy;
use ratchet_stages::chat::{ChatFolders, ChatLimits, ChatService, Chats, EventFeed, Launcher};
use ratchet_store::catalog::Role;
use ratchet_store::query::{Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_testkit::build::batch;
use ratchet_testkit::recording::RecordBatch as _;
use ratchet_testkit::{claude, wait};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

use crate::browser::{Answer, Browser, PARTS, Site, id};

const CHATS: &str = "/project/shop/chats";

/// Has agents run on the fake program, in `roots/work` of a folder.
pub(crate) async fn run_agents(site: &Site, limits: ChatLimits) -> (TempDir, Arc<Chats>) {
    let folder = tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(real.join("roots/work")).unwrap();
    let roots = Roots::new([real.join("roots")]).unwrap();
    let boundary = Boundary { roots, workspace_source: WorkspaceSource::Network, data: None };
    let policy = WorkspacePolicy {
        boundary,
        trusted: Vec::new(),
        layers: LayerFolders::default(),
        prompt_tokens: DEFAULT_BUDGET,
        seed: Seed::new([7; 32]),
    };
    let launcher = Launcher {
        policy: Some(policy.clone()),
        folders: ChatFolders {
            program: claude::fake(),
            families: real.join("families"),
            scratch: real.join("s"),
            supervision: Supervision::Nobody,
        },
        environment: Arc::new(environment::inherited(&EnvNames::default())),
        timeouts: ClaudeTimeouts::default(),
    };
    let now = site.now();
    let store = site.data.folder().clone();
    let service = ChatService::open(store, launcher, limits, Arc::new(move || now)).await.unwrap();
    site.web.run_agents(Chats { service, policy });
    let chats = Arc::clone(site.web.chats().unwrap());
    (folder, chats)
}

/// Pages over agents that run on the fake program, and somebody who may talk to them.
struct Stage {
    site: Site,
    member: Browser,
    chats: ChatService,
    folder: TempDir,
}

impl Stage {
    async fn new() -> Self {
        Self::with(ChatLimits::default()).await
    }

    async fn with(limits: ChatLimits) -> Self {
        let site = Site::new().await;
        let (folder, chats) = run_agents(&site, limits).await;
        let chats = chats.service.clone();
        site.person("ada@shop.example", Role::Member).await;
        let member = site.signed_in("ada@shop.example").await;
        Self { site, member, chats, folder }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("roots/work")
    }

    /// Begins a conversation by the form, and tells its address.
    async fn begun(&mut self, text: &str) -> String {
        let work = self.work().display().to_string();
        let begun = self.begin(&[("workspace", &work), ("text", text)]).await;
        assert_eq!(begun.status, 303, "{}", begun.text);
        begun.header("location").to_owned()
    }

    async fn begin(&mut self, fields: &[(&str, &str)]) -> Answer {
        let new = format!("{CHATS}/new");
        self.member.get(&new).await.check(200, "New chat");
        send(&mut self.member, &new, fields, &[]).await
    }

    async fn follow(&self, chat: &str) -> EventFeed {
        let session = SessionId::parse(chat.rsplit('/').next().unwrap()).unwrap();
        self.chats.events(id("shop"), session, 0).await.unwrap()
    }

    async fn scores(&self) -> Vec<Score> {
        let question = ScoreQuery {
            project: id("shop"),
            range: TimeRange::default(),
            on: ScoresOn::Anything,
            conditions: Vec::new(),
            paging: Paging::After { cursor: None, limit: 10 },
        };
        self.site.data.telemetry().scores(question).await.unwrap().rows
    }
}

/// Returns the body of the next event of a kind.
async fn next(feed: &mut EventFeed, kind: EventKind) -> Value {
    next_such(feed, kind, |_| true).await
}

/// Returns the body of the next event of a kind that meets a condition.
async fn next_such(feed: &mut EventFeed, kind: EventKind, is_it: impl Fn(&Value) -> bool) -> Value {
    let what = format!("an event of the kind {kind:?}");
    loop {
        let event = wait::with_timeout(&what, feed.next()).await.unwrap().unwrap();
        let body: Value = serde_json::from_str(&event.body).unwrap();
        if event.kind == kind && is_it(&body) {
            return body;
        }
    }
}

/// Sends a form with files, as browsers do.
pub(crate) async fn send(
    browser: &mut Browser,
    path: &str,
    fields: &[(&str, &str)],
    files: &[(&str, &str)],
) -> Answer {
    let token = browser.form_token.clone();
    let mut form = String::new();
    for (name, value) in [("form_token", token.as_str())].iter().chain(fields) {
        form +=
            &format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    }
    for (name, content) in files {
        form += &format!(
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain\r\n\r\n{content}\r\n"
        );
    }
    browser.send("POST", path, &[PARTS], form + "--x--\r\n").await
}

#[tokio::test]
async fn before_anybody_talks_the_page_says_how() {
    let site = Site::open().await;
    site.get(CHATS).await.check(200, "This server runs no agents");
    site.get(&format!("{CHATS}/x")).await.check(404, "");
    let mut stage = Stage::new().await;
    let page = stage.member.get(CHATS).await;
    page.check(200, "ratchet chat --workspace").check(200, "roots = [").check(200, "New chat");
    let outside = [("workspace", "/etc"), ("text", "hi")];
    stage.begin(&outside).await.check(400, "under none of the folders");
    stage.begin(&[("workspace", "work")]).await.check(400, "an absolute path");
    let (work, odd) = (stage.work().display().to_string(), ("mode", "bypassPermissions"));
    stage.begin(&[("workspace", &work), odd]).await.check(400, "mode: default");
    assert_eq!(stage.chats.chats(id("shop"), all()).await.unwrap().total, Some(0));
}

fn all() -> ratchet_store::query::PageNumber {
    ratchet_store::query::PageNumber { page: 1, limit: 10 }
}

#[tokio::test]
async fn a_conversation_is_begun_read_and_judged_by_forms_alone() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("<script>alert(1)</script>").await;
    let mut feed = stage.follow(&chat).await;
    let end = next(&mut feed, EventKind::Done).await;
    let page = stage.member.get(&chat).await;
    page.check(200, "&lt;script&gt;alert").check(200, "<p dir=\"auto\">Hello</p>");
    page.check(200, "ada@shop.example").check(200, "$0.2500").check(200, "Restore files");
    assert!(!page.text.contains("<script>alert"), "{}", page.text);
    stage.member.get(CHATS).await.check(200, "ready").check(200, "<code title=");
    // Thumbs: one score for each person, which they may change.
    let turn = end["turn"].as_str().unwrap();
    stage.member.get(&chat).await;
    let thumbs = format!("{chat}/thumbs");
    stage.member.post(&thumbs, &[("turn", turn), ("thumb", "up")]).await.check(303, "");
    let up = stage.scores().await;
    assert_eq!((up.len(), &up[0].value), (1, &ScoreValue::Boolean(true)));
    assert_eq!(up[0].name, "thumbs_feedback");
    stage.site.advance(Duration::from_secs(1));
    let why = [("turn", turn), ("thumb", "down"), ("comment", "too short")];
    stage.member.post(&thumbs, &why).await.check(303, "");
    let down = stage.scores().await;
    assert_eq!((down.len(), &down[0].value), (1, &ScoreValue::Boolean(false)));
    assert_eq!(down[0].comment.as_deref(), Some("too short"));
    let page = stage.member.get(&chat).await;
    page.check(200, "value=\"down\" aria-pressed=\"true\"").check(200, "too short");
    for odd in [("turn", "elsewhere"), ("turn", "")] {
        stage.member.post(&thumbs, &[odd, ("thumb", "up")]).await.check(404, "");
    }
    stage.member.post(&thumbs, &[("turn", turn), ("thumb", "left")]).await.check(400, "up or down");
}

#[tokio::test]
async fn the_first_answer_counts_and_the_second_hears_whose_it_was() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("ask").await;
    let mut feed = stage.follow(&chat).await;
    let ask = next(&mut feed, EventKind::Permission).await;
    let page = stage.member.get(&chat).await;
    page.check(200, "The agent wants to use <code><bdi>Bash")
        .check(200, "dir=\"ltr\" tabindex=\"0\">ls");
    page.check(200, "waiting for you").check(200, ">Always<").check(200, "form=\"stop\">Stop");
    let busy = send(&mut stage.member, &format!("{chat}/messages"), &[("text", "more")], &[]).await;
    busy.check(409, "working on another message").check(409, ">\nmore</textarea>");
    let answers = format!("{chat}/answers");
    let ask = ask["id"].as_str().unwrap();
    stage
        .member
        .post(&answers, &[("ask", ask), ("decision", "no idea")])
        .await
        .check(400, "choose");
    stage.member.post(&answers, &[("ask", ask), ("decision", "allow")]).await.check(303, "");
    stage.site.person("eve@shop.example", Role::Member).await;
    let mut eve = stage.site.signed_in("eve@shop.example").await;
    eve.get(&chat).await.check(200, "allowed by ada@shop.example");
    let late = eve.post(&answers, &[("ask", ask), ("decision", "deny")]).await;
    late.check(409, "Already answered: allowed by ada@shop.example");
    // Scripts get plain text errors.
    let (token, ask) = (eve.form_token.clone(), format!("ask={ask}&decision=deny"));
    let form = ("content-type", "application/x-www-form-urlencoded");
    let late = eve.send("POST", &answers, &[("x-form-token", &token), form], ask).await;
    assert_eq!((late.status, late.text.contains("<html")), (409, false), "{}", late.text);
    next(&mut feed, EventKind::Done).await;
    stage.member.get(&chat).await.check(200, "it was allowed");
}

#[tokio::test]
async fn questions_are_answered_by_choice_or_in_words() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("question").await;
    let mut feed = stage.follow(&chat).await;
    let ask = next(&mut feed, EventKind::Question).await;
    let page = stage.member.get(&chat).await;
    page.check(200, "<legend><bdi>Which?</bdi>")
        .check(200, "type=\"radio\" name=\"q0\" value=\"B\"");
    let (answers, ask) = (format!("{chat}/answers"), ask["id"].as_str().unwrap());
    let form = [("ask", ask), ("decision", "answer"), ("text0", "Which?")];
    stage.member.post(&answers, &form).await.check(400, "answer this too");
    let form = [&form[..], &[("q0", "B")]].concat();
    stage.member.post(&answers, &form).await.check(303, "");
    let answered = next(&mut feed, EventKind::Answered).await;
    assert_eq!(answered["answers"]["Which?"], "B");
    stage.member.get(&chat).await.check(200, "answered by ada@shop.example");
}

#[tokio::test]
async fn files_go_with_a_message_if_they_are_what_models_read() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("hello").await;
    let mut feed = stage.follow(&chat).await;
    next(&mut feed, EventKind::Done).await;
    stage.member.get(&chat).await;
    let messages = format!("{chat}/messages");
    let files = [("a.exe", "MZ\0")];
    let refused = send(&mut stage.member, &messages, &[("text", "look")], &files).await;
    refused.check(400, "a.exe is neither text").check(400, ">\nlook</textarea>");
    send(&mut stage.member, &messages, &[("text", " ")], &[]).await.check(400, "Enter a message");
    // Bytes that are no UTF-8 cannot stand in this form; a GIF needs none.
    let files = [("<b>.gif", "GIF89a;"), ("plan.md", "---\ntitle: Plan\n---\nShip <i>it</i>.\n")];
    let sent = send(&mut stage.member, &messages, &[("text", "look")], &files).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    next(&mut feed, EventKind::Done).await;
    let page = stage.member.get(&chat).await;
    page.check(200, "Attached texts").check(200, "Ship &lt;i&gt;it");
    let (_, picture) = page.text.split_once("<img src=\"").unwrap();
    let picture = picture.split('"').next().unwrap().replace("&amp;", "&");
    let picture = stage.member.get(&picture).await;
    assert_eq!((picture.status, picture.header("content-type")), (200, "image/gif"));
    stage.member.get(&format!("{chat}/picture?seq=2&n=0")).await.check(404, "");
}

#[tokio::test]
async fn lookers_on_only_look_and_other_projects_see_nothing() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("ask").await;
    next(&mut stage.follow(&chat).await, EventKind::Permission).await;
    stage.site.person("vic@shop.example", Role::Viewer).await;
    let mut viewer = stage.site.signed_in("vic@shop.example").await;
    let page = viewer.get(&chat).await;
    page.check(200, "Waiting for a member or owner to answer").check(200, "Read-only");
    assert!(!page.text.contains("method=\"post\" action=\"/project/shop/chats"), "{}", page.text);
    viewer.get(&format!("{CHATS}/new")).await.check(403, "a viewer may not");
    for what in
        ["stop", "answers", "title", "mode", "fork", "rewind", "close", "thumbs", "messages"]
    {
        viewer.post(&format!("{chat}/{what}"), &[]).await.check(403, "a viewer may not");
    }
    stage.site.person("own@shop.example", Role::Owner).await;
    let mut owner = stage.site.signed_in("own@shop.example").await;
    let elsewhere = chat.replace("/shop/", "/lab/");
    owner.get(&format!("{CHATS}?")).await.check(200, "");
    for what in ["", "/since", "/events", "/picture?seq=1&n=0"] {
        owner.get(&format!("{elsewhere}{what}")).await.check(404, "chat not found");
    }
    for what in
        ["stop", "answers", "title", "mode", "fork", "rewind", "close", "thumbs", "messages"]
    {
        owner.post(&format!("{elsewhere}/{what}"), &[]).await.check(404, "chat not found");
    }
    owner.get("/project/lab/chats").await.check(200, "No chats yet");
}

#[tokio::test]
async fn the_stream_tells_what_is_wanted_and_the_rest_of_a_conversation_stays() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("deltas 3").await;
    let mut feed = stage.follow(&chat).await;
    next(&mut feed, EventKind::Done).await;
    let plain = [("model", "fake-2"), ("mode", "plan")];
    stage.member.get(&chat).await;
    stage.member.post(&format!("{chat}/mode"), &plain).await.check(303, "");
    stage.member.get(&chat).await.check(200, "value=\"plan\" selected").check(200, "fake-2");
    let copy = stage.member.post(&format!("{chat}/fork"), &[]).await;
    assert!(copy.header("location").contains("done=forked"), "{}", copy.text);
    let of = format!("href=\"{chat}\">the chat that this is a copy of");
    stage.member.get(copy.header("location")).await.check(200, &of);
    stage.member.get(&chat).await.check(200, "Fork here");
    let nobody = uuid::Uuid::nil().to_string();
    for (at, why) in [(nobody.as_str(), "has no message"), ("x", "at: the id of a message")] {
        stage.member.post(&format!("{chat}/fork"), &[("at", at)]).await.check(400, why);
    }
    let title = format!("{chat}/title");
    stage.member.post(&title, &[("title", &"x".repeat(301))]).await.check(400, "at most 300");
    stage.member.post(&title, &[("title", " Plums <b> ")]).await.check(303, "");
    let named = stage.member.get(&chat).await;
    named.check(200, "value=\"Plums &lt;b&gt;\"").check(200, "Plums &lt;b&gt;</h1>");
    stage.member.post(&format!("{chat}/close"), &[]).await.check(303, "");
    stage.member.get(&chat).await.check(200, "This chat is closed").check(200, "1 2 3");
    let types = format!("{chat}/events?types=text_delta,done&after=2");
    let stream = stage.member.get(&types).await;
    assert_eq!(stream.header("content-type"), "text/event-stream");
    assert_eq!(stream.header("cache-control"), "no-store");
    assert_eq!(stream.text.matches("event: text_delta").count(), 3, "{}", stream.text);
    assert!(!stream.text.contains("event: raw"), "{}", stream.text);
    assert!(stream.text.contains("the chat is closed"), "{}", stream.text);
    stage
        .member
        .get(&format!("{chat}/events?types=nonsense"))
        .await
        .check(400, "types: nonsense is not one of");
    // What is shown can be chosen, and the page can be read from any place on.
    let hidden = stage.member.get(&format!("{chat}?show=&show=raw")).await;
    hidden.check(200, "<code>result · success</code>");
    assert!(!hidden.text.contains("<p dir=\"auto\">1 2 3"), "{}", hidden.text);
    let since = stage.member.get(&format!("{chat}/since?seq=1")).await;
    since.check(200, "data-state=\"closed\"").check(200, "1 2 3");
    assert!(!since.text.contains("<html"), "{}", since.text);
    for odd in ["seq=18446744073709551615", "seq=x", "seq=0"] {
        assert_eq!(stage.member.get(&format!("{chat}/since?{odd}")).await.status, 200, "{odd}");
    }
    for odd in ["before=0", "before=18446744073709551615", "before=x"] {
        assert_eq!(stage.member.get(&format!("{chat}?{odd}")).await.status, 200, "{odd}");
    }
}

/// Appends events to a chat, as a turn records them.
async fn append(stage: &Stage, chat: &str, events: Vec<(EventKind, Value)>) -> u64 {
    let session = SessionId::parse(chat.rsplit('/').next().unwrap()).unwrap();
    let telemetry = &stage.site.data.folder().telemetry;
    let last = telemetry.last_event(id("shop"), session.clone()).await.unwrap();
    let event = |(seq, (kind, body)): (u64, (EventKind, Value))| ChatEvent {
        seq,
        at: stage.site.now(),
        kind,
        body: body.to_string().into(),
    };
    let events = (last + 1..).zip(events).map(event).collect();
    telemetry.record_with_events(batch(&id("shop")).build(), session, events).await.unwrap();
    last + 1
}

fn turn(text: &str) -> (EventKind, Value) {
    (EventKind::Message, json!({"id": text, "turn": "00".repeat(16), "content": text}))
}

#[tokio::test]
async fn a_page_has_whole_turns_however_long_one_is() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("deltas 3").await;
    next(&mut stage.follow(&chat).await, EventKind::Done).await;
    stage.member.post(&format!("{chat}/close"), &[]).await.check(303, "");
    let piece = |number| {
        let message = format!("m{}", number / 500);
        (EventKind::TextDelta, json!({"text": format!("w{number} "), "message": message}))
    };
    let raw = || (EventKind::Raw, json!({"type": "stream_event"}));
    let pieces = (0..15_000).flat_map(|number| [piece(number), raw()]);
    append(&stage, &chat, [turn("long")].into_iter().chain(pieces).collect()).await;
    let short = (0..41).map(|number| turn(&format!("short {number}")));
    let after = append(&stage, &chat, short.collect()).await;
    let newest = stage.member.get(&chat).await;
    newest.check(200, "short 1<").check(200, ">Earlier<").check(200, ">Load all<");
    assert!(!newest.text.contains("short 0<"), "40 turns are on a page");
    let before = stage.member.get(&format!("{chat}?before={after}")).await;
    before.check(200, "w0 w1 ").check(200, "w14999").check(200, "Latest messages");
    let all = stage.member.get(&format!("{chat}?all=yes")).await;
    all.check(200, "w0 w1 ").check(200, "w14999").check(200, "1 2 3").check(200, "short 40<");
    assert!(!all.text.contains(">Earlier<") && !all.text.contains(">Load all<"));
}

#[tokio::test]
async fn results_of_tools_do_not_make_a_page_too_large() {
    let mut stage = Stage::new().await;
    let chat = stage.begun("deltas 3").await;
    next(&mut stage.follow(&chat).await, EventKind::Done).await;
    stage.member.post(&format!("{chat}/close"), &[]).await.check(303, "");
    let output = "x".repeat(100_000);
    let call = |id: String| {
        let input = json!({"command": "ls"});
        let call = (EventKind::ToolUse, json!({"id": id, "name": "Bash", "input": input}));
        [call, (EventKind::ToolResult, json!({"tool_use_id": id, "output": output}))]
    };
    let few = (0..3).flat_map(|number| call(format!("few{number}")));
    append(&stage, &chat, [turn("few")].into_iter().chain(few).collect()).await;
    let page = stage.member.get(&chat).await;
    page.check(200, "xxxx");
    assert!(!page.text.contains("results are left out"), "three results fit");
    let many = (0..400).flat_map(|number| call(format!("many{number}")));
    append(&stage, &chat, [turn("many")].into_iter().chain(many).collect()).await;
    let page = stage.member.get(&chat).await;
    page.check(200, "results are left out").check(200, "the recorded session");
    assert!(page.text.len() < 10_000_000, "{} bytes", page.text.len());
}

#[tokio::test]
async fn a_chat_that_waits_for_a_slot_says_so_and_can_be_stopped() {
    let mut stage = Stage::with(ChatLimits { processes: 1, ..ChatLimits::default() }).await;
    let busy = stage.begun("silence").await;
    let mut feed = stage.follow(&busy).await;
    next_such(&mut feed, EventKind::State, |body| body["state"] == "running").await;
    let queued = stage.begun("hello").await;
    let mut feed = stage.follow(&queued).await;
    let is_queued = |body: &Value| body["why"] == "waiting for a slot (1 of 1)";
    next_such(&mut feed, EventKind::State, is_queued).await;
    let page = stage.member.get(&queued).await;
    page.check(200, "waiting for a slot (1 of 1)").check(200, ">Stop<");
    let stopped = stage.member.post(&format!("{queued}/stop"), &[]).await;
    assert_eq!(stopped.status, 303, "{}", stopped.text);
    next(&mut feed, EventKind::Done).await;
    stage.member.get(&queued).await.check(200, "ended early").check(200, ">Send<");
}
