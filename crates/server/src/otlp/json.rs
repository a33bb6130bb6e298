//! OTLP in JSON, read in one pass without building a tree first.
//!
//! Lenient where clients differ: names in camel case or snake case, 64-bit numbers as numbers,
//! strings or `{low, high}` pairs, enums as numbers or names, null for anything left out.

/// A span's fields.
mod span;
/// Attribute values.
mod value;
/// Texts, numbers and ids.
mod scalar;
/// Objects and lists, field by field.
mod shape;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error};
use serde_json::value::RawValue;

use super::bounds::Bounds;
use super::draft::{AttributesDraft, Fault, SpanDraft};
use super::intake::{Decoded, Intake, ResourceDraft, ScopeDraft};
use crate::error::{ApiError, ApiResult};
use scalar::Text;
use shape::{Fields, Items, List, Object, skip};
use span::SpanReader;
use value::AttributeList;

/// Reads an `ExportTraceServiceRequest`.
pub(crate) fn decode(body: &[u8], intake: Intake<'_>) -> ApiResult<Decoded> {
    let mut request = Request { intake, refused: None };
    let read = shape::read(body, &mut request);
    if let Some(refused) = request.refused.or_else(|| request.intake.bounds.refusal()) {
        return Err(refused);
    }
    read.map_err(|error| {
        ApiError::Invalid(format!("the body is not an ExportTraceServiceRequest in JSON: {error}"))
    })?;
    Ok(request.intake.finish())
}

/// The whole request. What refuses all of it is kept apart from errors of the JSON itself.
struct Request<'l> {
    intake: Intake<'l>,
    refused: Option<ApiError>,
}

impl<'de> Fields<'de> for Request<'_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "resourceSpans" | "resource_spans" => List(self).deserialize(value),
            _ => skip(value),
        }
    }
}

impl<'de> Items<'de> for Request<'_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        let mut resource = ResourceSpans { request: self, draft: ResourceDraft::default() };
        Object(&mut resource).deserialize(item)?;
        let draft = resource.draft;
        self.intake.end_resource(draft);
        Ok(())
    }
}

struct ResourceSpans<'r, 'l> {
    request: &'r mut Request<'l>,
    draft: ResourceDraft,
}

impl<'de> Fields<'de> for ResourceSpans<'_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "resource" => {
                let mut resource = Holder::new(&mut self.request.intake.bounds);
                Object(&mut resource).deserialize(value)?;
                self.draft.attributes = resource.attributes.into_shared_attributes();
                Ok(())
            }
            "scopeSpans" | "scope_spans" => List(self).deserialize(value),
            _ => skip(value),
        }
    }
}

impl<'de> Items<'de> for ResourceSpans<'_, '_> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        let mut scope = ScopeSpans { request: self.request, draft: ScopeDraft::default() };
        Object(&mut scope).deserialize(item)?;
        let draft = scope.draft;
        self.draft.push(draft);
        Ok(())
    }
}

struct ScopeSpans<'r, 'l> {
    request: &'r mut Request<'l>,
    draft: ScopeDraft,
}

impl<'de> Fields<'de> for ScopeSpans<'_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "scope" => {
                let mut scope = Holder::new(&mut self.request.intake.bounds);
                Object(&mut scope).deserialize(value)?;
                self.draft.name = scope.name;
                self.draft.version = scope.version;
                self.draft.attributes = scope.attributes.into_shared_attributes();
                Ok(())
            }
            "spans" => List(self).deserialize(value),
            _ => skip(value),
        }
    }
}

impl<'de> Items<'de> for ScopeSpans<'_, '_> {
    /// Cuts a span out of the text first, so that a bad one is rejected alone.
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        let text = <&'de RawValue>::deserialize(item)?;
        self.span(text).map_err(|refused| {
            self.request.refused = Some(refused);
            D::Error::custom("refused")
        })
    }
}

impl ScopeSpans<'_, '_> {
    fn span(&mut self, text: &RawValue) -> ApiResult<()> {
        let intake = &mut self.request.intake;
        intake.begin_span()?;
        let mut draft = SpanDraft::default();
        let mut span = SpanReader { draft: &mut draft, bounds: &mut intake.bounds };
        let read = shape::read(text.get().as_bytes(), &mut span).map_err(Fault::from);
        intake.end_span(draft, read, &mut self.draft)
    }
}

/// What has a name, a version and attributes: a resource or a scope.
struct Holder<'b, 'l> {
    bounds: &'b mut Bounds<'l>,
    name: String,
    version: String,
    attributes: AttributesDraft,
}

impl<'b, 'l> Holder<'b, 'l> {
    fn new(bounds: &'b mut Bounds<'l>) -> Self {
        let attributes = AttributesDraft::default();
        Self { bounds, name: String::new(), version: String::new(), attributes }
    }
}

impl<'de> Fields<'de> for Holder<'_, '_> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "name" => self.name = Text(self.bounds).deserialize(value)?,
            "version" => self.version = Text(self.bounds).deserialize(value)?,
            "attributes" => {
                let (into, bounds) = (&mut self.attributes, &mut *self.bounds);
                List(&mut AttributeList { into, bounds }).deserialize(value)?;
            }
            _ => skip(value)?,
        }
        Ok(())
    }
}
