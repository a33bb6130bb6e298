use std::collections::BTreeMap;

use crate::chat::event::EventKind;
use crate::record::claude_code::object::Object;

/// One message on its way, block by block.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    message: Option<String>,
    /// Whether the message is not complete.
    is_open: bool,
    /// The blocks of words, by their place in the message.
    blocks: BTreeMap<u64, Block>,
}

#[derive(Clone, Debug)]
struct Block {
    kind: EventKind,
    text: String,
    /// Whether the whole block was received too, so that later pieces are duplicates.
    is_whole: bool,
}

impl Stream {
    /// The message that is on its way.
    pub(super) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The message that is on its way and not complete.
    pub(super) fn open_message(&self) -> Option<&str> {
        self.message().filter(|_| self.is_open)
    }

    /// Takes an event of the model's stream; returns its new text.
    pub(super) fn piece(&mut self, event: &Object<'_>) -> Option<(EventKind, String)> {
        match event.text("type")?.as_str() {
            "message_start" => {
                let message = event.object("message").and_then(|message| message.text("id"));
                *self = Self { message, is_open: true, blocks: BTreeMap::new() };
                None
            }
            "message_stop" => {
                self.is_open = false;
                None
            }
            "content_block_start" => {
                let block = event.object("content_block")?;
                let (kind, key) = kind_of(block.text("type")?.as_str())?;
                self.add(event.count("index")?, kind, block.text(key).unwrap_or_default())
            }
            "content_block_delta" => {
                let delta = event.object("delta")?;
                let (kind, key) = kind_of(delta.text("type")?.as_str())?;
                self.add(event.count("index")?, kind, delta.text(key)?)
            }
            _ => None,
        }
    }

    fn add(&mut self, index: u64, kind: EventKind, text: String) -> Option<(EventKind, String)> {
        let new = Block { kind, text: String::new(), is_whole: false };
        let block = self.blocks.entry(index).or_insert(new);
        if block.is_whole || text.is_empty() {
            return None;
        }
        block.text.push_str(&text);
        Some((block.kind, text))
    }

    /// Takes a whole block; returns the part that is new.
    pub(super) fn whole<'t>(
        &mut self,
        message: Option<&str>,
        kind: EventKind,
        text: &'t str,
    ) -> Option<&'t str> {
        // Pieces that name no message belong to whichever comes.
        let is_this = self.message.is_none() || self.message.as_deref() == message;
        let open = |block: &&mut Block| is_this && block.kind == kind && !block.is_whole;
        let begins = |block: &Block| !block.text.is_empty() && text.starts_with(&block.text);
        let has_begun = self.blocks.values_mut().filter(open).any(|block| begins(block));
        // An empty block is never emitted whole, so another match takes precedence.
        let fits = |block: &&mut Block| open(block) && (!has_begun || begins(block));
        let Some(block) = self.blocks.values_mut().find(fits) else { return Some(text) };
        block.is_whole = true;
        // A text that differs from its pieces was emitted already, as pieces.
        let rest = text.strip_prefix(block.text.as_str()).unwrap_or_default();
        (!rest.is_empty()).then_some(rest)
    }
}

/// What a block or a piece of one is to us, and where its words are.
fn kind_of(word: &str) -> Option<(EventKind, &'static str)> {
    match word {
        "text" | "text_delta" => Some((EventKind::TextDelta, "text")),
        "thinking" | "thinking_delta" => Some((EventKind::ThinkingDelta, "thinking")),
        _ => None,
    }
}
