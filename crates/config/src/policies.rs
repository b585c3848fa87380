//! The tables of policies and the settings of each policy.
//!
//! Each kind of policy has one file here (`warp.rs`, `block.rs`, ...) with one table. A row of a
//! table is `Variant = "name": "meaning";`, or `Variant(settings: Type) = "name": "meaning";` for a
//! policy with settings. The row defines the choice in the specification, the names that the key
//! accepts and, in the crate `policy`, dispatch, lists and documentation. The crate `policy` has a
//! struct with the name of the variant.
//!
//! The settings of a policy are declared with `settings!` in a file for this policy
//! (`warp/two_level.rs`). They are keys in a table with the name of the policy, such as
//! `two-level.active_warps`. A function in the same file checks them against other keys.

mod block;
mod block_limit;
mod context;
mod multiprogram;
mod sm_filter;
mod warp;

pub use block::*;
pub use block_limit::*;
pub use context::*;
pub use multiprogram::*;
pub use sm_filter::*;
pub use warp::*;

use crate::section::Section;
use crate::spec::GpuSpec;
use crate::validate::Rules;
use std::any::Any;

/// Settings of a policy: keys with defaults, and rules that concern these and other keys.
pub(crate) trait PolicySettings: Section + Default {
    /// Reports all contradictions between the settings and the rest of a specification.
    fn check(&self, spec: &GpuSpec, rules: &mut Rules);
}

/// `settings` as an `S`, if they are of that type.
pub(crate) fn downcast<S: Copy + 'static>(settings: &dyn Any) -> Option<S> {
    settings.downcast_ref().copied()
}

/// Reports all contradictions between the settings of the chosen policies and other keys.
pub(crate) fn check(spec: &GpuSpec, rules: &mut Rules) {
    spec.sm.warp_scheduler.check(spec, rules);
    spec.sm.context.check(spec, rules);
    spec.sm.block_limit.check(spec, rules);
    spec.sm.l1d_allocation.check(spec, rules);
    spec.sm.l1d_victims.check(spec, rules);
    spec.gpu.block_scheduler.check(spec, rules);
    spec.gpu.sm_filter.check(spec, rules);
    spec.gpu.multiprogram.check(spec, rules);
}

/// Declares the choice of a key as an enum with one variant for each row of its table.
macro_rules! choices {
    (@take $reader:ident) => { $reader.take(Self::CHOICE) };
    (@take $reader:ident $default:literal) => {
        $reader.take_or(Self::CHOICE, $default.to_owned(), $default)
    };
    ($Enum:ident of $key:literal, $about:literal, $source:literal $(, default $default:literal)?;
     $($Variant:ident $(($bind:ident: $Settings:ident))? = $name:literal: $meaning:literal;)+) => {
        #[doc = concat!("The policy that `", $key, "` chooses.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Enum {
            $(#[doc = concat!("`", $name, "`: ", $meaning, ".")] $Variant $(($Settings))?,)+
        }

        impl $Enum {
            const CHOICE: $crate::section::Info = $crate::section::Info {
                name: concat!("/", $key),
                rule: $crate::value::Rule::Names(&[$(($name, $meaning)),+]),
                unit: "",
                about: $about,
                source: $source,
            };

            /// Settings of the chosen policy, if they are of type `S`; the defaults of `S`
            /// otherwise.
            pub fn settings<S: Copy + Default + 'static>(&self) -> S {
                let own = match self {
                    $(Self::$Variant $(($bind))? => {
                        choices!(@settings $($bind)?)
                    })+
                };
                own.unwrap_or_default()
            }

            /// Reports all contradictions between the settings of the chosen policy and other keys.
            #[allow(unused_variables, reason = "a table may have no policy with settings")]
            pub(crate) fn check(
                &self,
                spec: &$crate::spec::GpuSpec,
                rules: &mut $crate::validate::Rules,
            ) {
                match self {
                    $(Self::$Variant $(($bind))? => {
                        $($crate::policies::PolicySettings::check($bind, spec, rules);)?
                    })+
                }
            }
        }

        impl $crate::section::Section for $Enum {
            /// Reads the settings of all policies, because those of a policy that is not chosen are
            /// keys, too.
            fn read(reader: &mut $crate::section::Reader<'_>) -> Self {
                let name: String = choices!(@take reader $($default)?);
                let mut chosen = None;
                $(
                    let this = Self::$Variant
                        $((reader.section::<$Settings>(concat!("/", $name))))?;
                    if name == $name {
                        chosen = Some(this);
                    }
                )+
                chosen.expect("the rule lets only names of the table pass")
            }

            fn write(&self, writer: &mut $crate::section::Writer) {
                match self {
                    $(Self::$Variant $(($bind))? => {
                        writer.put(Self::CHOICE, &$name.to_owned());
                        $(writer.section::<$Settings>(concat!("/", $name), $bind);)?
                    })+
                }
            }
        }
    };
    (@settings) => { None };
    (@settings $bind:ident) => { $crate::policies::downcast($bind) };
}
pub(crate) use choices;

/// Declares the settings of a policy: a struct, its defaults and its keys.
///
/// A setting is `field: Type = default, rule, "unit", "sentence", "source";`. Three parts are
/// optional: `=> "text"` after the default is the default's form in the documentation, if it
/// differs from the Rust expression; `as "key"` after the field is the name of the key, if it
/// differs from the field; `checked by function` after the struct's name is a function of the
/// settings, the specification and [`Rules`] that checks the settings.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        $Type:ident $(checked by $check:path)? {
            $($field:ident $(as $name:literal)?: $Field:ty = $default:expr $(=> $shown:literal)?,
                $rule:expr, $unit:literal, $about:literal, $source:literal;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Type {
            $(#[doc = $about] pub $field: $Field,)+
        }

        impl Default for $Type {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        impl $crate::section::Section for $Type {
            fn read(reader: &mut $crate::section::Reader<'_>) -> Self {
                Self {
                    $($field: reader.take_or($crate::section::Info {
                        name: settings!(@name $field $($name)?),
                        rule: $rule,
                        unit: $unit,
                        about: $about,
                        source: $source,
                    }, $default, settings!(@shown $default $(, $shown)?)),)+
                }
            }

            fn write(&self, writer: &mut $crate::section::Writer) {
                $(writer.put($crate::section::Info {
                    name: settings!(@name $field $($name)?),
                    rule: $rule,
                    unit: $unit,
                    about: $about,
                    source: $source,
                }, &self.$field);)+
            }
        }

        impl $crate::policies::PolicySettings for $Type {
            #[allow(unused_variables, reason = "most settings are free of other keys")]
            fn check(&self, spec: &$crate::spec::GpuSpec, rules: &mut $crate::validate::Rules) {
                $($check(self, spec, rules);)?
            }
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@shown $default:expr) => { stringify!($default) };
    (@shown $default:expr, $shown:literal) => { $shown };
}
pub(crate) use settings;

/// Declares an enum for a setting whose values are names, and the rule of its key.
macro_rules! names {
    (
        $(#[$meta:meta])*
        pub enum $Enum:ident: $RULE:ident {
            $($Variant:ident = $name:literal: $about:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Enum {
            $(#[doc = concat!("`", $name, "`: ", $about, ".")] $Variant,)+
        }

        $crate::value::names! {
            $Enum: $RULE { $($Variant = $name: $about,)+ }
        }
    };
}
use names;
