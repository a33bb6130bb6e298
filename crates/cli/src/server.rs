//! A server, from its configuration to its end. `serve` and `demo` both run one.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use ratchet_core::chat::workspace::WorkspaceSource;
use ratchet_core::network::Networks;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_server::app::{Access, App, Settings};
use ratchet_server::auth::LocalKey;
use ratchet_server::clock::Clock;
use ratchet_server::run::Listeners;
use ratchet_server::shutdown::Stop;
use ratchet_stages::app_state::AppState;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::notify::{DeliveryLimits, Notifier};
use ratchet_stages::promote::{PromotionWorker, WorkerLimits};
use ratchet_stages::record::count::TokenCounting;
use ratchet_stages::schedule::Scheduler;
use ratchet_stages::score::evaluators::EvaluationWorker;
use ratchet_stages::user_files;
use ratchet_store::catalog::{ApiKey, Catalog, KeyPair, NewKey, Permission, Permissions, Role};
use ratchet_store::project::ProjectId;
use ratchet_store::{Store, private_files};
use ratchet_web::sign_in::{OidcLogin, SignIn};
use ratchet_web::web::WebSettings;
use ratchet_web::{Web, web};
use tokio::net::TcpListener;

use crate::administration::Administration;
use crate::cmd::supervise;
use crate::config::Config;
use crate::config::value::{Address, Switch};
use crate::first_start::{FirstKeysFor, InitialSetup, StartOutcome};
use crate::local_socket::{LocalServerContext, LocalSocketServer};
use crate::{
    agents, folder, local_environment, local_socket, oidc_config, open_files, startup_message,
};

/// A server with its folder open and its ports bound; clients may connect and wait.
#[derive(Debug)]
pub(crate) struct Server {
    folder: Store,
    app: App,
    listeners: Listeners,
    oidc: Option<OidcLogin>,
    trusted_proxies: Networks,
    pages: WebSettings,
    scheduler: Scheduler,
    notifier: Notifier,
    local_socket: Option<LocalSocketServer>,
    /// What there is to talk to, and secrets made just now.
    pub(crate) start_outcome: StartOutcome,
    pub(crate) bound: Bound,
}

/// The addresses a server got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Web pages and all APIs.
    pub(crate) web: SocketAddr,
    /// OTLP over HTTP, besides the first.
    pub(crate) otlp_http: Option<SocketAddr>,
    pub(crate) otlp_grpc: Option<SocketAddr>,
}

impl Server {
    /// Opens the folder, binds the ports, and makes what a first start needs.
    ///
    /// Agents work under `chat.roots`; without sign-in, which takes a loopback address, anywhere.
    pub(crate) async fn open(
        config: &Config,
        command: &str,
        first_keys: FirstKeysFor,
    ) -> anyhow::Result<Self> {
        let workspace_source = match config.auth {
            Switch::On => WorkspaceSource::Network,
            Switch::Off => WorkspaceSource::OwnMachine,
        };
        Self::open_for(config, command, (workspace_source, first_keys)).await
    }

    /// Opens a server for one chat of the local user, who may choose any workspace.
    pub(crate) async fn open_for_chat(config: &Config) -> anyhow::Result<Self> {
        let options = (WorkspaceSource::OwnMachine, FirstKeysFor::Nobody);
        Self::open_for(config, "ratchet chat", options).await
    }

    async fn open_for(
        config: &Config,
        command: &str,
        (workspace_source, first_keys): (WorkspaceSource, FirstKeysFor),
    ) -> anyhow::Result<Self> {
        refuse_open_door(config)?;
        let setup = InitialSetup::check(&config.init)?;
        let folder = folder::open(config, command)?;
        let listeners = bind(config).await?;
        local_socket::revoke_leftovers(&folder.catalog).await?;
        let start_outcome = setup.apply(&folder.catalog, first_keys, Clock::System.now()).await?;
        let oidc = oidc_config::check(&config.oidc, &start_outcome.project.id)?;
        let settings = settings(config, &start_outcome.project.id)?;
        let prices = user_files::prices(&config.data)?;
        let state = (folder.clone(), config.data.clone());
        let state = AppState::new(state, Clock::System, config.outbound.clone());
        let app = App::new(state, settings, prices);
        app.run_agents(agents::open(config, &folder, workspace_source).await?);
        let bound = Bound::of(&listeners)?;
        let trusted_proxies = config.trusted_proxies.clone();
        let pages = WebSettings { forms: config.forms.clone(), ..WebSettings::default() };
        let server =
            config.url.clone().map_or_else(|| startup_message::url(bound.web), |url| url.0);
        let scheduler = local_environment::scheduler(folder.clone(), config, server.clone());
        let notifier = Notifier {
            store: folder.clone(),
            server,
            outbound: config.outbound.clone(),
            pace: Arc::new(SystemBackoffClock),
            limits: DeliveryLimits::default(),
            mail: config.smtp.mail(ratchet_web::mail_document)?,
        };
        app.use_environment(local_environment::environment(&folder, config));
        let evaluators = Arc::new(local_environment::evaluation_worker(&folder, config));
        // Before the first trace is recorded, so that none is missed.
        evaluators.prepare().await?;
        app.run_evaluators(evaluators);
        app.run_experiments(Arc::new(local_environment::experiment_worker(&folder, config)));
        app.run_promotions(Arc::new(PromotionWorker {
            store: folder.clone(),
            server: notifier.server.clone(),
            outbound: config.outbound.clone(),
            supervision: supervise::supervision(),
            pace: Arc::new(SystemBackoffClock),
            target: config.promotion.target(),
            limits: WorkerLimits::default(),
        }));
        let local_socket = LocalSocketServer::open(&config.data);
        Ok(Self {
            folder,
            app,
            listeners,
            oidc,
            trusted_proxies,
            pages,
            scheduler,
            notifier,
            local_socket,
            start_outcome,
            bound,
        })
    }

    /// Returns the open data folder.
    pub(crate) fn store(&self) -> Store {
        self.folder.clone()
    }

    /// Returns the worker that runs evaluators.
    pub(crate) fn evaluators(&self) -> Option<Arc<EvaluationWorker>> {
        self.app.evaluators().cloned()
    }

    /// Makes one more key for the project, for a client of our own.
    pub(crate) async fn another_key(&self, note: &str) -> anyhow::Result<KeyPair> {
        Ok(self.member_key(note, Permissions::NONE).await?.1)
    }

    /// Creates a key for the local user, whose agents may work in any folder.
    pub(crate) async fn local_key(&self, note: &str) -> anyhow::Result<(KeyPair, LocalKey)> {
        let permissions = Permissions::NONE.with(Permission::Chat);
        let (key, pair) = self.member_key(note, permissions).await?;
        Ok((pair, self.app.local_keys.register(&key.id)))
    }

    async fn member_key(
        &self,
        note: &str,
        permissions: Permissions,
    ) -> anyhow::Result<(ApiKey, KeyPair)> {
        let (project, note) = (self.start_outcome.project.id.clone(), Some(note.to_owned()));
        let new =
            NewKey { project, role: Role::Member, permissions, note, person: None, pair: None };
        let made = self.folder.catalog.create_key(new, Clock::System.now()).await;
        made.context("cannot create a key")
    }

    /// The catalog of its folder.
    pub(crate) fn catalog(&self) -> Catalog {
        self.folder.catalog.clone()
    }

    /// Whether sign-in is off.
    pub(crate) fn is_open(&self) -> bool {
        self.app.settings.access != Access::Keys
    }

    /// Setup URL for the first owner, while there is no user.
    pub(crate) fn set_up_url(&self) -> Option<String> {
        let token = self.start_outcome.set_up_token.as_ref().filter(|_| !self.is_open())?;
        Some(format!("{}/set-up?token={}", startup_message::url(self.bound.web), token.expose()))
    }

    /// The same folder, for what commands do with it.
    pub(crate) fn administration(&self) -> Administration {
        Administration(DataTarget::Folder(self.folder.clone()))
    }

    /// Serves until stopped, then finishes running requests and closes the folder.
    pub(crate) async fn run(self, stop: Stop) -> anyhow::Result<()> {
        let sign_in = SignIn {
            set_up_token: self.start_outcome.set_up_token,
            oidc: self.oidc.map(Box::new),
            trusted_proxies: self.trusted_proxies,
        };
        let web = pages_of(&self.app, sign_in, self.pages);
        let pages = ratchet_web::pages(web);
        let app = self.app.clone();
        let chats = self.app.chats().cloned();
        let serving = ratchet_server::run::run(self.app, self.listeners, pages, stop.clone());
        let socket_context = LocalServerContext {
            catalog: self.folder.catalog.clone(),
            project: self.start_outcome.project.id.clone(),
            url: startup_message::url(self.bound.web),
            local_keys: app.local_keys.clone(),
        };
        let (notifier, local_socket, stopping) = (self.notifier, self.local_socket, stop.clone());
        let local_socket_task = async {
            if let Some(local_socket) = local_socket {
                local_socket.run(socket_context, stopping.clone()).await;
            }
        };
        let is_stopping = || stop.is_requested();
        let scheduling = self.scheduler.run(stop.requested(), || app.run_wanted(), &is_stopping);
        let evaluating = async {
            if let Some(evaluators) = app.evaluators() {
                Box::pin(evaluators.run(stopping.requested())).await;
            }
        };
        let experimenting = async {
            if let Some(worker) = app.experiments() {
                Box::pin(worker.run(stopping.requested())).await;
            }
        };
        let promoting = async {
            if let Some(worker) = app.promotions() {
                worker.run(stopping.requested()).await;
            }
        };
        let notifying = notifier.run(stopping.requested());
        let working = async { tokio::join!(evaluating, experimenting, promoting) };
        let beside = async { tokio::join!(scheduling, notifying, working, local_socket_task) };
        tokio::pin!(serving, beside);
        tokio::select! {
            served = &mut serving => {
                served?;
                // Background tasks were stopped as well, and save their progress.
                beside.await;
            }
            _ = &mut beside => serving.await?,
        }
        if let Some(chats) = chats {
            chats.service.stop().await;
        }
        self.folder.close().await.context("cannot close the data folder")?;
        tracing::info!("stopped");
        Ok(())
    }
}

/// What the pages reach: the same folder and clock as the APIs.
fn pages_of(app: &App, sign_in: SignIn, settings: WebSettings) -> Web {
    let access = match &app.settings.access {
        Access::Keys => web::Access::People(sign_in),
        Access::Open(project) => web::Access::Open(project.clone()),
    };
    Web::new(settings, app.state.clone(), access)
}

impl Bound {
    fn of(listeners: &Listeners) -> io::Result<Self> {
        let address = |listener: &Option<TcpListener>| {
            listener.as_ref().map(TcpListener::local_addr).transpose()
        };
        Ok(Self {
            web: listeners.web.local_addr()?,
            otlp_http: address(&listeners.otlp_http)?,
            otlp_grpc: address(&listeners.otlp_grpc)?,
        })
    }
}

fn settings(config: &Config, project: &ProjectId) -> anyhow::Result<Settings> {
    let access = match config.auth {
        Switch::On => Access::Keys,
        Switch::Off => Access::Open(project.clone()),
    };
    // What an earlier process left here when it was killed is of no use to anyone.
    let scratch = config.data.join("tmp");
    match std::fs::remove_dir_all(&scratch) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot empty {}", scratch.display()));
        }
        _ => {}
    }
    private_files::create_dir(&scratch)
        .with_context(|| format!("cannot create the folder {}", scratch.display()))?;
    let limits = open_files::fit(config.limits.clone(), open_files::raise());
    let timeouts = config.timeouts.clone();
    let trusted_proxies = config.trusted_proxies.clone();
    let token_counting = match config.count_tokens {
        Switch::On => TokenCounting::On,
        Switch::Off => TokenCounting::Off,
    };
    let scratch = Some(scratch);
    Ok(Settings { access, limits, timeouts, trusted_proxies, token_counting, scratch })
}

/// Without keys every client owns the data, so only this machine may connect.
fn refuse_open_door(config: &Config) -> anyhow::Result<()> {
    if config.auth == Switch::On {
        return Ok(());
    }
    for (flag, address) in config.addresses.listeners() {
        if !address.ip().is_loopback() {
            bail!(
                "{flag} {address} is reachable from other machines, and --no-auth would give them access; use a loopback address or remove --no-auth"
            );
        }
    }
    Ok(())
}

async fn bind(config: &Config) -> anyhow::Result<Listeners> {
    let addresses = config.addresses;
    let web = addresses.web.0;
    let web = TcpListener::bind(web).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "{web} is in use by another program; stop it or choose another address with --listen"
        ),
        _ => anyhow::Error::from(error)
            .context(format!("cannot listen on {web}; choose another address with --listen")),
    })?;
    Ok(Listeners {
        web,
        otlp_http: bind_optional("--otlp-http", addresses.otlp_http).await?,
        otlp_grpc: bind_optional("--otlp-grpc", addresses.otlp_grpc).await?,
    })
}

/// A busy extra port is often a collector that forwards to us anyway: worth a warning only.
async fn bind_optional(
    flag: &'static str,
    address: Address,
) -> anyhow::Result<Option<TcpListener>> {
    let Address::At(address) = address else { return Ok(None) };
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            tracing::warn!(
                "{address} is in use by another program; continuing without it (choose another address with {flag}, or {flag} off)"
            );
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("cannot listen on {address}; see {flag}")),
    }
}
