use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::judge::JudgeName;
use ratchet_core::catalog::account::Email;
use ratchet_core::id::TraceId;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::money::Money;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::quality::suggestion::Templates;
use ratchet_core::record::trace::Trace;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_remote::langfuse::client::ServerCredentials as LangfuseAccess;
use ratchet_server::app::{App, Settings};
use ratchet_server::clock::{Clock, ManualClock};
use ratchet_server::run::{Listeners, RunError, run};
use ratchet_server::shutdown;
use ratchet_server::shutdown::{Stop, StopSender};
use ratchet_stages::app_state::AppState;
use ratchet_stages::experiment::server_targets::ServerTargets;
use ratchet_stages::experiment::worker::{ExperimentWorker, WorkerEvaluators};
use ratchet_stages::schedule::{EnvironmentError, JobEnvironment, ReportSettings, SuggestionTexts};
use ratchet_stages::score::evaluators::{EvaluationLimits, EvaluationWorker};
use ratchet_stages::score::judge::Judge;
use ratchet_store::catalog::{
    Catalog, KeyPair, NewKey, NewProject, NewUser, Permission, Permissions, Role,
};
use ratchet_store::project::ProjectId;
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::otlp::trace_id;
use ratchet_testkit::wait;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A running server with one project and a key for each role but reviewer.
pub(crate) struct TestServer {
    pub(crate) app: App,
    pub(crate) clock: ManualClock,
    pub(crate) web: SocketAddr,
    pub(crate) grpc: SocketAddr,
    stopper: StopSender,
    running: JoinSet<Result<(), RunError>>,
    data: DataFolder,
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(Settings::default()).await
    }

    pub(crate) async fn start_with(settings: Settings) -> Self {
        Self::start_calling(OutboundPolicy::default(), settings).await
    }

    /// Starts a server that may call such addresses.
    pub(crate) async fn start_calling(outbound: OutboundPolicy, settings: Settings) -> Self {
        let data = DataFolder::new();
        let clock = ManualClock::at(Timestamp::parse("2026-11-15T12:00:00Z").unwrap());
        make_keys(&data).await;
        let place = (data.folder().clone(), data.path().to_owned());
        let state = AppState::new(place, Clock::Manual(clock.clone()), outbound);
        let app = App::new(state, settings, Default::default());
        // Evaluators are tested and backfilled by requests; no worker runs beside the tests.
        let pace = (Arc::new(SystemBackoffClock) as Arc<_>, EvaluationLimits::default());
        let (store, machine) = (data.folder().clone(), Arc::new(OfflineMachine::default()));
        let worker = EvaluationWorker::new(store, machine, pace, "test".to_owned());
        app.run_evaluators(Arc::new(worker));
        app.run_experiments(Arc::new(experiment_worker(&data, &app)));
        let (stopper, stop) = shutdown::signal();
        let listeners = Listeners {
            web: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            otlp_http: None,
            otlp_grpc: Some(TcpListener::bind("127.0.0.1:0").await.unwrap()),
        };
        let web = listeners.web.local_addr().unwrap();
        let grpc = listeners.otlp_grpc.as_ref().unwrap().local_addr().unwrap();
        let mut running = JoinSet::new();
        running.spawn(serve(app.clone(), listeners, stop));
        Self { app, clock, web, grpc, stopper, running, data }
    }

    /// Stops the server and waits for it.
    pub(crate) async fn stop(mut self) -> DataFolder {
        self.stopper.stop();
        let ended = wait::with_timeout("the server's end", self.running.join_next()).await;
        ended.unwrap().unwrap().unwrap();
        self.data
    }

    /// Sends the stop signal without waiting.
    pub(crate) fn begin_stop(&self) {
        self.stopper.stop();
    }

    pub(crate) fn data_path(&self) -> PathBuf {
        self.data.path().to_owned()
    }

    /// Grants a role's key a permission that it does not have by default.
    pub(crate) async fn grant(&self, role: Role, permission: Permission) {
        let permissions = Permissions::usual(role).with(permission);
        let (catalog, now) = (&self.app.store.catalog, self.app.clock.now());
        catalog.set_permissions(project(), public_key(role), permissions, now).await.unwrap();
    }

    /// A request with a member's key.
    pub(crate) fn post(&self, path: &str) -> Request {
        Request::new(reqwest::Method::POST, self.web, path).key(Role::Member)
    }

    /// A request with a viewer's key.
    pub(crate) fn get(&self, path: &str) -> Request {
        Request::new(reqwest::Method::GET, self.web, path).key(Role::Viewer)
    }

    /// A request of any method with a member's key, to a path or a full URL.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let method = method.parse().unwrap();
        let own = format!("http://{}", self.web);
        Request::new(method, self.web, path.strip_prefix(&own).unwrap_or(path)).key(Role::Member)
    }

    /// A request to delete, with a member's key.
    pub(crate) fn delete(&self, path: &str) -> Request {
        Request::new(reqwest::Method::DELETE, self.web, path).key(Role::Member)
    }

    /// Sends raw bytes and returns everything until the server closes the connection.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.web).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut reply = Vec::new();
        wait::with_timeout("the end of the connection", stream.read_to_end(&mut reply))
            .await
            .unwrap();
        String::from_utf8(reply).unwrap()
    }

    /// The trace with this number, if it was recorded.
    pub(crate) async fn trace(&self, number: u128) -> Option<Trace> {
        let id = TraceId::parse(&trace_id(number)).unwrap();
        self.app.store.telemetry.trace(project(), id).await.unwrap()
    }
}

async fn serve(app: App, listeners: Listeners, stop: Stop) -> Result<(), RunError> {
    let pages = Router::new().route("/panic", get(broken));
    run(app, listeners, pages, stop).await
}

async fn broken() {
    panic!("on purpose");
}

pub(crate) fn project() -> ProjectId {
    ProjectId::parse("shop").unwrap()
}

async fn make_keys(data: &DataFolder) {
    let now = Timestamp::default();
    let new = NewProject { id: project(), name: "shop".to_owned(), retention_days: None };
    data.catalog().create_project(new, now).await.unwrap();
    // A reviewer's key belongs to a user: see `make_reviewer`.
    for role in Role::ALL.into_iter().filter(|role| *role != Role::Reviewer) {
        make_key(data.catalog(), role, None).await;
    }
}

async fn make_key(catalog: &Catalog, role: Role, person: Option<String>) {
    let pair = Some(KeyPair { public_key: public_key(role), secret_key: Secret::new("sk") });
    let permissions = Permissions::usual(role);
    let new = NewKey { project: project(), role, permissions, note: None, person, pair };
    catalog.create_key(new, Timestamp::default()).await.unwrap();
}

/// Creates a user with a key of the role reviewer, and returns the user's id.
pub(crate) async fn make_reviewer(server: &TestServer) -> String {
    let new = NewUser {
        email: Email::parse("ann@example.com").unwrap(),
        name: None,
        password: Secret::new("hunter2"),
        role: Role::Reviewer,
        project: None,
    };
    let catalog = &server.app.store.catalog;
    let person = catalog.create_user(new, Timestamp::default()).await.unwrap().id;
    make_key(catalog, Role::Reviewer, Some(person.clone())).await;
    person
}

pub(crate) fn public_key(role: Role) -> String {
    format!("pk-{}", role.as_str())
}

/// The Authorization header of a role's key.
pub(crate) fn basic(role: Role) -> String {
    basic_of(&public_key(role))
}

/// The Authorization header of a key with the usual secret.
pub(crate) fn basic_of(public_key: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{public_key}:sk")))
}

/// A request builder.
pub(crate) struct Request(reqwest::RequestBuilder);

impl Request {
    fn new(method: reqwest::Method, to: SocketAddr, path: &str) -> Self {
        Self(
            ratchet_remote::http::on_this_machine()
                .timeout(wait::TIMEOUT)
                .build()
                .unwrap()
                .request(method, format!("http://{to}{path}")),
        )
    }

    /// With another key.
    pub(crate) fn key(self, role: Role) -> Self {
        self.header("authorization", &basic(role))
    }

    /// With a header, replacing an earlier one.
    pub(crate) fn header(self, name: &'static str, value: &str) -> Self {
        let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
        Self(self.0.headers(headers))
    }

    pub(crate) fn protobuf(self, body: Vec<u8>) -> Self {
        Self(self.header("content-type", "application/x-protobuf").0.body(body))
    }

    pub(crate) fn json(self, body: String) -> Self {
        Self(self.header("content-type", "application/json").0.body(body))
    }

    pub(crate) fn bytes(self, body: &[u8]) -> Self {
        Self(self.0.body(body.to_vec()))
    }

    pub(crate) async fn send(self) -> Reply {
        let response = self.0.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Reply { status, headers, body: response.bytes().await.unwrap().to_vec() }
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks the status and that the message contains a text.
    #[track_caller]
    pub(crate) fn check(&self, status: u16, words: &str) -> &Self {
        let text = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status.as_u16(), status, "{text}");
        assert!(text.contains(words), "{text} does not say {words}");
        self
    }
}

/// A machine whose only judge is the offline one, and the server that reports are about.
#[derive(Debug, Default)]
pub(crate) struct OfflineMachine {
    pub(crate) langfuse: Option<LangfuseAccess>,
}

/// Targets are stored and listed by requests; no worker runs beside the tests.
fn experiment_worker(data: &DataFolder, app: &App) -> ExperimentWorker {
    let targets = ServerTargets {
        operator: BTreeMap::new(),
        outbound: app.outbound.clone(),
        supervision: Supervision::Nobody,
        variables: |_| None,
    };
    let evaluators = WorkerEvaluators { commands: BTreeMap::new(), data: data.path().to_owned() };
    let clock = Arc::new(SystemBackoffClock);
    ExperimentWorker::new(data.folder().clone(), targets, evaluators, clock)
}

impl JobEnvironment for OfflineMachine {
    fn judge<'a>(
        &'a self,
        _: &'a ProjectId,
        _: &'a JudgeName,
        _: Option<Money>,
    ) -> BoxFuture<'a, Result<Judge, EnvironmentError>> {
        Box::pin(std::future::ready(Ok(Judge::Offline)))
    }

    fn rubric(&self, name: &str) -> Result<Rubric, EnvironmentError> {
        Ok(rubric::shipped().find(|rubric| rubric.name == name).unwrap().clone())
    }

    fn suggestion_texts(&self) -> Result<SuggestionTexts, EnvironmentError> {
        Ok(SuggestionTexts { templates: Templates::shipped(), instructions: String::new() })
    }

    fn report_settings(&self, _: &ProjectId) -> Result<ReportSettings, EnvironmentError> {
        Ok(ReportSettings { langfuse: self.langfuse.clone(), ..ReportSettings::default() })
    }

    fn webhook_secret(&self) -> Result<Secret, EnvironmentError> {
        Ok(Secret::new("shared"))
    }
}
