//! Structures whose layout differs between releases of the runtime.

use std::collections::BTreeMap;

/// Fields of `cudaDeviceProp` in their order.
const FIELDS: &str = include_str!("properties.txt");

/// A release of the runtime, identified by the name of the library that the program requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Abi {
    /// The library `libcudart.so.11.0` of CUDA 11.
    V11,
    /// The library `libcudart.so.12` of CUDA 12.
    V12,
    /// The library `libcudart.so.13` of CUDA 13.
    V13,
}

impl Abi {
    /// Version that `cudaRuntimeGetVersion` returns.
    pub const fn version(self) -> i32 {
        match self {
            Self::V11 => 11_080,
            Self::V12 => 12_090,
            Self::V13 => 13_000,
        }
    }

    /// Mark of the release in the table of fields.
    const fn mark(self) -> char {
        match self {
            Self::V11 => '1',
            Self::V12 => '2',
            Self::V13 => '3',
        }
    }

    /// Size of `cudaDeviceProp` in bytes. From CUDA 12 on, reserved bytes follow the fields.
    pub const fn property_bytes(self) -> usize {
        match self {
            Self::V11 => 728,
            Self::V12 => 1032,
            Self::V13 => 1008,
        }
    }
}

/// A field of `cudaDeviceProp`.
struct Field {
    name: &'static str,
    kind: char,
    count: usize,
}

/// Fields of a release in their order.
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

/// Contents of `cudaDeviceProp` for a release. `facts` holds the values of fields by name. Other
/// fields are 0. `name` is the name of the device.
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

    /// Offsets are those that a C compiler gives the structures of the headers.
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
