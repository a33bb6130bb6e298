use std::collections::BTreeMap;

use ratchet_core::catalog::prompt::{Graph, Node, PromptKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::json::{Raw, null_as_default};
use super::time::Time;
use super::wire_name::WireName;

/// The API name of a prompt type.
pub type PromptKindName = WireName<PromptKind>;

/// A request to create a prompt version.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatePrompt {
    /// Name; slashes separate folders.
    pub name: String,
    /// Type: text or chat; text when omitted.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PromptKindName>,
    /// Text, or a list of messages and placeholders.
    pub prompt: Raw,
    /// Client metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Raw>,
    /// Labels to move to this version.
    #[serde(default, deserialize_with = "null_as_default")]
    pub labels: Vec<String>,
    /// New tags of all versions; unchanged when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Commit message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_message: Option<String>,
}

/// A request to create a prompt version (API version 1).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatePromptV1 {
    /// Name; slashes separate folders.
    pub name: String,
    /// Type: text or chat; text when omitted.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PromptKindName>,
    /// Text, or a list of messages and placeholders.
    pub prompt: Raw,
    /// Client metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Raw>,
    /// Whether to label it `production`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// Labels to move to this version.
    #[serde(default, deserialize_with = "null_as_default")]
    pub labels: Vec<String>,
    /// New tags of all versions; unchanged when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl CreatePromptV1 {
    /// Converts to the request of API version 2; an active version gets the given label.
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

/// A request to add labels to a prompt version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePrompt {
    /// Labels, which are removed from other versions.
    pub new_labels: Vec<String>,
}

/// A version of a prompt.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptView {
    /// Id of this version.
    #[serde(default)]
    pub id: String,
    /// Name.
    pub name: String,
    /// Version number, from 1.
    pub version: u32,
    /// Type: text or chat.
    #[serde(rename = "type")]
    pub kind: PromptKindName,
    /// Text, or a list of messages and placeholders.
    pub prompt: Raw,
    /// Client metadata.
    pub config: Raw,
    /// Labels of this version.
    pub labels: Vec<String>,
    /// Tags of all versions.
    pub tags: Vec<String>,
    /// Commit message.
    pub commit_message: Option<String>,
    /// Resolution graph; null without references, or if not resolved.
    pub resolution_graph: Option<GraphView>,
    /// Whether it has the label `production` (API version 1).
    pub is_active: Option<bool>,
    /// Project id.
    pub project_id: Option<String>,
    /// Creator.
    pub created_by: Option<String>,
    /// Creation time.
    pub created_at: Option<Time>,
    /// Time of the last change of labels or tags.
    pub updated_at: Option<Time>,
}

/// The resolution graph of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GraphView {
    /// Root.
    pub root: NodeView,
    /// Dependencies by id.
    pub dependencies: BTreeMap<String, Vec<NodeView>>,
}

/// A prompt version in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// Unique id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: u32,
}

/// A prompt in a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptMetaView {
    /// Name.
    pub name: String,
    /// Type: text or chat.
    #[serde(rename = "type")]
    pub kind: PromptKindName,
    /// Matching versions.
    pub versions: Vec<u32>,
    /// Labels of these versions.
    pub labels: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Time of the last change of these versions.
    pub last_updated_at: Time,
    /// Config of the newest of these versions.
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
