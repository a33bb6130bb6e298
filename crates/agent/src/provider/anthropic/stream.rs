use reqwest::Response;
use serde_json::{Value, json};

use crate::error::ModelError;
use crate::http::{self, StreamControl};
use crate::sse::SseEvent;

/// The maximum number of content blocks, far above real messages.
const MAX_BLOCKS: usize = 1_000;

/// Assembles a message from its events and passes on each text delta.
pub(super) async fn message(
    answer: Response,
    listener: &mut (dyn FnMut(&str) + Send),
) -> Result<Value, ModelError> {
    let mut growing = Growing::default();
    http::events(answer, |event| growing.take(&event, listener)).await?;
    growing.whole()
}

#[derive(Default)]
struct Growing {
    message: Value,
    blocks: Vec<Value>,
    /// The input of a tool call arrives as fragments of JSON text.
    inputs: Vec<String>,
}

impl Growing {
    fn take(
        &mut self,
        event: &SseEvent,
        listener: &mut (dyn FnMut(&str) + Send),
    ) -> Result<StreamControl, ModelError> {
        let data: Value = serde_json::from_str(&event.data)
            .map_err(|error| ModelError::MalformedResponse(error.to_string()))?;
        match data["type"].as_str().unwrap_or_default() {
            "message_start" => self.message = data["message"].clone(),
            "content_block_start" => self.open(&data)?,
            "content_block_delta" => self.grow(&data, listener)?,
            "message_delta" => self.end(&data),
            "message_stop" => return Ok(StreamControl::All),
            "error" => return Err(failure(&data["error"])),
            // Pings, block ends and future event types.
            _ => {}
        }
        Ok(StreamControl::More)
    }

    fn open(&mut self, data: &Value) -> Result<(), ModelError> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(ModelError::MalformedResponse(
                "the message has too many blocks".to_owned(),
            ));
        }
        self.blocks.push(data["content_block"].clone());
        self.inputs.push(String::new());
        Ok(())
    }

    fn grow(
        &mut self,
        data: &Value,
        listener: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), ModelError> {
        let at = data["index"].as_u64().and_then(|at| usize::try_from(at).ok());
        let place = at.and_then(|at| Some((self.blocks.get_mut(at)?, self.inputs.get_mut(at)?)));
        let (block, input) = place.ok_or_else(|| {
            ModelError::MalformedResponse("a piece belongs to no block".to_owned())
        })?;
        let delta = &data["delta"];
        if let Some(text) = delta["text"].as_str() {
            let whole = format!("{}{text}", block["text"].as_str().unwrap_or_default());
            block["text"] = whole.into();
            listener(text);
        }
        input.push_str(delta["partial_json"].as_str().unwrap_or_default());
        Ok(())
    }

    /// These counts are of the whole message and replace those of its start.
    fn end(&mut self, data: &Value) {
        self.message["stop_reason"] = data["delta"]["stop_reason"].clone();
        for (kind, count) in data["usage"].as_object().into_iter().flatten() {
            if !count.is_null() {
                self.message["usage"][kind] = count.clone();
            }
        }
    }

    fn whole(mut self) -> Result<Value, ModelError> {
        for (block, input) in self.blocks.iter_mut().zip(&self.inputs) {
            if block["type"] == "tool_use" && !input.is_empty() {
                block["input"] = serde_json::from_str(input).map_err(|error| {
                    ModelError::MalformedResponse(format!("input of a tool: {error}"))
                })?;
            }
        }
        if !self.message.is_object() {
            return Err(ModelError::MalformedResponse("the stream has no message".to_owned()));
        }
        self.message["content"] = json!(self.blocks);
        Ok(self.message)
    }
}

/// Maps an error event of a started stream.
fn failure(error: &Value) -> ModelError {
    let why = error["message"].as_str().unwrap_or_default().to_owned();
    match error["type"].as_str().unwrap_or_default() {
        "overloaded_error" => ModelError::Overloaded { status: 529, why },
        "rate_limit_error" => ModelError::RateLimited { retry_after: None },
        _ => ModelError::CutStream(why),
    }
}
