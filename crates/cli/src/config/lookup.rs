//! Looks settings up and records each lookup, so that one line defines a setting.

use std::fmt::Display;
use std::str::FromStr;

use anyhow::anyhow;
use ratchet_core::secret::Secret;

use super::layers::{Layers, NamedEntry, Source};
use super::value::{ByteSize, Count};

/// What `config show` shows in place of a secret.
const HIDDEN: &str = "***";
/// What it shows when nothing is set and there is no default.
const UNSET: &str = "(not set)";

/// A setting as it came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effective {
    /// Its name in a file.
    pub(crate) key: &'static str,
    /// Its value as text, hidden if secret.
    pub(crate) value: String,
    /// Where the value came from.
    pub(crate) source: Source,
    pub(crate) about: &'static str,
}

/// Looks settings up in layers.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    layers: &'a Layers,
    read: Vec<Effective>,
}

impl<'a> Lookup<'a> {
    /// A lookup without any recorded setting.
    pub(crate) fn new(layers: &'a Layers) -> Self {
        Self { layers, read: Vec::new() }
    }

    /// Reads a setting that always has a value.
    pub(crate) fn value<T>(
        &mut self,
        key: &'static str,
        default: T,
        about: &'static str,
    ) -> anyhow::Result<T>
    where
        T: FromStr + Display,
        T::Err: Display,
    {
        let (value, source) = match self.find(key)? {
            Some(found) => found,
            None => (default, Source::Default),
        };
        self.read.push(Effective { key, value: value.to_string(), source, about });
        Ok(value)
    }

    /// The entries of a section whose names the operator chooses.
    pub(crate) fn named(&self, section: &str) -> Vec<NamedEntry> {
        self.layers.named(section)
    }

    /// Reads a size in bytes.
    pub(crate) fn size(
        &mut self,
        key: &'static str,
        default: usize,
        about: &'static str,
    ) -> anyhow::Result<usize> {
        self.value(key, ByteSize(default), about).map(|size| size.0)
    }

    /// Reads a number of things.
    pub(crate) fn count(
        &mut self,
        key: &'static str,
        default: usize,
        about: &'static str,
    ) -> anyhow::Result<usize> {
        self.value(key, Count(default), about).map(|count| count.0)
    }

    /// Reads a setting that may be left out.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        about: &'static str,
    ) -> anyhow::Result<Option<T>>
    where
        T: FromStr + Display,
        T::Err: Display,
    {
        let (value, source) = self.find(key)?.unzip();
        let shown = value.as_ref().map_or_else(|| UNSET.to_owned(), T::to_string);
        let source = source.unwrap_or(Source::Default);
        self.read.push(Effective { key, value: shown, source, about });
        Ok(value)
    }

    /// Reads a setting that must not be shown.
    pub(crate) fn secret(&mut self, key: &'static str, about: &'static str) -> Option<Secret> {
        let (text, source) = self.layers.find(key).unzip();
        let shown = if text.is_some() { HIDDEN } else { UNSET }.to_owned();
        let source = source.unwrap_or(Source::Default);
        self.read.push(Effective { key, value: shown, source, about });
        text.map(Secret::new)
    }

    /// All settings that were looked up, in order.
    pub(crate) fn into_read(self) -> Vec<Effective> {
        self.read
    }

    fn find<T>(&self, key: &'static str) -> anyhow::Result<Option<(T, Source)>>
    where
        T: FromStr,
        T::Err: Display,
    {
        let Some((text, source)) = self.layers.find(key) else { return Ok(None) };
        let value = text
            .parse()
            .map_err(|wanted| anyhow!("`{key}` is \"{text}\" ({source}) but must be {wanted}"))?;
        Ok(Some((value, source)))
    }
}
