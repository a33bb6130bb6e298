use std::collections::BTreeMap;

use super::body::{ChatMessage, PromptBody};
use super::reference::{Piece, Reference, pieces};

/// The maximum nesting depth of prompts, the root included.
pub const MAX_DEPTH: usize = 5;

/// The maximum number of distinct references that a prompt resolves to.
pub const MAX_PARTS: usize = 1_000;

/// The maximum number of bytes written while composing.
const MAX_BYTES: usize = 32_000_000;

/// A prompt version with its position in the resolution graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub node: Node,
    pub body: PromptBody,
}

/// A version of a prompt in a resolution graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    pub name: String,
    pub version: u32,
}

/// The prompt versions that references resolve to, as far as they exist.
pub type Parts = BTreeMap<Reference, Part>;

/// A prompt with its references resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    pub body: PromptBody,
    /// The resolution graph; `None` without references.
    pub graph: Option<Graph>,
}

/// The resolution graph: which version includes which others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub root: Node,
    /// Keyed by the id of the including version.
    pub dependencies: BTreeMap<String, Vec<Node>>,
}

/// Error of composing a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    #[error("prompt dependency not found: {0}")]
    Missing(Reference),
    /// Only text prompts can be included.
    #[error("prompt dependency is not a text prompt: {0}")]
    NotText(Reference),
    /// A prompt would include itself.
    #[error("circular dependency through prompt '{name}' version {version}")]
    Circular {
        /// The prompt that repeats.
        name: String,
        version: u32,
    },
    #[error("prompts are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("the prompt with all it refers to is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("the prompt refers to more than {MAX_PARTS} others")]
    TooMany,
}

/// Resolves the references of a prompt.
///
/// # Errors
/// Names a reference that does not exist, is a chat prompt or is circular; also fails beyond the
/// depth and size limits.
pub fn compose(root: &Part, parts: &Parts) -> Result<Composed, ComposeError> {
    let mut work =
        Work { root: &root.node, parts, done: BTreeMap::new(), written: 0, graph: BTreeMap::new() };
    let mut path = vec![&root.node];
    let body = match &root.body {
        PromptBody::Text(text) => PromptBody::Text(work.fill(text, &mut path)?.text),
        PromptBody::Chat(messages) => {
            let filled = messages.iter().map(|message| work.fill_message(message, &mut path));
            PromptBody::Chat(filled.collect::<Result<_, _>>()?)
        }
    };
    let dependencies = work.graph;
    let graph = (!dependencies.is_empty()).then(|| Graph { root: root.node.clone(), dependencies });
    Ok(Composed { body, graph })
}

/// A text with its references resolved.
#[derive(Clone, Debug)]
struct Filled {
    text: String,
    /// Nesting depth of prompts, this one included.
    height: usize,
}

struct Work<'a> {
    root: &'a Node,
    parts: &'a Parts,
    /// Memoised results: each prompt is resolved once, however often it is included.
    done: BTreeMap<&'a Reference, Filled>,
    /// Total bytes of the results.
    written: usize,
    graph: BTreeMap<String, Vec<Node>>,
}

impl<'a> Work<'a> {
    fn fill_message(
        &mut self,
        message: &'a ChatMessage,
        path: &mut Vec<&'a Node>,
    ) -> Result<ChatMessage, ComposeError> {
        match message {
            ChatMessage::Said { role, content, rest } => Ok(ChatMessage::Said {
                role: role.clone(),
                content: self.fill(content, path)?.text,
                rest: rest.clone(),
            }),
            ChatMessage::Placeholder { name } => {
                Ok(ChatMessage::Placeholder { name: name.clone() })
            }
        }
    }

    fn fill(&mut self, text: &'a str, path: &mut Vec<&'a Node>) -> Result<Filled, ComposeError> {
        let mut filled = Filled { text: String::new(), height: 1 };
        for piece in pieces(text) {
            match piece {
                Piece::Plain(plain) => filled.text.push_str(plain),
                Piece::Refers(reference) => {
                    let inner = self.part(&reference, path)?;
                    filled.height = filled.height.max(inner.height + 1);
                    filled.text.push_str(&inner.text);
                }
            }
            // Depth counts along the path, also for a memoised part.
            if path.len() + filled.height - 1 > MAX_DEPTH {
                return Err(ComposeError::TooDeep);
            }
            if self.written.saturating_add(filled.text.len()) > MAX_BYTES {
                return Err(ComposeError::TooLong);
            }
        }
        Ok(filled)
    }

    fn part(
        &mut self,
        reference: &Reference,
        path: &mut Vec<&'a Node>,
    ) -> Result<Filled, ComposeError> {
        if path.len() >= MAX_DEPTH {
            return Err(ComposeError::TooDeep);
        }
        let parts = self.parts;
        let found = parts.get_key_value(reference);
        let (reference, part) = found.ok_or_else(|| ComposeError::Missing(reference.clone()))?;
        let PromptBody::Text(text) = &part.body else {
            return Err(ComposeError::NotText(reference.clone()));
        };
        self.note(path, &part.node);
        if let Some(done) = self.done.get(reference) {
            return Ok(done.clone());
        }
        // Another version of the same prompt on the path counts as circular too.
        let comes_again = path.iter().any(|node| node.id == part.node.id);
        if comes_again || part.node.name == self.root.name {
            let Node { name, version, .. } = part.node.clone();
            return Err(ComposeError::Circular { name, version });
        }
        path.push(&part.node);
        let filled = self.fill(text, path)?;
        path.pop();
        self.written = self.written.saturating_add(filled.text.len());
        self.done.insert(reference, filled.clone());
        Ok(filled)
    }

    fn note(&mut self, path: &[&Node], child: &Node) {
        let Some(parent) = path.last() else { return };
        let children = self.graph.entry(parent.id.clone()).or_default();
        if !children.contains(child) {
            children.push(child.clone());
        }
    }
}
