/// Agents in AgentCore Runtime.
mod arn;

use ratchet_agent::aws_signer::{AwsSigner, UnsignedRequest};
use ratchet_agent::environment::Variables;
use ratchet_agent::sse::SseReader;
use ratchet_core::backoff;
use ratchet_core::experiment::runner::TrialCall;
use ratchet_core::experiment::target::{AgentCoreSpec, HttpSpec, TargetEnvironment, TargetValue};
use ratchet_core::experiment::trial::CallTrace;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::limit::elide;
use ratchet_remote::http;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Body, Client, Method, Request, Response, StatusCode, Url, redirect};
use serde_json::Value;

use super::template::{self, checked_body, checked_path};
use super::{AnswerListener, CallFault, CallLimits, TargetAnswer, TargetError, invalid};

/// Bytes of an error response that a fault quotes.
const QUOTED_BYTES: usize = 500;
/// The header that makes spans of a target join the trace.
const TRACEPARENT: &str = "traceparent";
/// The header that names a session of AgentCore.
const SESSION_HEADER: &str = "x-amzn-bedrock-agentcore-runtime-session-id";

/// An endpoint that is called once per trial.
#[derive(Debug)]
pub(super) struct HttpTarget {
    client: Client,
    /// Where it may be.
    outbound: OutboundPolicy,
    url: Url,
    contract: Contract,
    method: Method,
    headers: HeaderMap,
    body: Option<String>,
    output: Option<String>,
    is_stream: bool,
}

/// What is sent beside the item's input.
#[derive(Debug)]
enum Contract {
    Plain,
    /// That of a server with AgentCore's contract, which is asked first whether it is there.
    AgentCore {
        ping: Url,
    },
    /// `InvokeAgentRuntime` of AWS.
    AgentCoreArn(AwsSigner),
}

impl HttpTarget {
    pub(super) fn http(
        spec: &HttpSpec,
        environment: &TargetEnvironment,
        (lookup, outbound): (Variables<'_>, &OutboundPolicy),
    ) -> Result<Self, TargetError> {
        let url = environment.url.as_ref().unwrap_or(&spec.url).resolve("url", lookup)?;
        let method = spec.method.as_deref().unwrap_or("POST");
        let method = Method::from_bytes(method.as_bytes());
        let method = method.map_err(|_| invalid("method", "must be a method such as POST"))?;
        let url = parsed(&url)?;
        Ok(Self {
            client: client(&url, outbound)?,
            outbound: outbound.clone(),
            url,
            contract: Contract::Plain,
            method,
            headers: headers(&spec.headers, lookup)?,
            body: checked_body(spec.body.as_deref())?,
            output: checked_path(spec.output.as_deref())?,
            is_stream: spec.stream,
        })
    }

    pub(super) fn agentcore(
        spec: &AgentCoreSpec,
        environment: &TargetEnvironment,
        (lookup, outbound): (Variables<'_>, &OutboundPolicy),
    ) -> Result<Self, TargetError> {
        let base = environment.url.as_ref().unwrap_or(&spec.url).resolve("url", lookup)?;
        let base = base.trim_end_matches('/').to_owned();
        let url = parsed(&format!("{base}/invocations"))?;
        Ok(Self {
            client: client(&url, outbound)?,
            outbound: outbound.clone(),
            url,
            contract: Contract::AgentCore { ping: parsed(&format!("{base}/ping"))? },
            method: Method::POST,
            headers: headers(&spec.headers, lookup)?,
            body: checked_body(spec.body.as_deref())?,
            output: checked_path(spec.output.as_deref())?,
            is_stream: false,
        })
    }

    pub(super) async fn call(
        &self,
        trial: &TrialCall,
        trace: &CallTrace,
        (limits, listener): (CallLimits, AnswerListener<'_>),
    ) -> Result<TargetAnswer, CallFault> {
        let work = self.exchange(trial, trace, (limits.max_output_bytes, listener));
        let seconds = limits.timeout.as_secs();
        let ended = tokio::time::timeout(limits.timeout, work).await;
        ended.map_err(|_| CallFault::transient(format!("no answer within {seconds} s")))?
    }

    async fn exchange(
        &self,
        trial: &TrialCall,
        trace: &CallTrace,
        (max_bytes, listener): (usize, AnswerListener<'_>),
    ) -> Result<TargetAnswer, CallFault> {
        http::check_resolved(&self.url, &self.outbound)
            .await
            .map_err(|why| CallFault::lasting(why.to_string()))?;
        self.ping().await?;
        let session = match &self.contract {
            Contract::Plain => trace.session.clone(),
            Contract::AgentCore { .. } | Contract::AgentCoreArn(_) => trace.agentcore_session(),
        };
        let mut request = self
            .client
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone())
            .header(TRACEPARENT, trace.traceparent())
            .json(&self.request_body(trial, &session)?);
        if !matches!(self.contract, Contract::Plain) {
            request = request.header(SESSION_HEADER, &session);
        }
        let request = self.signed(request.build().map_err(unreached)?).await?;
        let response = self.client.execute(request).await.map_err(unreached)?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(status, response).await);
        }
        let kind = response.headers().get("content-type");
        let is_events = kind
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("text/event-stream"));
        let text = match self.is_stream || is_events {
            true => self.events(response, (max_bytes, listener)).await?,
            false => self.whole(response, max_bytes).await?,
        };
        Ok(TargetAnswer { text, ..TargetAnswer::default() })
    }

    async fn ping(&self) -> Result<(), CallFault> {
        let Contract::AgentCore { ping } = &self.contract else { return Ok(()) };
        let answer = self.client.get(ping.clone()).send().await.map_err(unreached)?;
        if answer.status().is_success() {
            return Ok(());
        }
        Err(CallFault::transient(format!("GET /ping returned {}", answer.status())))
    }

    /// Signs what goes to AWS.
    async fn signed(&self, mut request: Request) -> Result<Request, CallFault> {
        let Contract::AgentCoreArn(signer) = &self.contract else { return Ok(request) };
        let headers: Vec<(&str, &str)> = request
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            // Proxies that trace may replace it, and AWS's own clients do not sign it either.
            .filter(|(name, _)| *name != TRACEPARENT)
            .collect();
        let unsigned = UnsignedRequest {
            method: request.method().as_str(),
            url: request.url().as_str(),
            headers: &headers,
            body: request.body().and_then(Body::as_bytes).unwrap_or_default(),
        };
        let added = signer.sign(unsigned).await;
        let added = added.map_err(|error| CallFault::lasting(error.to_string()))?;
        for (name, value) in added {
            let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let (name, value) = parsed.ok_or_else(|| CallFault::lasting("cannot be signed"))?;
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }

    fn request_body(&self, trial: &TrialCall, session: &str) -> Result<Value, CallFault> {
        let Some(body) = &self.body else {
            return Ok(match (&self.contract, &trial.input) {
                (Contract::Plain, input) => input.clone(),
                // What agents of AgentCore are usually sent.
                (_, Value::String(text)) => serde_json::json!({ "prompt": text }),
                (_, input) => input.clone(),
            });
        };
        template::filled(body, &trial.input, session).map_err(CallFault::lasting)
    }

    async fn whole(&self, response: Response, max_bytes: usize) -> Result<String, CallFault> {
        let body = bounded(response, max_bytes).await?;
        let text = String::from_utf8(body);
        let text = text.map_err(|_| CallFault::lasting("the answer is not UTF-8"))?;
        template::answer(&text, self.output.as_deref())
    }

    /// Joins the outputs of a stream of events.
    async fn events(
        &self,
        mut response: Response,
        (max_bytes, listener): (usize, AnswerListener<'_>),
    ) -> Result<String, CallFault> {
        let (mut reader, mut text, mut read) = (SseReader::default(), String::new(), 0);
        while let Some(piece) = response.chunk().await.map_err(unreached)? {
            read += piece.len();
            if read > max_bytes {
                return Err(too_long(max_bytes));
            }
            let events = reader.push(&piece);
            let events = events.map_err(|error| CallFault::lasting(error.to_string()))?;
            for event in events.iter().filter(|event| event.data != "[DONE]") {
                // Events without the output, such as the last one, are passed over.
                let part = template::answer(&event.data, self.output.as_deref());
                let part = part.unwrap_or_default();
                listener(&part);
                text.push_str(&part);
            }
        }
        Ok(text)
    }
}

fn parsed(url: &str) -> Result<Url, TargetError> {
    let parsed = Url::parse(url).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    parsed.ok_or_else(|| invalid("url", "must start with https:// or http://"))
}

fn client(url: &Url, outbound: &OutboundPolicy) -> Result<Client, TargetError> {
    let builder = http::client_for_entered_url(url, outbound);
    let builder = builder.map_err(|why| invalid("url", why.to_string()))?;
    // Where a redirect leads was not entered by anyone.
    let built = builder.redirect(redirect::Policy::none()).build();
    built.map_err(|error| invalid("url", format!("cannot start an HTTP client: {error}")))
}

fn headers(
    sent: &std::collections::BTreeMap<String, TargetValue>,
    lookup: Variables<'_>,
) -> Result<HeaderMap, TargetError> {
    let mut headers = HeaderMap::new();
    for (name, value) in sent {
        let field = format!("headers.{name}");
        let value = value.resolve(&field, lookup)?;
        let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
        let (name, mut value) = parsed.ok_or_else(|| invalid(&field, "is not a header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn unreached(error: reqwest::Error) -> CallFault {
    // The URL may hold a secret.
    CallFault::transient(format!("cannot reach it: {}", error.without_url()))
}

fn too_long(max_bytes: usize) -> CallFault {
    CallFault::lasting(format!("the answer is longer than {max_bytes} bytes"))
}

/// Faults of the infrastructure are 408, 429 and 5xx; any other refusal would be repeated.
async fn refused(status: StatusCode, response: Response) -> CallFault {
    let headers = response.headers();
    let retry_after = backoff::retry_after(|name| headers.get(name)?.to_str().ok());
    let said = bounded(response, QUOTED_BYTES * 8).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    let why = format!("it returned {status}: {}", elide(said.trim(), QUOTED_BYTES));
    let is_transient = status.is_server_error()
        || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
    CallFault { why, is_transient, retry_after }
}

async fn bounded(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, CallFault> {
    let mut read = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unreached)? {
        if read.len() + piece.len() > max_bytes {
            return Err(too_long(max_bytes));
        }
        read.extend_from_slice(&piece);
    }
    Ok(read)
}
