//! OTLP in JSON, decoded in one pass without a tree.
//!
//! Lenient where clients differ: names in camel case or snake case, 64-bit numbers as numbers,
//! strings or `{low, high}` pairs, enums as numbers or names, null for missing values.

pub(super) mod span;
pub(super) mod log;
pub(super) mod metric;
mod value;
mod scalar;
/// Objects and lists, field by field.
mod shape;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error};
use serde_json::value::RawValue;

use super::limits::Bounds;
use super::partial_success::{BatchCollector, Decoded, ResourceDraft, ScopeAbout, ScopeDraft};
use super::signal::Draft;
use super::span_builder::{AttributesDraft, Fault};
use crate::error::{ApiError, ApiResult};
use scalar::Text;
pub(super) use shape::read;
use shape::{Fields, Items, List, Object, skip};
use value::AttributeList;

pub(crate) fn decode<D: Draft>(
    body: &[u8],
    collector: BatchCollector<'_, D>,
) -> ApiResult<Decoded<D::Item>> {
    let mut request = Request { collector, refused: None };
    let outcome = read(body, &mut request);
    if let Some(refused) = request.refused.or_else(|| request.collector.bounds.refusal()) {
        return Err(refused);
    }
    outcome.map_err(|error| {
        let message = D::ENVELOPE.message;
        ApiError::Invalid(format!("the body is not an {message} in JSON: {error}"))
    })?;
    Ok(request.collector.finish())
}

/// The whole request. Errors that reject all of it are separate from errors of the JSON itself.
struct Request<'l, D: Draft> {
    collector: BatchCollector<'l, D>,
    refused: Option<ApiError>,
}

impl<'de, S: Draft> Fields<'de> for Request<'_, S> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        if S::ENVELOPE.resources.contains(&name) {
            List(self).deserialize(value)
        } else {
            skip(value)
        }
    }
}

impl<'de, S: Draft> Items<'de> for Request<'_, S> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        let mut resource = Resource { request: self, draft: ResourceDraft::default() };
        Object(&mut resource).deserialize(item)?;
        let draft = resource.draft;
        self.collector.end_resource(draft).map_err(|refused| {
            self.refused = Some(refused);
            D::Error::custom("refused")
        })
    }
}

/// The items of one resource.
struct Resource<'r, 'l, S: Draft> {
    request: &'r mut Request<'l, S>,
    draft: ResourceDraft<S::Item>,
}

impl<'de, S: Draft> Fields<'de> for Resource<'_, '_, S> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "resource" => {
                let mut resource = Holder::new(&mut self.request.collector.bounds);
                Object(&mut resource).deserialize(value)?;
                self.draft.attributes = resource.attributes.into_shared_attributes();
                Ok(())
            }
            scopes if S::ENVELOPE.scopes.contains(&scopes) => List(self).deserialize(value),
            _ => skip(value),
        }
    }
}

impl<'de, S: Draft> Items<'de> for Resource<'_, '_, S> {
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        let draft = ScopeDraft::default();
        let mut scope = Scope { request: self.request, draft };
        Object(&mut scope).deserialize(item)?;
        let draft = scope.draft;
        self.draft.push(draft);
        Ok(())
    }
}

/// The items of one scope.
struct Scope<'r, 'l, S: Draft> {
    request: &'r mut Request<'l, S>,
    draft: ScopeDraft<S::Item>,
}

impl<'de, S: Draft> Fields<'de> for Scope<'_, '_, S> {
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error> {
        match name {
            "scope" => {
                let mut scope = Holder::new(&mut self.request.collector.bounds);
                Object(&mut scope).deserialize(value)?;
                let attributes = scope.attributes.into_shared_attributes();
                let (name, version) = (scope.name, scope.version);
                self.draft.about = ScopeAbout { name, version, attributes };
                Ok(())
            }
            items if S::ENVELOPE.items.contains(&items) => List(self).deserialize(value),
            _ => skip(value),
        }
    }
}

impl<'de, S: Draft> Items<'de> for Scope<'_, '_, S> {
    /// Extracts the item's text first, so that an invalid one is rejected alone.
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error> {
        let text = <&'de RawValue>::deserialize(item)?;
        self.take(text).map_err(|refused| {
            self.request.refused = Some(refused);
            D::Error::custom("refused")
        })
    }
}

impl<S: Draft> Scope<'_, '_, S> {
    fn take(&mut self, text: &RawValue) -> ApiResult<()> {
        let collector = &mut self.request.collector;
        collector.begin()?;
        let mut draft = S::default();
        let read =
            draft.read_json(text.get().as_bytes(), &mut collector.bounds).map_err(Fault::from);
        collector.end(draft, read, &mut self.draft)
    }
}

/// Name, version and attributes of a resource or a scope.
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
