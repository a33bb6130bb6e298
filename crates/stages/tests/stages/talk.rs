//! A server with chats, as the tests hold it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ratchet_agent::claude::command::ClaudeTimeouts;
use ratchet_agent::claude::environment::{self, EnvNames};
use ratchet_agent::claude::message::UserMessage;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::price::PriceTable;
use ratchet_core::secret::Secret;
use ratchet_stages::chat::workspace_policy::WorkspacePolicy;
use ratchet_stages::chat::{
    ChatError, ChatFolders, ChatLimits, ChatService, ChatSettings, EventFeed, Launcher, NewChat,
    NewMessage,
};
use ratchet_store::StoreOptions;
use ratchet_store::project::ProjectId;
use ratchet_testkit::build::{at, project};
use ratchet_testkit::claude;
use ratchet_testkit::folder::{DataFolder, options};
use ratchet_testkit::scripted::ScriptedModel;
use ratchet_testkit::wait;
use serde_json::Value;
use uuid::Uuid;

/// A data folder, a model, and the folders of agents.
pub(crate) struct Stage {
    pub(crate) data: DataFolder,
    pub(crate) model: ScriptedModel,
    pub(crate) shop: ProjectId,
    folder: tempfile::TempDir,
    program: PathBuf,
    pub(crate) environment: Vec<(String, Secret)>,
    /// On what ground they stand.
    pub(crate) policy: Option<WorkspacePolicy>,
    /// A clock that goes on by a millisecond whenever someone looks.
    ticks: Arc<AtomicI64>,
}

impl Stage {
    /// With a scripted program.
    pub(crate) fn fake() -> Self {
        Self::new(claude::fake())
    }

    /// The same, where the prices of models are known.
    pub(crate) fn fake_with_prices() -> Self {
        let prices = PriceTable::builtin().into();
        Self { data: DataFolder::with(StoreOptions { prices, ..options() }), ..Self::fake() }
    }

    pub(crate) fn real() -> Self {
        Self::new(claude::real())
    }

    fn new(program: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let model = ScriptedModel::start().unwrap();
        let (data, shop) = (DataFolder::new(), project("shop"));
        let environment = Vec::new();
        let policy = None;
        Self { data, model, shop, folder, program, environment, policy, ticks: Arc::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A server on the folder: the first, or one after a restart.
    pub(crate) async fn serve(&self, limits: ChatLimits) -> ChatService {
        self.serve_with(limits, ClaudeTimeouts::default()).await
    }

    pub(crate) async fn serve_with(
        &self,
        limits: ChatLimits,
        timeouts: ClaudeTimeouts,
    ) -> ChatService {
        let environment = environment::inherited(&EnvNames::default());
        let mut environment = claude::surroundings(environment, &self.path("home"), &self.model);
        environment.extend(self.environment.iter().cloned());
        let launcher = Launcher {
            folders: ChatFolders {
                program: self.program.clone(),
                families: self.path("families"),
                scratch: self.path("t"),
                supervision: Supervision::Nobody,
            },
            environment: Arc::new(environment),
            timeouts,
            policy: self.policy.clone(),
        };
        // A write of a service that was dropped may still be on its way, unlike one of a killed server,
        // and come between what this one reads and writes.
        let open = async || {
            let ticks = self.ticks.clone();
            let clock = Arc::new(move || at(ticks.fetch_add(1, Ordering::Relaxed)));
            ChatService::open(self.data.folder().clone(), launcher.clone(), limits, clock).await
        };
        wait::for_value_async("an open service", open, Result::is_ok).await.unwrap()
    }

    /// A new chat in the workspace.
    pub(crate) async fn new_chat(&self, chats: &ChatService) -> SessionId {
        self.new_chat_with(chats, ChatSettings::default()).await
    }

    pub(crate) async fn new_chat_with(
        &self,
        chats: &ChatService,
        settings: ChatSettings,
    ) -> SessionId {
        let id = SessionId::parse(&Uuid::new_v4().to_string()).unwrap();
        let model = settings.model.clone().or(Some("claude-sonnet-5".to_owned()));
        let new = NewChat {
            id: id.clone(),
            title: None,
            workspace: self.path("work"),
            settings: ChatSettings { model, ..settings },
        };
        chats.create(self.shop.clone(), new).await.unwrap();
        id
    }

    pub(crate) async fn say(
        &self,
        chats: &ChatService,
        chat_id: &SessionId,
        words: &str,
    ) -> Result<TraceId, ChatError> {
        let message = UserMessage::text(Uuid::new_v4(), words);
        let new = NewMessage { message, by: Some("ann".to_owned()) };
        chats.send(self.shop.clone(), chat_id.clone(), new).await
    }

    pub(crate) async fn look_on(
        &self,
        chats: &ChatService,
        chat_id: &SessionId,
        after: u64,
    ) -> Client {
        let feed = chats.events(self.shop.clone(), chat_id.clone(), after).await.unwrap();
        Client { feed, seen: Vec::new() }
    }

    /// All events of a chat that are kept.
    pub(crate) async fn kept(&self, chat_id: &SessionId) -> Vec<ChatEvent> {
        let telemetry = self.data.telemetry();
        telemetry.chat_events(self.shop.clone(), chat_id.clone(), 0, 100_000).await.unwrap()
    }
}

pub(crate) struct Client {
    pub(crate) feed: EventFeed,
    pub(crate) seen: Vec<ChatEvent>,
}

impl Client {
    pub(crate) async fn next(&mut self) -> Option<Result<ChatEvent, ChatError>> {
        // Not `wait::with_timeout`: the message has all events, which takes long to write.
        let next = tokio::time::timeout(wait::TIMEOUT, self.feed.next()).await;
        let next = next.unwrap_or_else(|_| panic!("no event came after {:#?}", self.received()));
        next.map(|event| {
            let event = ChatEvent::clone(&*event?);
            self.seen.push(event.clone());
            Ok(event)
        })
    }

    /// Returns the body of the next event of a kind.
    pub(crate) async fn until(&mut self, kind: EventKind) -> Value {
        self.until_such(kind, |_| true).await
    }

    /// Returns the body of the next event of a kind that meets a condition.
    pub(crate) async fn until_such(
        &mut self,
        kind: EventKind,
        is_it: impl Fn(&Value) -> bool,
    ) -> Value {
        loop {
            let event = self.next().await.unwrap().unwrap();
            if event.kind != kind {
                continue;
            }
            let body = body(&event);
            if is_it(&body) {
                return body;
            }
        }
    }

    /// Returns the event of the chat's change to a state.
    pub(crate) async fn until_state(&mut self, state: &str) -> Value {
        self.until_such(EventKind::State, |body| body["state"] == state).await
    }

    /// What was seen but for raw lines.
    pub(crate) fn received(&self) -> Vec<(EventKind, Value)> {
        let shown = self.seen.iter().filter(|event| event.kind != EventKind::Raw);
        shown.map(|event| (event.kind, body(event))).collect()
    }

    /// The words of the agent.
    pub(crate) fn words(&self) -> String {
        let words = self.received().into_iter().filter(|(kind, _)| *kind == EventKind::TextDelta);
        words.map(|(_, body)| body["text"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn states(&self) -> Vec<String> {
        let states = self.received().into_iter().filter(|(kind, _)| *kind == EventKind::State);
        states.map(|(_, body)| body["state"].as_str().unwrap().to_owned()).collect()
    }
}

pub(crate) fn body(event: &ChatEvent) -> Value {
    serde_json::from_str(&event.body).unwrap()
}

/// Whether each event has its place, from the first on.
#[track_caller]
pub(crate) fn assert_in_order(events: &[ChatEvent]) {
    let folders = events.iter().map(|event| event.seq);
    assert!(folders.clone().eq(1..=events.len() as u64), "{:?}", folders.collect::<Vec<_>>());
}

/// Ends a process without asking it.
pub(crate) fn kill(pid: u32) {
    let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
