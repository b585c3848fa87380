//! State of numbers, tuples and collections.

use crate::{Io, State, StateError, Value};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Done = Result<(), StateError>;

macro_rules! numbers {
    ($($ty:ty),+) => {$(
        impl State for $ty {
            #[inline]
            fn state(&mut self, io: &mut Io<'_>) -> Done {
                let mut bytes = self.to_le_bytes();
                io.bytes(&mut bytes)?;
                *self = Self::from_le_bytes(bytes);
                Ok(())
            }
        }
        impl Value for $ty {
            fn blank() -> Self {
                Self::default()
            }
        }
    )+};
}
numbers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64);

impl State for usize {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut number = *self as u64;
        number.state(io)?;
        *self = Self::try_from(number).map_err(|_| StateError::Long(number))?;
        Ok(())
    }
}

impl Value for usize {
    fn blank() -> Self {
        0
    }
}

impl State for bool {
    #[inline]
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut byte = u8::from(*self);
        byte.state(io)?;
        *self = match byte {
            0 => false,
            1 => true,
            _ => return Err(StateError::Variant("bool")),
        };
        Ok(())
    }
}

impl Value for bool {
    fn blank() -> Self {
        false
    }
}

macro_rules! tuples {
    ($(($($T:ident.$at:tt),+))+) => {$(
        impl<$($T: State),+> State for ($($T,)+) {
            #[inline]
            fn state(&mut self, io: &mut Io<'_>) -> Done {
                $(self.$at.state(io)?;)+
                Ok(())
            }
        }
        impl<$($T: Value),+> Value for ($($T,)+) {
            fn blank() -> Self {
                ($($T::blank(),)+)
            }
        }
    )+};
}
tuples! { (A.0, B.1) (A.0, B.1, C.2) (A.0, B.1, C.2, D.3) }

impl<T: State, const N: usize> State for [T; N] {
    #[inline]
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        self.iter_mut().try_for_each(|one| one.state(io))
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn blank() -> Self {
        std::array::from_fn(|_| T::blank())
    }
}

impl<T: Value> State for Option<T> {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut is_some = self.is_some();
        is_some.state(io)?;
        match is_some {
            true => self.get_or_insert_with(T::blank).state(io),
            false => {
                *self = None;
                Ok(())
            }
        }
    }
}

impl<T: Value> Value for Option<T> {
    fn blank() -> Self {
        None
    }
}

impl<T: State + ?Sized> State for Box<T> {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        (**self).state(io)
    }
}

impl<T: Value> Value for Box<T> {
    fn blank() -> Self {
        Self::new(T::blank())
    }
}

/// Saves or restores a list of values, whatever its length.
fn list<T: Value>(list: &mut Vec<T>, io: &mut Io<'_>) -> Done {
    let len = io.length(list.len())?;
    list.truncate(len);
    for one in &mut *list {
        one.state(io)?;
    }
    while list.len() < len {
        let mut one = T::blank();
        one.state(io)?;
        list.push(one);
    }
    Ok(())
}

impl<T: Value> State for Vec<T> {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        list(self, io)
    }
}

impl<T: Value> Value for Vec<T> {
    fn blank() -> Self {
        Self::new()
    }
}

/// A slice of values, whatever its length.
impl<T: Value> State for Box<[T]> {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut all = std::mem::take(self).into_vec();
        let done = list(&mut all, io);
        *self = all.into();
        done
    }
}

impl<T: Value> Value for Box<[T]> {
    fn blank() -> Self {
        Self::default()
    }
}

impl<T: Value> State for VecDeque<T> {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut all = Vec::from(std::mem::take(self));
        let done = list(&mut all, io);
        *self = all.into();
        done
    }
}

impl<T: Value> Value for VecDeque<T> {
    fn blank() -> Self {
        Self::new()
    }
}

impl State for String {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut bytes = std::mem::take(self).into_bytes();
        list(&mut bytes, io)?;
        *self = Self::from_utf8(bytes).map_err(|_| StateError::Variant("String"))?;
        Ok(())
    }
}

impl Value for String {
    fn blank() -> Self {
        Self::new()
    }
}

impl<K: Value + Ord, V: Value> State for BTreeMap<K, V> {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut all: Vec<(K, V)> = std::mem::take(self).into_iter().collect();
        list(&mut all, io)?;
        self.extend(all);
        Ok(())
    }
}

impl<K: Value + Ord, V: Value> Value for BTreeMap<K, V> {
    fn blank() -> Self {
        Self::new()
    }
}

impl<T: Value + Ord> State for BTreeSet<T> {
    fn state(&mut self, io: &mut Io<'_>) -> Done {
        let mut all: Vec<T> = std::mem::take(self).into_iter().collect();
        list(&mut all, io)?;
        self.extend(all);
        Ok(())
    }
}

impl<T: Value + Ord> Value for BTreeSet<T> {
    fn blank() -> Self {
        Self::new()
    }
}
