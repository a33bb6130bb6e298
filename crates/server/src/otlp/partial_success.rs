use ratchet_core::record::limit::elide;
use ratchet_core::record::span::{Attributes, Origin};
use ratchet_core::time::Timestamp;
use ratchet_stages::record::OtlpBatch;

use super::limits::Bounds;
use super::signal::Draft;
use super::span_builder::{Fault, attribute_bytes, copied_bytes};
use crate::app::Limits;
use crate::body::over_budget;
use crate::body_budget::BodyReservation;
use crate::error::{ApiError, ApiResult};

/// Maximum number of rejected spans listed in the response.
const NAMED: usize = 5;
/// Maximum length of a rejected span's name in the response.
const NAME_BYTES: usize = 80;
/// Maximum bytes of resource attributes in one request, counted for each of their scopes.
const REPEATED_BYTES: usize = 64 * 1024 * 1024;

/// The decoded items of a request: spans, log records or metrics.
#[derive(Debug)]
pub struct Decoded<T> {
    pub groups: Vec<OtlpBatch<T>>,
    /// Number of items.
    pub accepted: u64,
    pub rejected: Rejected,
}

/// The rejected spans of a request: their number, and the first few reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    pub count: u64,
    reasons: Vec<String>,
}

impl Rejected {
    /// Adds rejected items with one reason, which is listed while there is room.
    pub(crate) fn add(&mut self, count: u64, reason: String) {
        self.count += count;
        if self.reasons.len() < NAMED && !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }

    /// The reasons in one line; empty when nothing was rejected.
    pub fn message(&self) -> String {
        let named = self.reasons.len() as u64;
        let mut message = self.reasons.join("; ");
        if self.count > named {
            message.push_str(&format!("; and {} more", self.count - named));
        }
        message
    }
}

/// The items of a scope while they are decoded.
#[derive(Debug)]
pub(crate) struct ScopeDraft<T> {
    pub(crate) about: ScopeAbout,
    pub(crate) items: Vec<T>,
}

/// Name, version and attributes of a scope.
#[derive(Debug, Default)]
pub(crate) struct ScopeAbout {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) attributes: Attributes,
}

impl<T> Default for ScopeDraft<T> {
    fn default() -> Self {
        Self { about: ScopeAbout::default(), items: Vec::new() }
    }
}

/// The items of a resource while they are decoded.
#[derive(Debug)]
pub(crate) struct ResourceDraft<T> {
    pub(crate) attributes: Attributes,
    scopes: Vec<ScopeDraft<T>>,
}

impl<T> Default for ResourceDraft<T> {
    fn default() -> Self {
        Self { attributes: Attributes::default(), scopes: Vec::new() }
    }
}

impl<T> ResourceDraft<T> {
    /// Adds a scope, unless it is empty.
    pub(crate) fn push(&mut self, scope: ScopeDraft<T>) {
        if !scope.items.is_empty() {
            self.scopes.push(scope);
        }
    }
}

/// Collects accepted and rejected items of a request, within its limits.
#[derive(Debug)]
pub(crate) struct BatchCollector<'a, D: Draft> {
    pub(crate) bounds: Bounds<'a>,
    received_at: Timestamp,
    seen: u64,
    repeated_bytes: usize,
    decoded: Decoded<D::Item>,
}

impl<'a, D: Draft> BatchCollector<'a, D> {
    /// An intake that takes decoded items from the memory budget.
    pub(crate) fn new(
        limits: &'a Limits,
        reservation: &'a BodyReservation,
        received_at: Timestamp,
    ) -> Self {
        let rejected = Rejected::default();
        let decoded = Decoded { groups: Vec::new(), accepted: 0, rejected };
        Self {
            bounds: Bounds::new(limits, reservation),
            received_at,
            seen: 0,
            repeated_bytes: 0,
            decoded,
        }
    }

    /// Counts the start of an item.
    pub(crate) fn begin(&mut self) -> ApiResult<()> {
        self.seen += 1;
        let limit = self.bounds.limits.batch_len;
        if self.seen > limit as u64 {
            return Err(ApiError::TooLarge(format!(
                "the request has more than {limit} {}s; send smaller batches",
                D::ENVELOPE.noun
            )));
        }
        self.bounds.hold(D::ITEM_BYTES).map_err(over_budget)
    }

    /// Adds an item, or rejects it with the error of its decoding.
    pub(crate) fn end(
        &mut self,
        mut draft: D,
        read: Result<(), Fault>,
        scope: &mut ScopeDraft<D::Item>,
    ) -> ApiResult<()> {
        match read.and_then(|()| draft.finish(self.received_at)) {
            Ok(item) => scope.items.push(item),
            Err(fault) => self.reject(draft.name(), &fault),
        }
        self.bounds.refusal().map_or(Ok(()), Err)
    }

    fn reject(&mut self, name: &str, fault: &Fault) {
        let name = elide(name, NAME_BYTES);
        let reason = format!("{} {} ({name}): {fault}", D::ENVELOPE.noun, self.seen);
        self.decoded.rejected.add(1, reason);
    }

    /// Adds a resource.
    ///
    /// # Errors
    /// 413 if so many scopes repeat its attributes that a small request becomes a large one.
    pub(crate) fn end_resource(&mut self, resource: ResourceDraft<D::Item>) -> ApiResult<()> {
        let bytes = attribute_bytes(&resource.attributes);
        let copied = copied_bytes(&resource.attributes);
        for scope in resource.scopes {
            self.bounds.hold(copied).map_err(over_budget)?;
            self.repeated_bytes = self.repeated_bytes.saturating_add(bytes);
            if self.repeated_bytes > REPEATED_BYTES {
                return Err(ApiError::TooLarge(
                    "too many scopes share a resource with long attributes; send smaller batches"
                        .to_owned(),
                ));
            }
            self.decoded.accepted += scope.items.len() as u64;
            let origin = Origin {
                resource: resource.attributes.clone(),
                scope_name: scope.about.name,
                scope_version: scope.about.version,
                scope: scope.about.attributes,
            };
            self.decoded.groups.push(OtlpBatch { origin, items: scope.items });
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Decoded<D::Item> {
        self.decoded
    }
}
