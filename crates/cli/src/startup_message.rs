//! Startup message of `ratchet serve`: addresses and, on the first start, keys.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ratchet_server::api::projects::ProjectEntry;
use ratchet_store::catalog::KeyPair;
use serde::Serialize;

use crate::first_start::StartOutcome;
use crate::server::Server;

/// The same for programs, on one line.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReadyView<'a> {
    version: &'a str,
    web: String,
    otlp_http: Option<String>,
    otlp_grpc: Option<String>,
    project: ProjectEntry,
    /// Setup URL for the first owner, while there is no user.
    set_up: Option<String>,
    created: CreatedView<'a>,
}

/// Secrets made just now, shown this once.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CreatedView<'a> {
    public_key: Option<&'a str>,
    secret_key: Option<&'a str>,
    owner_public_key: Option<&'a str>,
    owner_secret_key: Option<&'a str>,
}

impl<'a> From<&'a StartOutcome> for CreatedView<'a> {
    fn from(start_outcome: &'a StartOutcome) -> Self {
        let sdk = start_outcome.new_keys.as_ref().map(|keys| &keys.sdk);
        let owner = start_outcome.new_keys.as_ref().map(|keys| &keys.owner);
        Self {
            public_key: sdk.map(|key| key.public_key.as_str()),
            secret_key: sdk.map(|key| key.secret_key.expose()),
            owner_public_key: owner.map(|key| key.public_key.as_str()),
            owner_secret_key: owner.map(|key| key.secret_key.expose()),
        }
    }
}

/// The welcome as one line of JSON.
pub(crate) fn line(server: &Server) -> anyhow::Result<String> {
    let view = ReadyView {
        version: env!("CARGO_PKG_VERSION"),
        web: url(server.bound.web),
        otlp_http: server.bound.otlp_http.map(url),
        otlp_grpc: server.bound.otlp_grpc.map(url),
        project: server.start_outcome.project.clone().into(),
        set_up: server.set_up_url(),
        created: CreatedView::from(&server.start_outcome),
    };
    Ok(serde_json::to_string(&view)? + "\n")
}

pub(crate) fn text(server: &Server) -> String {
    let web = url(server.bound.web);
    let mut text = first_start(&server.start_outcome, &web);
    if let Some(url) = server.set_up_url() {
        text += &format!("Create the owner account at\n\n  {url}\n\n");
    }
    text += &format!("ratchet {} is listening on {web}\n", env!("CARGO_PKG_VERSION"));
    if server.is_open() {
        text += "  authentication is disabled: every local user is owner\n";
    }
    if let Some(address) = server.bound.otlp_grpc {
        text += &format!("  OTLP over gRPC on {address}\n");
    }
    if let Some(address) = server.bound.otlp_http {
        text += &format!("  OTLP over HTTP on {address}\n");
    }
    text
}

fn first_start(start_outcome: &StartOutcome, web: &str) -> String {
    let mut text = String::new();
    if let Some(keys) = &start_outcome.new_keys {
        text += &format!(
            "Created project \"{}\" ({}). Its keys are shown only once; store them safely:\n\n{}\n{}\n",
            start_outcome.project.name,
            start_outcome.project.id,
            sdk_lines(&keys.sdk, web),
            owner_lines(&keys.owner, web)
        );
    }
    text
}

/// Lines to paste into a shell before starting a program with an SDK.
fn sdk_lines(pair: &KeyPair, web: &str) -> String {
    let (public, secret) = (&pair.public_key, pair.secret_key.expose());
    // Header values in this variable are percent-encoded, and base64 may end in `=`.
    let basic = STANDARD.encode(format!("{public}:{secret}")).replace('=', "%3D");
    format!(
        "  # Langfuse SDKs for Python and JavaScript\n  \
           export LANGFUSE_PUBLIC_KEY={public}\n  \
           export LANGFUSE_SECRET_KEY={secret}\n  \
           export LANGFUSE_BASE_URL={web}\n  \
           export LANGFUSE_HOST={web}   # older SDKs\n\n  \
           # OpenTelemetry SDKs and the collector\n  \
           export OTEL_EXPORTER_OTLP_ENDPOINT={web}/api/public/otel\n  \
           export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n  \
           export OTEL_EXPORTER_OTLP_HEADERS=Authorization=Basic%20{basic}\n"
    )
}

/// Lines to paste before running commands on the server.
fn owner_lines(pair: &KeyPair, web: &str) -> String {
    let (public, secret) = (&pair.public_key, pair.secret_key.expose());
    format!(
        "  # ratchet commands with --server {web}: an owner's key, not for SDKs\n  \
           export RATCHET_PUBLIC_KEY={public}\n  \
           export RATCHET_SECRET_KEY={secret}\n"
    )
}

/// The address as a client on this machine would write it.
pub(crate) fn url(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("http://localhost:{}", address.port());
    }
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratchet_core::secret::Secret;

    #[test]
    fn lines_can_be_pasted_into_a_shell() {
        let pair = KeyPair { public_key: "pk-1".into(), secret_key: Secret::new("sk-1") };
        let web = "http://127.0.0.1:3000";
        insta::assert_snapshot!(sdk_lines(&pair, web) + "\n" + &owner_lines(&pair, web));
    }

    #[test]
    fn every_interface_is_this_machine() {
        assert_eq!(url("0.0.0.0:80".parse().unwrap()), "http://localhost:80");
        assert_eq!(url("[::1]:80".parse().unwrap()), "http://[::1]:80");
    }
}
