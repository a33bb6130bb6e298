//! Sending the week to a server, as agents and their users would.

use std::sync::Arc;

use anyhow::{Context, bail};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use ratchet_remote::http;
use ratchet_store::catalog::KeyPair;
use serde_json::Value;
use tokio::task::JoinSet;

use super::wire::Export;

/// Requests under way at once: several agents, one machine.
const AT_ONCE: usize = 4;

/// Someone who talks to a server over its public interfaces.
#[derive(Debug)]
pub(crate) struct Visitor {
    client: reqwest::Client,
    web: String,
    key: KeyPair,
}

impl Visitor {
    /// A visitor with a key.
    pub(crate) fn new(web: String, key: KeyPair) -> anyhow::Result<Self> {
        // A proxy in the environment is not for talking to this very process.
        let client = http::on_this_machine().build().context("cannot start an HTTP client")?;
        Ok(Self { client, web, key })
    }

    /// Where the server is.
    pub(crate) fn web(&self) -> &str {
        &self.web
    }

    /// A line to paste into a shell that asks Langfuse's API something.
    pub(crate) fn curl(&self, what: &str) -> String {
        let (public, secret) = (&self.key.public_key, self.key.secret_key.expose());
        format!("curl -su {public}:{secret} '{}/api/public/{what}'", self.web)
    }

    /// Sends all requests, a few at a time, and tells after each how many spans are recorded.
    pub(crate) async fn export(
        self: &Arc<Self>,
        exports: Vec<Export>,
        mut tell: impl FnMut(usize),
    ) -> anyhow::Result<()> {
        let mut under_way = JoinSet::new();
        let mut waiting = exports.into_iter();
        let mut recorded = 0;
        loop {
            let room = AT_ONCE - under_way.len();
            for export in waiting.by_ref().take(room) {
                let visitor = Arc::clone(self);
                under_way.spawn(async move { visitor.export_one(export).await });
            }
            let Some(ended) = under_way.join_next().await else {
                return Ok(());
            };
            recorded += ended??;
            tell(recorded);
        }
    }

    /// Gives all scores, a few at a time.
    pub(crate) async fn score(self: &Arc<Self>, scores: Vec<Value>) -> anyhow::Result<()> {
        let mut under_way = JoinSet::new();
        let mut waiting = scores.into_iter();
        loop {
            let room = AT_ONCE - under_way.len();
            for score in waiting.by_ref().take(room) {
                let visitor = Arc::clone(self);
                under_way.spawn(async move { visitor.score_one(&score).await });
            }
            let Some(ended) = under_way.join_next().await else {
                return Ok(());
            };
            ended??;
        }
    }

    async fn export_one(&self, export: Export) -> anyhow::Result<usize> {
        let request = self
            .client
            .post(format!("{}/api/public/otel/v1/traces", self.web))
            .basic_auth(&self.key.public_key, Some(self.key.secret_key.expose()))
            .header("content-type", "application/x-protobuf")
            .body(export.body);
        let answer = accepted(request).await.context("cannot send spans")?;
        let reply = ExportTraceServiceResponse::decode(answer.bytes().await?)
            .context("the answer to the spans is not OTLP")?;
        let refused = reply.partial_success.filter(|partial| partial.rejected_spans > 0);
        if let Some(partial) = refused {
            bail!("{} spans were refused: {}", partial.rejected_spans, partial.error_message);
        }
        Ok(export.spans)
    }

    /// A thumb comes from a browser, which has the public key only.
    async fn score_one(&self, score: &Value) -> anyhow::Result<()> {
        let request = self
            .client
            .post(format!("{}/api/public/scores", self.web))
            .bearer_auth(&self.key.public_key)
            .header("content-type", "application/json")
            .body(score.to_string());
        accepted(request).await.context("cannot send a thumb")?;
        Ok(())
    }
}

async fn accepted(request: reqwest::RequestBuilder) -> anyhow::Result<reqwest::Response> {
    let answer = request.send().await?;
    let status = answer.status();
    if !status.is_success() {
        let told = answer.text().await.unwrap_or_default();
        bail!("the server answered {status}: {told}");
    }
    Ok(answer)
}
