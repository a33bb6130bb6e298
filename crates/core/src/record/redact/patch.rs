use super::ProjectRedactor;
use super::path::{Root, Trail};
use crate::catalog::experiment::{ExperimentItem, ExperimentMetadata};
use crate::payload::{Json, Payload};
use crate::record::field::{Field, StampedValue};
use crate::record::merge::Metadata;
use crate::record::observation::{ObservationPatch, PromptLink};
use crate::record::score::{ScorePatch, ScoreValue};
use crate::record::trace::TracePatch;

impl ProjectRedactor<'_> {
    /// Redacts a trace patch.
    #[must_use]
    pub fn trace(&self, patch: TracePatch) -> TracePatch {
        TracePatch {
            name: self.field(patch.name, Root::Name),
            user: self.field(patch.user, Root::User),
            release: self.short_text(patch.release),
            version: self.short_text(patch.version),
            agent: self.short_text(patch.agent),
            tags: patch.tags.iter().map(|tag| self.text(tag).into_owned()).collect(),
            metadata: self.metadata(patch.metadata),
            input: self.carried(patch.input, Root::Input),
            output: self.carried(patch.output, Root::Output),
            ..patch
        }
    }

    /// Redacts an observation patch.
    #[must_use]
    pub fn observation(&self, patch: ObservationPatch) -> ObservationPatch {
        let clean = |text: &str| self.text(text).into_owned();
        let parameters = |json| self.json(json, Root::ModelParameters);
        let prompt = |link: PromptLink| PromptLink { name: clean(&link.name), ..link };
        ObservationPatch {
            name: self.field(patch.name, Root::Name),
            status_message: self.field(patch.status_message, Root::StatusMessage),
            version: self.short_text(patch.version),
            agent: self.short_text(patch.agent),
            model: self.short_text(patch.model),
            model_parameters: patch.model_parameters.map(parameters),
            usage: patch.usage.map(|usage| usage.rename_kinds(clean)),
            cost: patch.cost.map(|cost| cost.rename_kinds(clean)),
            prompt: patch.prompt.map(prompt),
            input: self.carried(patch.input, Root::Input),
            output: self.carried(patch.output, Root::Output),
            metadata: self.metadata(patch.metadata),
            // Fields without free text, or that join records.
            id: patch.id,
            trace: patch.trace,
            kind: patch.kind,
            parent: patch.parent,
            app_root: patch.app_root,
            start: patch.start,
            end: patch.end,
            completion_start: patch.completion_start,
            level: patch.level,
            environment: patch.environment,
        }
    }

    /// Redacts a score patch.
    #[must_use]
    pub fn score(&self, patch: ScorePatch) -> ScorePatch {
        let clean = |text: String| self.text(&text).into_owned();
        let value = |value| match value {
            ScoreValue::Categorical { label, number } => {
                ScoreValue::Categorical { label: clean(label), number }
            }
            ScoreValue::Text(text) => ScoreValue::Text(clean(text)),
            // A correction contains an output.
            ScoreValue::Correction(text) => {
                ScoreValue::Correction(self.plain(&text, Root::Output).into_owned())
            }
            plain @ (ScoreValue::Numeric(_) | ScoreValue::Boolean(_)) => plain,
        };
        ScorePatch {
            name: self.short_text(patch.name),
            value: patch.value.map(value),
            comment: self.field(patch.comment, Root::Comment),
            metadata: self.metadata(patch.metadata),
            ..patch
        }
    }

    /// Redacts an experiment item.
    #[must_use]
    pub fn experiment_item(&self, item: ExperimentItem) -> ExperimentItem {
        let clean = |text: String| self.text(&text).into_owned();
        let clean_metadata = |json: Option<Json>| json.map(|json| self.json(json, Root::Metadata));
        let experiment = ExperimentMetadata {
            name: item.experiment.name.map(clean),
            description: item.experiment.description.map(clean),
            metadata: clean_metadata(item.experiment.metadata),
            ..item.experiment
        };
        ExperimentItem {
            experiment,
            // Expected output is redacted like output.
            expected_output: item.expected_output.map(|json| self.json(json, Root::Output)),
            metadata: clean_metadata(item.metadata),
            ..item
        }
    }

    fn short_text(&self, field: Field<String>) -> Field<String> {
        field.map(|text| self.text(&text).into_owned())
    }

    fn field(&self, field: Field<String>, root: Root) -> Field<String> {
        field.map(|text| self.plain(&text, root).into_owned())
    }

    fn carried(&self, field: Field<Payload>, root: Root) -> Field<Payload> {
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
