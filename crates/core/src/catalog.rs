//! Catalog documents: prompts, skills, datasets, evaluators, accounts and their validation.

/// What models are told: texts and chats that refer to one another.
pub mod prompt;
/// What agents are taught: folders of text files.
pub mod skill;
/// How scores are made by machines.
pub mod evaluator;
/// How models are reached.
pub mod llm;
/// What people are asked to look at, and what they say.
pub mod annotation;
/// Cases to try an agent on.
pub mod dataset;
/// An agent tried on cases.
pub mod experiment;
/// Whose web pages may call.
pub mod cors_origin;
/// What people may settle about a project.
pub mod validation;
/// Who people are to a server: addresses and passwords.
pub mod account;
/// How long those who keep failing wait.
pub mod throttle;
