use ratchet_core::record::span::{AttributeValue, SpanEvent, SpanLink};

use super::limits::Bounds;
use super::partial_success::{BatchCollector, Decoded, ResourceDraft, ScopeAbout, ScopeDraft};
use super::signal::Draft;
use super::span_builder::{
    AttributesDraft, Fault, SpanDraft, StatusCode, parent_id, span_id, timestamp, trace_id,
};
use super::wire::{Field, Fields};
use crate::body::over_budget;
use crate::error::{ApiError, ApiResult};

/// Decodes an export request. Field numbers are those of the protocol's files; the envelope has the
/// same ones for all signals.
pub(crate) fn decode<D: Draft>(
    body: &[u8],
    mut collector: BatchCollector<'_, D>,
) -> ApiResult<Decoded<D::Item>> {
    let mut fields = Fields::of(body);
    while let Some(field) = fields.next().map_err(malformed::<D>)? {
        if field.number == 1 {
            let message = field.message().map_err(malformed::<D>)?;
            let resource = resource(message, &mut collector)?;
            collector.end_resource(resource)?;
        }
    }
    Ok(collector.finish())
}

/// An error in the envelope: it rejects the whole request.
fn malformed<D: Draft>(fault: impl Into<Fault>) -> ApiError {
    let why = match fault.into() {
        fault @ Fault::TooManyValues(_) => return ApiError::TooLarge(fault.to_string()),
        Fault::OverBudget(why) => return over_budget(why),
        fault => fault.to_string(),
    };
    let message = D::ENVELOPE.message;
    ApiError::Invalid(format!("the body is not an {message} in protobuf: {why}"))
}

fn resource<D: Draft>(
    mut fields: Fields<'_>,
    collector: &mut BatchCollector<'_, D>,
) -> ApiResult<ResourceDraft<D::Item>> {
    let mut resource = ResourceDraft::default();
    while let Some(field) = fields.next().map_err(malformed::<D>)? {
        match field.number {
            1 => {
                let message = field.message().map_err(malformed::<D>)?;
                let attributes =
                    holder(message, 1, &mut collector.bounds).map_err(malformed::<D>)?;
                resource.attributes = attributes.into_shared_attributes();
            }
            2 => {
                let message = field.message().map_err(malformed::<D>)?;
                resource.push(scope(message, collector)?);
            }
            _ => {}
        }
    }
    Ok(resource)
}

fn scope<D: Draft>(
    mut fields: Fields<'_>,
    collector: &mut BatchCollector<'_, D>,
) -> ApiResult<ScopeDraft<D::Item>> {
    let mut scope = ScopeDraft::default();
    while let Some(field) = fields.next().map_err(malformed::<D>)? {
        match field.number {
            1 => {
                let message = field.message().map_err(malformed::<D>)?;
                scope_about(message, &mut scope.about, &mut collector.bounds)
                    .map_err(malformed::<D>)?;
            }
            2 => {
                let message = field.message().map_err(malformed::<D>)?;
                collector.begin()?;
                let mut draft = D::default();
                let read = draft.read_protobuf(message, &mut collector.bounds);
                collector.end(draft, read, &mut scope)?;
            }
            _ => {}
        }
    }
    Ok(scope)
}

fn scope_about(
    fields: Fields<'_>,
    about: &mut ScopeAbout,
    bounds: &mut Bounds<'_>,
) -> Result<(), Fault> {
    let mut rest = fields;
    while let Some(field) = rest.next()? {
        match field.number {
            1 => about.name = bounds.text(field.text()?),
            2 => about.version = bounds.text(field.text()?),
            _ => {}
        }
    }
    about.attributes = holder(fields, 3, bounds)?.into_shared_attributes();
    Ok(())
}

/// Decodes the attributes of a message, which have one field number.
fn holder(
    mut fields: Fields<'_>,
    number: u32,
    bounds: &mut Bounds<'_>,
) -> Result<AttributesDraft, Fault> {
    let mut attributes = AttributesDraft::default();
    while let Some(field) = fields.next()? {
        if field.number == number {
            attribute(&field, &mut attributes, bounds)?;
        }
    }
    Ok(attributes)
}

pub(super) fn span(
    mut fields: Fields<'_>,
    draft: &mut SpanDraft,
    bounds: &mut Bounds<'_>,
) -> Result<(), Fault> {
    while let Some(field) = fields.next()? {
        match field.number {
            1 => draft.trace = Some(trace_id(field.bytes()?)),
            2 => draft.id = Some(span_id(field.bytes()?)),
            4 => draft.parent = Some(parent_id(field.bytes()?)),
            5 => draft.name = bounds.text(field.text()?),
            7 => draft.start = field.fixed64()?,
            8 => draft.end = field.fixed64()?,
            9 => attribute(&field, &mut draft.attributes, bounds)?,
            11 if draft.events.has_room(bounds.limits.attributes) => {
                bounds.event()?;
                draft.events.kept.push(event(field.message()?, bounds)?);
            }
            13 if draft.links.has_room(bounds.limits.attributes) => {
                bounds.link()?;
                match link(field.message()?, bounds)? {
                    Some(link) => draft.links.kept.push(link),
                    None => draft.links.dropped += 1,
                }
            }
            15 => status(field.message()?, draft, bounds)?,
            _ => {}
        }
    }
    Ok(())
}

fn event(mut fields: Fields<'_>, bounds: &mut Bounds<'_>) -> Result<SpanEvent, Fault> {
    let mut attributes = AttributesDraft::default();
    let (mut name, mut at) = (String::new(), None);
    while let Some(field) = fields.next()? {
        match field.number {
            1 => at = timestamp("event.time_unix_nano", field.fixed64()?)?,
            2 => name = bounds.text(field.text()?),
            3 => attribute(&field, &mut attributes, bounds)?,
            _ => {}
        }
    }
    Ok(SpanEvent { name, at: at.unwrap_or_default(), attributes: attributes.into_attributes() })
}

/// Decodes a link; `None` if its ids are invalid, which must not reject the span.
fn link(mut fields: Fields<'_>, bounds: &mut Bounds<'_>) -> Result<Option<SpanLink>, Fault> {
    let mut attributes = AttributesDraft::default();
    let (mut trace, mut span) = (None, None);
    while let Some(field) = fields.next()? {
        match field.number {
            1 => trace = trace_id(field.bytes()?).ok(),
            2 => span = span_id(field.bytes()?).ok(),
            4 => attribute(&field, &mut attributes, bounds)?,
            _ => {}
        }
    }
    let attributes = attributes.into_attributes();
    Ok(trace.zip(span).map(|(trace, span)| SpanLink { trace, span, attributes }))
}

fn status(
    mut fields: Fields<'_>,
    draft: &mut SpanDraft,
    bounds: &mut Bounds<'_>,
) -> Result<(), Fault> {
    while let Some(field) = fields.next()? {
        match field.number {
            2 => draft.status_message = bounds.text(field.text()?),
            3 => draft.status_code = StatusCode::from_number(field.varint()?),
            _ => {}
        }
    }
    Ok(())
}

/// Decodes an attribute, if there is room for one more.
pub(super) fn attribute(
    field: &Field<'_>,
    attributes: &mut AttributesDraft,
    bounds: &mut Bounds<'_>,
) -> Result<(), Fault> {
    if attributes.has_room(bounds.limits.attributes) {
        attributes.kept.push(key_value(field.message()?, bounds, 0)?);
    }
    Ok(())
}

fn key_value(
    mut fields: Fields<'_>,
    bounds: &mut Bounds<'_>,
    depth: usize,
) -> Result<(String, AttributeValue), Fault> {
    let (mut key, mut value) = (String::new(), AttributeValue::Empty);
    bounds.enter(depth)?;
    while let Some(field) = fields.next()? {
        match field.number {
            1 => key = bounds.text(field.text()?),
            2 => value = any_value(field.message()?, bounds, depth)?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// Decodes a value of any type.
pub(super) fn any_value(
    mut fields: Fields<'_>,
    bounds: &mut Bounds<'_>,
    depth: usize,
) -> Result<AttributeValue, Fault> {
    let mut value = AttributeValue::Empty;
    while let Some(field) = fields.next()? {
        value = match field.number {
            1 => AttributeValue::Text(bounds.text(field.text()?)),
            2 => AttributeValue::Bool(field.varint()? != 0),
            3 => AttributeValue::Int(field.varint()?.cast_signed()),
            4 => AttributeValue::Double(f64::from_bits(field.fixed64()?)),
            5 => list(field.message()?, bounds, depth + 1)?,
            6 => map(field.message()?, bounds, depth + 1)?,
            7 => {
                let bytes = field.bytes()?;
                bounds.count_decoded(bytes.len());
                AttributeValue::Bytes(bytes.to_vec())
            }
            _ => continue,
        };
    }
    Ok(value)
}

fn list(
    mut fields: Fields<'_>,
    bounds: &mut Bounds<'_>,
    depth: usize,
) -> Result<AttributeValue, Fault> {
    let mut values = Vec::new();
    while let Some(field) = fields.next()? {
        if field.number == 1 {
            bounds.enter(depth)?;
            values.push(any_value(field.message()?, bounds, depth)?);
        }
    }
    Ok(AttributeValue::List(values))
}

fn map(
    mut fields: Fields<'_>,
    bounds: &mut Bounds<'_>,
    depth: usize,
) -> Result<AttributeValue, Fault> {
    let mut entries = AttributesDraft::default();
    while let Some(field) = fields.next()? {
        if field.number == 1 {
            entries.kept.push(key_value(field.message()?, bounds, depth)?);
        }
    }
    Ok(AttributeValue::Map(entries.into_attributes()))
}
