use std::collections::BTreeMap;

use crate::record::claude_code::object::Object;
use crate::record::claude_code::transcript::usage_of;
use crate::record::usage::Usage;

/// The call of a model that is on its way, and what it had used when it began, as the model says.
///
/// The agent counts a call when it is whole. One that a person interrupts is billed as far as it
/// came, and this is all that is known of it.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCall(Option<(String, BTreeMap<String, u64>)>);

impl OpenCall {
    /// Takes an event of the model's stream.
    pub(super) fn take(&mut self, event: &Object<'_>) {
        match event.text("type").as_deref() {
            Some("message_start") => {
                let message = event.object("message");
                let used = message.as_ref().and_then(|message| message.object("usage"));
                let model = message.and_then(|message| message.text("model"));
                self.0 = model.map(|model| (model, kinds(used.as_ref())));
            }
            // The agent ends the stream of a call that was interrupted itself, without a reason.
            Some("message_delta") if is_whole(event) => self.0 = None,
            _ => {}
        }
    }

    /// Ends it: the model, and what it has used of it.
    pub(super) fn end(&mut self) -> Option<(String, Usage)> {
        let (model, used) = self.0.take()?;
        (!used.is_empty()).then(|| (model, Usage::new(used)))
    }
}

/// Whether an event says why the model ended its message: then the agent counts the call.
fn is_whole(event: &Object<'_>) -> bool {
    event.object("delta").is_none_or(|delta| delta.text("stop_reason").is_some())
}

fn kinds(used: Option<&Object<'_>>) -> BTreeMap<String, u64> {
    let usage = used.and_then(usage_of);
    let mut kinds = usage.map(|usage| usage.kinds().clone()).unwrap_or_default();
    // The sum is made anew, of all that is known at the end.
    kinds.remove("total");
    kinds
}
