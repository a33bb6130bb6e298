use std::collections::BTreeMap;

use ratchet_core::catalog::prompt::{Graph, Node, PromptKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, null_as_default};
use super::time::Time;
use super::word::Word;

/// A prompt's kind as its word.
pub type PromptKindWord = Word<PromptKind>;

/// A version of a prompt, as sent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatePrompt {
    /// What it is called; slashes part folders.
    pub name: String,
    /// Whether it is one text or a chat; a text when left out.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PromptKindWord>,
    /// A text, or a list of messages and placeholders.
    pub prompt: Raw,
    /// Whatever the client keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Raw>,
    /// The labels that move to this version.
    #[serde(default, deserialize_with = "null_as_default")]
    pub labels: Vec<String>,
    /// The tags of all versions from now on; those they have when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Why this version is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_message: Option<String>,
}

/// A version of a prompt, as the first version of the API takes it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatePromptV1 {
    /// What it is called; slashes part folders.
    pub name: String,
    /// Whether it is one text or a chat; a text when left out.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PromptKindWord>,
    /// A text, or a list of messages and placeholders.
    pub prompt: Raw,
    /// Whatever the client keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Raw>,
    /// Whether it goes to production at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// The labels that move to this version.
    #[serde(default, deserialize_with = "null_as_default")]
    pub labels: Vec<String>,
    /// The tags of all versions from now on; those they have when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl CreatePromptV1 {
    /// The same as the second version of the API takes it; one that is active has a label for that.
    pub fn with_label(self, active: &str) -> CreatePrompt {
        let mut labels = self.labels;
        let is_new = !labels.iter().any(|label| label == active);
        if self.is_active == Some(true) && is_new {
            labels.push(active.to_owned());
        }
        CreatePrompt {
            name: self.name,
            kind: self.kind,
            prompt: self.prompt,
            config: self.config,
            labels,
            tags: self.tags,
            commit_message: None,
        }
    }
}

/// The labels that a version is to have beside those it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePrompt {
    /// The labels; they leave the versions where they stood.
    pub new_labels: Vec<String>,
}

/// A version of a prompt.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptView {
    /// Names this version alone.
    #[serde(default)]
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Which version, from 1.
    pub version: u32,
    /// Whether it is one text or a chat.
    #[serde(rename = "type")]
    pub kind: PromptKindWord,
    /// A text, or a list of messages and placeholders.
    pub prompt: Raw,
    /// Whatever the client keeps with it.
    pub config: Raw,
    /// The labels at this version.
    pub labels: Vec<String>,
    /// The tags of all versions.
    pub tags: Vec<String>,
    /// Why this version was made.
    pub commit_message: Option<String>,
    /// What it was put together from; null if from nothing else, or if not put together.
    pub resolution_graph: Option<GraphView>,
    /// Whether it has the label `production`, as the first version of this API had it.
    pub is_active: Option<bool>,
    /// In which project.
    pub project_id: Option<String>,
    /// Who made it.
    pub created_by: Option<String>,
    /// When it was made.
    pub created_at: Option<Time>,
    /// When its labels or tags last changed.
    pub updated_at: Option<Time>,
}

/// Which versions a prompt was put together from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GraphView {
    /// The outermost.
    pub root: NodeView,
    /// What each refers to, by id.
    pub dependencies: BTreeMap<String, Vec<NodeView>>,
}

/// A version in a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
}

/// A prompt in a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptMetaView {
    /// What it is called.
    pub name: String,
    /// Whether it is one text or a chat.
    #[serde(rename = "type")]
    pub kind: PromptKindWord,
    /// Its versions that match.
    pub versions: Vec<u32>,
    /// The labels at these versions.
    pub labels: Vec<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// When one of these versions last changed.
    pub last_updated_at: Time,
    /// The config of the newest of these versions.
    pub last_config: Raw,
}

impl From<Graph> for GraphView {
    fn from(graph: Graph) -> Self {
        let nodes = |nodes: Vec<Node>| nodes.into_iter().map(NodeView::from).collect();
        let dependencies = graph.dependencies.into_iter();
        Self {
            root: graph.root.into(),
            dependencies: dependencies.map(|(id, children)| (id, nodes(children))).collect(),
        }
    }
}

impl From<Node> for NodeView {
    fn from(node: Node) -> Self {
        Self { id: node.id, name: node.name, version: node.version }
    }
}
