use reqwest::Response;
use serde_json::{Value, json};

use crate::error::ModelError;
use crate::http::{self, StreamControl};
use crate::sse::SseEvent;

/// The maximum number of tool calls, far above real responses.
const MAX_CALLS: usize = 1_000;

/// Assembles a completion from its chunks and passes on each text delta.
pub(super) async fn completion(
    answer: Response,
    listener: &mut (dyn FnMut(&str) + Send),
) -> Result<Value, ModelError> {
    let mut growing = Growing::default();
    match http::events(answer, |event| growing.take(&event, listener)).await {
        // Some servers omit the final `[DONE]`.
        Err(ModelError::CutStream(_)) if growing.finish.is_string() => {}
        ended => ended?,
    }
    Ok(growing.whole())
}

#[derive(Default)]
struct Growing {
    model: Value,
    text: String,
    refusal: String,
    calls: Vec<Value>,
    finish: Value,
    usage: Value,
}

impl Growing {
    fn take(
        &mut self,
        event: &SseEvent,
        listener: &mut (dyn FnMut(&str) + Send),
    ) -> Result<StreamControl, ModelError> {
        if event.data.trim() == "[DONE]" {
            return Ok(StreamControl::All);
        }
        let chunk: Value = serde_json::from_str(&event.data)
            .map_err(|error| ModelError::MalformedResponse(error.to_string()))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            let why = error["message"].as_str().unwrap_or_default();
            return Err(ModelError::CutStream(why.to_owned()));
        }
        if chunk["model"].is_string() {
            self.model = chunk["model"].clone();
        }
        if chunk["usage"].is_object() {
            self.usage = chunk["usage"].clone();
        }
        let choice = &chunk["choices"][0];
        if choice["finish_reason"].is_string() {
            self.finish = choice["finish_reason"].clone();
        }
        self.grow(&choice["delta"], listener)?;
        Ok(StreamControl::More)
    }

    fn grow(
        &mut self,
        delta: &Value,
        listener: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), ModelError> {
        if let Some(text) = delta["content"].as_str().filter(|text| !text.is_empty()) {
            self.text.push_str(text);
            listener(text);
        }
        self.refusal.push_str(delta["refusal"].as_str().unwrap_or_default());
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.grow_call(piece)?;
        }
        Ok(())
    }

    fn grow_call(&mut self, piece: &Value) -> Result<(), ModelError> {
        let malformed =
            || ModelError::MalformedResponse("a piece belongs to no tool call".to_owned());
        let at = piece["index"].as_u64().map_or(Ok(self.calls.len()), usize::try_from);
        let at = at.map_err(|_| malformed())?;
        if at == self.calls.len() && at < MAX_CALLS {
            let function = json!({"name": "", "arguments": ""});
            self.calls.push(json!({"id": "", "function": function}));
        }
        let call = self.calls.get_mut(at).ok_or_else(malformed)?;
        let append = |to: &mut Value, more: &Value| {
            let more = more.as_str().unwrap_or_default();
            *to = format!("{}{more}", to.as_str().unwrap_or_default()).into();
        };
        append(&mut call["id"], &piece["id"]);
        append(&mut call["function"]["name"], &piece["function"]["name"]);
        append(&mut call["function"]["arguments"], &piece["function"]["arguments"]);
        Ok(())
    }

    fn whole(self) -> Value {
        let refusal = Some(self.refusal).filter(|refusal| !refusal.is_empty());
        let message = json!({"content": self.text, "refusal": refusal, "tool_calls": self.calls});
        let choice = json!({"message": message, "finish_reason": self.finish});
        json!({"model": self.model, "choices": [choice], "usage": self.usage})
    }
}
