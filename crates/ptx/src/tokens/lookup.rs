//! Hash table from spellings to table positions, built at compile time.
//!
//! Invariant: `SLOTS` is a power of two and at least twice the number of spellings, so that a
//! search always ends at an empty slot.

/// Open-addressed table of indices into a list of spellings; `EMPTY` marks a free slot.
pub(super) struct Lookup<const SLOTS: usize> {
    slots: [u16; SLOTS],
}

const EMPTY: u16 = u16::MAX;

/// FNV-1a hash: short keys, no seed, can run at compile time.
const fn hash(text: &[u8]) -> usize {
    let mut hash = 0x811C_9DC5_u32;
    let mut i = 0;
    while i < text.len() {
        hash = (hash ^ text[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    (hash ^ (hash >> 15)) as usize
}

impl<const SLOTS: usize> Lookup<SLOTS> {
    /// Builds the table. Compilation fails if it would be too full.
    pub(super) const fn new(texts: &[&str]) -> Self {
        assert!(SLOTS.is_power_of_two() && texts.len() * 2 <= SLOTS);
        let mut slots = [EMPTY; SLOTS];
        let mut i = 0;
        while i < texts.len() {
            let mut slot = hash(texts[i].as_bytes()) & (SLOTS - 1);
            while slots[slot] != EMPTY {
                slot = (slot + 1) & (SLOTS - 1);
            }
            slots[slot] = i as u16;
            i += 1;
        }
        Self { slots }
    }

    /// Position of `text` in the list from which the table was built.
    pub(super) fn find(&self, texts: &[&str], text: &str) -> Option<usize> {
        let mut slot = hash(text.as_bytes()) & (SLOTS - 1);
        while self.slots[slot] != EMPTY {
            let index = usize::from(self.slots[slot]);
            if texts[index] == text {
                return Some(index);
            }
            slot = (slot + 1) & (SLOTS - 1);
        }
        None
    }
}

/// Defines an enum without fields, with its spellings: `ALL`, `text()`, `from_text()`.
macro_rules! spelled_enum {
    (
        $(#[$meta:meta])* $name:ident, $slots:literal:
        $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`")]
                $(#[$variant_meta])*
                $variant,
            )*
        }

        impl $name {
            /// All members in the table's order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
            const TEXTS: &[&str] = &[$($text,)*];

            /// Spelling in PTX without a leading dot.
            pub const fn text(self) -> &'static str {
                Self::TEXTS[self as usize]
            }

            /// Looks up a member by its spelling without a leading dot.
            pub fn from_text(text: &str) -> Option<Self> {
                static TABLE: $crate::tokens::lookup::Lookup<$slots> =
                    $crate::tokens::lookup::Lookup::new($name::TEXTS);
                TABLE.find(Self::TEXTS, text).map(|index| Self::ALL[index])
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}

pub(super) use spelled_enum;
