use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A visitor of the fields of an object.
pub(crate) trait Fields<'de> {
    /// Takes one field. Must read the value or [`skip`] it.
    fn field<D: Deserializer<'de>>(&mut self, name: &str, value: D) -> Result<(), D::Error>;
}

/// A visitor of the items of a list.
pub(crate) trait Items<'de> {
    /// Takes one item. Must read it or [`skip`] it.
    fn item<D: Deserializer<'de>>(&mut self, item: D) -> Result<(), D::Error>;
}

/// Deserializes an object into a visitor; null has no fields.
pub(crate) struct Object<'a, T>(pub(crate) &'a mut T);

/// Deserializes a list into a visitor; null has no items.
pub(crate) struct List<'a, T>(pub(crate) &'a mut T);

/// Deserializes a text with one object.
///
/// The parser's own recursion limit is off: objects nest only as the types here do, attribute
/// values are limited by `Bounds`, and skipping is not recursive.
pub(crate) fn read<'de, T: Fields<'de>>(
    text: &'de [u8],
    into: &mut T,
) -> Result<(), serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    parser.disable_recursion_limit();
    Object(into).deserialize(&mut parser)?;
    parser.end()
}

/// Skips a value of any type.
pub(crate) fn skip<'de, D: Deserializer<'de>>(value: D) -> Result<(), D::Error> {
    IgnoredAny::deserialize(value).map(drop)
}

impl<'de, T: Fields<'de>> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de, T: Fields<'de>> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            map.next_value_seed(Value { of: &mut *self.0, name: &name })?;
        }
        Ok(())
    }
}

struct Value<'a, T> {
    of: &'a mut T,
    name: &'a str,
}

impl<'de, T: Fields<'de>> DeserializeSeed<'de> for Value<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        self.of.field(self.name, value)
    }
}

/// The name of a field, borrowed from the text unless it has escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Cow<'de, str>, D::Error> {
        name.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

impl<'de, T: Items<'de>> DeserializeSeed<'de> for List<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de, T: Items<'de>> Visitor<'de> for List<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Item(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

struct Item<'a, T>(&'a mut T);

impl<'de, T: Items<'de>> DeserializeSeed<'de> for Item<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, item: D) -> Result<(), D::Error> {
        self.0.item(item)
    }
}
