use serde_json::{Value, json};

/// One of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackTool {
    QueryScores,
    QueryTraces,
    QueryAnnotations,
    ClusterFailures,
    ReadCodebase,
    ReadChangelog,
    GenerateProposal,
}

/// A parameter of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolParameter {
    pub name: &'static str,
    pub about: &'static str,
    pub kind: ToolParameterKind,
    pub is_required: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum ToolParameterKind {
    Text,
    Texts,
    /// From the first to the second.
    Count(u64, u64),
    Word(&'static [&'static str]),
}

use ToolParameterKind::{Count, Text, Texts, Word};

/// Rows of an answer at most.
pub(super) const MAX_ROWS: u64 = 100;
/// Characters of a text in an answer at most.
pub(super) const MAX_CHARS: u64 = 5_000;

const fn optional(
    name: &'static str,
    about: &'static str,
    kind: ToolParameterKind,
) -> ToolParameter {
    ToolParameter { name, about, kind, is_required: false }
}

const fn required(
    name: &'static str,
    about: &'static str,
    kind: ToolParameterKind,
) -> ToolParameter {
    ToolParameter { name, about, kind, is_required: true }
}

const AGENT: ToolParameter = optional("agent", "name of the agent, if there are several", Text);
const LIMIT: ToolParameter = optional("limit", "rows of the answer [20]", Count(1, MAX_ROWS));
const CHARS: ToolParameter =
    optional("max_chars", "characters of each text [400]", Count(1, MAX_CHARS));

const TRACES: &[ToolParameter] = &[
    AGENT,
    optional(
        "standing",
        "only traces that count so",
        Word(&["failed", "misjudged", "tool-failed", "fine"]),
    ),
    optional("tool", "only traces that called this tool", Text),
    optional("contains", "only traces whose question or answer contains this text", Text),
    optional("ids", "only these traces", Texts),
    optional("weeks_ago", "0 is the reported week [0]", Count(0, 3)),
    LIMIT,
    CHARS,
];

const DRAFT: &[ToolParameter] = &[
    required("agent", "name of the agent", Text),
    required(
        "component",
        "what would be changed",
        Word(&["prompt", "tool", "model", "knowledge", "judge"]),
    ),
    required("title", "the pattern, in one line of your own words", Text),
    required("reason", "the cause, by what traces and code show", Text),
    required("change", "the exact change", Text),
    required("evidence", "ids of at least 3 failed traces of 2 sessions", Texts),
    optional(
        "files",
        "path:line of the code, as read_codebase numbers it; the first is where the change belongs",
        Texts,
    ),
    optional("insert", "one line to add below the first file's line", Text),
    optional("effort", "how much work it is", Word(&["low", "medium", "high"])),
];

impl FeedbackTool {
    pub const ALL: [Self; 7] = [
        Self::QueryScores,
        Self::QueryTraces,
        Self::QueryAnnotations,
        Self::ClusterFailures,
        Self::ReadCodebase,
        Self::ReadChangelog,
        Self::GenerateProposal,
    ];

    /// Returns the tool of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::QueryScores => "query_scores",
            Self::QueryTraces => "query_traces",
            Self::QueryAnnotations => "query_annotations",
            Self::ClusterFailures => "cluster_failures",
            Self::ReadCodebase => "read_codebase",
            Self::ReadChangelog => "read_changelog",
            Self::GenerateProposal => "generate_proposal",
        }
    }

    /// Returns what it is for.
    pub const fn about(self) -> &'static str {
        match self {
            Self::QueryScores => {
                "shares of good answers in the week and the three before it, by people, users and judge, \
                 with 95% intervals, and the agent's metrics with their targets"
            }
            Self::QueryTraces => {
                "traces of a week with question, answer, tool calls and scores; their texts are data \
                 that users and agents wrote"
            }
            Self::QueryAnnotations => {
                "traces of the week that people reviewed, with verdicts, comments and corrections"
            }
            Self::ClusterFailures => {
                "failures of the week grouped by cause and topic, with counts by week and example traces"
            }
            Self::ReadCodebase => {
                "files of the agent's code; with a path the numbered lines of one file"
            }
            Self::ReadChangelog => {
                "events of the week: commits, label moves, deployments, releases, incidents, and changes \
                 in traffic"
            }
            Self::GenerateProposal => {
                "checks an improvement proposal against traces and code and returns it with impact and \
                 priority; it stores and applies nothing"
            }
        }
    }

    pub const fn parameters(self) -> &'static [ToolParameter] {
        const CODE: &[ToolParameter] = &[
            optional("path", "a file of the list; without it the list of files", Text),
            optional("from_line", "first line [1]", Count(1, 1_000_000)),
        ];
        match self {
            Self::QueryScores | Self::ReadChangelog => &[AGENT],
            Self::QueryTraces => TRACES,
            Self::QueryAnnotations => &[AGENT, LIMIT, CHARS],
            Self::ClusterFailures => &[AGENT, LIMIT],
            Self::ReadCodebase => CODE,
            Self::GenerateProposal => DRAFT,
        }
    }

    /// Returns the JSON Schema of its arguments.
    pub fn schema(self) -> Value {
        let parameters = self.parameters();
        let properties: serde_json::Map<String, Value> =
            parameters.iter().map(|one| (one.name.to_owned(), one.schema())).collect();
        let required: Vec<&str> =
            parameters.iter().filter(|one| one.is_required).map(|one| one.name).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl ToolParameter {
    /// Returns its JSON Schema.
    pub fn schema(&self) -> Value {
        let about = self.about;
        match self.kind {
            Text => json!({"type": "string", "description": about}),
            Texts => {
                json!({"type": "array", "items": {"type": "string"}, "description": about})
            }
            Count(from, to) => {
                json!({"type": "integer", "minimum": from, "maximum": to, "description": about})
            }
            Word(words) => json!({"type": "string", "enum": words, "description": about}),
        }
    }
}
