use clap::{Args, Subcommand};
use ratchet_server::api::redaction::{
    PresetView, RedactionRuleRequest, RedactionRuleView, TrialRequest,
};

use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::table;
use crate::runtime;

/// `ratchet redaction …`
#[derive(Args, Debug)]
pub(crate) struct RedactionCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the rules of a project
    List(ProjectArgs),
    /// Add a rule; applies to new data
    Add(AddArgs),
    /// Remove a rule; redacted data stays redacted
    Remove(RemoveArgs),
    /// Test the rules on a text
    Test(TestArgs),
    /// List available presets
    Presets(ProjectArgs),
}

#[derive(Args, Debug)]
struct AddArgs {
    #[command(flatten)]
    what: WhatArgs,
    /// Replacement [default: the preset's, or `[redacted]`]
    #[arg(long, value_name = "TEXT")]
    replacement: Option<String>,
    #[command(flatten)]
    redaction: ProjectArgs,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct WhatArgs {
    /// Regular expression to match in any text
    #[arg(long, value_name = "REGEX")]
    pattern: Option<String>,
    /// Field path such as `input.user.email`; * matches any key
    #[arg(long, value_name = "PATH")]
    field: Option<String>,
    /// Built-in preset; see `ratchet redaction presets`
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
}

#[derive(Args, Debug)]
struct RemoveArgs {
    /// Rule ID
    rule: String,
    #[command(flatten)]
    redaction: ProjectArgs,
}

#[derive(Args, Debug)]
struct TestArgs {
    /// Text or JSON document
    text: String,
    /// Field that contains the text, such as `input` or `metadata`
    #[arg(long, value_name = "FIELD", default_value = "input")]
    field: String,
    #[command(flatten)]
    redaction: ProjectArgs,
}

/// Runs `ratchet redaction`.
pub(crate) fn run(command: &RedactionCommand) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        match &command.action {
            Action::List(args) => list(args).await,
            Action::Add(args) => add(args).await,
            Action::Remove(args) => remove(args).await,
            Action::Test(args) => test(args).await,
            Action::Presets(args) => presets(args).await,
        }
    })
}

async fn list(args: &ProjectArgs) -> anyhow::Result<Outcome> {
    let rules =
        data_target::with_project(args, "ratchet redaction list", async |target, project| {
            target.redaction_rules(&project.id).await
        });
    args.output.show(&rules.await?, |rules| rules_text(rules))?;
    Ok(Outcome::Done)
}

fn rules_text(rules: &[RedactionRuleView]) -> String {
    let row = |rule: &RedactionRuleView| {
        let RedactionRuleView { id, kind, what, replacement, created_at } = rule;
        [id, kind, what, replacement, created_at].map(Clone::clone)
    };
    let rows: Vec<_> = rules.iter().map(row).collect();
    table(["ID", "TYPE", "PATTERN", "REPLACEMENT", "ADDED"], &rows)
}

async fn add(args: &AddArgs) -> anyhow::Result<Outcome> {
    let redaction = &args.redaction;
    let request = RedactionRuleRequest {
        pattern: args.what.pattern.clone(),
        field: args.what.field.clone(),
        preset: args.what.preset.clone(),
        replacement: args.replacement.clone(),
    };
    let added =
        data_target::with_project(redaction, "ratchet redaction add", async |target, project| {
            target.add_redaction_rule(&project.id, request).await
        });
    redaction.output.show(&added.await?, |rule| rules_text(std::slice::from_ref(rule)))?;
    Ok(Outcome::Done)
}

async fn remove(args: &RemoveArgs) -> anyhow::Result<Outcome> {
    let redaction = &args.redaction;
    let removed = data_target::with_project(
        redaction,
        "ratchet redaction remove",
        async |target, project| target.remove_redaction_rule(&project.id, &args.rule).await,
    );
    redaction.output.show(&removed.await?, |rule| format!("removed {}\n", rule.what))?;
    Ok(Outcome::Done)
}

async fn test(args: &TestArgs) -> anyhow::Result<Outcome> {
    let redaction = &args.redaction;
    let request = TrialRequest { text: args.text.clone(), field: Some(args.field.clone()) };
    let left =
        data_target::with_project(redaction, "ratchet redaction test", async |target, project| {
            target.try_redaction(&project.id, request).await
        });
    redaction.output.show(&left.await?, |left| format!("{}\n", left.text))?;
    Ok(Outcome::Done)
}

async fn presets(args: &ProjectArgs) -> anyhow::Result<Outcome> {
    let presets = data_target::with(&args.target, "ratchet redaction presets", async |target| {
        target.redaction_presets().await
    });
    args.output.show(&presets.await?, |presets| {
        let row = |preset: &PresetView| {
            let PresetView { name, finds, pattern, replacement } = preset;
            [name, finds, replacement, pattern].map(Clone::clone)
        };
        let rows: Vec<_> = presets.iter().map(row).collect();
        table(["NAME", "MATCHES", "REPLACEMENT", "PATTERN"], &rows)
    })?;
    Ok(Outcome::Done)
}
