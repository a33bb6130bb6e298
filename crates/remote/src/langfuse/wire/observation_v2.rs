use std::collections::BTreeMap;
use std::ops::Not;

use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::observation::{Level, Observation};
use ratchet_core::record::trace::Trace;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use utoipa::ToSchema;

use super::json::{Raw, raw};
use super::maybe::Maybe;
use super::observation::{ModelPrices, cost_details};
use super::time::{Time, seconds};
use super::wire_name::{LevelName, WireEnum, WireName};

/// Metadata values are truncated to this length, unless a client requests them in full.
const SHOWN_METADATA_CHARS: usize = 200;

/// A field group of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldGroup {
    /// Identity, type and times; always included.
    Core,
    /// Name, level, environment, user and session.
    Basic,
    /// Time of the first token and of the record's changes.
    Time,
    Io,
    Metadata,
    /// The model, its parameters and prices.
    Model,
    Usage,
    Prompt,
    Metrics,
    /// Name, tags and release of its trace.
    TraceContext,
}

impl WireEnum for FieldGroup {
    const WHAT: &'static str = "field group";

    fn all() -> Vec<Self> {
        vec![
            Self::Core,
            Self::Basic,
            Self::Time,
            Self::Io,
            Self::Metadata,
            Self::Model,
            Self::Usage,
            Self::Prompt,
            Self::Metrics,
            Self::TraceContext,
        ]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Basic => "basic",
            Self::Time => "time",
            Self::Io => "io",
            Self::Metadata => "metadata",
            Self::Model => "model",
            Self::Usage => "usage",
            Self::Prompt => "prompt",
            Self::Metrics => "metrics",
            Self::TraceContext => "trace_context",
        }
    }
}

/// An observation with the requested field groups. Fields of other groups are absent; unknown
/// values of a requested group are null.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservationV2View {
    /// Unique id.
    pub id: String,
    /// Trace id.
    pub trace_id: Option<String>,
    /// Start time.
    pub start_time: Time,
    /// End time.
    pub end_time: Option<Time>,
    /// Project id.
    pub project_id: String,
    /// Parent observation id.
    pub parent_observation_id: Option<String>,
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub name: Maybe<String>,
    /// Level.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<LevelName>, default = json!(null))]
    pub level: Maybe<WireName<Level>>,
    /// Status message.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub status_message: Maybe<String>,
    /// Version of the code.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub version: Maybe<String>,
    /// Environment.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub environment: Maybe<String>,
    /// Whether its trace is bookmarked.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<bool>, default = json!(null))]
    pub bookmarked: Maybe<bool>,
    /// Whether anyone with the link can view it.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<bool>, default = json!(null))]
    pub public: Maybe<bool>,
    /// User id.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub user_id: Maybe<String>,
    /// Session id of its trace.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub session_id: Maybe<String>,
    /// Whether it is a root observation.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<bool>, default = json!(null))]
    pub is_root_observation: Maybe<bool>,
    /// Time of the first token.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Time>, default = json!(null))]
    pub completion_start_time: Maybe<Time>,
    /// Creation time of the record.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Time>, default = json!(null))]
    pub created_at: Maybe<Time>,
    /// Time of the record's last change.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Time>, default = json!(null))]
    pub updated_at: Maybe<Time>,
    /// Input as text.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub input: Maybe<String>,
    /// Output as text.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub output: Maybe<String>,
    /// Client metadata; long values are truncated.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<BTreeMap<String, Raw>>, default = json!(null))]
    pub metadata: Maybe<BTreeMap<String, Raw>>,
    /// The provider's model name, under the SDKs' field name.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub model: Maybe<String>,
    /// The provider's model name, under the API's field name.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub provided_model_name: Maybe<String>,
    /// Id of the model in the price table.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub internal_model_id: Maybe<String>,
    /// Model parameters such as temperature.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Raw>, default = json!(null))]
    pub model_parameters: Maybe<Raw>,
    /// Units by usage type, the total included.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<BTreeMap<String, u64>>, default = json!(null))]
    pub usage_details: Maybe<BTreeMap<String, u64>>,
    /// Dollars by usage type, the total included; empty when the cost is unknown.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<BTreeMap<String, f64>>, default = json!(null))]
    pub cost_details: Maybe<BTreeMap<String, f64>>,
    /// Total cost in dollars.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<f64>, default = json!(null))]
    pub total_cost: Maybe<f64>,
    /// True where the usage is approximate: no client sent it, so the server counted the tokens.
    /// Omitted otherwise. Langfuse has no such field.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub usage_approximate: bool,
    /// True where the cost is approximate, because it is computed from such units. Omitted
    /// otherwise.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub cost_approximate: bool,
    /// Name of the pricing tier used; null if the client sent the cost.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub usage_pricing_tier_name: Maybe<String>,
    /// Prompt version id.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub prompt_id: Maybe<String>,
    /// Prompt name.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub prompt_name: Maybe<String>,
    /// Prompt version.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<u32>, default = json!(null))]
    pub prompt_version: Maybe<u32>,
    /// Seconds from start to end.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<f64>, default = json!(null))]
    pub latency: Maybe<f64>,
    /// Seconds from start to the first token.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<f64>, default = json!(null))]
    pub time_to_first_token: Maybe<f64>,
    /// Name of its trace.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub trace_name: Maybe<String>,
    /// Tags of its trace.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<Vec<String>>, default = json!(null))]
    pub tags: Maybe<Vec<String>>,
    /// Release of its trace.
    #[serde(default, skip_serializing_if = "Maybe::is_absent")]
    #[schema(value_type = Option<String>, default = json!(null))]
    pub release: Maybe<String>,
    /// Id of the model in the price table; null unless requested.
    pub model_id: Option<String>,
    /// Price per input unit, a decimal as text; null unless requested.
    pub input_price: Option<String>,
    /// Price per output unit.
    pub output_price: Option<String>,
    /// Price per unit, for models with a single price.
    pub total_price: Option<String>,
}

/// An observation with its context.
#[derive(Clone, Copy, Debug)]
pub struct InContext<'a> {
    /// Project id.
    pub project: &'a str,
    pub observation: &'a Observation,
    pub trace: Option<&'a Trace>,
    pub prices: &'a ModelPrices,
    /// Prompt version id.
    pub prompt_id: Option<&'a str>,
}

impl ObservationV2View {
    /// Converts the core fields.
    pub fn core(project: &str, observation: &Observation) -> Self {
        Self {
            id: observation.id.to_string(),
            trace_id: Some(observation.trace.to_string()),
            start_time: observation.start.into(),
            end_time: observation.end.map(Time),
            project_id: project.to_owned(),
            parent_observation_id: observation.parent.as_ref().map(ToString::to_string),
            kind: observation.kind.as_str().to_owned(),
            name: Maybe::Absent,
            level: Maybe::Absent,
            status_message: Maybe::Absent,
            version: Maybe::Absent,
            environment: Maybe::Absent,
            bookmarked: Maybe::Absent,
            public: Maybe::Absent,
            user_id: Maybe::Absent,
            session_id: Maybe::Absent,
            is_root_observation: Maybe::Absent,
            completion_start_time: Maybe::Absent,
            created_at: Maybe::Absent,
            updated_at: Maybe::Absent,
            input: Maybe::Absent,
            output: Maybe::Absent,
            metadata: Maybe::Absent,
            model: Maybe::Absent,
            provided_model_name: Maybe::Absent,
            internal_model_id: Maybe::Absent,
            model_parameters: Maybe::Absent,
            usage_details: Maybe::Absent,
            cost_details: Maybe::Absent,
            total_cost: Maybe::Absent,
            usage_approximate: false,
            cost_approximate: false,
            usage_pricing_tier_name: Maybe::Absent,
            prompt_id: Maybe::Absent,
            prompt_name: Maybe::Absent,
            prompt_version: Maybe::Absent,
            latency: Maybe::Absent,
            time_to_first_token: Maybe::Absent,
            trace_name: Maybe::Absent,
            tags: Maybe::Absent,
            release: Maybe::Absent,
            model_id: None,
            input_price: None,
            output_price: None,
            total_price: None,
        }
    }

    /// Converts some field groups; metadata of `expanded` keys is not truncated.
    pub fn new(shown: InContext<'_>, groups: &[FieldGroup], expanded: &[String]) -> Self {
        let mut view = Self::core(shown.project, shown.observation);
        for group in groups {
            view.show(*group, shown, expanded);
        }
        view
    }

    fn show(&mut self, group: FieldGroup, shown: InContext<'_>, expanded: &[String]) {
        let observation = shown.observation;
        let content = observation.content.as_ref();
        match group {
            FieldGroup::Core => {}
            FieldGroup::Basic => self.show_basic(observation, shown.trace),
            FieldGroup::Time => {
                self.completion_start_time = observation.completion_start.map(Time).into();
                self.created_at = Maybe::Value(observation.created_at.into());
                self.updated_at = Maybe::Value(observation.updated_at.into());
            }
            FieldGroup::Io => {
                self.input = content.and_then(|content| content.input.as_ref()).map(text).into();
                self.output = content.and_then(|content| content.output.as_ref()).map(text).into();
            }
            FieldGroup::Metadata => {
                let entries = content.map(|content| content.metadata.as_slice());
                self.metadata = Maybe::Value(metadata(entries.unwrap_or_default(), expanded));
            }
            FieldGroup::Model => self.show_model(observation, shown.prices),
            FieldGroup::Usage => {
                let cost = observation.cost.as_ref();
                self.usage_details = Maybe::Value(observation.usage.kinds().clone());
                self.cost_details = Maybe::Value(cost.map(cost_details).unwrap_or_default());
                self.total_cost = cost.map(|cost| cost.total().dollars()).into();
                self.usage_approximate = observation.counted;
                self.cost_approximate = observation.has_approximate_cost();
                self.usage_pricing_tier_name = observation.pricing_tier.clone().into();
            }
            FieldGroup::Prompt => {
                let prompt = observation.prompt.as_ref();
                self.prompt_id = shown.prompt_id.map(str::to_owned).into();
                self.prompt_name = prompt.map(|prompt| prompt.name.clone()).into();
                self.prompt_version = prompt.map(|prompt| prompt.version).into();
            }
            FieldGroup::Metrics => {
                self.latency = observation.latency().map(seconds).into();
                self.time_to_first_token = observation.time_to_first_token().map(seconds).into();
            }
            FieldGroup::TraceContext => {
                let trace = shown.trace;
                self.trace_name = trace.and_then(|trace| trace.name.clone()).into();
                let tags = trace.map(|trace| trace.tags.clone());
                self.tags = Maybe::Value(tags.unwrap_or_default());
                self.release = trace.and_then(|trace| trace.release.clone()).into();
            }
        }
    }

    fn show_basic(&mut self, observation: &Observation, trace: Option<&Trace>) {
        self.name = observation.name.clone().into();
        self.level = Maybe::Value(WireName(observation.level));
        self.status_message = observation.status_message.clone().into();
        self.version = observation.version.clone().into();
        self.environment = Maybe::Value(observation.environment.to_string());
        self.bookmarked = Maybe::Value(trace.is_some_and(|trace| trace.bookmarked));
        self.public = Maybe::Value(trace.is_some_and(|trace| trace.public));
        self.user_id = trace.and_then(|trace| trace.user.clone()).into();
        let session = trace.and_then(|trace| trace.session.as_ref());
        self.session_id = session.map(ToString::to_string).into();
        self.is_root_observation = Maybe::Value(observation.is_root());
    }

    fn show_model(&mut self, observation: &Observation, prices: &ModelPrices) {
        self.model = observation.model.clone().into();
        self.provided_model_name = observation.model.clone().into();
        self.internal_model_id = prices.model_id.clone().into();
        self.model_parameters = observation.model_parameters.as_ref().map(raw).into();
        self.model_id = prices.model_id.clone();
        self.input_price = prices.input_price.and_then(decimal);
        self.output_price = prices.output_price.and_then(decimal);
        self.total_price = prices.total_price.and_then(decimal);
    }
}

/// Returns a payload as text. A JSON string becomes its content, as it was received.
fn text(payload: &Payload) -> String {
    match payload {
        Payload::Text(text) => text.as_ref().to_owned(),
        Payload::Json(json) => string_in(json).unwrap_or_else(|| json.as_str().to_owned()),
    }
}

fn string_in(json: &Json) -> Option<String> {
    let is_string = json.as_str().trim_start().starts_with('"');
    is_string.then(|| serde_json::from_str(json.as_str()).ok()).flatten()
}

/// Returns metadata by key, with long values truncated to text unless expanded.
fn metadata(entries: &[(String, Json)], expanded: &[String]) -> BTreeMap<String, Raw> {
    let show = |(key, value): &(String, Json)| {
        let is_whole = expanded.iter().any(|wanted| wanted == key);
        let shown = if is_whole { raw(value) } else { cut(value) };
        (key.clone(), shown)
    };
    entries.iter().map(show).collect()
}

fn cut(value: &Json) -> Raw {
    let text = string_in(value).unwrap_or_else(|| value.as_str().to_owned());
    match text.char_indices().nth(SHOWN_METADATA_CHARS) {
        None => raw(value),
        Some((end, _)) => {
            let start = text.get(..end).unwrap_or_default();
            to_raw_value(start).map_or_else(|_| raw(value), Raw::from)
        }
    }
}

/// Formats dollars as a decimal without an exponent, exact to the picodollar.
fn decimal(dollars: f64) -> Option<String> {
    let pico = Money::from_dollars(dollars)?.pico();
    let (whole, rest) = (pico / 1_000_000_000_000, pico % 1_000_000_000_000);
    let digits = format!("{rest:012}");
    let digits = digits.trim_end_matches('0');
    Some(if digits.is_empty() { whole.to_string() } else { format!("{whole}.{digits}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_decimal_numbers() {
        for (dollars, expected) in [
            (0.0, "0"),
            (2.5e-6, "0.0000025"),
            (1.0, "1"),
            (12.25, "12.25"),
            (1e-12, "0.000000000001"),
        ] {
            assert_eq!(decimal(dollars).unwrap(), expected);
        }
        assert_eq!(decimal(f64::NAN), None);
    }

    #[test]
    fn long_values_are_cut_by_characters() {
        let shown = |json: &str| cut(&Json::parse(json).unwrap()).get().to_owned();
        let long = "ü".repeat(201);
        assert_eq!(shown(&format!("\"{long}\"")), format!("\"{}\"", "ü".repeat(200)));
        let fits = "ü".repeat(200);
        assert_eq!(shown(&format!("\"{fits}\"")), format!("\"{fits}\""));
        assert_eq!(shown("[1, 2]"), "[1, 2]");
        let list = format!("[{}1]", "1,".repeat(200));
        assert_eq!(shown(&list), format!("\"[{}1\"", "1,".repeat(99)));
    }

    #[test]
    fn payloads_are_text() {
        let json = |text: &str| Payload::Json(Json::parse(text).unwrap());
        assert_eq!(text(&json("\"a\\nb\"")), "a\nb");
        assert_eq!(text(&json("{\"a\": 1.50}")), "{\"a\": 1.50}");
        assert_eq!(text(&Payload::Text("\"quoted\"".into())), "\"quoted\"");
    }
}
