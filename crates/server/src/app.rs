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
use ratchet_store::embedded::Store;
use ratchet_store::project::ProjectId;
use tokio::sync::Notify;

use crate::auth::LocalKeys;
use crate::body_budget::BodyBudget;
use crate::clock::Clock;
use crate::cpu_pool::CpuPool;
use crate::metrics::Metrics;
use crate::rate_limit::{PublicRates, Rate, RateLimiter};

/// What every handler can reach. A clone is one more pointer to the same parts.
#[derive(Clone, Debug)]
pub struct App(Arc<Parts>);

/// The parts of an [`App`].
#[derive(Debug)]
pub struct Parts {
    /// Durable truth: `store.telemetry` and `store.catalog`.
    pub store: Store,
    pub settings: Settings,
    pub clock: Clock,
    pub prices: Arc<PriceTable>,
    pub metrics: Metrics,
    /// How often each key has called lately.
    pub rates: RateLimiter,
    /// Keys that were handed out on this machine.
    pub local_keys: LocalKeys,
    /// How often callers with a public key alone have called lately.
    pub(crate) public_rates: PublicRates,
    /// Threads for work that takes real CPU time.
    pub workers: CpuPool,
    /// The memory that bodies take.
    pub(crate) bodies: BodyBudget,
    /// Room for streams of events: each takes a connection for as long as its client likes.
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
        let workers = CpuPool::default();
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

    /// Bytes of request bodies in memory now.
    pub fn bodies_in_flight(&self) -> usize {
        self.bodies.bytes()
    }

    /// Has what is to go taken away soon, and not only with the next hour.
    pub(crate) fn sweep_soon(&self) {
        self.sweep.notify_one();
    }

    /// Waits until that is wanted.
    pub(crate) async fn sweep_wanted(&self) {
        self.sweep.notified().await;
    }

    /// Has schedules looked at soon, and not only with the next half minute.
    pub(crate) fn run_soon(&self) {
        self.runs.notify_one();
    }

    /// Waits until that is wanted.
    pub async fn run_wanted(&self) {
        self.runs.notified().await;
    }

    /// Lets the readiness check say that the server is on its way out.
    pub fn begin_closing(&self) {
        self.is_closing.store(true, Ordering::SeqCst);
        self.closing.notify_waiters();
    }

    /// Returns once the server is on its way out, at once if it is.
    pub async fn closing(&self) {
        let told = self.closing.notified();
        if !self.is_closing() {
            told.await;
        }
    }

    /// Has the server run agents, from now on and once and for all.
    pub fn run_agents(&self, chats: Chats) {
        // A second time would be a mistake of ours, and the first one counts.
        drop(self.chats.set(Arc::new(chats)));
    }

    /// The agents that it runs, if it does.
    pub fn chats(&self) -> Option<Arc<Chats>> {
        self.chats.get().cloned()
    }

    /// Whether the server is on its way out.
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

/// How a server behaves. The default suits one machine.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub access: Access,
    /// How much a client may send.
    pub limits: Limits,
    /// How long a client may take.
    pub timeouts: Timeouts,
    /// Proxies through which others connect: they may have as many connections as they like.
    pub trusted_proxies: Networks,
    /// Which addresses may be called that callers have entered.
    pub outbound: OutboundPolicy,
    /// What to do about model calls without usage.
    pub token_counting: TokenCounting,
    /// Where large temporary files go, best on the disk of the data; the system's when `None`.
    pub scratch: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    #[default]
    Keys,
    /// Anyone, as an owner of this project: only for a server nobody else can reach.
    Open(ProjectId),
}

/// How much a client may send.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request body as it comes over the wire.
    pub body_bytes: usize,
    /// Bytes of a request body once decompressed.
    pub decompressed_bytes: usize,
    /// Bytes of a request body of a caller who has a public key alone.
    pub public_body_bytes: usize,
    /// Bytes that all request bodies take in memory at one time: as they came, unpacked and parsed.
    pub inflight_bytes: usize,
    /// Spans or events in one request.
    pub batch_len: usize,
    /// Bytes of one piece of media; they go to the disk as they come.
    pub media_bytes: usize,
    /// Bytes of one text; the middle of a longer one is elided, and its length kept.
    pub text_bytes: usize,
    /// How deep lists and maps may nest.
    pub depth: usize,
    /// Attributes of one span; also its events and its links.
    pub attributes: usize,
    /// JSON values in one request, those inside lists and maps included; over OTLP, attribute
    /// values.
    pub values: usize,
    /// How often one key may call; as often as it likes when `None`.
    pub rate: Option<Rate>,
    /// How often one address may call with a public key alone; all addresses together ten times as
    /// often.
    pub public_rate: Rate,
    /// Open connections, all listeners together.
    pub connections: usize,
    /// Open connections of one client address; trusted proxies have no such limit.
    pub connections_each: usize,
    /// Streams of events that are open, all projects together. Fewer than connections: streams stay
    /// for as long as their clients like.
    pub streams: usize,
    /// The same for each project.
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

/// How long a client may take.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// From connecting to the end of the first request's headers.
    pub first_request: Duration,
    /// From the last answer to the end of the next request's headers.
    pub headers: Duration,
    /// Between two pieces of a body.
    pub body_gap: Duration,
    pub body: Duration,
    /// Without taking anything of what it is sent.
    pub stall: Duration,
    /// Without an event, until a client that follows is told that we are still there, and proxies
    /// too.
    pub heartbeat: Duration,
    /// For requests under way when the server is told to stop.
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
