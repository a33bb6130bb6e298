//! The catalog: small relational data such as projects, API keys, users, prompts and datasets.
//!
//! One file per entity, with its types and its SQL. The SQL is the subset that SQLite and
//! PostgreSQL share.

mod sql;
/// In-memory cache with invalidation on change.
mod cache;
/// Random keys, secret hashes and tokens.
mod credentials;
mod project;
/// API keys and roles.
mod key;
/// Permissions of a key beyond its role.
mod permission;
/// Password hashing.
mod password;
mod user;
mod sign_in;
/// Logins: signed-in browsers and their expiry.
mod login;
mod identity;
/// What prompts and skills share: versions, labels and tags.
mod versioned;
mod prompt;
mod skill;
mod score_config;
/// Redaction rules.
mod redaction;
mod cors_origin;
mod product_feedback;
/// Public links, and bookmarks of sessions.
mod publication;
/// Per-project settings that recording needs, cached.
mod recording_settings;
/// Media metadata: owners, uses and uploads.
mod media;
/// Agents and their aliases.
pub(crate) mod agent;
/// Annotation queues.
mod queue;
/// Draws of weekly reviews.
mod review_alert;
mod announcement;
mod review_draw;
/// The durable job queue.
mod job;
/// Jobs and activity of evaluators.
mod evaluation;
/// Runs of experiments, and their trials in the job queue.
mod experiment_run;
mod comment;
/// Decisions of gates.
mod gate;
/// Agent versions, and which of them serve where.
mod agent_version;
/// A/B tests of prompts.
mod ab_test;
/// Promotions: the state machine's transactions.
mod promotion;
/// Chats with targets.
mod target_chat;
mod dataset;
/// Names with slashes.
mod folders;
/// Renaming and deleting datasets.
mod dataset_change;
mod dataset_item;
mod dataset_history;
/// Items without their texts, or with the beginning of them.
mod dataset_head;
/// JSON Schema validation of dataset items.
mod dataset_check;
/// Model definitions and prices.
pub(crate) mod model;
mod llm_connection;
mod experiment_target;
/// Dashboards, widgets, evaluators and evaluation rules, stored as whole JSON documents.
mod document;
mod project_table;
mod saved_view;
/// Weekly quality reports.
mod report;
/// Weekly documents of agents.
mod feedback_report;
/// The backlog of proposals.
mod proposal;
mod schedule;
mod chat;
/// Webhooks and browser push: receivers and deliveries.
mod notice;
/// The last trusted clock reading.
mod clock_mark;
/// Administration of projects and users by owners.
pub(crate) mod administration;
/// The scoring journal: runs, leases and paid verdicts.
mod scoring;
mod audit;

use std::path::Path;
use std::sync::Arc;

use ratchet_core::record::price::PriceTable;
use ratchet_core::record::redact::KnownSecrets;
use tokio::sync::Notify;

use crate::agent_aliases::AgentAliases;
use crate::embedded;
use crate::prices::ProjectPrices;
use crate::{StoreError, StoreResult};
use key::KeyCache;
use password::Passwords;
use recording_settings::RecordingSettingsCache;
pub(crate) use sql::Tx;

pub use ab_test::{AbChange, StoredAbTest};
pub use administration::{Membership, ProjectChange, ProjectNote};
pub use agent::Agent;
pub use agent_version::{Serving, StoredAgentVersion};
pub use announcement::NewAnnouncement;
pub use audit::{Actor, AuditAction, AuditEntry, AuditObject, AuditQuery};
pub use chat::{Chat, ChatOrigin, ChatProcess, ChatStatus};
pub use clock_mark::ClockMark;
pub use comment::{Comment, CommentFilter, NewComment};
pub use dataset::{Dataset, DatasetQuery, FieldUpdate, NewDataset, Schemas};
pub use dataset_head::{DatasetItemHead, DatasetItemPreview};
pub use dataset_history::{DatasetMoment, ItemVersion};
pub use dataset_item::{
    Collected, DatasetItem, DatasetItemQuery, ListedDatasetItem, NewDatasetItem,
};
pub use document::{Document, DocumentKind, Documents};
pub use evaluation::{
    EnqueuedEvaluation, EvaluationEnd, EvaluatorActivity, EvaluatorCall, FinishedEvaluation,
    WaitingEvaluations,
};
pub use experiment_run::{
    CacheableAnswer, ClaimedTrial, ExperimentRun, FinishedTrial, NewExperimentRun, NewTrial,
    RunCounts, RunExtension, RunOpening, TrialClaim, TrialLease, TrialRenewal,
};
pub use experiment_target::{NewStoredTarget, StoredTarget};
pub use feedback_report::{FeedbackEffect, NewFeedback, SavedFeedback, StoredFeedback};
pub use folders::NameFolder;
pub use gate::{GateQuery, NewGate, StoredGate};
pub use identity::{Admission, ProviderIdentity};
pub use job::{JobFailure, JobKey, JobLease, JobQuery, JobRecord, JobRequest, LeaseStatus, NewJob};
pub use key::{ApiKey, KeyPair, KeyPerson, NewKey, Role};
pub use llm_connection::{LlmConnection, LlmCredentials, NewLlmConnection};
pub use login::{LOGIN_IDLE, LOGIN_LIFETIME, Login, LoginUser};
pub use media::{
    ContentReference, Media, MediaOwner, NewMedia, ReferenceLocation, TraceReference, UploadReport,
};
pub use model::StoredModel;
pub use notice::{
    DeliveryOutcome, DeliveryState, DueDelivery, NewNotice, NewReceiver, NoticeDelivery,
    NoticeReceiver, ReceiverChange, ReceiverKeys,
};
pub use permission::{Permission, Permissions};
pub use product_feedback::ProductFeedback;
pub use project::{NewProject, Project};
pub use promotion::{NewPromotion, PromotionCall, PromotionQuery, StoredPromotion};
pub use prompt::{NewPrompt, Prompt, PromptQuery, PromptReferences, PromptSummary};
pub use proposal::{ProposalQuery, ProposalStep, StoredProposal, StoredSuggestion, SuggestionStep};
pub use publication::{Publication, PublishedKind};
pub use queue::{
    NewQueue, NewQueueItem, NewReview, Queue, QueueId, QueueItem, QueueProgress, Review,
    ReviewEffect, ReviewLease,
};
pub use recording_settings::RecordingSettings;
pub use redaction::StoredRule;
pub use report::{NewReport, ReportEffect, SavedReport, StoredReport};
pub use review_alert::{AlertEffect, NewAlert};
pub use review_draw::{DrawEffect, NewDraw, SourcedItem, StoredDraw};
pub use saved_view::{NewView, SavedView, ViewedPage};
pub use schedule::{
    FEEDBACK, NewSchedule, REVIEW, RunClaim, Schedule, ScheduleOutcome, ScheduleRun,
    ScheduleToggle, ScheduleWebhooks, ScheduledJob, ScheduledScoring, WEEKLY,
};
pub use score_config::StoredScoreConfig;
pub use scoring::{PaidVerdict, RunOutcome, RunTally, ScoringBatch, ScoringClaim, ScoringRun};
pub use sign_in::{ThrottleKey, Turn};
pub use skill::{NewSkill, NewSkillFile, Skill, SkillContent, SkillFile, SkillQuery, SkillSummary};
pub use target_chat::TargetChat;
pub use user::{NewUser, User};

/// The catalog: one interface for every database engine.
#[derive(Clone, Debug)]
pub struct Catalog {
    engine: CatalogEngine,
    keys: KeyCache,
    recording_settings: RecordingSettingsCache,
    agent_aliases: AgentAliases,
    prices: ProjectPrices,
    passwords: Passwords,
    /// Values that must be redacted in every project.
    known_secrets: KnownSecrets,
    /// Notified when a delivery becomes due.
    bell: Arc<Notify>,
    actor: Arc<Actor>,
}

#[derive(Clone, Debug)]
enum CatalogEngine {
    /// SQLite in the data folder.
    Embedded(embedded::CatalogDb),
}

impl Catalog {
    /// Opens the catalog of a data folder.
    pub(crate) fn embedded(
        db: embedded::CatalogDb,
        prices: ProjectPrices,
        agent_aliases: AgentAliases,
        known_secrets: KnownSecrets,
    ) -> Self {
        Self {
            known_secrets,
            engine: CatalogEngine::Embedded(db),
            keys: KeyCache::default(),
            recording_settings: RecordingSettingsCache::default(),
            agent_aliases,
            prices,
            passwords: Passwords::default(),
            bell: Arc::default(),
            actor: Arc::default(),
        }
    }

    /// Opens a stand-alone catalog outside any data folder, such as the scoring journal for a
    /// remote server. Several processes may have it open at once.
    ///
    /// # Errors
    /// Fails if it cannot be opened or migrated.
    pub fn apart(file: &Path) -> StoreResult<Self> {
        let db = embedded::CatalogDb::open_shared(file.to_owned())?;
        let prices = ProjectPrices::new(Arc::new(PriceTable::default()));
        Ok(Self::embedded(db, prices, AgentAliases::default(), KnownSecrets::default()))
    }

    /// Runs work in one transaction on a blocking thread: it is committed if the work succeeds and
    /// rolled back otherwise.
    pub(crate) async fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.transact_or_refuse(work).await
    }

    /// Like [`Self::transact`], for work with an error type of its own; an error rolls back.
    pub(crate) async fn transact_or_refuse<T, E>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (actor, secrets) = (Arc::clone(&self.actor), self.known_secrets.clone());
        match &self.engine {
            CatalogEngine::Embedded(db) => {
                db.transact(move |tx| work(&tx.by(&actor).knowing(&secrets))).await
            }
        }
    }
}
