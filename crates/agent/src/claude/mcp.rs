use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_directly};
use rmcp::transport::OneshotTransport;
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};

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
        let server = ToolServer { name: name.to_owned(), tools: Arc::new(tools) };
        Self::new(move |message| server.clone().answer(message))
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

/// The tools as the protocol library serves them.
#[derive(Clone)]
struct ToolServer {
    name: String,
    tools: Arc<Vec<McpTool>>,
}

impl ToolServer {
    /// Answers one message. The program sends each in a control request of its own, so that there
    /// is no connection to serve.
    async fn answer(self, mut message: Value) -> Option<Value> {
        let id = message.get("id").filter(|id| !id.is_null())?.clone();
        message.as_object_mut()?.entry("jsonrpc").or_insert_with(|| json!("2.0"));
        let message = match serde_json::from_value(message) {
            Ok(message) => message,
            Err(why) => {
                let error = ErrorData::invalid_request(why.to_string(), None);
                return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        let (transport, mut answers) = OneshotTransport::<RoleServer>::new(message);
        let serving = serve_directly(self, transport, None);
        let answer = answers.recv().await;
        drop(serving);
        serde_json::to_value(answer?).ok()
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(&self.name, env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let describe = |tool: &McpTool| {
            let schema = tool.schema.as_object().cloned().unwrap_or_default();
            Tool::new(tool.name.clone(), tool.description.clone(), schema)
        };
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(describe).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name;
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let unknown = || ErrorData::invalid_params(format!("no tool {name}"), None);
        let input = request.arguments.map_or(Value::Null, Value::Object);
        let text = |text| vec![ContentBlock::text(text)];
        let result = match (tool.ok_or_else(unknown)?.call)(input).await {
            Ok(said) => CallToolResult::success(text(said)),
            Err(said) => CallToolResult::error(text(said)),
        };
        Ok(result.into())
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
        let hello = json!({"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let expected = [
            (hello, "\"protocolVersion\":\"2025-06-18\""),
            (json!({"id": 0, "method": "ping"}), "\"result\":{}"),
            (json!({"method": "notifications/initialized"}), "\"result\":{}"),
            (json!({"id": 1, "method": "tools/list"}), "\"inputSchema\""),
            (call(json!({"a": 2, "b": 3})), "\"5\""),
            (call(json!({"a": "x"})), "\"isError\":true"),
            (json!({"id": 2, "method": "no/such"}), "-32601"),
            (json!({"id": 2, "method": 7}), "-32600"),
            (json!({"id": 3, "method": "tools/call", "params": {"name": "sub"}}), "-32602"),
        ];
        for (said, part) in expected {
            check(&said, &server.answer(said.clone()).await, part);
        }
    }
}
