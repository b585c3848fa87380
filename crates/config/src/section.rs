//! Declarations of keys. Every struct of the specification declares its keys once with
//! [`section!`], from which reading, writing, documentation and the list of valid names are
//! derived.
//!
//! Reading builds the struct by a literal, so that a field without a key does not compile. Reading
//! does not stop at a problem: a refused value is replaced by a valid one, and the problem is kept,
//! so that all problems are reported together.

use crate::read::raw_of;
use crate::value::{Field, Raw, Refusal, Rule, Value};
use std::collections::BTreeMap;
use warploom_diag::Span;

/// Declared key of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Full name, such as `sm.units.sp.count`.
    pub name: String,
    /// Rule that values must obey.
    pub rule: Rule,
    /// Unit of a number; empty for names and switches.
    pub unit: &'static str,
    /// Meaning of the key in a sentence.
    pub about: &'static str,
    /// Source of the key: an option of GPGPU-Sim, or a paper.
    pub source: &'static str,
    /// Default value; `None` if a value must be given.
    pub default: Option<&'static str>,
}

impl Key {
    /// Checks a value by itself, written as after the `=` of an override. A valid value may still
    /// contradict those of other keys.
    ///
    /// # Errors
    /// The reason of the refusal, and what to write instead.
    pub fn check(&self, text: &str) -> Result<(), Refusal> {
        self.rule.check(&raw_of(text)).map(|_| ())
    }
}

/// Declaration of a key without its prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    pub name: &'static str,
    pub rule: Rule,
    pub unit: &'static str,
    pub about: &'static str,
    pub source: &'static str,
}

/// Value of a key with its place.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub raw: Raw,
    /// Index of the text that contains it.
    pub source: usize,
    /// Place of the key's name.
    pub key: Span,
    /// Place of the key's value.
    pub value: Span,
}

/// Problem with the values of one or more keys.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Stable short name of this kind of problem.
    pub code: &'static str,
    /// Keys concerned; the message points at the one written last.
    pub keys: Vec<String>,
    /// Description of the problem.
    pub reason: String,
    /// Remedy for the problem.
    pub remedy: String,
}

/// Part of the specification that is read from keys and written to them.
pub(crate) trait Section {
    fn read(reader: &mut Reader<'_>) -> Self;
    fn write(&self, writer: &mut Writer);
}

/// Full name of `name` under `prefix`; a leading `/` makes it absolute.
fn join(prefix: &str, name: &str) -> String {
    match name.strip_prefix('/') {
        Some(top) => top.to_owned(),
        None if prefix.is_empty() => name.to_owned(),
        None => format!("{prefix}.{name}"),
    }
}

/// Number of keys for which readers and writers reserve memory.
const EXPECTED_KEYS: usize = 320;

/// Reader of values by key, which records all keys requested and all problems found.
pub(crate) struct Reader<'a> {
    values: Option<&'a BTreeMap<String, Located>>,
    prefix: String,
    pub keys: Vec<Key>,
    pub problems: Vec<Problem>,
    pub missing: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of values; with `None` it only lists keys.
    pub fn new(values: Option<&'a BTreeMap<String, Located>>) -> Self {
        Self {
            values,
            prefix: String::new(),
            keys: Vec::with_capacity(EXPECTED_KEYS),
            problems: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Reads the value of a key that must be given.
    pub fn take<T: Field>(&mut self, info: Info) -> T {
        let name = join(&self.prefix, info.name);
        self.declare(&name, info, None);
        match self.lookup(&name, info.rule) {
            Some(value) => T::read(&value),
            None => {
                if self
                    .values
                    .is_some_and(|values| !values.contains_key(&name))
                {
                    self.missing.push(name);
                }
                T::read(&info.rule.example())
            }
        }
    }

    /// Reads the value of a key that may be left out.
    pub fn take_or<T: Field>(&mut self, info: Info, default: T, shown: &'static str) -> T {
        let name = join(&self.prefix, info.name);
        self.declare(&name, info, Some(shown));
        self.lookup(&name, info.rule)
            .map_or(default, |value| T::read(&value))
    }

    /// Reads the value of a key whose default is `"none"`.
    pub fn take_or_none(&mut self, info: Info) -> Option<u32> {
        let name = join(&self.prefix, info.name);
        self.declare(&name, info, Some("none"));
        Option::read(&self.lookup(&name, info.rule)?)
    }

    /// Reads a part whose keys are under `prefix`.
    pub fn section<S: Section>(&mut self, prefix: &str) -> S {
        let inner = join(&self.prefix, prefix);
        let outer = std::mem::replace(&mut self.prefix, inner);
        let section = S::read(self);
        self.prefix = outer;
        section
    }

    fn declare(&mut self, name: &str, info: Info, default: Option<&'static str>) {
        self.keys.push(Key {
            name: name.to_owned(),
            rule: info.rule,
            unit: info.unit,
            about: info.about,
            source: info.source,
            default,
        });
    }

    fn lookup(&mut self, name: &str, rule: Rule) -> Option<Value> {
        let located = self.values?.get(name)?;
        match rule.check(&located.raw) {
            Ok(value) => Some(value),
            Err(Refusal { reason, remedy }) => {
                self.problems.push(Problem {
                    code: "impossible-value",
                    keys: vec![name.to_owned()],
                    reason: format!("`{name}`: {reason}"),
                    remedy,
                });
                Some(rule.example())
            }
        }
    }
}

/// Writer that collects all keys with values and declarations, in order.
pub(crate) struct Writer {
    prefix: String,
    pub entries: Vec<Entry>,
}

/// Key with its value and declaration.
pub(crate) struct Entry {
    pub name: String,
    pub info: Info,
    pub value: Value,
}

impl Writer {
    /// Creates a writer without entries.
    pub fn new() -> Self {
        Self {
            prefix: String::new(),
            entries: Vec::with_capacity(EXPECTED_KEYS),
        }
    }

    pub fn put<T: Field>(&mut self, info: Info, field: &T) {
        self.entries.push(Entry {
            name: join(&self.prefix, info.name),
            info,
            value: field.write(),
        });
    }

    pub fn section<S: Section>(&mut self, prefix: &str, section: &S) {
        let inner = join(&self.prefix, prefix);
        let outer = std::mem::replace(&mut self.prefix, inner);
        section.write(self);
        self.prefix = outer;
    }
}

/// Declares the keys of a struct: `field: "key", rule, "unit", "sentence", "source";` for values.
/// After `optional` follow numbers that may be absent. After `defaulted` follow keys with a
/// default, given as a value and as text. After `within` follow parts with keys of their own, as
/// `field: "prefix";`.
macro_rules! section {
    ($ty:ident {
        $($field:ident: $name:literal, $rule:expr, $unit:literal, $about:literal, $source:literal;)*
    } $(optional {
        $($opt:ident: $opt_name:literal, $opt_rule:expr, $opt_unit:literal, $opt_about:literal,
            $opt_source:literal;)+
    })? $(defaulted {
        $($def:ident: $def_name:literal, $def_rule:expr, $def_unit:literal, $def_about:literal,
            $def_source:literal, $def_value:expr, $def_shown:literal;)+
    })? $(within { $($part:ident: $prefix:literal;)+ })?) => {
        impl $crate::section::Section for $crate::spec::$ty {
            fn read(reader: &mut $crate::section::Reader<'_>) -> Self {
                Self {
                    $($field: reader.take($crate::section::Info {
                        name: $name, rule: $rule, unit: $unit, about: $about, source: $source,
                    }),)*
                    $($($opt: reader.take_or_none($crate::section::Info {
                        name: $opt_name, rule: $opt_rule, unit: $opt_unit, about: $opt_about,
                        source: $opt_source,
                    }),)+)?
                    $($($def: reader.take_or($crate::section::Info {
                        name: $def_name, rule: $def_rule, unit: $def_unit, about: $def_about,
                        source: $def_source,
                    }, $def_value, $def_shown),)+)?
                    $($($part: reader.section($prefix),)+)?
                }
            }

            fn write(&self, writer: &mut $crate::section::Writer) {
                $(writer.put($crate::section::Info {
                    name: $name, rule: $rule, unit: $unit, about: $about, source: $source,
                }, &self.$field);)*
                $($(writer.put($crate::section::Info {
                    name: $opt_name, rule: $opt_rule, unit: $opt_unit, about: $opt_about,
                    source: $opt_source,
                }, &self.$opt);)+)?
                $($(writer.put($crate::section::Info {
                    name: $def_name, rule: $def_rule, unit: $def_unit, about: $def_about,
                    source: $def_source,
                }, &self.$def);)+)?
                $($(writer.section($prefix, &self.$part);)+)?
            }
        }
    };
}
pub(crate) use section;
