//! The web UI: server-rendered pages, components and assets.
//!
//! Knows no SQL, and of wire formats only the dashboard definitions that are stored as sent. A page
//! is a handler that takes a [`request_context::RequestContext`], queries the store and returns a
//! page (`frame::Page`) built from [`components`]. First paint needs no script.

/// Shared state of the page handlers.
pub mod web;
pub mod viewer;
pub mod viewer_time;
pub mod sign_in;
mod cookie;
pub mod csrf;
/// Memory and time limits for form submissions.
pub mod form_budget;
/// The client address that rate limits use.
mod client_address;
mod multipart;
/// Uploaded files that wait for confirmation.
pub mod upload_staging;
/// Environment, agent and time range of a page, stored in the URL.
pub mod scope;
/// Viewer, project, scope and query of a request, and links to other pages.
pub mod request_context;
pub(crate) mod form;
/// Page layout: sidebar, top bar, head.
pub mod frame;
/// Hourly rollups of the current scope.
pub mod sums;
mod time_buckets;
/// Aggregates of the scores of one name.
mod score_summary;
/// Preview of a trace's input and output as messages.
mod message_preview;
/// Error pages.
pub mod page_error;
/// The observations of a trace as a tree.
mod trace_tree;
/// Cache of recently read traces.
mod trace_cache;
/// Layout of a trace's observations on a time axis.
mod timeline;
/// Call graph of agents, tools and models in a trace.
mod call_graph;
/// Reusable markup components; `/ui/gallery` shows them.
pub mod components;
pub mod assets;
/// The filter language of lists.
mod filter;
/// Parquet writer for exports.
mod parquet;
/// Security headers of pages.
mod policy;
/// The pages, one file each.
mod pages;
mod docs;

pub use pages::{feedback_document, mail_document, pages, report_document};
pub use web::Web;
