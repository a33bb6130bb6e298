use ratchet_core::limit::elide;
use ratchet_core::span::{Attributes, Origin, Span};
use ratchet_core::time::Timestamp;
use ratchet_stages::record::SpanGroup;

use super::bounds::Bounds;
use super::draft::{Fault, SpanDraft};
use crate::app::Limits;
use crate::error::{ApiError, ApiResult};

/// How many rejected spans are named in the answer.
const NAMED: usize = 5;
/// How much of a rejected span's name is shown.
const NAME_BYTES: usize = 80;

/// What a request holds.
#[derive(Debug)]
pub struct Decoded {
    /// The good spans.
    pub groups: Vec<SpanGroup>,
    /// How many of them there are.
    pub accepted: u64,
    /// The bad ones.
    pub rejected: Rejected,
}

/// The bad spans of a request: how many, and what is wrong with the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many.
    pub count: u64,
    reasons: Vec<String>,
}

impl Rejected {
    /// What is wrong, in one line; empty when nothing is.
    pub fn message(&self) -> String {
        let named = self.reasons.len() as u64;
        let mut message = self.reasons.join("; ");
        if self.count > named {
            message.push_str(&format!("; and {} more", self.count - named));
        }
        message
    }
}

/// A library's spans while they are being read.
#[derive(Debug, Default)]
pub(crate) struct ScopeDraft {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) attributes: Attributes,
    pub(crate) spans: Vec<Span>,
}

/// A process's spans while they are being read.
#[derive(Debug, Default)]
pub(crate) struct ResourceDraft {
    pub(crate) attributes: Attributes,
    scopes: Vec<ScopeDraft>,
}

impl ResourceDraft {
    /// Adds a library; one without spans says nothing.
    pub(crate) fn push(&mut self, scope: ScopeDraft) {
        if !scope.spans.is_empty() {
            self.scopes.push(scope);
        }
    }
}

/// Collects spans, good and bad, and keeps the request within its limits.
#[derive(Debug)]
pub(crate) struct Intake<'a> {
    pub(crate) bounds: Bounds<'a>,
    received_at: Timestamp,
    seen: u64,
    decoded: Decoded,
}

impl<'a> Intake<'a> {
    pub(crate) fn new(limits: &'a Limits, received_at: Timestamp) -> Self {
        let rejected = Rejected::default();
        let decoded = Decoded { groups: Vec::new(), accepted: 0, rejected };
        Self { bounds: Bounds::new(limits), received_at, seen: 0, decoded }
    }

    /// Notes that one more span begins.
    pub(crate) fn begin_span(&mut self) -> ApiResult<()> {
        self.seen += 1;
        let limit = self.bounds.limits.batch_len;
        if self.seen > limit as u64 {
            return Err(ApiError::TooLarge(format!(
                "the request has more than {limit} spans; send smaller batches"
            )));
        }
        Ok(())
    }

    /// Takes a span as far as it could be read.
    pub(crate) fn end_span(
        &mut self,
        mut draft: SpanDraft,
        read: Result<(), Fault>,
        scope: &mut ScopeDraft,
    ) -> ApiResult<()> {
        match read.and_then(|()| draft.verify(self.received_at)) {
            Ok(verified) => scope.spans.push(draft.into_span(verified)),
            Err(fault) => self.reject(&draft.name, &fault),
        }
        self.bounds.refusal().map_or(Ok(()), Err)
    }

    fn reject(&mut self, name: &str, fault: &Fault) {
        let rejected = &mut self.decoded.rejected;
        rejected.count += 1;
        if rejected.reasons.len() < NAMED {
            let name = elide(name, NAME_BYTES);
            rejected.reasons.push(format!("span {} ({name}): {fault}", self.seen));
        }
    }

    /// Takes what one process sent.
    pub(crate) fn end_resource(&mut self, resource: ResourceDraft) {
        for scope in resource.scopes {
            self.decoded.accepted += scope.spans.len() as u64;
            let origin = Origin {
                resource: resource.attributes.clone(),
                scope_name: scope.name,
                scope_version: scope.version,
                scope: scope.attributes,
            };
            self.decoded.groups.push(SpanGroup { origin, spans: scope.spans });
        }
    }

    pub(crate) fn finish(self) -> Decoded {
        self.decoded
    }
}
