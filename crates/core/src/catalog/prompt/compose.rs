use std::collections::BTreeMap;

use super::body::{ChatMessage, PromptBody};
use super::reference::{Piece, Reference, pieces};

/// How many prompts may stand one inside the other, the outermost included.
pub const MAX_DEPTH: usize = 5;

/// How many different references one prompt may lead to.
pub const MAX_PARTS: usize = 1_000;

/// Bytes that may be written while a prompt is put together.
const MAX_BYTES: usize = 32_000_000;

/// A version of a prompt that is to be put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Which version, in the resolution graph.
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

/// What references lead to, as far as it is there.
pub type Parts = BTreeMap<Reference, Part>;

/// A prompt with its references filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// What it says in full.
    pub body: PromptBody,
    /// What came from where; `None` without references.
    pub graph: Option<Graph>,
}

/// Which version took in which others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub root: Node,
    /// By id of the one that refers.
    pub dependencies: BTreeMap<String, Vec<Node>>,
}

/// Why a prompt cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    #[error("prompt dependency not found: {0}")]
    Missing(Reference),
    /// Only texts can stand inside texts.
    #[error("prompt dependency is not a text prompt: {0}")]
    NotText(Reference),
    /// A prompt would contain itself.
    #[error("circular dependency through prompt '{name}' version {version}")]
    Circular {
        /// The prompt that comes again.
        name: String,
        version: u32,
    },
    /// One inside the other inside the other.
    #[error("prompts are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("the prompt with all it refers to is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("the prompt refers to more than {MAX_PARTS} others")]
    TooMany,
}

/// Fills in the references of a prompt.
///
/// # Errors
/// Says which reference leads nowhere, to a chat, or back, or that it is too much.
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

/// A text with its references filled in.
#[derive(Clone, Debug)]
struct Filled {
    text: String,
    /// How many prompts stand one inside the other, this one included.
    height: usize,
}

struct Work<'a> {
    root: &'a Node,
    parts: &'a Parts,
    /// What is filled in already: the same prompt is worked on once, however often it is named.
    done: BTreeMap<&'a Reference, Filled>,
    /// Bytes of all that is done.
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
            // A part counts where it stands on the path, also when it was filled in elsewhere.
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
        // A prompt that leads to another version of itself never ends well either.
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
