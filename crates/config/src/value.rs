//! Values as written, the rules of keys that they must obey, and their conversion to typed fields.

use crate::address_map;
use crate::spec::SizeList;
use warploom_diag::nearest;

/// Value as it was written in TOML or after `--set`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    Bool(bool),
    /// Whole number; `None` if it does not fit 63 bits.
    Int(Option<i64>),
    /// Digits as written, so that nothing is lost in binary.
    Float(String),
    Text(String),
    /// Array or date, which no key accepts.
    Other(&'static str),
}

/// Checked value. Frequencies are whole numbers in kHz; in texts they are decimals in MHz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Bool(bool),
    Int(u64),
    /// Absent number of a key that allows `"none"`.
    Absent,
    Text(String),
}

/// Name that a key accepts, with its meaning.
pub type NamedValue = (&'static str, &'static str);

/// Rule for the values of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Either `true` or `false`.
    Switch,
    /// Whole number in a range.
    Integer {
        /// Smallest accepted whole number.
        min: u64,
        /// Largest accepted whole number.
        max: u64,
        /// True if only powers of two are accepted.
        power_of_two: bool,
    },
    /// Whole number in a range, or `"none"`.
    IntegerOrNone {
        /// Smallest accepted whole number.
        min: u64,
        /// Largest accepted whole number.
        max: u64,
    },
    /// Frequency in MHz with at most three decimals.
    Megahertz,
    /// Name out of a list.
    Names(&'static [NamedValue]),
    /// Text that is not empty.
    Text,
    /// Letters for the address bits, highest bit first (see [`crate::AddressMap`]).
    AddressBits,
    /// Ascending whole numbers, separated by commas.
    Sizes,
}

/// Rule for whole numbers from `min` to `max`.
pub(crate) const fn int(min: u64, max: u64) -> Rule {
    Rule::Integer {
        min,
        max,
        power_of_two: false,
    }
}

/// Rule for powers of two from `min` to `max`.
pub(crate) const fn pow2(min: u64, max: u64) -> Rule {
    Rule::Integer {
        min,
        max,
        power_of_two: true,
    }
}

const MAX_KHZ: u64 = 100_000_000;

/// Refusal of a value: the reason, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Reason in a sentence without its end.
    pub reason: String,
    /// Request to write something else.
    pub remedy: String,
}

impl Rule {
    /// Checks a value against the rule.
    pub(crate) fn check(self, raw: &Raw) -> Result<Value, Refusal> {
        let accepted = match (self, raw) {
            (Self::Switch, Raw::Bool(on)) => Some(Value::Bool(*on)),
            (Self::IntegerOrNone { .. }, Raw::Text(text)) if text == "none" => Some(Value::Absent),
            (
                Self::Integer { min, max, .. } | Self::IntegerOrNone { min, max },
                Raw::Int(Some(value)),
            ) => self.check_integer(*value, min, max),
            (Self::Megahertz, Raw::Int(Some(mhz))) => check_khz(&mhz.to_string()),
            (Self::Megahertz, Raw::Float(mhz)) => check_khz(mhz),
            (Self::Names(names), Raw::Text(text)) if names.iter().any(|(name, _)| name == text) => {
                Some(Value::Text(text.clone()))
            }
            (Self::Text, Raw::Text(text)) if !text.is_empty() => Some(Value::Text(text.clone())),
            (Self::AddressBits, Raw::Text(text)) => {
                address_map::parse(text).map_err(|reason| self.refusal(reason))?;
                Some(Value::Text(text.clone()))
            }
            (Self::Sizes, Raw::Text(text)) => parse_sizes(text).map(|_| Value::Text(text.clone())),
            (Self::Sizes, Raw::Int(Some(size))) => {
                parse_sizes(&size.to_string()).map(|_| Value::Text(size.to_string()))
            }
            _ => None,
        };
        accepted.ok_or_else(|| {
            let mut refusal = self.refusal(format!("{} is not accepted here", raw.describe()));
            if let Some(name) = self.nearest_name(raw) {
                refusal.remedy = format!("did you mean \"{name}\"? {}", refusal.remedy);
            }
            refusal
        })
    }

    fn check_integer(self, value: i64, min: u64, max: u64) -> Option<Value> {
        let value = u64::try_from(value).ok()?;
        let fits = (min..=max).contains(&value);
        let shaped = match self {
            Self::Integer { power_of_two, .. } => !power_of_two || value.is_power_of_two(),
            _ => true,
        };
        (fits && shaped).then_some(Value::Int(value))
    }

    fn nearest_name(self, raw: &Raw) -> Option<&'static str> {
        let (Self::Names(names), Raw::Text(text)) = (self, raw) else {
            return None;
        };
        nearest(text, names.iter().map(|(name, _)| *name))
    }

    fn refusal(self, reason: String) -> Refusal {
        Refusal {
            reason,
            remedy: format!("write {}", self.describe()),
        }
    }

    /// Description of the accepted values.
    pub fn describe(self) -> String {
        match self {
            Self::Switch => "true or false".to_owned(),
            Self::Integer {
                min,
                max,
                power_of_two: true,
            } => format!("a power of two from {min} to {max}"),
            Self::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            Self::IntegerOrNone { min, max } => {
                format!("a whole number from {min} to {max}, or \"none\"")
            }
            Self::Megahertz => {
                let max = MAX_KHZ / 1000;
                format!("a number from 1 to {max} with at most three decimals")
            }
            Self::Names(names) => {
                let quoted: Vec<_> = names
                    .iter()
                    .map(|(name, _)| format!("\"{name}\""))
                    .collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::Text => "a text".to_owned(),
            Self::AddressBits => {
                "one letter per address bit, highest first: R row, B bank, C column, S burst \
                 offset, 0 none"
                    .to_owned()
            }
            Self::Sizes => "ascending whole numbers with commas between, as \"0,16,48\"".to_owned(),
        }
    }

    /// Example of an accepted value.
    pub(crate) fn example(self) -> Value {
        match self {
            Self::Switch => Value::Bool(false),
            Self::Integer { min, .. } | Self::IntegerOrNone { min, .. } => Value::Int(min),
            Self::Megahertz => Value::Int(1000),
            Self::Names(names) => Value::Text(names[0].0.to_owned()),
            Self::Text => Value::Text("unnamed".to_owned()),
            Self::AddressBits => Value::Text("RBCS".to_owned()),
            Self::Sizes => Value::Text("0".to_owned()),
        }
    }

    /// Prints a value as TOML.
    pub(crate) fn print(self, value: &Value) -> String {
        match value {
            Value::Bool(on) => on.to_string(),
            Value::Int(khz) if self == Self::Megahertz => print_mhz(*khz),
            Value::Int(value) => value.to_string(),
            Value::Absent => "\"none\"".to_owned(),
            Value::Text(text) => toml::Value::String(text.clone()).to_string(),
        }
    }
}

impl Raw {
    fn describe(&self) -> String {
        match self {
            Self::Bool(on) => format!("`{on}`"),
            Self::Int(Some(value)) => format!("`{value}`"),
            Self::Int(None) => "a number of more than 63 bits".to_owned(),
            Self::Float(digits) => format!("`{digits}`"),
            Self::Text(text) => format!("\"{text}\""),
            Self::Other(kind) => format!("a value of type {kind}"),
        }
    }
}

/// Converts decimal MHz to kHz without rounding.
fn check_khz(mhz: &str) -> Option<Value> {
    let (whole, decimals) = mhz.split_once('.').unwrap_or((mhz, ""));
    let kept = decimals.trim_end_matches('0');
    if kept.len() > 3
        || !whole
            .bytes()
            .chain(kept.bytes())
            .all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let khz = whole.parse::<u64>().ok()?.checked_mul(1000)?;
    let fraction = format!("{kept:0<3}").parse::<u64>().ok()?;
    let khz = khz + fraction;
    (1000..=MAX_KHZ).contains(&khz).then_some(Value::Int(khz))
}

fn print_mhz(khz: u64) -> String {
    match khz % 1000 {
        0 => (khz / 1000).to_string(),
        fraction => format!("{}.{fraction:03}", khz / 1000)
            .trim_end_matches('0')
            .to_owned(),
    }
}

/// Largest size in a list.
const MAX_SIZE: u32 = 1 << 20;

fn parse_sizes(text: &str) -> Option<Vec<u32>> {
    let sizes: Option<Vec<u32>> = text
        .split(',')
        .map(|size| size.trim().parse().ok())
        .collect();
    sizes.filter(|s| s.is_sorted_by(|a, b| a < b) && s.iter().all(|&size| size <= MAX_SIZE))
}

/// Type of a field that a value is converted to. `read` gets values that the rule of the key has
/// accepted. A rule that does not fit its field is our bug and causes a panic in the tests.
pub(crate) trait Field {
    fn read(value: &Value) -> Self;
    fn write(&self) -> Value;
}

impl Field for u64 {
    fn read(value: &Value) -> Self {
        match value {
            Value::Int(value) => *value,
            other => panic!("{other:?} is no number"),
        }
    }

    fn write(&self) -> Value {
        Value::Int(*self)
    }
}

impl Field for u32 {
    fn read(value: &Value) -> Self {
        u64::read(value)
            .try_into()
            .expect("the rule's bound fits 32 bits")
    }

    fn write(&self) -> Value {
        Value::Int(u64::from(*self))
    }
}

impl Field for Option<u32> {
    fn read(value: &Value) -> Self {
        (*value != Value::Absent).then(|| u32::read(value))
    }

    fn write(&self) -> Value {
        self.map_or(Value::Absent, |value| value.write())
    }
}

impl Field for bool {
    fn read(value: &Value) -> Self {
        match value {
            Value::Bool(on) => *on,
            other => panic!("{other:?} is no switch"),
        }
    }

    fn write(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Field for String {
    fn read(value: &Value) -> Self {
        match value {
            Value::Text(text) => text.clone(),
            other => panic!("{other:?} is no text"),
        }
    }

    fn write(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Field for SizeList {
    fn read(value: &Value) -> Self {
        Self(parse_sizes(&String::read(value)).expect("the rule accepted it"))
    }

    fn write(&self) -> Value {
        let sizes: Vec<_> = self.0.iter().map(u32::to_string).collect();
        Value::Text(sizes.join(","))
    }
}

/// Declares the names of an enum's variants in configurations, each with its meaning.
macro_rules! names {
    ($($ty:ty: $table:ident { $($variant:ident = $name:literal: $about:literal,)+ })+) => {$(
        pub(crate) const $table: $crate::value::Rule =
            $crate::value::Rule::Names(&[$(($name, $about)),+]);

        impl $crate::value::Field for $ty {
            fn read(value: &$crate::value::Value) -> Self {
                let text = String::read(value);
                match text.as_str() {
                    $($name => Self::$variant,)+
                    other => panic!("`{other}` passed the rule but names nothing"),
                }
            }

            fn write(&self) -> $crate::value::Value {
                let name = match self { $(Self::$variant => $name,)+ };
                $crate::value::Value::Text(name.to_owned())
            }
        }
    )+};
}
pub(crate) use names;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_exact() {
        let khz = |mhz: &str| Rule::Megahertz.check(&Raw::Float(mhz.to_owned())).ok();
        assert_eq!(khz("3500.5"), Some(Value::Int(3_500_500)));
        assert_eq!(khz("0.999"), None);
        assert_eq!(khz("1.0005"), None);
        assert_eq!(khz("1.0010000"), Some(Value::Int(1001)));
        assert_eq!(khz("1e3"), None);
        assert_eq!(khz("-1.0"), None);
        assert_eq!(Rule::Megahertz.print(&Value::Int(3_500_500)), "3500.5");
        assert_eq!(Rule::Megahertz.print(&Value::Int(924_000)), "924");
    }

    #[test]
    fn numbers_keep_to_bounds_and_powers() {
        let check = |rule: Rule, value| rule.check(&Raw::Int(Some(value))).is_ok();
        assert!(check(int(1, 8), 8) && check(pow2(1, 8), 4));
        assert!(!check(int(1, 8), 9) && !check(int(1, 8), 0) && !check(int(0, 8), -1));
        assert!(!check(pow2(1, 8), 6));
        assert!(int(1, 8).check(&Raw::Int(None)).is_err());
    }

    #[test]
    fn lists_of_sizes_ascend() {
        let check = |text: &str| Rule::Sizes.check(&Raw::Text(text.to_owned())).ok();
        let value = check("0, 8,16").expect("accepted");
        assert_eq!(SizeList::read(&value), SizeList(vec![0, 8, 16]));
        assert_eq!(SizeList(vec![0, 8]).write(), Value::Text("0,8".to_owned()));
        assert!(Rule::Sizes.check(&Raw::Int(Some(16))).is_ok());
        for refused in ["", "8,8", "16,8", "1,,2", "-1", "1048577", "none"] {
            assert_eq!(check(refused), None, "{refused}");
        }
    }

    #[test]
    fn none_is_a_value_only_where_allowed() {
        let none = Raw::Text("none".to_owned());
        let rule = Rule::IntegerOrNone { min: 1, max: 8 };
        assert_eq!(rule.check(&none), Ok(Value::Absent));
        assert_eq!(
            int(1, 8).check(&none).unwrap_err().reason,
            "\"none\" is not accepted here"
        );
    }
}
