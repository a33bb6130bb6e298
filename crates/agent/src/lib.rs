//! LLM clients: one interface, [`model::Model`], over several providers, with budgets, retries and
//! batches; and the driver of the `claude` program for chats.
//!
//! This crate knows neither SQL nor HTTP routes. HTTP clients and API keys are arguments.

/// LLM requests.
pub mod request;
/// LLM responses: text, usage and finish reason.
pub mod response;
/// Spending limits: cost is reserved before a call and reconciled after it.
pub mod budget;
/// Model errors, classified by whether a retry can help.
pub mod error;
/// Retries of model calls.
pub mod retry;
/// Base URL, API key and headers of a provider.
pub mod access;
/// Providers, one file each.
pub mod provider;
/// The model client: provider, capabilities, budget and retries in one.
pub mod model;
/// Texts as vectors of a model.
pub mod embedding;
/// Message batches: asynchronous requests at half the price, answered within a day.
pub mod batch;
/// Concurrency limit for model calls.
pub mod pool;
/// Judge names (`anthropic:model`, `claude`, …) and how they are parsed.
pub mod judge;
/// Model configuration from environment variables.
pub mod environment;

/// Chats with the `claude` program: process and protocol.
pub mod claude;

/// Temporary folders.
pub mod temp_folder;

/// Signatures of requests to Amazon Web Services.
pub mod aws_signer;

/// Commands of the operator that run for a moment, with limits.
pub mod bounded_command;

mod http;
/// Server-sent events.
pub mod sse;
/// Parameters that individual models support or reject.
mod capabilities;
