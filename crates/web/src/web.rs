use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::permit_pool::PermitPool;
use ratchet_stages::app_state::AppState;
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
    /// What the API has, too.
    pub state: AppState,
    pub access: Access,
    pub settings: WebSettings,
    /// Memory budget for form submissions.
    pub(crate) form_budget: FormBudget,
    /// Concurrency limit of model calls, per user: each holds a request until the provider
    /// responds.
    pub(crate) model_calls: PermitPool<String>,
    /// Uploads that wait for confirmation.
    pub uploads: UploadStaging,
    /// Cache of recently read traces.
    pub(crate) trace_cache: TraceCache,
    /// Concurrency limit of event streams of chats, per user: each holds a connection while its
    /// page is open.
    pub(crate) streams: PermitPool<String>,
    /// Concurrency limit of public pages, per address: anybody may ask for them.
    pub(crate) public_reads: PermitPool<String>,
}

#[derive(Debug)]
pub enum Access {
    People(SignIn),
    /// Everyone is owner, starting at this project: only for servers on loopback.
    Open(ProjectId),
}

/// Concurrent chat event streams: total and per user.
const STREAMS: (usize, usize) = (200, 40);
/// Concurrent requests of public pages: total and per address.
const PUBLIC_READS: (usize, usize) = (16, 8);
/// Concurrent model calls: total and per user.
const MODEL_CALLS: (usize, usize) = (8, 2);

/// Limits of pages. The default suits one machine.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// Time limit of list queries.
    pub query_timeout: Duration,
    /// Limits of form submissions.
    pub forms: FormLimits,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self { query_timeout: Duration::from_secs(2), forms: FormLimits::default() }
    }
}

impl Web {
    /// Creates the state of the pages.
    pub fn new(settings: WebSettings, state: AppState, access: Access) -> Self {
        Self(Arc::new(WebParts {
            state,
            access,
            form_budget: FormBudget::new(&settings.forms),
            settings,
            model_calls: PermitPool::new(MODEL_CALLS.0, MODEL_CALLS.1),
            streams: PermitPool::new(STREAMS.0, STREAMS.1),
            public_reads: PermitPool::new(PUBLIC_READS.0, PUBLIC_READS.1),
            uploads: UploadStaging::default(),
            trace_cache: TraceCache::default(),
        }))
    }
}

impl Deref for Web {
    type Target = WebParts;

    fn deref(&self) -> &WebParts {
        &self.0
    }
}

impl Deref for WebParts {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.state
    }
}
