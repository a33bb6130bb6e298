//! Deployments to Amazon Bedrock AgentCore: a runtime is created or updated, and its endpoint moved
//! once the new version is ready.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use ratchet_agent::aws_signer::{AwsIdentity, AwsSigner, UnsignedRequest};
use ratchet_agent::environment::Variables;
use ratchet_core::backoff::{Backoff, FailedAttempt};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::runtime::{
    DEFAULT_ENDPOINT, DeployFile, RuntimeSettings, WantedRuntime, token,
};
use ratchet_core::record::limit::elide;
use ratchet_remote::backoff_clock::BackoffClock;
use ratchet_remote::http;
use ratchet_store::blocking::run_blocking;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, StatusCode, Url, redirect};
use serde_json::{Value, json};

/// The service in signatures; in host names `-control` follows.
const SERVICE: &str = "bedrock-agentcore";
/// The variable in which AWS's tools expect another endpoint.
const ENDPOINT_VARIABLE: &str = "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL";
/// Timeout of one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Pauses between two looks at a runtime.
const PAUSES: Backoff = Backoff {
    max_attempts: u32::MAX,
    first: Duration::from_millis(200),
    cap: Duration::from_secs(5),
    max_retry_after: Duration::ZERO,
    max_elapsed: Duration::MAX,
};
/// Bytes of an error response that are quoted.
const QUOTED_BYTES: usize = 500;
/// Pages of runtimes that are read.
const MAX_PAGES: usize = 100;

/// Why a runtime was not deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeFault {
    /// For everyone who may see the promotion: without AWS's reply.
    pub why: String,
    /// The reply of AWS, for the owner of the credentials.
    pub reply: Option<String>,
    /// Whether another attempt may succeed.
    pub may_pass: bool,
}

impl fmt::Display for RuntimeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        self.reply.as_ref().map_or(Ok(()), |reply| write!(f, ": {reply}"))
    }
}

impl std::error::Error for RuntimeFault {}

/// A version that is deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedRuntime {
    pub arn: String,
    /// Version of the runtime, as AgentCore counts.
    pub version: String,
    pub endpoint: String,
    /// Whether there was anything to change.
    pub is_changed: bool,
}

/// Brings a version of an agent to its runtime in an environment, and waits until it serves.
/// Repeating it changes nothing.
///
/// # Errors
/// The file is invalid, AWS refuses, or the runtime does not become ready.
pub async fn deploy_runtime(
    file: &Path,
    (agent, environment): (&str, &str),
    version: &AgentVersion,
    lookup: Variables<'_>,
    clock: &dyn BackoffClock,
) -> Result<DeployedRuntime, RuntimeFault> {
    let path = file.to_owned();
    let read = run_blocking(move || std::fs::read_to_string(path)).await;
    let text = read.map_err(|error| passing(error.to_string()))?;
    let text = text.map_err(|error| lasting(format!("{}: {error}", file.display())))?;
    let named = |invalid: ratchet_core::catalog::validation::Invalid| {
        lasting(format!("{}: {}: {}", file.display(), invalid.field, invalid.problem))
    };
    let parsed = DeployFile::parse(&text).map_err(named)?;
    let settings = parsed.settings(agent, environment).map_err(named)?;
    let wanted = settings.wanted(version, environment, lookup).map_err(named)?;
    ControlPlane::open(settings, lookup, clock).await?.deploy(&wanted).await
}

/// A client of AgentCore's control plane in one region.
struct ControlPlane<'a> {
    client: Client,
    signer: AwsSigner,
    base: String,
    clock: &'a dyn BackoffClock,
}

impl<'a> ControlPlane<'a> {
    async fn open(
        settings: &RuntimeSettings,
        lookup: Variables<'_>,
        clock: &'a dyn BackoffClock,
    ) -> Result<Self, RuntimeFault> {
        let region = &settings.region;
        let entered = settings.control.as_ref().map(|value| value.resolve("control", lookup));
        let entered = entered.transpose().map_err(|missing| lasting(missing.to_string()))?;
        let base = entered
            .or_else(|| lookup(ENDPOINT_VARIABLE))
            .unwrap_or_else(|| format!("https://{SERVICE}-control.{region}.amazonaws.com"));
        let url = Url::parse(&base).map_err(|_| lasting("control: not an http address"))?;
        // The operator entered it.
        let client = http::client_for_entered_url(&url, &OutboundPolicy::unrestricted())
            .map_err(|why| lasting(format!("control: {why}")))?
            .redirect(redirect::Policy::none())
            .timeout(REQUEST_TIMEOUT)
            .build()
            .map_err(|error| lasting(format!("cannot start an HTTP client: {error}")))?;
        let signer = AwsSigner::open(AwsIdentity::Ambient, region, SERVICE).await;
        let signer = signer.map_err(|error| lasting(error.to_string()))?;
        Ok(Self { client, signer, base: base.trim_end_matches('/').to_owned(), clock })
    }

    async fn deploy(&self, wanted: &WantedRuntime) -> Result<DeployedRuntime, RuntimeFault> {
        let (id, mut is_changed) = match self.find(&wanted.name).await? {
            Some(id) => (id, false),
            None => (self.create(wanted).await?, true),
        };
        let path = format!("/runtimes/{id}/");
        // Another deployment may be under way, or an earlier attempt of this one.
        let mut seen = self.settled(&path).await?;
        if !wanted.is_same(&seen) || text(&seen, "status") != "READY" {
            if is_changed {
                return Err(failed("the runtime", &seen));
            }
            self.put(&path, &wanted.update(&seen)).await?;
            is_changed = true;
            seen = self.settled(&path).await?;
        }
        if text(&seen, "status") != "READY" {
            return Err(failed("the runtime", &seen));
        }
        let version = text(&seen, "agentRuntimeVersion").to_owned();
        is_changed |= self.point(&path, &wanted.endpoint, &version).await?;
        let arn = text(&seen, "agentRuntimeArn").to_owned();
        Ok(DeployedRuntime { arn, version, endpoint: wanted.endpoint.clone(), is_changed })
    }

    /// The id of the runtime of a name.
    async fn find(&self, name: &str) -> Result<Option<String>, RuntimeFault> {
        let mut path = "/runtimes/?maxResults=100".to_owned();
        for _ in 0..MAX_PAGES {
            let page = self.call(Method::POST, &path, None).await?;
            let page = page.ok_or_else(|| lasting("AgentCore has no list of runtimes"))?;
            let runtimes = page["agentRuntimes"].as_array().cloned().unwrap_or_default();
            if let Some(found) = runtimes.iter().find(|one| text(one, "agentRuntimeName") == name) {
                return id_of(found).map(Some);
            }
            let Some(next) = page["nextToken"].as_str() else { return Ok(None) };
            path = format!("/runtimes/?maxResults=100&nextToken={}", encoded(next));
        }
        Err(lasting("AgentCore lists too many runtimes"))
    }

    async fn create(&self, wanted: &WantedRuntime) -> Result<String, RuntimeFault> {
        id_of(&self.put("/runtimes/", &wanted.create()).await?)
    }

    /// Moves an endpoint to a version, and waits until it serves it. The default one follows by
    /// itself.
    async fn point(
        &self,
        runtime: &str,
        endpoint: &str,
        version: &str,
    ) -> Result<bool, RuntimeFault> {
        let path = format!("{runtime}runtime-endpoints/{endpoint}/");
        let is_there =
            |seen: &Value| text(seen, "liveVersion") == version && text(seen, "status") == "READY";
        let known = self.call(Method::GET, &path, None).await?;
        let is_ours = endpoint != DEFAULT_ENDPOINT;
        let is_changed = !known.as_ref().is_some_and(is_there);
        if is_changed && is_ours {
            let state = known.as_ref().map(|seen| seen["lastUpdatedAt"].to_string());
            let state = state.unwrap_or_default();
            let token = token(&["endpoint", &path, version, &state]);
            let mut request = json!({ "agentRuntimeVersion": version, "clientToken": token });
            if known.is_some() {
                self.put(&path, &request).await?;
            } else {
                request["name"] = json!(endpoint);
                self.put(&format!("{runtime}runtime-endpoints/"), &request).await?;
            }
        }
        let mut looks = 0;
        loop {
            let seen = self.settled(&path).await?;
            if is_there(&seen) {
                return Ok(is_changed);
            }
            // The default endpoint follows a moment later.
            if text(&seen, "status") != "READY" || is_ours {
                return Err(failed("the endpoint", &seen));
            }
            looks += 1;
            self.pause(looks).await;
        }
    }

    /// Waits until a runtime or an endpoint does not change any more. The caller has a timeout.
    async fn settled(&self, path: &str) -> Result<Value, RuntimeFault> {
        let mut looks = 0;
        loop {
            let seen = self.call(Method::GET, path, None).await?;
            let seen = seen.ok_or_else(|| passing(format!("{path} is not there")))?;
            if !["CREATING", "UPDATING"].contains(&text(&seen, "status")) {
                return Ok(seen);
            }
            looks += 1;
            self.pause(looks).await;
        }
    }

    async fn pause(&self, looks: u32) {
        let looked = FailedAttempt {
            attempt: looks,
            jitter: self.clock.jitter(),
            ..FailedAttempt::default()
        };
        self.clock.pause(PAUSES.delay(looked).unwrap_or(PAUSES.cap)).await;
    }

    async fn put(&self, path: &str, body: &Value) -> Result<Value, RuntimeFault> {
        let answer = self.call(Method::PUT, path, Some(body)).await?;
        answer.ok_or_else(|| passing(format!("{path} is not there any more")))
    }

    /// Returns the answer; nothing if there is no such resource.
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<Value>, RuntimeFault> {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
            None => request,
        };
        let request = self.signed(request.build().map_err(unreached)?).await?;
        let answer = self.client.execute(request).await.map_err(unreached)?;
        let status = answer.status();
        let said = answer.text().await.map_err(unreached)?;
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        if !status.is_success() {
            let is_busy = status.is_server_error()
                || [StatusCode::TOO_MANY_REQUESTS, StatusCode::CONFLICT].contains(&status);
            let why = format!("AgentCore returned {status}");
            return Err(RuntimeFault { why, reply: quoted(&said), may_pass: is_busy });
        }
        let parsed = serde_json::from_str(&said);
        parsed.map(Some).map_err(|_| passing("AgentCore's answer is not JSON"))
    }

    async fn signed(&self, mut request: Request) -> Result<Request, RuntimeFault> {
        let headers: Vec<(&str, &str)> = request
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        let unsigned = UnsignedRequest {
            method: request.method().as_str(),
            url: request.url().as_str(),
            headers: &headers,
            body: request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default(),
        };
        let added = self.signer.sign(unsigned).await;
        let added = added.map_err(|error| lasting(error.to_string()))?;
        for (name, value) in added {
            let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let (name, value) = parsed.ok_or_else(|| lasting("cannot be signed"))?;
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }
}

fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of[field].as_str().unwrap_or_default()
}

/// The id of a runtime. It becomes part of a path.
fn id_of(runtime: &Value) -> Result<String, RuntimeFault> {
    let id = text(runtime, "agentRuntimeId");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !id.is_empty() && id.bytes().all(is_plain) {
        return Ok(id.to_owned());
    }
    Err(lasting("AgentCore's answer has no agentRuntimeId"))
}

fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn failed(what: &str, seen: &Value) -> RuntimeFault {
    // One of a fixed list; anything else is not said to readers.
    let status = text(seen, "status");
    let is_word = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let status = if status.bytes().all(is_word) { status } else { "in an unknown state" };
    let reply = quoted(text(seen, "failureReason"));
    RuntimeFault { reply, ..passing(format!("{what} is {status}")) }
}

/// The start of a reply, unless it is empty.
fn quoted(reply: &str) -> Option<String> {
    let reply = reply.trim();
    (!reply.is_empty()).then(|| elide(reply, QUOTED_BYTES).into_owned())
}

fn unreached(error: reqwest::Error) -> RuntimeFault {
    passing(format!("cannot reach AgentCore: {}", error.without_url()))
}

fn lasting(why: impl Into<String>) -> RuntimeFault {
    RuntimeFault { why: why.into(), reply: None, may_pass: false }
}

fn passing(why: impl Into<String>) -> RuntimeFault {
    RuntimeFault { why: why.into(), reply: None, may_pass: true }
}
