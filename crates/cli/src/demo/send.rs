//! Sends the traffic to a server, as agents and their users would.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message as _;
use ratchet_remote::http;
use ratchet_store::catalog::KeyPair;
use serde_json::Value;
use tokio::task::JoinSet;

use super::catalog::{self, Catalog};
use super::wire::Export;

/// Requests under way at once: several agents, one machine.
const AT_ONCE: usize = 4;

/// A client of a server's public interfaces.
#[derive(Debug)]
pub(crate) struct Client {
    client: reqwest::Client,
    web: String,
    key: KeyPair,
}

impl Client {
    pub(crate) fn new(web: String, key: KeyPair) -> anyhow::Result<Self> {
        // A proxy in the environment is not for talking to this very process.
        let client = http::on_this_machine().build().context("cannot start an HTTP client")?;
        Ok(Self { client, web, key })
    }

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
                let client = Arc::clone(self);
                under_way.spawn(async move { client.export_one(export).await });
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
                let client = Arc::clone(self);
                under_way.spawn(async move { client.score_one(&score).await });
            }
            let Some(ended) = under_way.join_next().await else {
                return Ok(());
            };
            ended??;
        }
    }

    /// Creates the catalog, unless it is there already.
    pub(crate) async fn create_catalog(&self, catalog: &Catalog) -> anyhow::Result<()> {
        let configs = self.configs(&catalog.configs).await?;
        let first = catalog::first_prompt().replace('/', "%2F");
        if self.get(&format!("v2/prompts/{first}?version=1")).await?.is_some() {
            return Ok(());
        }
        for prompt in &catalog.prompts {
            self.post("v2/prompts", prompt).await?;
        }
        self.post("v2/datasets", &catalog.dataset).await?;
        for item in &catalog.items {
            self.post("dataset-items", item).await?;
        }
        for tried in &catalog.run_items {
            self.post("dataset-run-items", tried).await?;
        }
        self.queue(catalog, &configs).await?;
        let projects = self.get("projects").await?.unwrap_or_default();
        for comment in &catalog.comments {
            let mut comment = comment.clone();
            comment["projectId"] = projects["data"][0]["id"].clone();
            self.post("comments", &comment).await?;
        }
        Ok(())
    }

    /// The ids of the configs by their names; what is missing is made.
    async fn configs(&self, wanted: &[Value]) -> anyhow::Result<BTreeMap<String, Value>> {
        let known = self.get("score-configs?limit=100").await?.unwrap_or_default();
        let mut configs = BTreeMap::new();
        for config in wanted {
            let name = config["name"].as_str().unwrap_or_default().to_owned();
            let is_it = |known: &&Value| known["name"] == config["name"];
            let found = known["data"].as_array().and_then(|known| known.iter().find(is_it));
            let id = match found {
                Some(found) => found["id"].clone(),
                None => self.post("score-configs", config).await?["id"].take(),
            };
            configs.insert(name, id);
        }
        Ok(configs)
    }

    async fn queue(
        &self,
        catalog: &Catalog,
        configs: &BTreeMap<String, Value>,
    ) -> anyhow::Result<()> {
        let mut queue = catalog.queue.clone();
        queue["scoreConfigIds"] = ["helpfulness", "outcome"]
            .iter()
            .filter_map(|name| configs.get(*name))
            .cloned()
            .collect();
        let queue = self.post("annotation-queues", &queue).await?;
        let id = queue["id"].as_str().unwrap_or_default();
        for item in &catalog.queued {
            self.post(&format!("annotation-queues/{id}/items"), item).await?;
        }
        Ok(())
    }

    /// Asks Langfuse's API for something that may not be there.
    async fn get(&self, what: &str) -> anyhow::Result<Option<Value>> {
        let request = self
            .client
            .get(format!("{}/api/public/{what}", self.web))
            .basic_auth(&self.key.public_key, Some(self.key.secret_key.expose()));
        let answer = request.send().await?;
        if answer.status() == reqwest::StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let body = answer.error_for_status()?.bytes().await?;
        Ok(Some(serde_json::from_slice(&body)?))
    }

    /// Makes something over Langfuse's API.
    async fn post(&self, what: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self
            .client
            .post(format!("{}/api/public/{what}", self.web))
            .basic_auth(&self.key.public_key, Some(self.key.secret_key.expose()))
            .header("content-type", "application/json")
            .body(body.to_string());
        let answer = accepted(request).await.with_context(|| format!("cannot make {what}"))?;
        Ok(serde_json::from_slice(&answer.bytes().await?)?)
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
        let body = answer.text().await.unwrap_or_default();
        bail!("the server answered {status}: {body}");
    }
    Ok(answer)
}
