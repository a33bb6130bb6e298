use std::collections::HashMap;

use ratchet_store::catalog::Role;
use reqwest::header::AUTHORIZATION;
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};

use crate::harness::{TestServer, basic};

/// Every tool with every kind of key.
mod roles;
/// The route: credentials, limits, errors.
mod route;
/// What tools answer.
mod answers;

/// A client of the protocol.
struct Client(RunningService<RoleClient, ()>);

impl Client {
    async fn with_role(server: &TestServer, role: Role) -> Self {
        Self::with_key(server, &basic(role)).await
    }

    /// Connects with an Authorization header.
    async fn with_key(server: &TestServer, key: &str) -> Self {
        let headers = HashMap::from([(AUTHORIZATION, key.parse().unwrap())]);
        let uri = format!("http://{}/api/public/mcp", server.web);
        let config = StreamableHttpClientTransportConfig::with_uri(uri).custom_headers(headers);
        let http = ratchet_remote::http::on_this_machine().build().unwrap();
        let transport = StreamableHttpClientTransport::with_client(http, config);
        Self(().serve(transport).await.unwrap())
    }

    async fn tools(&self) -> Vec<String> {
        let tools = self.0.list_all_tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// Calls a tool: what it answers, or says is wrong.
    async fn try_call(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let arguments = arguments.as_object().unwrap().clone();
        let call = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let result = self.0.call_tool(call).await.unwrap();
        let text = result.content[0].as_text().unwrap().text.clone();
        if result.is_error == Some(true) {
            return Err(text);
        }
        let answer = result.structured_content.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), answer, "the two forms differ");
        Ok(answer)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.try_call(tool, &arguments).await;
        answer.unwrap_or_else(|why| panic!("{tool} {arguments}: {why}"))
    }

    async fn refusal(&self, tool: &str, arguments: Value) -> String {
        match self.try_call(tool, &arguments).await {
            Ok(answer) => panic!("{tool} {arguments}: {answer}"),
            Err(why) => why,
        }
    }

    async fn close(self) {
        self.0.cancel().await.unwrap();
    }
}

/// Records a trace with an observation in a session, whose texts contain a word.
async fn record(server: &TestServer, key: &str, word: &str) {
    let event = |kind: &str, body: Value| {
        let id = body["id"].as_str().unwrap().to_owned();
        let at = "2026-11-15T11:00:00Z";
        json!({"id": format!("event-{id}"), "type": kind, "timestamp": at, "body": body})
    };
    let (at, long) = ("2026-11-15T11:00:00Z", format!("{word} {}", "x".repeat(5_000)));
    let batch = json!({"batch": [
        event("trace-create", json!({
            "id": "t-1", "name": word, "sessionId": "s-1", "timestamp": at, "input": long,
        })),
        event("generation-create", json!({
            "id": "o-1", "traceId": "t-1", "name": word, "startTime": at, "input": long,
            "metadata": {"word": word},
        })),
        event("score-create", json!({
            "id": "sc-1", "traceId": "t-1", "name": "helpful", "value": 1, "comment": word,
        })),
    ]});
    let post = server.post("/api/public/ingestion").header("authorization", key);
    post.json(batch.to_string()).send().await.check(207, "\"errors\":[]");
}
