//! Clients for other servers and their wire formats: Langfuse, webhooks, web push, OIDC.

/// HTTP client builders with shared TLS settings and the SSRF policy.
pub mod http;
/// Clock and randomness for retries.
pub mod backoff_clock;
/// A single delivery attempt of an outgoing message.
pub mod delivery;
/// Signed webhooks and Slack messages.
pub mod webhook;
/// E-mail by SMTP.
pub mod smtp;
/// Issues of GitHub and Jira.
pub mod issue_tracker;
/// Web push notifications to browsers.
pub mod web_push;
/// Wire types for the weekly reports of Ratchet servers.
pub mod weekly_report;
/// Langfuse's wire types and client; Ratchet serves the same API.
pub mod langfuse;
/// OpenID Connect providers for single sign-on.
pub mod oidc;
/// Ratchet's own API.
pub mod ratchet;
