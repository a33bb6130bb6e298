//! What is small and relational: projects, keys, people, and what they make.
//!
//! One file for each noun, with its types and its SQL. That SQL is written once, in what SQLite
//! and PostgreSQL share.

mod sql;
/// What was read, until it changes.
mod cache;
/// Secrets on their way in.
mod credentials;
/// The border around everything else.
mod project;
/// What opens a project, and what it may do there.
mod key;
/// What a key may do beyond its project.
mod permission;
/// What people sign in with.
mod password;
mod user;
mod sign_in;
/// Who is signed in, and for how long.
mod login;
mod identity;
/// Names with versions, labels and tags.
mod versioned;
mod prompt;
mod skill;
/// What scores must look like.
mod score_config;
/// What must not be kept.
mod redaction;
mod cors_origin;
/// What users say about the product.
mod product_feedback;
/// What projects have settled about whatever they record.
mod recording_settings;
/// Images, sounds and files: whose they are and where they are used.
mod media;
/// What people are to look at.
mod queue;
mod comment;
/// Cases to try an agent on.
mod dataset;
/// One such case.
mod dataset_item;
mod dataset_history;
/// Whether a case fits what its dataset asks of it.
mod dataset_check;
/// What models are called and cost.
pub(crate) mod model;
mod llm_connection;
/// Definitions that are kept whole.
mod document;
/// Lists as people like to see them.
mod saved_view;
/// What weeks of scored sessions say.
mod report;
mod suggestion;
mod schedule;
/// Conversations with agents that run here.
mod chat;
/// Who is told when a turn ends or a person is needed.
mod notice;
/// What a server remembers of its clock.
mod clock_mark;
/// What owners do with whole projects and with people.
pub(crate) mod administration;
/// What judges were asked and said.
mod scoring;
mod audit;

use std::path::Path;
use std::sync::Arc;

use ratchet_core::record::price::PriceTable;
use ratchet_core::record::redact::KnownSecrets;
use tokio::sync::Notify;

use crate::embedded;
use crate::prices::ProjectPrices;
use crate::{StoreError, StoreResult};
use key::KeyCache;
use password::Passwords;
use recording_settings::RecordingSettingsCache;
pub(crate) use sql::Tx;

pub use administration::{Membership, ProjectChange, ProjectNote};
pub use audit::{Actor, AuditEntry, AuditQuery, Noun, Verb};
pub use chat::{Chat, ChatOrigin, ChatProcess, ChatStatus};
pub use clock_mark::ClockMark;
pub use comment::{Comment, CommentFilter, NewComment};
pub use dataset::{Change, Dataset, NewDataset, Schemas};
pub use dataset_history::DatasetMoment;
pub use dataset_item::{Collected, DatasetItem, DatasetItemQuery, ItemVersion, NewDatasetItem};
pub use document::{Document, DocumentKind, Documents};
pub use identity::{Admission, Identity};
pub use key::{ApiKey, KeyPair, NewKey, Role};
pub use llm_connection::{LlmConnection, LlmCredentials, NewLlmConnection};
pub use login::{LOGIN_IDLE, LOGIN_LIFETIME, Login, LoginUser};
pub use media::{Media, MediaOwner, MediaRef, MediaUse, NewMedia, TraceUse, UploadReport};
pub use model::KeptModel;
pub use notice::{
    DeliveryOutcome, DeliveryState, DueDelivery, NewNotice, NewReceiver, NoticeDelivery,
    NoticeReceiver, ReceiverChange, ReceiverKeys,
};
pub use permission::{Permission, Permissions};
pub use product_feedback::ProductFeedback;
pub use project::{NewProject, Project};
pub use prompt::{NewPrompt, Prompt, PromptQuery, PromptSummary, Wanted};
pub use queue::{NewQueue, NewQueueItem, Queue, QueueId, QueueItem, QueueProgress};
pub use recording_settings::RecordingSettings;
pub use redaction::KeptRule;
pub use report::{KeptReport, NewReport, ReportEffect, SavedReport};
pub use saved_view::{NewView, SavedView, ViewedPage};
pub use schedule::{
    NewSchedule, RunClaim, Schedule, ScheduleOutcome, ScheduleRun, ScheduleToggle, ScheduledWeek,
    Told, WEEKLY,
};
pub use score_config::KeptScoreConfig;
pub use scoring::{PaidVerdict, RunOutcome, RunTally, ScoringBatch, ScoringClaim, ScoringRun};
pub use sign_in::{ThrottleKey, Turn};
pub use skill::{NewSkill, NewSkillFile, Skill, SkillContent, SkillFile, SkillQuery, SkillSummary};
pub use suggestion::{KeptSuggestion, SuggestionStep};
pub use user::{NewUser, User};

/// The catalog interface: one behaviour, whichever database keeps it.
#[derive(Clone, Debug)]
pub struct Catalog {
    engine: Engine,
    keys: KeyCache,
    intakes: RecordingSettingsCache,
    prices: ProjectPrices,
    passwords: Passwords,
    /// Values that must not be kept in any project.
    known_secrets: KnownSecrets,
    /// Rung when there is something to deliver.
    bell: Arc<Notify>,
    actor: Arc<Actor>,
}

#[derive(Clone, Debug)]
enum Engine {
    /// SQLite in one folder.
    Embedded(embedded::CatalogDb),
}

impl Catalog {
    /// The catalog of a data folder.
    pub(crate) fn embedded(
        db: embedded::CatalogDb,
        prices: ProjectPrices,
        known_secrets: KnownSecrets,
    ) -> Self {
        Self {
            known_secrets,
            engine: Engine::Embedded(db),
            keys: KeyCache::default(),
            intakes: RecordingSettingsCache::default(),
            prices,
            passwords: Passwords::default(),
            bell: Arc::default(),
            actor: Arc::default(),
        }
    }

    /// A catalog of its own, outside of any data folder: a journal of work on another server.
    /// Several processes may have it open at once.
    ///
    /// # Errors
    /// Fails if it cannot be opened or brought up to date.
    pub fn apart(file: &Path) -> StoreResult<Self> {
        let db = embedded::CatalogDb::open_shared(file.to_owned())?;
        let prices = ProjectPrices::new(Arc::new(PriceTable::default()));
        Ok(Self::embedded(db, prices, KnownSecrets::default()))
    }

    /// Does some work in one transaction, beside the async runtime. If the work succeeds, all of
    /// it is on disk; if not, none of it happened.
    pub(crate) async fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.transact_or_refuse(work).await
    }

    /// The same for work that may refuse in words of its own; then none of it happened either.
    pub(crate) async fn transact_or_refuse<T, E>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let actor = Arc::clone(&self.actor);
        match &self.engine {
            Engine::Embedded(db) => db.transact(move |tx| work(&tx.by(&actor))).await,
        }
    }
}
