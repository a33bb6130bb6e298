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
use ratchet_store::embedded::Store;
use ratchet_store::project::ProjectId;

use crate::form_budget::{FormBudget, FormLimits};
use crate::sign_in::SignIn;
use crate::trace_cache::TraceCache;
use crate::upload_staging::UploadStaging;

/// What every page can reach. A clone is one more pointer to the same parts.
#[derive(Clone, Debug)]
pub struct Web(Arc<WebParts>);

/// The parts of a [`Web`].
#[derive(Debug)]
pub struct WebParts {
    /// Durable truth: `store.telemetry` and `store.catalog`.
    pub store: Store,
    pub access: Access,
    pub settings: WebSettings,
    /// Memory for what visitors send.
    pub(crate) form_budget: FormBudget,
    /// Room for questions to models, by person: each holds a request for as long as the provider
    /// takes.
    pub(crate) model_calls: PermitPool<String>,
    /// Files that wait for their people.
    pub desk: UploadStaging,
    /// The steps of the traces that were read last.
    pub(crate) kept_steps: TraceCache,
    /// What sessions are judged by.
    pub rubrics: RubricReader,
    /// The agents that the server runs, if it does.
    pub(crate) talking: OnceLock<Talking>,
    clock: Clock,
}

/// The agents that a server runs, and when it stops.
pub(crate) struct Talking {
    pub(crate) chats: Arc<Chats>,
    /// Room for streams of events, by person: each takes a connection for as long as its page is
    /// open.
    pub(crate) streams: PermitPool<String>,
    closing: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
}

impl Talking {
    /// Returns once the server is on its way out.
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
    /// Anyone, as an owner, starting at this project: only for a server nobody else can reach.
    Open(ProjectId),
}

/// Reads the rubrics of a server as they are now: those of its own, and those that come with
/// Ratchet. People change them while the server runs.
pub struct RubricReader(Box<dyn Fn() -> Result<Vec<Rubric>, String> + Send + Sync>);

impl RubricReader {
    /// Reads them so; what is wrong with a file is said in words.
    pub fn new(read: impl Fn() -> Result<Vec<Rubric>, String> + Send + Sync + 'static) -> Self {
        Self(Box::new(read))
    }

    /// Those that come with Ratchet alone.
    pub fn shipped() -> Self {
        Self::new(|| Ok(rubric::shipped().cloned().collect()))
    }

    /// All of them.
    ///
    /// # Errors
    /// Says which file has a mistake.
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

/// Pages that follow conversations at once: of all people, and of one.
const STREAMS: (usize, usize) = (200, 40);
/// Questions to models at once: of all people, and of one.
const MODEL_CALLS: (usize, usize) = (8, 2);

/// What pages keep to. The default suits one machine.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// How long a page looks for what it shows: as long as people like to wait for a list.
    pub patience: Duration,
    /// How much the forms that are under way may take.
    pub forms: FormLimits,
    /// Which addresses may be called that visitors have entered.
    pub outbound: OutboundPolicy,
}

impl Default for WebSettings {
    fn default() -> Self {
        let (forms, outbound) = (FormLimits::default(), OutboundPolicy::default());
        Self { patience: Duration::from_secs(2), forms, outbound }
    }
}

impl Web {
    /// Puts the parts together. The time of day comes from the server's clock.
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

    /// Has pages talk to agents that the server runs, from now on and once and for all; `closing`
    /// gives what ends when the server is on its way out.
    pub fn run_agents<F>(&self, chats: Arc<Chats>, closing: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let closing = Box::new(move || Box::pin(closing()) as BoxFuture<'static, ()>);
        // A second time would be a mistake of ours, and the first one counts.
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
