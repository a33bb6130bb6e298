use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::network::Networks;
use ratchet_core::permit_pool::PermitPool;
use ratchet_core::record::price::PriceTable;
use ratchet_stages::app_state::AppState;
use ratchet_stages::record::count::TokenCounting;
use ratchet_store::project::ProjectId;

use crate::auth::LocalKeys;
use crate::body_budget::BodyBudget;
use crate::langfuse::metrics::daily_traces::DailyTraces;
use crate::metrics::Metrics;
use crate::rate_limit::{PublicRates, Rate, RateLimiter};

/// The application state of every handler. Clones share it.
#[derive(Clone, Debug)]
pub struct App(Arc<Parts>);

/// The parts of an [`App`].
#[derive(Debug)]
pub struct Parts {
    /// What the pages have, too.
    pub state: AppState,
    pub settings: Settings,
    pub prices: Arc<PriceTable>,
    pub metrics: Metrics,
    /// Rate limiter per key.
    pub rates: RateLimiter,
    /// Keys issued to commands on this machine.
    pub local_keys: LocalKeys,
    /// Rate limiter for clients with only a public key.
    pub(crate) public_rates: PublicRates,
    /// Memory budget of request bodies.
    pub(crate) bodies: BodyBudget,
    /// Permits for SSE streams: each occupies a connection for as long as its client likes.
    pub(crate) streams: PermitPool<ProjectId>,
    pub(crate) daily_traces: DailyTraces,
}

impl App {
    pub fn new(state: AppState, settings: Settings, prices: Arc<PriceTable>) -> Self {
        let rates = RateLimiter::new(settings.limits.rate);
        let public_rates = PublicRates::new(settings.limits.public_rate);
        let metrics = Metrics::default();
        let bodies = BodyBudget::new(settings.limits.inflight_bytes);
        let streams = PermitPool::new(settings.limits.streams, settings.limits.project_streams);
        Self(Arc::new(Parts {
            state,
            settings,
            prices,
            metrics,
            rates,
            local_keys: LocalKeys::default(),
            public_rates,
            bodies,
            streams,
            daily_traces: DailyTraces::default(),
        }))
    }

    /// Bytes of request bodies in memory.
    pub fn bodies_in_flight(&self) -> usize {
        self.bodies.bytes()
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Deref for Parts {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.state
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
