use super::LimitedRedactor;
use super::path::{Root, Trail};
use super::redacted::Redact;
use crate::catalog::experiment::{ExperimentItem, ExperimentMetadata};
use crate::payload::{Json, Payload};
use crate::record::field::{Field, StampedValue};
use crate::record::merge::Metadata;
use crate::record::observation::{ObservationPatch, PromptLink};
use crate::record::score::{ScorePatch, ScoreValue};
use crate::record::trace::TracePatch;

impl Redact for TracePatch {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        Self {
            name: rules.field(self.name, Root::Name),
            user: rules.field(self.user, Root::User),
            release: rules.short_text(self.release),
            version: rules.short_text(self.version),
            agent: rules.short_text(self.agent),
            tags: self.tags.iter().map(|tag| rules.text(tag).into_owned()).collect(),
            metadata: rules.metadata(self.metadata),
            input: rules.payload_field(self.input, Root::Input),
            output: rules.payload_field(self.output, Root::Output),
            ..self
        }
    }
}

impl Redact for ObservationPatch {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let clean = |text: &str| rules.text(text).into_owned();
        let parameters = |json| rules.json(json, Root::ModelParameters);
        let prompt = |link: PromptLink| PromptLink { name: clean(&link.name), ..link };
        Self {
            name: rules.field(self.name, Root::Name),
            status_message: rules.field(self.status_message, Root::StatusMessage),
            version: rules.short_text(self.version),
            agent: rules.short_text(self.agent),
            model: rules.short_text(self.model),
            model_parameters: self.model_parameters.map(parameters),
            usage: self.usage.map(|usage| usage.rename_kinds(clean)),
            cost: self.cost.map(|cost| cost.rename_kinds(clean)),
            prompt: self.prompt.map(prompt),
            input: rules.payload_field(self.input, Root::Input),
            output: rules.payload_field(self.output, Root::Output),
            metadata: rules.metadata(self.metadata),
            // What holds no text of the client's choice, or joins records.
            id: self.id,
            trace: self.trace,
            kind: self.kind,
            parent: self.parent,
            app_root: self.app_root,
            start: self.start,
            end: self.end,
            completion_start: self.completion_start,
            level: self.level,
            environment: self.environment,
        }
    }
}

impl Redact for ScorePatch {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let clean = |text: String| rules.text(&text).into_owned();
        let value = |value| match value {
            ScoreValue::Categorical { label, number } => {
                ScoreValue::Categorical { label: clean(label), number }
            }
            ScoreValue::Text(text) => ScoreValue::Text(clean(text)),
            // A correction contains an output.
            ScoreValue::Correction(text) => {
                ScoreValue::Correction(rules.plain(&text, Root::Output).into_owned())
            }
            plain @ (ScoreValue::Numeric(_) | ScoreValue::Boolean(_)) => plain,
        };
        Self {
            name: rules.short_text(self.name),
            value: self.value.map(value),
            comment: rules.field(self.comment, Root::Comment),
            metadata: rules.metadata(self.metadata),
            ..self
        }
    }
}

impl Redact for ExperimentItem {
    fn redact(self, rules: &LimitedRedactor<'_>) -> Self {
        let clean = |text: String| rules.text(&text).into_owned();
        let metadata = |json: Option<Json>| json.map(|json| rules.json(json, Root::Metadata));
        let experiment = ExperimentMetadata {
            name: self.experiment.name.map(clean),
            description: self.experiment.description.map(clean),
            metadata: metadata(self.experiment.metadata),
            ..self.experiment
        };
        Self {
            experiment,
            // What should have come out is as good as an output.
            expected_output: self.expected_output.map(|json| rules.json(json, Root::Output)),
            metadata: metadata(self.metadata),
            ..self
        }
    }
}

impl LimitedRedactor<'_> {
    fn short_text(&self, field: Field<String>) -> Field<String> {
        field.map(|text| self.text(&text).into_owned())
    }

    fn field(&self, field: Field<String>, root: Root) -> Field<String> {
        field.map(|text| self.plain(&text, root).into_owned())
    }

    fn payload_field(&self, field: Field<Payload>, root: Root) -> Field<Payload> {
        field.map(|payload| self.payload(payload, root))
    }

    fn metadata(&self, metadata: Metadata) -> Metadata {
        let trail = Trail::new(&self.rules.fields, Root::Metadata);
        let clean = |(key, stamped): (String, StampedValue<_>)| {
            // A path that ends at the metadata itself selects every value in it.
            let inner = if trail.end().is_some() { trail.clone() } else { trail.at_key(&key) };
            let value = stamped.value.map(|json| self.value(json, &inner));
            (self.text(&key).into_owned(), StampedValue { stamp: stamped.stamp, value })
        };
        Metadata::new(metadata.into_words().map(clean))
    }
}
