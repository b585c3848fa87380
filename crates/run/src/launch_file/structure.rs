//! Structures by value as arguments: their members, laid out as C lays them out.

use super::element::Element;
use super::plan::{ArgPlan, Scalar};
use warploom_fields::Number;

/// Bytes of a structure, and the places in it that hold addresses of buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Contents. Addresses are zero, and so are the bytes between members.
    pub bytes: Vec<u8>,
    /// Offset of each address, and the name of the buffer.
    pub addresses: Vec<(usize, String)>,
}

/// Lays out members in their order, each aligned to its size, with the end aligned to the largest
/// of them. An address has `address_bytes`. `None` if a number does not fit its type.
pub(super) fn layout(members: &[ArgPlan], address_bytes: usize) -> Option<Layout> {
    let (mut laid, mut largest) = (Layout::default(), 1);
    for member in members {
        let bytes = match member {
            ArgPlan::Buffer(_) => vec![0; address_bytes],
            ArgPlan::Scalar(scalar) => number(*scalar)?,
            ArgPlan::Bytes(_) | ArgPlan::Struct(_) => return None,
        };
        let align = bytes.len().max(1);
        let at = laid.bytes.len().next_multiple_of(align);
        largest = largest.max(align);
        laid.bytes.resize(at, 0);
        laid.bytes.extend(bytes);
        if let ArgPlan::Buffer(name) = member {
            laid.addresses.push((at, name.clone()));
        }
    }
    let end = laid.bytes.len().next_multiple_of(largest);
    laid.bytes.resize(end, 0);
    Some(laid)
}

/// Bytes of a number. Without a type, a whole number is an `int` where it fits, or a wider integer,
/// and other numbers are `float`.
fn number(scalar: Scalar) -> Option<Vec<u8>> {
    let types = match (scalar.element, scalar.number) {
        (Some(element), _) => [element; 4],
        (None, Number::Int(_)) => [Element::I32, Element::U32, Element::I64, Element::U64],
        (None, Number::Float(_)) => [Element::F32; 4],
    };
    let bytes = |element: Element| {
        let mut bytes = Vec::new();
        element.put(scalar.number, &mut bytes).map(|()| bytes)
    };
    types.into_iter().find_map(bytes)
}

#[cfg(test)]
mod tests {
    use super::{ArgPlan, Element, Layout, Number, Scalar, layout};

    fn member(number: Number, element: Option<Element>) -> ArgPlan {
        ArgPlan::Scalar(Scalar { number, element })
    }

    /// Offsets and sizes are those of `struct { char c; double d; short s; float *p; int n; }` by
    /// the rules of C on a machine with 64-bit addresses: 0, 8, 16, 24, 32, and 40 bytes in all.
    #[test]
    fn members_are_aligned_as_in_c() {
        let members = [
            member(Number::Int(7), Some(Element::I8)),
            member(Number::Float(1.0), Some(Element::F64)),
            member(Number::Int(-1), Some(Element::I16)),
            ArgPlan::Buffer("x".to_owned()),
            member(Number::Int(3), None),
        ];
        let Layout { bytes, addresses } = layout(&members, 8).unwrap();
        assert_eq!(bytes.len(), 40);
        assert_eq!((bytes[0], bytes[14..16].to_vec()), (7, vec![0xf0, 0x3f]));
        assert_eq!((bytes[16..18].to_vec(), bytes[32]), (vec![255, 255], 3));
        assert_eq!(addresses, [(24, "x".to_owned())]);
    }

    #[test]
    fn plain_numbers_are_int_and_float() {
        let bytes = |number| layout(&[member(number, None)], 8).map(|laid| laid.bytes);
        assert_eq!(bytes(Number::Int(-2)), Some((-2i32).to_le_bytes().to_vec()));
        assert_eq!(bytes(Number::Float(0.5)), Some(vec![0, 0, 0, 0x3f]));
        assert_eq!(bytes(Number::Int(1 << 31)), Some(vec![0, 0, 0, 0x80]));
        assert_eq!(
            bytes(Number::Int(1 << 32)),
            Some((1u64 << 32).to_le_bytes().to_vec())
        );
        assert_eq!(bytes(Number::Int(1 << 64)), None);
    }
}
