//! Targets that a server can run by itself: entries of the operator's `ratchet.toml`, and those that
//! users of a project have stored. Users store no commands, and their targets see nothing of the
//! server's environment: references are to secrets that are sealed with the target.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ratchet_agent::claude::watchdog::Supervision;
use ratchet_core::catalog::dataset::check_name;
use ratchet_core::experiment::plan::{ServerTarget, TargetDefinition};
use ratchet_core::experiment::target::{Target, TargetKind, TargetValue};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_remote::http;
use ratchet_store::catalog::{NewStoredTarget, StoredTarget};

use super::service::{ExperimentError, ExperimentService};
use super::site::ExperimentSite;
use super::target::{OpenTarget, TargetContext, TargetMachine};

/// The longest definition.
const MAX_DEFINITION_BYTES: usize = 100_000;
/// The most secrets of a target, and their length.
const MAX_SECRETS: usize = 50;
const MAX_SECRET_BYTES: usize = 20_000;

/// An entry of the operator's `ratchet.toml`.
#[derive(Clone, Debug)]
pub struct OperatorTarget {
    pub target: Target,
    /// The folder of the file, which relative paths start from.
    pub folder: PathBuf,
}

/// The targets of a server, and what calling them needs.
#[derive(Clone, Debug)]
pub struct ServerTargets {
    /// By name.
    pub operator: BTreeMap<String, OperatorTarget>,
    /// Which addresses stored targets may have.
    pub outbound: OutboundPolicy,
    pub supervision: Supervision,
    /// Reads the server's environment variables.
    pub variables: fn(&str) -> Option<String>,
}

type TargetResult<T> = Result<T, ExperimentError>;

fn invalid(field: &'static str, problem: impl Into<String>) -> ExperimentError {
    ExperimentError::Invalid { field, problem: problem.into() }
}

impl ServerTargets {
    /// Whether a target is a program of the operator, which runs on the server's machine as its user:
    /// starting one takes the permission that agents take.
    pub fn is_program(&self, name: &str) -> bool {
        let entry = self.operator.get(name);
        entry.is_some_and(|entry| {
            matches!(entry.target.kind, TargetKind::Command(_) | TargetKind::Claude(_))
        })
    }

    /// Returns all targets that a project can run, by name.
    ///
    /// # Errors
    /// Fails only when the database does.
    pub async fn list(&self, service: &ExperimentService) -> TargetResult<Vec<ServerTarget>> {
        let stored = service.catalog.stored_targets(service.project.clone()).await?;
        let stored = stored.iter().filter(|known| !self.operator.contains_key(&known.name));
        let mut all: Vec<_> = stored.map(stored_view).collect();
        all.extend(self.operator.iter().map(|(name, entry)| operator_view(name, entry)));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// Stores a target of a project, or replaces it.
    ///
    /// # Errors
    /// Fails on an invalid definition, on one of a kind that is the operator's, and if a secret has no
    /// value.
    pub async fn save(
        &self,
        service: &ExperimentService,
        (name, request): (&str, TargetDefinition),
        now: Timestamp,
    ) -> TargetResult<ServerTarget> {
        check_name(name).map_err(|why| invalid("name", why.to_string()))?;
        if self.operator.contains_key(name) {
            return Err(ExperimentError::Conflict(format!(
                "{name} is a target of the server's operator; choose another name"
            )));
        }
        let target = self.checked(&request)?;
        let (project, secrets) = (service.project.clone(), service.store.secrets.clone());
        let known =
            service.catalog.stored_target(project.clone(), name.to_owned(), secrets.clone());
        let known = known.await?.map(|(known, _)| known);
        // Sealed secrets go to no other address: a change of the address requires them again.
        let kept = known.filter(|known| goes_where_it_went(&known.definition, &target));
        let kept = kept.map(|known| known.secret_names).unwrap_or_default();
        let is_there =
            |of: &&str| request.secrets.contains_key(*of) || kept.iter().any(|it| it == of);
        if let Some(missing) = target.references().into_iter().find(|of| !is_there(of)) {
            return Err(invalid(
                "secrets",
                format!(
                    "{missing} has no value; references are to secrets of the target, which are \
                     required again when an address changes"
                ),
            ));
        }
        let values = request.secrets.into_iter();
        let new = NewStoredTarget {
            name: name.to_owned(),
            definition: request.definition,
            references: target.references().into_iter().map(str::to_owned).collect(),
            secrets: values.map(|(name, value)| (name, Secret::new(value))).collect(),
        };
        let saved = service.catalog.save_target(project, new, secrets, now).await?;
        Ok(stored_view(&saved))
    }

    /// Validates a definition without calling anything.
    fn checked(&self, request: &TargetDefinition) -> TargetResult<Target> {
        if request.definition.len() > MAX_DEFINITION_BYTES {
            return Err(invalid(
                "definition",
                format!("is longer than {MAX_DEFINITION_BYTES} bytes"),
            ));
        }
        let is_long = request.secrets.values().any(|value| value.len() > MAX_SECRET_BYTES);
        if request.secrets.len() > MAX_SECRETS || is_long {
            return Err(invalid(
                "secrets",
                format!("at most {MAX_SECRETS}, of {MAX_SECRET_BYTES} bytes each"),
            ));
        }
        let target = Target::parse(&request.definition);
        let target = target.map_err(|why| invalid("definition", why.to_string()))?;
        if let Some(why) = target.kind.not_storable() {
            return Err(invalid("definition", format!("kind: {} {why}", target.kind.as_str())));
        }
        for address in target.addresses() {
            if let TargetValue::Text(text) = address {
                http::check_entered_text(text, &self.outbound)
                    .map_err(|why| invalid("definition", why.to_string()))?;
            }
        }
        Ok(target)
    }

    /// Resolves a target of a project by name.
    ///
    /// # Errors
    /// Fails if there is none of that name, or if it cannot be called.
    pub async fn open(
        &self,
        service: &ExperimentService,
        (name, environment): (&str, Option<&str>),
        now: Timestamp,
    ) -> TargetResult<OpenTarget> {
        let machine = TargetMachine {
            host: Some(ExperimentSite::Folder(Box::new(service.clone()))),
            outbound: OutboundPolicy::unrestricted(),
            supervision: self.supervision.clone(),
            now,
        };
        let (name, environment) = (name.to_owned(), environment.map(str::to_owned));
        let mut context =
            TargetContext { name: name.clone(), folder: PathBuf::new(), environment, machine };
        let opened = match self.operator.get(&name) {
            Some(entry) => {
                context.folder.clone_from(&entry.folder);
                OpenTarget::open(&entry.target, &context, &self.variables).await
            }
            None => {
                context.machine.outbound = self.outbound.clone();
                let (target, secrets) = self.stored(service, &name).await?;
                let own = |of: &str| secrets.get(of).map(|value| value.expose().to_owned());
                // Models are named as judges are, and their keys may be the server's. A target with
                // variables or secrets brings its own: an address of its choice must not get the
                // server's keys.
                let is_plain = secrets.is_empty() && !target.has_variables();
                let with_models =
                    |of: &str| own(of).or_else(|| (self.variables)(of).filter(|_| is_plain));
                match &target.kind {
                    TargetKind::Prompt(_) => {
                        OpenTarget::open(&target, &context, &with_models).await
                    }
                    _ => OpenTarget::open(&target, &context, &own).await,
                }
            }
        };
        let mut opened = opened.map_err(|why| invalid("target", format!("{name}: {why}")))?;
        // The name by which it is found again.
        opened.identity.name = name;
        opened.identity.on_server = true;
        Ok(opened)
    }

    async fn stored(
        &self,
        service: &ExperimentService,
        name: &str,
    ) -> TargetResult<(Target, BTreeMap<String, Secret>)> {
        let (project, secrets) = (service.project.clone(), service.store.secrets.clone());
        let found = service.catalog.stored_target(project, name.to_owned(), secrets).await?;
        let Some((stored, secrets)) = found else {
            let all = self.list(service).await?;
            let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ExperimentError::NotFound(format!("target {name} (there are: {known})")));
        };
        let target = Target::parse(&stored.definition);
        Ok((target.map_err(|why| invalid("target", why.to_string()))?, secrets))
    }
}

/// Whether a changed target is called where it was before.
fn goes_where_it_went(before: &str, target: &Target) -> bool {
    let before = Target::parse(before);
    before.is_ok_and(|before| {
        before.kind.as_str() == target.kind.as_str() && before.addresses() == target.addresses()
    })
}

fn stored_view(stored: &StoredTarget) -> ServerTarget {
    let parsed = Target::parse(&stored.definition).ok();
    let kind = parsed.as_ref().map_or("invalid", |target| target.kind.as_str());
    let environments = parsed.iter().flat_map(|target| target.options.environments.keys());
    ServerTarget {
        name: stored.name.clone(),
        kind: kind.to_owned(),
        source: "project".to_owned(),
        environments: environments.cloned().collect(),
        definition: Some(stored.definition.clone()),
        secrets: stored.secret_names.clone(),
        updated_at: Some(stored.updated_at.to_string()),
    }
}

fn operator_view(name: &str, entry: &OperatorTarget) -> ServerTarget {
    ServerTarget {
        name: name.to_owned(),
        kind: entry.target.kind.as_str().to_owned(),
        source: "operator".to_owned(),
        environments: entry.target.options.environments.keys().cloned().collect(),
        definition: None,
        secrets: Vec::new(),
        updated_at: None,
    }
}
