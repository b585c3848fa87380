//! Types of buffer elements, and conversions of numbers between text, files and bytes.

use half::f16;
use warploom_diag::nearest;
use warploom_fields::Number;

macro_rules! elements {
    ($($variant:ident = $ty:ty, $name:literal $(or $alias:literal)?, $kind:ident;)+) => {
        /// Type of a buffer's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Element {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Element {
            /// Name of the type in launch files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// All names, including those of PTX.
            pub(crate) const NAMES: &'static [&'static str] = &[$($name, $($alias,)?)+];

            /// The type with the given name.
            pub fn find(name: &str) -> Option<Self> {
                match name {
                    $($name $(| $alias)? => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Size of an element in bytes.
            pub const fn bytes(self) -> usize {
                match self { $(Self::$variant => size_of::<$ty>(),)+ }
            }

            /// Appends a number in little-endian order. Numbers are rounded to a float type; an
            /// integer type accepts only integers. Returns `None` if the type cannot represent the
            /// number.
            pub fn put(self, number: Number, out: &mut Vec<u8>) -> Option<()> {
                match self {
                    $(Self::$variant => out.extend(elements!(@$kind number, $ty).to_le_bytes()),)+
                }
                Some(())
            }

            /// Reads a number from the first bytes of `bytes`.
            pub fn get(self, bytes: &[u8]) -> Number {
                match self {
                    $(Self::$variant => {
                        let mut raw = [0; size_of::<$ty>()];
                        raw.copy_from_slice(&bytes[..size_of::<$ty>()]);
                        elements!(@get $kind <$ty>::from_le_bytes(raw))
                    })+
                }
            }
        }
    };
    (@int $number:ident, $ty:ty) => {
        match $number {
            Number::Int(value) => <$ty>::try_from(value).ok()?,
            Number::Float(_) => return None,
        }
    };
    (@float $number:ident, $ty:ty) => { $number.as_f64() as $ty };
    (@half $number:ident, $ty:ty) => { <$ty>::from_f64($number.as_f64()) };
    (@get int $value:expr) => { Number::Int(i128::from($value)) };
    (@get float $value:expr) => { Number::Float(f64::from($value)) };
    (@get half $value:expr) => { Number::Float($value.to_f64()) };
}

elements! {
    U8 = u8, "u8" or "b8", int;
    I8 = i8, "i8" or "s8", int;
    U16 = u16, "u16" or "b16", int;
    I16 = i16, "i16" or "s16", int;
    U32 = u32, "u32" or "b32", int;
    I32 = i32, "i32" or "s32", int;
    U64 = u64, "u64" or "b64", int;
    I64 = i64, "i64" or "s64", int;
    F16 = f16, "f16", half;
    F32 = f32, "f32", float;
    F64 = f64, "f64", float;
}

impl Element {
    /// True for a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The number as an element holds it, or as it is if the type cannot represent it.
    pub(crate) fn rounded(self, number: Number) -> Number {
        let mut bytes = Vec::new();
        match self.put(number, &mut bytes) {
            Some(()) => self.get(&bytes),
            None => number,
        }
    }

    /// Name of the type in NumPy.
    pub fn numpy(self) -> String {
        let name = self.name();
        let word = match &name[..1] {
            "u" => "uint",
            "i" => "int",
            _ => "float",
        };
        format!("{word}{}", &name[1..])
    }

    /// Remedy for a name that is not a type: the type that the name has in C or in NumPy, or one
    /// with a similar name.
    pub fn hint(name: &str) -> String {
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name);
        let near = || nearest(name, Self::NAMES.iter().copied());
        match elsewhere.map(|(_, own)| *own).or_else(near) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write one of u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64".to_owned(),
        }
    }
}

/// Names of types in C and in NumPy, with those of launch files.
const ELSEWHERE: [(&str, &str); 24] = [
    ("char", "i8"),
    ("uchar", "u8"),
    ("bool", "u8"),
    ("short", "i16"),
    ("int", "i32"),
    ("uint", "u32"),
    ("unsigned", "u32"),
    ("unsigned int", "u32"),
    ("long", "i64"),
    ("long long", "i64"),
    ("size_t", "u64"),
    ("half", "f16"),
    ("float", "f32"),
    ("double", "f64"),
    ("int8", "i8"),
    ("uint8", "u8"),
    ("int16", "i16"),
    ("uint16", "u16"),
    ("int32", "i32"),
    ("uint32", "u32"),
    ("int64", "i64"),
    ("uint64", "u64"),
    ("float32", "f32"),
    ("float64", "f64"),
];

#[cfg(test)]
mod tests {
    use super::{Element, Number};

    fn bytes(element: Element, number: Number) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        element.put(number, &mut out).map(|()| out)
    }

    #[test]
    fn numpy_has_names_of_its_own() {
        let names = ["u8", "i32", "f16", "f64"].map(|name| Element::find(name).map(Element::numpy));
        let expected = ["uint8", "int32", "float16", "float64"];
        assert_eq!(names, expected.map(|name| Some(name.to_owned())));
    }

    #[test]
    fn types_of_other_languages_are_known() {
        for (name, own) in super::ELSEWHERE {
            assert!(Element::find(name).is_none(), "{name}");
            assert_eq!(Element::find(own).map(Element::name), Some(own));
            assert_eq!(Element::hint(name), format!("did you mean `{own}`?"));
        }
    }

    #[test]
    fn numbers_keep_to_their_types() {
        assert_eq!(bytes(Element::U8, Number::Int(255)), Some(vec![255]));
        assert_eq!(bytes(Element::U8, Number::Int(256)), None);
        assert_eq!(bytes(Element::I8, Number::Int(-1)), Some(vec![255]));
        assert_eq!(bytes(Element::I32, Number::Float(1.5)), None);
        assert_eq!(
            bytes(Element::F32, Number::Int(1)),
            Some(vec![0, 0, 0x80, 0x3f])
        );
        assert_eq!(bytes(Element::F16, Number::Float(1.0)), Some(vec![0, 0x3c]));
        let most = Number::Int(u64::MAX.into());
        assert_eq!(bytes(Element::U64, most), Some(vec![255; 8]));
        assert_eq!(Element::U64.get(&[255; 8]), most);
    }

    #[test]
    fn every_name_is_found_and_has_its_width() {
        for name in Element::NAMES {
            let element = Element::find(name).unwrap();
            assert_eq!(element.bytes() * 8, name[1..].parse::<usize>().unwrap());
        }
        assert_eq!(Element::find("float"), None);
        assert!(Element::hint("flot32").contains("write one of"));
        assert!(Element::hint("f33").contains("f32"));
    }
}
