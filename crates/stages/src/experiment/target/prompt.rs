use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::environment::Variables;
use ratchet_agent::judge::{DefaultModels, JudgeName};
use ratchet_agent::model::{Model, PriceList};
use ratchet_core::backoff::Backoff;
use ratchet_core::catalog::prompt::{Pick, PromptBody, PromptKind};
use ratchet_core::experiment::runner::TrialCall;
use ratchet_core::experiment::target::PromptSpec;
use ratchet_core::money::Money;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::price::PriceTable;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::PromptReferences;
use serde::Deserialize;
use serde_json::Value;
use tracing::warn;

use super::{CallFault, CallLimits, TargetAnswer, TargetError, TargetMachine, invalid};
use crate::experiment::site::ExperimentSite;
use crate::llm_connections::judge::{self, JudgeAccess};
use crate::llm_connections::{ConnectError, ask};

/// The label of the newest version.
const LATEST: &str = "latest";
/// One attempt: every call is counted before it is sent, and the runner retries.
pub(in crate::experiment) const ONCE: Backoff = Backoff {
    max_attempts: 1,
    first: Duration::from_secs(1),
    cap: Duration::from_secs(1),
    max_retry_after: Duration::ZERO,
    max_elapsed: Duration::MAX,
};

/// A prompt that a model answers.
#[derive(Debug)]
pub(super) struct PromptTarget {
    body: PromptBody,
    /// Name and version, of a prompt that has them.
    named: Option<(String, u32)>,
    model: Model,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
}

impl PromptTarget {
    pub(super) async fn open(
        spec: &PromptSpec,
        (machine, lookup): (&TargetMachine, Variables<'_>),
    ) -> Result<Self, TargetError> {
        let access = (machine.host.as_ref(), &machine.outbound, &machine.supervision);
        let model = open_model(&spec.model, access, (lookup, machine.now)).await;
        let model = model.map_err(|why| invalid("model", why))?;
        let model = model.ok_or_else(|| invalid("model", "the offline judge answers nothing"))?;
        let (body, named) = match (&spec.prompt, &spec.text) {
            (Some(name), _) => {
                let (body, version) = named_prompt(name, spec, machine.host.as_ref()).await?;
                (body, Some((name.clone(), version)))
            }
            (None, text) => (PromptBody::Text(text.clone().unwrap_or_default()), None),
        };
        let (temperature, max_tokens) = (spec.temperature, spec.max_tokens);
        Ok(Self { body, named, model, temperature, max_tokens })
    }

    /// The version of the prompt, if it has one.
    pub(super) fn version(&self) -> Option<String> {
        self.named.as_ref().map(|(name, version)| format!("{name} v{version}"))
    }

    pub(super) async fn call(
        &self,
        trial: &TrialCall,
        limits: CallLimits,
    ) -> Result<TargetAnswer, CallFault> {
        let mut request = ask(&self.body.filled(&values(&trial.input)));
        request.temperature = self.temperature;
        request.max_tokens = self.max_tokens.unwrap_or(request.max_tokens);
        let budget = Budget::new(Allowance::default());
        let call = self.model.complete(&request, &budget);
        let seconds = limits.timeout.as_secs();
        let ended = tokio::time::timeout(limits.timeout, call).await;
        let ended =
            ended.map_err(|_| CallFault::transient(format!("no answer within {seconds} s")))?;
        let answer = ended.map_err(|error| {
            // Its text may have the provider's reply, which is for the operator alone.
            warn!(%error, "the model of a target did not answer");
            let is_transient = error.is_passing();
            CallFault { why: error.without_reply(), is_transient, retry_after: None }
        })?;
        if answer.text.len() > limits.max_output_bytes {
            let most = limits.max_output_bytes;
            return Err(CallFault::lasting(format!("the answer is longer than {most} bytes")));
        }
        Ok(TargetAnswer {
            text: answer.text,
            model: Some(answer.model),
            input_tokens: Some(answer.usage.input()),
            output_tokens: Some(answer.usage.output()),
            cost: answer.cost.map(Money::dollars),
            calls: Some(Vec::new()),
        })
    }
}

/// Opens a model by the name that judges have; `None` for the offline judge.
pub(in crate::experiment) async fn open_model(
    name: &str,
    (host, outbound, supervision): (Option<&ExperimentSite>, &OutboundPolicy, &Supervision),
    (variables, now): (Variables<'_>, Timestamp),
) -> Result<Option<Model>, String> {
    let name = JudgeName::parse(name, &DefaultModels::builtin()).map_err(|why| why.to_string())?;
    let folder = match host {
        Some(ExperimentSite::Folder(folder)) => Some((&folder.store, &folder.project)),
        Some(ExperimentSite::Server(..)) | None => None,
    };
    let table = match folder {
        Some((store, project)) => store.prices(project),
        None => Arc::new(PriceTable::builtin()),
    };
    let access = JudgeAccess {
        variables,
        prices: PriceList { table, at: now },
        connections: folder,
        outbound,
        supervision,
    };
    let opened = judge::open(&name, access).await;
    let opened = opened.map_err(|error: ConnectError| error.without_reply());
    Ok(opened?.map(|model| model.with_backoff(ONCE)))
}

/// A prompt as the API returns it.
#[derive(Deserialize)]
struct PromptView {
    r#type: String,
    prompt: Value,
    version: u32,
}

async fn named_prompt(
    name: &str,
    spec: &PromptSpec,
    host: Option<&ExperimentSite>,
) -> Result<(PromptBody, u32), TargetError> {
    let label = || Pick::Label(spec.label.clone().unwrap_or_else(|| LATEST.to_owned()));
    let pick = spec.prompt_version.map_or_else(label, Pick::Version);
    let failed = |why: String| invalid("prompt", why);
    match host {
        Some(ExperimentSite::Folder(folder)) => {
            let (project, named) = (folder.project.clone(), name.to_owned());
            let found = folder.catalog.prompt(project, named, pick, PromptReferences::Composed);
            let found = found.await.map_err(|error| failed(error.to_string()))?;
            let (prompt, _) = found
                .ok_or_else(|| failed(format!("there is no prompt {name} of that version")))?;
            Ok((prompt.body, prompt.version))
        }
        Some(ExperimentSite::Server(server, _)) => {
            let query = match pick {
                Pick::Version(version) => ("version", version.to_string()),
                Pick::Label(label) => ("label", label),
            };
            let path = ["public", "v2", "prompts", name];
            let view: PromptView = server
                .get_with(&path, &[query])
                .await
                .map_err(|error| failed(format!("{name}: {error}")))?;
            let kind = if view.r#type == "chat" { PromptKind::Chat } else { PromptKind::Text };
            let body = PromptBody::read(kind, view.prompt);
            Ok((body.map_err(|why| failed(why.to_string()))?, view.version))
        }
        None => Err(failed("is in a data folder or on a server; none is named".to_owned())),
    }
}

/// Values of a prompt's variables: the fields of the input, and `input` for all of it.
fn values(input: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let fields = input.as_object().into_iter().flatten();
    let whole = std::iter::once(("input".to_owned(), text(input)));
    whole.chain(fields.map(|(name, value)| (name.clone(), text(value)))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_fields_of_the_input() {
        let filled = |text: &str, input: Value| {
            let PromptBody::Text(text) = PromptBody::Text(text.to_owned()).filled(&values(&input))
            else {
                return String::new();
            };
            text
        };
        assert_eq!(filled("Answer: {{input}}", json!("why?")), "Answer: why?");
        let input = json!({ "question": "{{input}}", "n": [1] });
        assert_eq!(filled("{{question}} {{n}} {{other}}", input), "{{input}} [1] {{other}}");
        let own = json!({ "input": "inner" });
        assert_eq!(filled("{{input}}", own), "inner", "a field of that name wins");
    }
}
