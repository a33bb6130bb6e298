use crate::environment::Environment;
use crate::payload::Json;
use crate::record::semantic_conventions::Sender;
use crate::record::semantic_conventions::attributes::text;
use crate::record::semantic_conventions::json::{Fields, json, pairs};
use crate::record::semantic_conventions::metadata::Encoding;
use crate::record::semantic_conventions::table::Dialect;
use crate::record::span::Origin;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// Properties of an origin, computed once for all its spans.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) environment: Option<Environment>,
    pub(super) version: Option<String>,
    pub(super) release: Option<String>,
    /// The dialect whose generic names its spans may use.
    pub(super) dialect: Dialect,
    /// The service name, unless it is OpenTelemetry's placeholder.
    pub(super) service: Option<String>,
    /// Encoding of observation metadata.
    pub(super) encoding: Encoding,
    /// Encoding of trace metadata.
    pub(super) trace_encoding: Encoding,
    /// Whether the SDK reports model calls as plain spans.
    pub(super) hides_generations: bool,
    /// Resource attributes as metadata.
    pub(super) resource: Option<Json>,
    /// Instrumentation scope as metadata.
    pub(super) scope: Option<Json>,
}

impl Known {
    pub(super) fn new(origin: &Origin, sender: &Sender) -> Self {
        let resource_text = |names: &[&str]| {
            let value = names.iter().find_map(|name| origin.resource.get(name).and_then(text));
            value.map(str::to_owned)
        };
        let sdk = Sdk::new(origin, sender);
        let service = resource_text(&["service.name"]);
        let is_claude_code = service.as_deref() == Some("claude-code");
        let environment = resource_text(&[
            "langfuse.environment",
            "deployment.environment.name",
            "deployment.environment",
        ]);
        let has_resource = !origin.resource.0.is_empty();
        let has_scope = !origin.scope_name.is_empty() || !origin.scope.0.is_empty();
        Self {
            environment: environment.map(|name| Environment::normalise(&name)),
            version: resource_text(&["langfuse.version", "service.version"]),
            release: resource_text(&["langfuse.release"]),
            dialect: if is_claude_code { Dialect::ClaudeCode } else { Dialect::Any },
            service: service.filter(|name| !name.starts_with("unknown_service")),
            encoding: sdk.encoding(),
            trace_encoding: sdk.trace_encoding(),
            hides_generations: sdk.hides_generations(),
            resource: has_resource.then(|| json(&Fields(pairs(&origin.resource)))),
            scope: has_scope.then(|| json(&Scope(origin))),
        }
    }
}

/// The Langfuse SDK that created the spans.
struct Sdk<'a> {
    language: &'a str,
    version: (u32, u32),
}

impl<'a> Sdk<'a> {
    /// From the sender's headers; behind a collector, from the instrumentation scope.
    fn new(origin: &'a Origin, sender: &'a Sender) -> Self {
        let from_scope = origin.scope_name == "langfuse-sdk";
        let scope_version = from_scope.then_some(origin.scope_version.as_str());
        let language = origin.resource.text("telemetry.sdk.language").filter(|_| from_scope);
        let language = sender.sdk_name.as_deref().or(language).unwrap_or_default();
        let version = sender.sdk_version.as_deref().or(scope_version).unwrap_or_default();
        Self { language, version: major_and_minor(version) }
    }

    fn encoding(&self) -> Encoding {
        match (self.language, self.version.0) {
            (_, 0) => Encoding::Plain,
            ("python", 5..) | ("javascript" | "nodejs" | "webjs", 6..) => Encoding::Json,
            ("python", _) => Encoding::Python,
            ("javascript" | "nodejs" | "webjs", _) => Encoding::JavaScript,
            _ => Encoding::Plain,
        }
    }

    /// Version 5 of the JavaScript SDK accepts only text in trace metadata.
    fn trace_encoding(&self) -> Encoding {
        match self.encoding() {
            Encoding::JavaScript if self.version.0 == 5 => Encoding::Plain,
            encoding => encoding,
        }
    }

    fn hides_generations(&self) -> bool {
        self.language == "python" && ((1, 0)..=(3, 3)).contains(&self.version)
    }
}

fn major_and_minor(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

struct Scope<'a>(&'a Origin);

impl Serialize for Scope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let origin = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &origin.scope_name)?;
        if !origin.scope_version.is_empty() {
            map.serialize_entry("version", &origin.scope_version)?;
        }
        if !origin.scope.0.is_empty() {
            map.serialize_entry("attributes", &Fields(pairs(&origin.scope)))?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_far_as_they_go() {
        assert_eq!(major_and_minor("5.0.4"), (5, 0));
        assert_eq!(major_and_minor("3"), (3, 0));
        assert_eq!(major_and_minor("v5"), (0, 0));
        assert_eq!(major_and_minor(""), (0, 0));
    }
}
