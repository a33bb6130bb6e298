//! Every page, and the visual language.
//!
//! Knows no SQL, and of wire formats only the definitions that are kept as they were sent. A page is a handler that takes a [`request_context::RequestContext`], asks the
//! store, and returns a page (`frame::Page`) made of [`components`]. First paint needs no script.

/// What every page can reach.
pub mod web;
pub mod viewer;
pub mod sign_in;
mod cookie;
pub mod csrf;
/// Memory and time for forms.
pub mod form_budget;
/// The address that a request is counted by.
mod client_address;
mod multipart;
/// Files that wait until people say what to do with them.
pub mod upload_staging;
/// Which part of a project they look at; lives in the URL.
pub mod scope;
/// Where they are: the project, the part of it, and the way to other pages.
pub mod request_context;
pub(crate) mod form;
/// What is around every page.
pub mod frame;
/// Hourly sums of what is in scope.
pub mod sums;
mod time_buckets;
/// Scores of one name, and what they say together.
mod score_summary;
/// What was asked and what was answered.
mod message_preview;
/// What went wrong, as a page.
pub mod page_error;
/// A trace's steps as a tree.
mod trace_tree;
/// The steps of the traces that were read last.
mod trace_cache;
/// When a trace's steps happened.
mod timeline;
/// Who called whom in a trace.
mod call_graph;
/// What pages are made of.
pub mod components;
pub mod assets;
/// What lists are narrowed to.
mod filter;
/// Tables with typed columns, as files.
mod parquet;
/// What browsers may do with a page.
mod policy;
/// One file for each page.
mod pages;
mod docs;

pub use pages::{pages, report_document};
pub use web::Web;
