//! Catalog documents: prompts, skills, datasets, evaluators, accounts and their validation.

/// Prompts: text and chat templates with variables and references to other prompts.
pub mod prompt;
/// Skills: folders of text files with instructions for agents.
pub mod skill;
/// Datasets: test cases for an agent, their CSV and JSON import.
pub mod dataset;
/// Experiments: runs of an agent over a dataset.
pub mod experiment;
pub mod run_comparison;
/// Evaluators and their rules: what is judged online, by whom, and how.
pub mod evaluator;
/// Agents: aliases, people responsible, targets and review capacity.
pub mod agent;
/// LLM connections: provider, base URL and models.
pub mod llm;
/// Dashboards, widgets and metrics queries.
pub mod dashboard;
/// Filter conditions of dashboards, widgets and lists.
pub mod filter;
/// Annotation queue items and comments.
pub mod annotation;
/// Reviews of queue items: settings, outcomes, agreement.
pub mod review;
/// Validation errors and limits of user-entered project settings.
pub mod validation;
/// Accounts: email addresses and passwords of users.
pub mod account;
/// Login throttling: exponential delay after failed attempts.
pub mod throttle;
/// CORS origins that may call the API from a browser.
pub mod cors_origin;
