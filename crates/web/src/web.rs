use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ratchet_core::judge::rubric::{self, Rubric};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::permit_pool::PermitPool;
use ratchet_core::time::Timestamp;
use ratchet_stages::chat::Chats;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use crate::form_budget::{FormBudget, FormLimits};
use crate::sign_in::SignIn;
use crate::trace_cache::TraceCache;
use crate::upload_staging::UploadStaging;

/// Shared state of the page handlers; cheap to clone.
#[derive(Clone, Debug)]
pub struct Web(Arc<WebParts>);

/// The fields of a [`Web`].
#[derive(Debug)]
pub struct WebParts {
    /// `store.telemetry` and `store.catalog`.
    pub store: Store,
    pub access: Access,
    pub settings: WebSettings,
    /// Memory budget for form submissions.
    pub(crate) form_budget: FormBudget,
    /// Concurrency limit of model calls, per user: each holds a request until the provider
    /// responds.
    pub(crate) model_calls: PermitPool<String>,
    /// Uploads that wait for confirmation.
    pub desk: UploadStaging,
    /// Cache of recently read traces.
    pub(crate) kept_steps: TraceCache,
    /// Reader of the rubrics.
    pub rubrics: RubricReader,
    /// The chat service, if the server runs agents.
    pub(crate) talking: OnceLock<Talking>,
    clock: Clock,
}

/// The chat service and the shutdown signal.
pub(crate) struct Talking {
    pub(crate) chats: Arc<Chats>,
    /// Concurrency limit of event streams, per user: each holds a connection while its page is
    /// open.
    pub(crate) streams: PermitPool<String>,
    closing: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Talking {
    /// Completes when the server shuts down.
    pub(crate) fn closing(&self) -> BoxFuture<'static, ()> {
        (self.closing)()
    }
}

impl fmt::Debug for Talking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talking").field("chats", &self.chats).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub enum Access {
    People(SignIn),
    /// Everyone is owner, starting at this project: only for servers on loopback.
    Open(ProjectId),
}

/// Reads the current rubrics: custom and built-in. Files may change while the server runs.
pub struct RubricReader(Box<dyn Fn() -> Result<Vec<Rubric>, String> + Send + Sync>);

impl RubricReader {
    /// Creates a reader from a function that returns the rubrics or an error message.
    pub fn new(read: impl Fn() -> Result<Vec<Rubric>, String> + Send + Sync + 'static) -> Self {
        Self(Box::new(read))
    }

    /// Built-in rubrics only.
    pub fn shipped() -> Self {
        Self::new(|| Ok(rubric::shipped().cloned().collect()))
    }

    /// Returns all rubrics.
    ///
    /// # Errors
    /// The message names the invalid file.
    pub fn read(&self) -> Result<Vec<Rubric>, String> {
        (self.0)()
    }
}

impl fmt::Debug for RubricReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RubricReader")
    }
}

struct Clock(Box<dyn Fn() -> Timestamp + Send + Sync>);

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Concurrent chat event streams: total and per user.
const STREAMS: (usize, usize) = (200, 40);
/// Concurrent model calls: total and per user.
const MODEL_CALLS: (usize, usize) = (8, 2);

/// Limits of pages. The default suits one machine.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// Time limit of list queries.
    pub patience: Duration,
    /// Limits of form submissions.
    pub forms: FormLimits,
    /// Outbound policy for addresses entered by users.
    pub outbound: OutboundPolicy,
}

impl Default for WebSettings {
    fn default() -> Self {
        let (forms, outbound) = (FormLimits::default(), OutboundPolicy::default());
        Self { patience: Duration::from_secs(2), forms, outbound }
    }
}

impl Web {
    /// Creates the state with the server's clock.
    pub fn new(
        settings: WebSettings,
        store: Store,
        access: Access,
        rubrics: RubricReader,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(WebParts {
            store,
            access,
            form_budget: FormBudget::new(&settings.forms),
            settings,
            model_calls: PermitPool::new(MODEL_CALLS.0, MODEL_CALLS.1),
            desk: UploadStaging::default(),
            kept_steps: TraceCache::default(),
            rubrics,
            talking: OnceLock::new(),
            clock: Clock(Box::new(clock)),
        }))
    }

    /// Sets the chat service, once; `closing` returns a future that completes when the server shuts
    /// down.
    pub fn run_agents<F>(&self, chats: Arc<Chats>, closing: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let closing = Box::new(move || Box::pin(closing()) as BoxFuture<'static, ()>);
        // A second call would be a bug; the first value is used.
        drop(self.talking.set(Talking {
            chats,
            streams: PermitPool::new(STREAMS.0, STREAMS.1),
            closing,
        }));
    }

    pub fn now(&self) -> Timestamp {
        (self.clock.0)()
    }
}

impl Deref for Web {
    type Target = WebParts;

    fn deref(&self) -> &WebParts {
        &self.0
    }
}
