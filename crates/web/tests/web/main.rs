//! Every page, as a browser gets it.
#![expect(clippy::unwrap_used, reason = "a broken expectation must stop the test")]

/// Pages, a clock and browsers.
mod browser;
/// Notification receivers.
mod notifications;
mod lists;
mod lists_fields;
/// Lists as columns with types.
mod lists_parquet;
/// Scores as columns, and one row beside a list.
mod lists_scored;
mod lists_sessions;
mod lists_facets;
/// What people do with them.
mod lists_changed;
mod lists_live;
/// More rows than can be looked at.
mod lists_long;
/// Actions on all that match a filter.
mod lists_matching;
/// One trace.
mod trace;
mod trace_actions;
/// Scores and comments of people.
mod annotations;
/// A trace as a file, corrected and deleted.
mod trace_changes;
/// Public links and bookmarks.
mod public_links;
/// Sums of which a part is approximate.
mod approximate;
mod shelf;
/// Tags, labels, search and deletion of prompts.
mod prompts;
/// Changing and deleting queues.
mod queues_changed;
/// Folders, and comments on prompts.
mod folders;
/// Evaluators and rules by their forms.
mod evaluators_edited;
/// Datasets: uploads, items and their versions.
mod datasets;
/// Renaming, editing and deleting.
mod datasets_changed;
mod runs_compared;
mod settings;
/// Jobs that were given up.
mod jobs;
/// What models cost, and how they are reached.
mod settings_models;
mod playground;
mod chats;
mod audit;
mod sign_in;
mod set_up;
/// One's own account.
mod account;
mod csrf;
/// A project that has one of everything.
mod seeded_project;
/// Ids of another project in forms and behind links.
mod foreign_ids;
/// Who may see and do what.
mod review;
mod review_configs;
/// Cells of the matrix, and the evaluator behind them.
mod matrix;
/// Weeks of reviews.
mod quarter;
/// A version on its way to production, and back.
mod promotions;
mod ab_tests;
mod agent_runs;
/// The backlog, as people decide on it in their browsers.
mod proposals;
mod roles;
/// Forms that come slowly or never.
mod slow_forms;
/// What one person leaves for others.
mod shares;
/// Servers that vouch for people.
mod provider;
mod sessions;
/// From charts to lists.
mod drill_down;
mod table_exports;
mod users;
mod dashboards;
/// Scores by name, and side by side.
mod scores;
/// Labels, and how far the judge agrees.
mod calibration;
/// What weeks say, what they suggest, and what runs by itself.
mod reports;
