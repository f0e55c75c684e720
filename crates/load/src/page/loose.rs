//! Reading JSON that may hold anything anywhere: a value of the wrong type is no value.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A number, a text or a flag; everything else is nothing. Texts are borrowed from the input
/// wherever they have no escapes in them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Scalar<'a> {
    #[default]
    Nothing,
    Flag(bool),
    Number(f64),
    Text(Cow<'a, str>),
}

impl Scalar<'_> {
    /// The finite number that this is, or that it spells.
    pub(super) fn number(&self) -> Option<f64> {
        let number = match self {
            Scalar::Number(number) => *number,
            Scalar::Text(text) => text.trim().parse().ok()?,
            Scalar::Nothing | Scalar::Flag(_) => return None,
        };
        number.is_finite().then_some(number)
    }

    /// The number, if it is above zero.
    pub(super) fn positive(&self) -> Option<f64> {
        self.number().filter(|number| *number > 0.0)
    }

    /// The text, if it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text, if there is anything in it.
    pub(super) fn filled(&self) -> Option<&str> {
        self.text().filter(|text| !text.is_empty())
    }

    /// What tells this value from others: its text, or its number written out.
    pub(super) fn key(&self) -> Option<Cow<'_, str>> {
        match self {
            Scalar::Number(number) => Some(number.to_string().into()),
            _ => self.filled().map(Cow::from),
        }
    }

    /// Whether it says yes.
    pub(super) fn is_set(&self) -> bool {
        match self {
            Scalar::Nothing => false,
            Scalar::Flag(flag) => *flag,
            Scalar::Number(number) => *number != 0.0,
            Scalar::Text(text) => !matches!(text.as_ref(), "" | "0" | "false"),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar<'de>, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Scalar<'de>, A::Error> {
        skip_seq(seq)?;
        Ok(Scalar::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar<'de>, A::Error> {
        skip_map(map)?;
        Ok(Scalar::Nothing)
    }
}

fn skip_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<(), A::Error> {
    while seq.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn skip_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// An object of which some fields are of interest.
pub(super) trait Record<'de>: Default {
    /// Takes the value of the field `name`, or skips it.
    fn take<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error>;
}

/// Declares a struct with the names that its fields have in JSON. Of two fields of one name the
/// later counts, as in JavaScript.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(super) struct $name<'a> {
            $(pub(super) $field: $type,)*
        }

        impl<'a> $crate::page::loose::Record<'a> for $name<'a> {
            fn take<A: serde::de::MapAccess<'a>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
                match name {
                    $($key => self.$field = map.next_value()?,)*
                    _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
                }
                Ok(())
            }
        }
    };
}
pub(super) use record;

/// An object, if there is one.
#[derive(Debug)]
pub(super) struct Maybe<T>(pub(super) Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Maybe<T> {
        Maybe(None)
    }
}

impl<T: Default> Maybe<T> {
    /// The object, or one without any field.
    pub(super) fn unwrap_or_default(self) -> T {
        self.0.unwrap_or_default()
    }
}

impl<'de, T: Record<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Maybe<T>, D::Error> {
        deserializer.deserialize_any(MaybeVisitor(PhantomData))
    }
}

struct MaybeVisitor<T>(PhantomData<T>);

/// The methods of a visitor that takes nothing from a scalar.
macro_rules! no_scalars {
    ($value:ty, $nothing:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a value")
        }

        fn visit_unit<E>(self) -> Result<$value, E> {
            Ok($nothing)
        }

        fn visit_bool<E>(self, _: bool) -> Result<$value, E> {
            Ok($nothing)
        }

        fn visit_f64<E>(self, _: f64) -> Result<$value, E> {
            Ok($nothing)
        }

        fn visit_u64<E>(self, _: u64) -> Result<$value, E> {
            Ok($nothing)
        }

        fn visit_i64<E>(self, _: i64) -> Result<$value, E> {
            Ok($nothing)
        }
    };
}

impl<'de, T: Record<'de>> Visitor<'de> for MaybeVisitor<T> {
    type Value = Maybe<T>;

    no_scalars!(Maybe<T>, Maybe(None));

    fn visit_str<E>(self, _: &str) -> Result<Maybe<T>, E> {
        Ok(Maybe(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Maybe<T>, A::Error> {
        skip_seq(seq)?;
        Ok(Maybe(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Maybe<T>, A::Error> {
        let mut record = T::default();
        while let Some(Scalar::Text(name)) = map.next_key::<Scalar<'de>>()? {
            record.take(&name, &mut map)?;
        }
        Ok(Maybe(Some(record)))
    }
}

/// How much of a list is kept: no list of a page needs more, and one more than the most entries tells that there are too
/// many.
pub(super) const MAX_LIST: usize = 20_001;

/// A list of objects; whatever in it is none is left out, and what is beyond `MAX` passed over.
#[derive(Debug)]
pub(super) struct List<T, const MAX: usize = MAX_LIST>(pub(super) Vec<Option<T>>);

impl<T, const MAX: usize> Default for List<T, MAX> {
    fn default() -> List<T, MAX> {
        List(Vec::new())
    }
}

impl<T, const MAX: usize> List<T, MAX> {
    /// The objects of the list.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }
}

impl<'de, T: Record<'de>, const MAX: usize> Deserialize<'de> for List<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T, MAX>, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Record<'de>, const MAX: usize> Visitor<'de> for ListVisitor<T, MAX> {
    type Value = List<T, MAX>;

    no_scalars!(List<T, MAX>, List::default());

    fn visit_str<E>(self, _: &str) -> Result<List<T, MAX>, E> {
        Ok(List::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T, MAX>, A::Error> {
        let mut list = Vec::new();
        while list.len() < MAX {
            let Some(Maybe(item)) = seq.next_element::<Maybe<T>>()? else { return Ok(List(list)) };
            list.push(item);
        }
        skip_seq(seq)?;
        Ok(List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<List<T, MAX>, A::Error> {
        skip_map(map)?;
        Ok(List::default())
    }
}

/// A list of texts; whatever in it is none is left out.
#[derive(Debug, Default)]
pub(super) struct Texts<'a>(pub(super) Vec<Cow<'a, str>>);

impl<'de> Deserialize<'de> for Texts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts<'de>, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts<'de>;

    no_scalars!(Texts<'de>, Texts::default());

    fn visit_str<E>(self, _: &str) -> Result<Texts<'de>, E> {
        Ok(Texts::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts<'de>, A::Error> {
        let mut list = Vec::new();
        while list.len() < MAX_LIST {
            let Some(item) = seq.next_element::<Scalar<'de>>()? else { return Ok(Texts(list)) };
            if let Scalar::Text(text) = item {
                list.push(text);
            }
        }
        skip_seq(seq)?;
        Ok(Texts(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Texts<'de>, A::Error> {
        skip_map(map)?;
        Ok(Texts::default())
    }
}

/// A scalar or an object.
pub(super) enum Either<'a, T> {
    Scalar(Scalar<'a>),
    Record(T),
}

impl<'de, T: Record<'de>> Deserialize<'de> for Either<'de, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Either<'de, T>, D::Error> {
        deserializer.deserialize_any(EitherVisitor(PhantomData))
    }
}

struct EitherVisitor<T>(PhantomData<T>);

impl<'de, T: Record<'de>> Visitor<'de> for EitherVisitor<T> {
    type Value = Either<'de, T>;

    no_scalars!(Either<'de, T>, Either::Scalar(Scalar::Nothing));

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Either<'de, T>, E> {
        Ok(Either::Scalar(Scalar::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Either<'de, T>, E> {
        Ok(Either::Scalar(Scalar::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Either<'de, T>, A::Error> {
        skip_seq(seq)?;
        Ok(Either::Scalar(Scalar::Nothing))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Either<'de, T>, A::Error> {
        MaybeVisitor(PhantomData).visit_map(map).map(|record| Either::Record(record.unwrap_or_default()))
    }
}
