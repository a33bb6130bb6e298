use std::collections::BTreeMap;

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::read::{read, read_object};
use ratchet_core::issue::Issue;
use ratchet_core::time::Timestamp;
use serde::de::DeserializeOwned;

/// The fields of a row by name, taken out one by one. Null is not there.
#[derive(Clone, Debug)]
pub(super) struct Fields(BTreeMap<String, Raw>);

impl Fields {
    pub(super) fn read(row: &str) -> Result<Self, Issue> {
        let mut fields: BTreeMap<String, Raw> = read_object(row)?;
        fields.retain(|_, value| value.get() != "null");
        Ok(Self(fields))
    }

    /// Whether a field is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Takes the first of several names that is there; the others stay.
    pub(super) fn take(&mut self, names: &[&str]) -> Option<Raw> {
        names.iter().find_map(|name| self.0.remove(*name))
    }

    /// The same as a value of a type.
    pub(super) fn take_as<T: DeserializeOwned>(
        &mut self,
        names: &[&str],
    ) -> Result<Option<T>, Issue> {
        let Some((name, raw)) = self.named(names) else {
            return Ok(None);
        };
        read(raw.get()).map(Some).map_err(|issue| issue.inside(name))
    }

    /// The same as a text; a number is taken as it is written.
    pub(super) fn take_text(&mut self, names: &[&str]) -> Result<Option<String>, Issue> {
        let Some((name, raw)) = self.named(names) else {
            return Ok(None);
        };
        let is_number = raw.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if is_number {
            return Ok(Some(raw.get().to_owned()));
        }
        read(raw.get()).map(Some).map_err(|issue| issue.inside(name))
    }

    /// The same as a point in time.
    pub(super) fn take_time(&mut self, names: &[&str]) -> Result<Option<Timestamp>, Issue> {
        let name = names.iter().find(|name| self.has(name)).copied().unwrap_or_default();
        let Some(text) = self.take_text(names)? else {
            return Ok(None);
        };
        Timestamp::parse(&text).map(Some).map_err(|why| Issue::at(name, why.to_string()))
    }

    /// A point in time that stays where it is; none if it makes no sense.
    pub(super) fn time(&self, name: &str) -> Option<Timestamp> {
        let text: String = read(self.0.get(name)?.get()).ok()?;
        Timestamp::parse(&text).ok()
    }

    /// Drops fields that say nothing of use.
    pub(super) fn forget(&mut self, names: &[&str]) {
        for name in names {
            self.0.remove(*name);
        }
    }

    pub(super) fn into_rest(self) -> BTreeMap<String, Raw> {
        self.0
    }

    fn named<'a>(&mut self, names: &[&'a str]) -> Option<(&'a str, Raw)> {
        names.iter().find_map(|name| Some((*name, self.0.remove(*name)?)))
    }
}
