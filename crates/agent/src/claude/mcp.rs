use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};

/// The version of the protocol that is spoken when the other side names none.
const PROTOCOL: &str = "2025-06-18";

/// What a handler is busy with.
pub type McpWork<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A server of tools that lives in this process: gets a message as JSON-RPC has it and answers it.
/// To a notification the answer is `None`.
#[derive(Clone)]
pub struct McpHandler(Arc<dyn Fn(Value) -> McpWork<Option<Value>> + Send + Sync>);

impl McpHandler {
    /// A server that does this with each message.
    pub fn new<F, W>(answer: F) -> Self
    where
        F: Fn(Value) -> W + Send + Sync + 'static,
        W: Future<Output = Option<Value>> + Send + 'static,
    {
        Self(Arc::new(move |message| Box::pin(answer(message))))
    }

    /// A server with these tools and nothing else.
    pub fn with_tools(name: &str, tools: Vec<McpTool>) -> Self {
        let server = Arc::new(Tools { name: name.to_owned(), tools });
        Self::new(move |message| {
            let server = Arc::clone(&server);
            async move { server.answer(&message).await }
        })
    }

    pub(super) async fn answer(&self, message: Value) -> Value {
        let id = message.get("id").cloned();
        let answered = (self.0)(message).await;
        // The program waits for something even where JSON-RPC does not.
        answered.unwrap_or_else(|| json!({"jsonrpc": "2.0", "id": id, "result": {}}))
    }
}

impl fmt::Debug for McpHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("McpHandler")
    }
}

/// A tool of a server in this process.
#[derive(Clone)]
pub struct McpTool {
    name: String,
    description: String,
    schema: Value,
    call: Arc<dyn Fn(Value) -> McpWork<Result<String, String>> + Send + Sync>,
}

impl McpTool {
    /// A tool with a JSON schema for its input. What it says goes to the model, failures too.
    pub fn new<F, W>(name: &str, description: &str, schema: Value, call: F) -> Self
    where
        F: Fn(Value) -> W + Send + Sync + 'static,
        W: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
            call: Arc::new(move |input| Box::pin(call(input))),
        }
    }
}

impl fmt::Debug for McpTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpTool").field("name", &self.name).finish_non_exhaustive()
    }
}

struct Tools {
    name: String,
    tools: Vec<McpTool>,
}

impl Tools {
    async fn answer(&self, message: &Value) -> Option<Value> {
        let id = message.get("id").filter(|id| !id.is_null())?;
        let parameters = &message["params"];
        let outcome = match message["method"].as_str().unwrap_or_default() {
            "initialize" => Ok(self.greeting(parameters)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": self.list()})),
            "tools/call" => self.call(parameters).await,
            method => Err((-32601, format!("no method {method}"))),
        };
        Some(match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        })
    }

    fn greeting(&self, parameters: &Value) -> Value {
        let version = parameters["protocolVersion"].as_str().unwrap_or(PROTOCOL);
        json!({
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self.name, "version": env!("CARGO_PKG_VERSION")},
        })
    }

    fn list(&self) -> Vec<Value> {
        let told = |tool: &McpTool| {
            json!({
                "name": tool.name, "description": tool.description, "inputSchema": tool.schema,
            })
        };
        self.tools.iter().map(told).collect()
    }

    async fn call(&self, parameters: &Value) -> Result<Value, (i32, String)> {
        let name = parameters["name"].as_str().unwrap_or_default();
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return Err((-32602, format!("no tool {name}")));
        };
        let (text, is_error) = match (tool.call)(parameters["arguments"].clone()).await {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &Value, answered: &Value, expected: &str) {
        assert!(answered.to_string().contains(expected), "{said}: {answered}");
    }

    #[tokio::test]
    async fn every_message_is_answered() {
        let schema = json!({"type": "object"});
        let add = McpTool::new("add", "Adds.", schema, |input| async move {
            let sum = input["a"].as_i64().zip(input["b"].as_i64()).map(|(a, b)| a + b);
            sum.map(|sum| sum.to_string()).ok_or_else(|| "no numbers".to_owned())
        });
        let server = McpHandler::with_tools("calc", vec![add]);
        let call = |input: Value| json!({"id": 1, "method": "tools/call", "params": {"name": "add", "arguments": input}});
        let expected = [
            (json!({"id": 0, "method": "initialize", "params": {"protocolVersion": "x"}}), "\"x\""),
            (json!({"method": "notifications/initialized"}), "\"result\":{}"),
            (json!({"id": 1, "method": "tools/list"}), "\"inputSchema\""),
            (call(json!({"a": 2, "b": 3})), "\"5\""),
            (call(json!({"a": "x"})), "\"isError\":true"),
            (json!({"id": 2, "method": "resources/list"}), "-32601"),
            (json!({"id": 3, "method": "tools/call", "params": {"name": "sub"}}), "-32602"),
        ];
        for (said, part) in expected {
            check(&said, &server.answer(said.clone()).await, part);
        }
    }
}
