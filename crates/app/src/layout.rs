//! Structures whose layout differs from release to release.

use std::collections::BTreeMap;

/// Fields of `cudaDeviceProp` in order.
const FIELDS: &str = include_str!("properties.txt");

/// A release of the runtime, by the name of the library that the program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Abi {
    /// `libcudart.so.11.0`
    V11,
    /// `libcudart.so.12`
    V12,
    /// `libcudart.so.13`
    V13,
}

impl Abi {
    /// What `cudaRuntimeGetVersion` tells.
    pub const fn version(self) -> i32 {
        match self {
            Self::V11 => 11_080,
            Self::V12 => 12_090,
            Self::V13 => 13_000,
        }
    }

    const fn mark(self) -> char {
        match self {
            Self::V11 => '1',
            Self::V12 => '2',
            Self::V13 => '3',
        }
    }

    /// Bytes of `cudaDeviceProp`: fields, and from 12 on what is reserved behind them.
    pub const fn property_bytes(self) -> usize {
        match self {
            Self::V11 => 728,
            Self::V12 => 1032,
            Self::V13 => 1008,
        }
    }
}

struct Field {
    name: &'static str,
    kind: char,
    count: usize,
}

fn fields(abi: Abi) -> impl Iterator<Item = Field> {
    let lines = FIELDS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(move |line| {
        let mut words = line.split(' ');
        let (name, kind) = (words.next()?, words.next()?.chars().next()?);
        let count = words.next()?.parse().ok()?;
        let field = Field { name, kind, count };
        words.next()?.contains(abi.mark()).then_some(field)
    })
}

/// A `cudaDeviceProp` of a release: numbers by the names of fields (what is not named is 0), and
/// the device's name.
pub fn device_properties(abi: Abi, facts: &BTreeMap<&str, Vec<i64>>, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields(abi) {
        let values = facts.get(field.name);
        let value = |at: usize| {
            values
                .and_then(|values| values.get(at))
                .copied()
                .unwrap_or(0)
        };
        match field.kind {
            'c' => {
                let start = bytes.len();
                if field.name == "name" {
                    let short = name.len().min(field.count - 1);
                    bytes.extend(&name.as_bytes()[..short]);
                }
                bytes.resize(start + field.count, 0);
            }
            'z' => {
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                (0..field.count).for_each(|at| bytes.extend(value(at).to_le_bytes()));
            }
            _ => {
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                (0..field.count).for_each(|at| bytes.extend((value(at) as i32).to_le_bytes()));
            }
        }
    }
    bytes.resize(abi.property_bytes(), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Abi, device_properties};
    use std::collections::BTreeMap;

    /// Places are those that a C compiler gives the headers' structures.
    #[test]
    fn fields_lie_where_the_headers_put_them() {
        let facts: BTreeMap<&str, Vec<i64>> = [
            ("maxGridSize", vec![7, 8, 9]),
            ("multiProcessorCount", vec![15]),
            ("surfaceAlignment", vec![512]),
            ("reservedSharedMemPerBlock", vec![1024]),
        ]
        .into();
        for (abi, sms, surface, reserved) in [
            (Abi::V11, 388, 568, 720),
            (Abi::V12, 388, 568, 720),
            (Abi::V13, 384, 552, 696),
        ] {
            let bytes = device_properties(abi, &facts, "gtx480");
            let int = |at: usize| i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            assert_eq!(bytes.len(), abi.property_bytes(), "{abi:?}");
            assert_eq!(&bytes[..8], b"gtx480\0\0");
            assert_eq!([int(336), int(340), int(344)], [7, 8, 9]);
            assert_eq!([int(sms), int(surface), int(reserved)], [15, 512, 1024]);
        }
    }
}
