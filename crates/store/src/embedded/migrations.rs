use super::connection::Migration;

/// Migrations of the telemetry database, oldest first.
pub(super) const TELEMETRY_MIGRATIONS: &[Migration] = &[
    include_str!("migrations/telemetry/0001_ground.sql"),
    include_str!("migrations/telemetry/0002_scores.sql"),
    include_str!("migrations/telemetry/0003_metrics.sql"),
    include_str!("migrations/telemetry/0004_experiments.sql"),
    include_str!("migrations/telemetry/0005_pricing_tiers.sql"),
    include_str!("migrations/telemetry/0006_people.sql"),
    include_str!("migrations/telemetry/0007_chat_events.sql"),
    include_str!("migrations/telemetry/0008_chat_notices.sql"),
    include_str!("migrations/telemetry/0009_waiting_scores.sql"),
    include_str!("migrations/telemetry/0010_counted_tokens.sql"),
    include_str!("migrations/telemetry/0011_approximate_users.sql"),
];

/// Migrations of the catalog, oldest first.
pub(super) const CATALOG_MIGRATIONS: &[Migration] = &[
    include_str!("migrations/catalog/0001_ground.sql"),
    include_str!("migrations/catalog/0002_score_configs.sql"),
    include_str!("migrations/catalog/0003_redaction.sql"),
    include_str!("migrations/catalog/0004_prompts.sql"),
    include_str!("migrations/catalog/0005_datasets.sql"),
    include_str!("migrations/catalog/0006_media.sql"),
    include_str!("migrations/catalog/0007_annotation_queues.sql"),
    include_str!("migrations/catalog/0008_comments.sql"),
    include_str!("migrations/catalog/0009_models.sql"),
    include_str!("migrations/catalog/0010_llm_connections.sql"),
    include_str!("migrations/catalog/0011_memberships.sql"),
    include_str!("migrations/catalog/0012_documents.sql"),
    include_str!("migrations/catalog/0013_skills.sql"),
    include_str!("migrations/catalog/0014_sign_in.sql"),
    include_str!("migrations/catalog/0015_media_uses.sql"),
    include_str!("migrations/catalog/0016_deleted_projects.sql"),
    include_str!("migrations/catalog/0017_saved_views.sql"),
    include_str!("migrations/catalog/0018_audit_log.sql"),
    include_str!("migrations/catalog/0019_barred_identities.sql"),
    include_str!("migrations/catalog/0020_scoring.sql"),
    include_str!("migrations/catalog/0021_reports.sql"),
    include_str!("migrations/catalog/0022_schedules.sql"),
    include_str!("migrations/catalog/0025_item_authors.sql"),
    include_str!("migrations/catalog/0029_chats.sql"),
    include_str!("migrations/catalog/0027_scheduled_judges.sql"),
    include_str!("migrations/catalog/0030_notifications.sql"),
    include_str!("migrations/catalog/0031_key_permissions.sql"),
    include_str!("migrations/catalog/0032_chat_budgets.sql"),
    include_str!("migrations/catalog/0033_clock.sql"),
];
