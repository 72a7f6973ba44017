//! Values with a short form: text or a list instead of a mapping.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};

/// A value that may be written in several forms. Any other form is an error that lists the allowed
/// ones.
pub(super) trait ShortForm: Sized {
    /// The allowed forms, for errors.
    const EXPECTED: &'static str;

    /// Creates the value from text; `None` if the text is not allowed.
    fn from_text(_text: &str) -> Option<Self> {
        None
    }

    /// Creates the value from a list.
    fn from_seq<'de, A: SeqAccess<'de>>(_seq: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Seq, &Self::EXPECTED))
    }

    /// Creates the value from a mapping.
    fn from_map<'de, A: MapAccess<'de>>(_map: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &Self::EXPECTED))
    }
}

/// Implements `Deserialize` through the forms of the type.
macro_rules! short_form {
    ($($name:ident),* $(,)?) => { $(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::scripted::yaml::short_form::visitor::<Self>())
            }
        }
    )* };
}
pub(super) use short_form;

pub(super) fn visitor<'de, T: ShortForm>() -> impl Visitor<'de, Value = T> {
    Forms(PhantomData)
}

struct Forms<T>(PhantomData<T>);

impl<'de, T: ShortForm> Visitor<'de> for Forms<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &T::EXPECTED))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::from_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}
