//! Groups of statistics whose counters are declared in several places, each beside what counts.

use crate::StatMeta;

/// Joins declarations of statistics into one list of `N`, which must be their number.
pub const fn concat_stats<const N: usize>(tables: &[&[StatMeta]]) -> [StatMeta; N] {
    let mut all = [tables[0][0]; N];
    let (mut table, mut place) = (0, 0);
    while table < tables.len() {
        let mut at = 0;
        while at < tables[table].len() {
            all[place] = tables[table][at];
            place += 1;
            at += 1;
        }
        table += 1;
    }
    assert!(place == N, "as many declarations as places");
    all
}

/// Declares a struct of several structs of counters that are one group of statistics together.
///
/// ```
/// use warploom_stats::{Counters, combine_stats, declare_stats};
///
/// declare_stats! {
///     /// What one part counted.
///     pub struct Hits in "cache" {
///         /// Accesses that hit.
///         pub hits: u64 = Accesses;
///     }
/// }
/// declare_stats! {
///     /// What another part counted.
///     pub struct Misses in "cache" {
///         /// Accesses that missed.
///         pub misses: u64 = Accesses;
///     }
/// }
/// combine_stats! {
///     /// What both counted.
///     pub struct CacheStats in "cache" {
///         /// The one part's.
///         pub one: Hits,
///         /// The other part's.
///         pub other: Misses,
///     }
/// }
///
/// let mut stats = CacheStats::default();
/// stats.other.misses += 3;
/// let named = [("cache.hits".to_owned(), 0), ("cache.misses".to_owned(), 3)];
/// assert_eq!(stats.named(), named);
/// ```
#[macro_export]
macro_rules! combine_stats {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident in $group:literal {$(
            $(#[$field_meta:meta])*
            $field_vis:vis $field:ident: $ty:ty,
        )+}
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        $vis struct $name {$(
            $(#[$field_meta])*
            $field_vis $field: $ty,
        )+}

        impl $crate::state::State for $name {
            fn state(
                &mut self,
                io: &mut $crate::state::Io<'_>,
            ) -> ::core::result::Result<(), $crate::state::StateError> {
                $($crate::state::State::state(&mut self.$field, io)?;)+
                ::core::result::Result::Ok(())
            }
        }

        impl $crate::state::Value for $name {
            fn blank() -> Self {
                ::core::default::Default::default()
            }
        }

        impl $crate::Counters for $name {
            const TABLES: &'static [$crate::StatTable] = &{
                const STATS: usize = 0 $(+ <$ty as $crate::Counters>::TABLE.stats.len())+;
                const ALL: &[$crate::StatMeta] = &$crate::concat_stats::<STATS>(
                    &[$(<$ty as $crate::Counters>::TABLE.stats),+],
                );
                $crate::tables([$group], ALL)
            };

            fn merge(&mut self, other: &Self) {
                $($crate::Counters::merge(&mut self.$field, &other.$field);)+
            }

            fn since(&self, earlier: &Self) -> Self {
                Self {$($field: $crate::Counters::since(&self.$field, &earlier.$field),)+}
            }

            fn visit(&self, f: &mut dyn FnMut(&'static $crate::StatMeta, &[usize], u64)) {
                $($crate::Counters::visit(&self.$field, f);)+
            }

            fn shapes() -> ::std::vec::Vec<::std::vec::Vec<usize>> {
                let mut shapes = ::std::vec::Vec::new();
                $(shapes.extend(<$ty as $crate::Counters>::shapes());)+
                shapes
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{Counters, audit, declare_stats};

    declare_stats! {
        /// Counters of a first part.
        struct First in "both" {
            /// Events of one kind.
            ones: u64 = Events;
            /// Events of two kinds.
            twos: [u64; 2] = Events, by [&["a", "b"]];
        }
    }

    declare_stats! {
        /// Counters of a second part.
        struct Second in "both" {
            /// Events of a third kind.
            threes: u64 = Events;
        }
    }

    combine_stats! {
        /// Counters of both parts.
        struct Both in "both" {
            /// The first part's counters.
            first: First,
            /// The second part's counters.
            second: Second,
        }
    }

    fn counted(n: u64) -> Both {
        Both {
            first: First {
                ones: n,
                twos: [2 * n, 3 * n],
            },
            second: Second { threes: 4 * n },
        }
    }

    #[test]
    fn declarations_stand_in_order_and_pass_the_audit() {
        let names: Vec<_> = Both::TABLE.stats.iter().map(|meta| meta.name).collect();
        assert_eq!(names, ["ones", "twos", "threes"]);
        assert_eq!(audit(&[Both::TABLE]), Vec::<String>::new());
        assert_eq!(Both::shapes(), [vec![], vec![2], vec![]]);
    }

    #[test]
    fn parts_merge_and_subtract_each_for_itself() {
        let mut sum = counted(5);
        sum.merge(&counted(2));
        assert_eq!(sum, counted(7));
        assert_eq!(sum.since(&counted(3)), counted(4));
        assert_eq!(sum.values(), [7, 14, 21, 28]);
    }
}
