//! Values with a short form: text or a list in place of a mapping.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Unexpected, Visitor};

/// A value that may be written in more than one form. A form that is not there is an error that
/// says which are.
pub(super) trait ShortForm: Sized {
    /// What may be written, for errors.
    const EXPECTED: &'static str;

    /// From text; none when it is not one of the words allowed.
    fn from_text(_text: &str) -> Option<Self> {
        None
    }

    /// From a list.
    fn from_seq<'de, A: SeqAccess<'de>>(_seq: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Seq, &Self::EXPECTED))
    }

    /// From a mapping.
    fn from_map<'de, A: MapAccess<'de>>(_map: A) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &Self::EXPECTED))
    }
}

/// Makes serde read types by their forms.
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
