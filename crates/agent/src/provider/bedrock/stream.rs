use std::collections::BTreeMap;

use aws_sdk_bedrockruntime::primitives::event_stream::EventReceiver;
use aws_sdk_bedrockruntime::types::error::ConverseStreamOutputError;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, ContentBlockDelta, ContentBlockStart, ConverseStreamOutput, StopReason,
    TokenUsage, ToolUseBlock,
};

use super::{document, failure};
use crate::error::ModelError;
use crate::http::MAX_STREAM_BYTES;

/// A reassembled response.
pub(super) struct StreamedMessage {
    pub(super) content: Vec<ContentBlock>,
    pub(super) stop: StopReason,
    pub(super) usage: Option<TokenUsage>,
}

enum Block {
    Text(String),
    Call { id: String, name: String, input: String },
}

/// Assembles a response from its events and passes on each text delta.
pub(super) async fn whole(
    mut events: EventReceiver<ConverseStreamOutput, ConverseStreamOutputError>,
    listener: &mut (dyn FnMut(&str) + Send),
) -> Result<StreamedMessage, ModelError> {
    let (mut blocks, mut stop, mut usage) = (BTreeMap::new(), None, None);
    let mut read = 0_usize;
    while let Some(event) = events.recv().await.map_err(|error| failure::of_stream(&error))? {
        match event {
            ConverseStreamOutput::ContentBlockStart(start) => {
                if let Some(ContentBlockStart::ToolUse(call)) = start.start {
                    let (id, name) = (call.tool_use_id, call.name);
                    let call = Block::Call { id, name, input: String::new() };
                    blocks.insert(start.content_block_index, call);
                }
            }
            ConverseStreamOutput::ContentBlockDelta(piece) => {
                let empty = || Block::Text(String::new());
                read = read.saturating_add(bytes(piece.delta.as_ref()));
                if read > MAX_STREAM_BYTES {
                    let why = format!("it has more than {MAX_STREAM_BYTES} bytes");
                    return Err(ModelError::MalformedResponse(why));
                }
                let block = blocks.entry(piece.content_block_index).or_insert_with(empty);
                grow(block, piece.delta, listener);
            }
            ConverseStreamOutput::MessageStop(stopped) => stop = Some(stopped.stop_reason),
            ConverseStreamOutput::Metadata(metadata) => usage = metadata.usage,
            // Start and stop events add nothing to the deltas.
            _ => {}
        }
    }
    let cut = || ModelError::CutStream("it ended before the model was done".to_owned());
    let stop = stop.ok_or_else(cut)?;
    let content = blocks.into_values().map(Block::finish).collect::<Result<_, _>>()?;
    Ok(StreamedMessage { content, stop, usage })
}

/// The length of what a delta adds.
fn bytes(delta: Option<&ContentBlockDelta>) -> usize {
    match delta {
        Some(ContentBlockDelta::Text(piece)) => piece.len(),
        Some(ContentBlockDelta::ToolUse(piece)) => piece.input.len(),
        _ => 0,
    }
}

fn grow(
    block: &mut Block,
    delta: Option<ContentBlockDelta>,
    listener: &mut (dyn FnMut(&str) + Send),
) {
    match (block, delta) {
        (Block::Text(text), Some(ContentBlockDelta::Text(piece))) => {
            text.push_str(&piece);
            listener(&piece);
        }
        (Block::Call { input, .. }, Some(ContentBlockDelta::ToolUse(piece))) => {
            input.push_str(&piece.input);
        }
        // Reasoning and images.
        _ => {}
    }
}

impl Block {
    fn finish(self) -> Result<ContentBlock, ModelError> {
        let (id, name, input) = match self {
            Self::Text(text) => return Ok(ContentBlock::Text(text)),
            Self::Call { id, name, input } => (id, name, input),
        };
        let malformed =
            |why: String| ModelError::MalformedResponse(format!("input of a tool: {why}"));
        let input = if input.is_empty() { "{}" } else { input.as_str() };
        let input = serde_json::from_str(input).map_err(|error| malformed(error.to_string()))?;
        let input = document::from_json(&input);
        let call = ToolUseBlock::builder().tool_use_id(id).name(name).input(input).build();
        call.map(ContentBlock::ToolUse).map_err(|error| malformed(error.to_string()))
    }
}
