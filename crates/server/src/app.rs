use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ratchet_core::network::Networks;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::permit_pool::PermitPool;
use ratchet_core::record::price::PriceTable;
use ratchet_stages::chat::Chats;
use ratchet_stages::record::count::TokenCounting;
use ratchet_store::Store;
use ratchet_store::blocking::BlockingPool;
use ratchet_store::project::ProjectId;
use tokio::sync::Notify;

use crate::auth::LocalKeys;
use crate::body_budget::BodyBudget;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::rate_limit::{PublicRates, Rate, RateLimiter};

/// The application state of every handler. Clones share it.
#[derive(Clone, Debug)]
pub struct App(Arc<Parts>);

/// The parts of an [`App`].
#[derive(Debug)]
pub struct Parts {
    /// `store.telemetry` and `store.catalog`.
    pub store: Store,
    pub settings: Settings,
    pub clock: Clock,
    pub prices: Arc<PriceTable>,
    pub metrics: Metrics,
    /// Rate limiter per key.
    pub rates: RateLimiter,
    /// Keys issued to commands on this machine.
    pub local_keys: LocalKeys,
    /// Rate limiter for clients with only a public key.
    pub(crate) public_rates: PublicRates,
    /// Threads for CPU-bound work.
    pub workers: BlockingPool,
    /// Memory budget of request bodies.
    pub(crate) bodies: BodyBudget,
    /// Permits for SSE streams: each occupies a connection for as long as its client likes.
    pub(crate) streams: PermitPool<ProjectId>,
    is_closing: AtomicBool,
    closing: Notify,
    sweep: Notify,
    runs: Notify,
    chats: OnceLock<Arc<Chats>>,
}

impl App {
    pub fn new(store: Store, settings: Settings, clock: Clock, prices: Arc<PriceTable>) -> Self {
        let rates = RateLimiter::new(settings.limits.rate);
        let public_rates = PublicRates::new(settings.limits.public_rate);
        let metrics = Metrics::default();
        let workers = BlockingPool::per_core();
        let bodies = BodyBudget::new(settings.limits.inflight_bytes);
        let streams = PermitPool::new(settings.limits.streams, settings.limits.project_streams);
        Self(Arc::new(Parts {
            store,
            settings,
            clock,
            prices,
            metrics,
            rates,
            local_keys: LocalKeys::default(),
            public_rates,
            workers,
            bodies,
            streams,
            is_closing: AtomicBool::new(false),
            closing: Notify::new(),
            sweep: Notify::new(),
            runs: Notify::new(),
            chats: OnceLock::new(),
        }))
    }

    /// Bytes of request bodies in memory.
    pub fn bodies_in_flight(&self) -> usize {
        self.bodies.bytes()
    }

    /// Wakes the retention sweep before its next hourly run.
    pub(crate) fn sweep_soon(&self) {
        self.sweep.notify_one();
    }

    /// Waits until [`Self::sweep_soon`] is called.
    pub(crate) async fn sweep_wanted(&self) {
        self.sweep.notified().await;
    }

    /// Wakes the scheduler before its next poll.
    pub(crate) fn run_soon(&self) {
        self.runs.notify_one();
    }

    /// Waits until [`Self::run_soon`] is called.
    pub async fn run_wanted(&self) {
        self.runs.notified().await;
    }

    /// Starts shutdown: the readiness check fails from now on.
    pub fn begin_closing(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
    }

    /// Waits for the start of shutdown.
    pub async fn closing(&self) {
        let told = self.closing.notified();
        if !self.is_closing() {
            told.await;
        }
    }

    /// Enables chats. Takes effect once.
    pub fn run_agents(&self, chats: Chats) {
        // A second call would be a bug, and the first one wins.
        drop(self.chats.set(Arc::new(chats)));
    }

    /// The chats that the server runs, if enabled.
    pub fn chats(&self) -> Option<Arc<Chats>> {
        self.chats.get().cloned()
    }

    /// Whether the server is shutting down.
    pub fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::SeqCst)
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// Settings of a server. The defaults suit one machine.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub access: Access,
    pub limits: Limits,
    pub timeouts: Timeouts,
    /// Trusted proxies: they have no limit on connections.
    pub trusted_proxies: Networks,
    /// Which client-provided addresses the server may call.
    pub outbound: OutboundPolicy,
    /// Token counting for model calls without usage.
    pub token_counting: TokenCounting,
    /// Folder for large temporary files, best on the disk of the data; the system's when `None`.
    pub scratch: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    #[default]
    Keys,
    /// No authentication, with an owner's role in this project: only for a server on a private
    /// address.
    Open(ProjectId),
}

/// Limits on requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request body on the wire.
    pub body_bytes: usize,
    /// Bytes of a request body once decompressed.
    pub decompressed_bytes: usize,
    /// Bytes of a request body of a client with only a public key.
    pub public_body_bytes: usize,
    /// Memory of all request bodies together: raw, decompressed and parsed.
    pub inflight_bytes: usize,
    /// Spans or events in one request.
    pub batch_len: usize,
    /// Bytes of one media file, which is streamed to disk.
    pub media_bytes: usize,
    /// Bytes of one text; the middle of a longer one is elided, and its length recorded.
    pub text_bytes: usize,
    /// Nesting depth of JSON.
    pub depth: usize,
    /// Attributes of one span; also its events and its links.
    pub attributes: usize,
    /// JSON values in one request, including nested ones; with OTLP, attribute values.
    pub values: usize,
    /// Rate limit per key; none when `None`.
    pub rate: Option<Rate>,
    /// Rate limit per client address with only a public key; ten times as much for all addresses
    /// together.
    pub public_rate: Rate,
    /// Open connections of all listeners together.
    pub connections: usize,
    /// Open connections per client address; trusted proxies are exempt.
    pub connections_each: usize,
    /// Open SSE streams of all projects together. Fewer than connections: streams last as long as
    /// their clients like.
    pub streams: usize,
    /// Open SSE streams per project.
    pub project_streams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 20_000_000,
            decompressed_bytes: 100_000_000,
            public_body_bytes: 64_000,
            inflight_bytes: 256_000_000,
            batch_len: 10_000,
            media_bytes: 200_000_000,
            text_bytes: 8_000_000,
            depth: 64,
            attributes: 1_000,
            values: 2_000_000,
            rate: None,
            public_rate: Rate { per_second: 5.0, burst: 50.0 },
            connections: 4_000,
            connections_each: 1_000,
            streams: 2_000,
            project_streams: 1_500,
        }
    }
}

/// Timeouts of client connections.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// From connecting to the end of the first request's headers.
    pub first_request: Duration,
    /// From the last response to the end of the next request's headers.
    pub headers: Duration,
    /// Between two chunks of a body.
    pub body_gap: Duration,
    pub body: Duration,
    /// Write timeout: without the client reading anything.
    pub stall: Duration,
    /// Interval of SSE keep-alive comments, for clients and proxies.
    pub heartbeat: Duration,
    /// For requests in flight at shutdown.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_request: Duration::from_secs(10),
            headers: Duration::from_secs(75),
            body_gap: Duration::from_secs(15),
            body: Duration::from_secs(300),
            stall: Duration::from_secs(60),
            heartbeat: Duration::from_secs(15),
            drain: Duration::from_secs(10),
        }
    }
}
