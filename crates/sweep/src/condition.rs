//! Conditions on the values of a run's axes and settings, for filters.

/// A condition: every named value satisfies its test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition(pub Vec<(String, Test)>);

/// A test of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// The value is one of these texts.
    OneOf(Vec<String>),
    /// The value is none of these texts.
    Not(String),
    /// The value is a number that compares so with this one.
    Number(Compare, String),
}

/// A comparison of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Smaller than the number.
    Below,
    /// At most the number.
    AtMost,
    /// Greater than the number.
    Above,
    /// At least the number.
    AtLeast,
}

/// Signs of comparisons; longer ones come first.
const SIGNS: [(&str, Compare); 4] = [
    ("<=", Compare::AtMost),
    (">=", Compare::AtLeast),
    ("<", Compare::Below),
    (">", Compare::Above),
];

impl Test {
    /// Reads a test: `>8`, `<=4`, `!=lrr`, or a text that the value must equal.
    ///
    /// # Errors
    /// If a sign is not followed by a number.
    pub fn read(text: &str) -> Result<Self, String> {
        if let Some(other) = text.strip_prefix("!=") {
            return Ok(Self::Not(other.trim().to_owned()));
        }
        let signed = SIGNS
            .iter()
            .find_map(|(sign, how)| Some((*how, text.strip_prefix(sign)?.trim())));
        match signed {
            None => Ok(Self::OneOf(vec![text.to_owned()])),
            Some((how, number)) if number.parse::<f64>().is_ok() => {
                Ok(Self::Number(how, number.to_owned()))
            }
            Some((_, other)) => Err(format!("`{other}` is not a number")),
        }
    }

    fn holds(&self, value: &str) -> bool {
        match self {
            Self::OneOf(texts) => texts.iter().any(|text| text == value),
            Self::Not(text) => text != value,
            Self::Number(how, number) => match (value.parse::<f64>(), number.parse::<f64>()) {
                (Ok(value), Ok(number)) => match how {
                    Compare::Below => value < number,
                    Compare::AtMost => value <= number,
                    Compare::Above => value > number,
                    Compare::AtLeast => value >= number,
                },
                _ => false,
            },
        }
    }
}

impl Condition {
    /// True if all tests hold. A value that a run lacks satisfies no test.
    pub fn holds<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        let test = |(name, test): &(String, Test)| value(name).is_some_and(|v| test.holds(v));
        self.0.iter().all(test)
    }
}

#[cfg(test)]
mod tests {
    use super::{Condition, Test};

    #[test]
    fn values_are_compared_as_texts_or_as_numbers() {
        let holds = |test: &str, value: &str| Test::read(test).unwrap().holds(value);
        assert!(holds("lrr", "lrr") && !holds("lrr", "gto"));
        assert!(holds("!=lrr", "gto") && !holds("!=lrr", "lrr"));
        assert!(holds(">8", "16") && !holds(">8", "8") && holds(">= 8", "8"));
        assert!(holds("<=2.5", "2.5") && !holds("<2.5", "2.5"));
        assert!(!holds(">8", "many"));
        assert!(Test::read(">many").is_err());
    }

    #[test]
    fn all_tests_must_hold_and_absent_values_satisfy_none() {
        let test = |name: &str, test: &str| (name.to_owned(), Test::read(test).unwrap());
        let condition = Condition(vec![test("size", "paper"), test("sms", ">8")]);
        let of = |size: &'static str, sms: Option<&'static str>| {
            condition.holds(|name| match name {
                "size" => Some(size),
                _ => sms,
            })
        };
        assert!(of("paper", Some("15")));
        assert!(!of("test", Some("15")) && !of("paper", Some("4")) && !of("paper", None));
    }
}
