use ratchet_stages::improve::tools::FeedbackTool;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::operation::Operation;
use crate::auth::Caller;

/// What a key must be allowed to do for a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolAccess {
    Read,
    /// Recording, as for scores.
    Record,
    Edit,
}

impl ToolAccess {
    pub(super) fn requirement(self) -> &'static str {
        match self {
            Self::Read => "it takes a viewer, member or owner key",
            Self::Record => {
                "it takes an ingest-only, member or owner key; `ratchet mcp` takes --manage"
            }
            Self::Edit => "it takes a member or owner key; `ratchet mcp` takes --manage",
        }
    }
}

/// Which tools a client may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolGrants {
    read: bool,
    record: bool,
    edit: bool,
}

impl ToolGrants {
    /// The tools that change nothing.
    pub const READ_ONLY: Self = Self { read: true, record: false, edit: false };
    pub const ALL: Self = Self { read: true, record: true, edit: true };

    /// What the role of a key allows.
    pub fn of(caller: &Caller) -> Self {
        Self {
            read: caller.clone().may_read().is_ok(),
            record: caller.clone().may_record().is_ok(),
            edit: caller.clone().may_edit().is_ok(),
        }
    }

    pub(super) fn allow(self, access: ToolAccess) -> bool {
        match access {
            ToolAccess::Read => self.read,
            ToolAccess::Record => self.record,
            ToolAccess::Edit => self.edit,
        }
    }
}

#[derive(Debug)]
pub(super) struct ToolDefinition {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) access: ToolAccess,
    pub(super) parameters: Vec<ToolParameter>,
    pub(super) runs: Runs,
}

/// What a call of a tool does.
#[derive(Debug)]
pub(super) enum Runs {
    /// Combines several reads; the tool's name says which.
    Records,
    Operation(Operation),
    /// Reads a week of failures; where code may be read.
    Feedback(FeedbackTool),
}

#[derive(Debug)]
pub(super) struct ToolParameter {
    pub(super) name: &'static str,
    pub(super) schema: Value,
    pub(super) need: Need,
    pub(super) location: ArgumentLocation,
    /// Its name in the request.
    pub(super) sent_as: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Optional,
    Required,
    /// Required unless the client gives this other parameter.
    Unless(&'static str),
}

/// Where an argument goes in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentLocation {
    /// Into `{name}` of the path.
    Path,
    /// Into the query; a list repeats the name.
    Query,
    /// Into the query, as a list with commas.
    Commas,
    /// Into the query, as JSON text.
    JsonText,
    /// Into a field of the body.
    Body,
    /// Nowhere: the tool itself uses it.
    Tool,
}

impl ToolParameter {
    fn new(name: &'static str, schema: Value) -> Self {
        Self {
            name,
            schema,
            need: Need::Optional,
            location: ArgumentLocation::Query,
            sent_as: name,
        }
    }

    pub(super) fn text(name: &'static str, about: &str) -> Self {
        Self::new(name, json!({"type": "string", "description": about}))
    }

    pub(super) fn time(name: &'static str, about: &str) -> Self {
        let about = format!("{about}, such as 2026-11-15T00:00:00Z");
        Self::new(name, json!({"type": "string", "format": "date-time", "description": about}))
    }

    pub(super) fn word(name: &'static str, words: &[&str]) -> Self {
        Self::new(name, json!({"type": "string", "enum": words}))
    }

    pub(super) fn number(name: &'static str, about: &str) -> Self {
        Self::new(name, json!({"type": "number", "description": about}))
    }

    pub(super) fn truth(name: &'static str, about: &str) -> Self {
        Self::new(name, json!({"type": "boolean", "description": about}))
    }

    /// A whole number from 1.
    pub(super) fn count(name: &'static str, about: &str) -> Self {
        Self::new(name, json!({"type": "integer", "minimum": 1, "description": about}))
    }

    /// A whole number from 1 to a maximum.
    pub(super) fn at_most(name: &'static str, maximum: u64, about: &str) -> Self {
        let mut parameter = Self::count(name, about);
        parameter.schema["maximum"] = json!(maximum);
        parameter
    }

    pub(super) fn texts(name: &'static str, about: &str) -> Self {
        let schema = json!({"type": "array", "items": {"type": "string"}, "description": about});
        Self::new(name, schema)
    }

    /// A JSON object.
    pub(super) fn object(name: &'static str, about: &str) -> Self {
        Self::new(name, json!({"type": "object", "description": about}))
    }

    /// Any JSON value.
    pub(super) fn any(name: &'static str, about: &str) -> Self {
        Self::new(name, json!({"description": about}))
    }

    /// Another schema.
    pub(super) fn shaped(name: &'static str, schema: Value) -> Self {
        Self::new(name, schema)
    }

    pub(super) fn required(self) -> Self {
        Self { need: Need::Required, ..self }
    }

    pub(super) fn unless(self, other: &'static str) -> Self {
        Self { need: Need::Unless(other), ..self }
    }

    pub(super) fn sent_as(self, sent_as: &'static str) -> Self {
        Self { sent_as, ..self }
    }

    pub(super) fn at(self, location: ArgumentLocation) -> Self {
        Self { location, ..self }
    }
}

impl ToolDefinition {
    /// The tool as the protocol describes it.
    pub(super) fn describe(&self) -> Tool {
        let properties: JsonObject = self
            .parameters
            .iter()
            .map(|parameter| (parameter.name.to_owned(), parameter.schema.clone()))
            .collect();
        let required = self.parameters.iter().filter(|one| one.need == Need::Required);
        let required: Vec<_> = required.map(|one| one.name).collect();
        let schema = JsonObject::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), properties.into()),
            ("required".to_owned(), json!(required)),
            ("additionalProperties".to_owned(), json!(false)),
        ]);
        let is_read = self.access == ToolAccess::Read;
        let mut hints = ToolAnnotations::new();
        hints.read_only_hint = Some(is_read);
        // Clients ask a person before a destructive call: labels, versions and scores are changed.
        hints.destructive_hint = (!is_read).then_some(true);
        hints.open_world_hint = Some(false);
        Tool::new(self.name, self.about, schema).with_annotations(hints)
    }
}
