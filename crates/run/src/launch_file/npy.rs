//! Reads and writes `.npy` files (NumPy's format) as elements in C order, little-endian.

use super::element::Element;
use super::parse::product;
use crate::files::{io_reason, write_whole};
use header::{Header, Type};
use std::io::Write;
use std::path::Path;

mod header;

/// An array in host memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    /// Type of an element.
    pub element: Element,
    /// Extents of the dimensions. A scalar has none.
    pub shape: Vec<u64>,
    /// Bytes of the elements in C order, little-endian.
    pub bytes: Vec<u8>,
}

/// Reads a file. The error message contains a remedy.
pub(crate) fn load(path: &Path) -> Result<Array, String> {
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{}; check the path", io_reason(&error)),
        _ => format!("cannot read it: {}", io_reason(&error)),
    })?;
    decode(&bytes)
}

/// Decodes a file's contents to an array.
fn decode(file: &[u8]) -> Result<Array, String> {
    let (header, data) = Header::read(file)
        .map_err(|what| format!("it is not a .npy file ({what}); save it with `numpy.save`"))?;
    let Type::Plain(ty) = header.ty else {
        return Err("it contains records; save one plain array".to_owned());
    };
    let element = element_of(ty)
        .ok_or_else(|| format!("its type `{ty}` is not supported; convert it with `astype`"))?;
    let shape = header.shape;
    let wanted = product(&shape).and_then(|count| count.checked_mul(element.bytes() as u64));
    let Some(elements) = wanted
        .filter(|&n| n <= data.len() as u64)
        .map(|n| &data[..n as usize])
    else {
        return Err(format!(
            "its data ends after {} bytes; save it again",
            data.len()
        ));
    };
    let mut bytes = elements.to_vec();
    if ty.starts_with('>') {
        bytes
            .chunks_exact_mut(element.bytes())
            .for_each(<[u8]>::reverse);
    }
    if header.fortran && shape.len() > 1 {
        bytes = to_c_order(&bytes, &shape, element.bytes());
    }
    Ok(Array {
        element,
        shape,
        bytes,
    })
}

/// The type that a type string names: byte order, kind, and size in bytes.
fn element_of(ty: &str) -> Option<Element> {
    let kind_and_size = ty.strip_prefix(['<', '>', '|', '='])?;
    if kind_and_size == "b1" {
        return Element::find("u8");
    }
    let kind = kind_and_size.get(..1).filter(|kind| "uif".contains(kind))?;
    let bytes: u32 = kind_and_size[1..].parse().ok()?;
    Element::find(&format!("{kind}{}", bytes.checked_mul(8)?))
}

/// Rearranges elements from Fortran order (first index fastest) to C order (last index fastest).
fn to_c_order(bytes: &[u8], shape: &[u64], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0u64; shape.len()];
    for _ in 0..bytes.len() / width {
        let mut at = 0;
        for (i, extent) in index.iter().zip(shape).rev() {
            at = at * extent + i;
        }
        out.extend_from_slice(&bytes[at as usize * width..][..width]);
        for (i, extent) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    out
}

/// Writes a file atomically: whole or not at all.
pub(crate) fn store(path: &Path, array: &Array) -> std::io::Result<()> {
    write_whole(path, |out| encode(out, array))
}

fn encode(mut out: impl Write, array: &Array) -> std::io::Result<()> {
    let name = array.element.name();
    let order = if array.element.bytes() == 1 { '|' } else { '<' };
    let descr = format!("{order}{}{}", &name[..1], array.element.bytes());
    out.write_all(&Header::write(&descr, &array.shape))?;
    out.write_all(&array.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    fn dict(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn arrays_come_back_as_written() {
        for name in Element::NAMES {
            let element = Element::find(name).unwrap();
            let array = Array {
                element,
                shape: vec![2, 3],
                bytes: (0..6 * element.bytes() as u8).collect(),
            };
            let mut file = Vec::new();
            encode(&mut file, &array).unwrap();
            assert_eq!(decode(&file).unwrap(), array);
        }
    }

    #[test]
    fn other_orders_are_rearranged() {
        // numpy.asfortranarray([[0, 1, 2], [3, 4, 5]])
        let fortran = file(&dict("|u1", "True", "(2, 3)"), &[0, 3, 1, 4, 2, 5]);
        assert_eq!(decode(&fortran).unwrap().bytes, [0, 1, 2, 3, 4, 5]);
        let big = file(&dict(">u2", "False", "(2,)"), &[0, 1, 2, 3]);
        assert_eq!(decode(&big).unwrap().bytes, [1, 0, 3, 2]);
        let scalar = file(&dict("<f4", "False", "()"), &1.5f32.to_le_bytes());
        assert_eq!(decode(&scalar).unwrap().shape, Vec::<u64>::new());
    }

    #[test]
    fn broken_files_are_refused_with_a_remedy() {
        let huge = format!("({0}, {0}, {0})", u64::MAX / 2);
        let refusals = [
            decode(b"not an array"),
            decode(&[]),
            decode(&file(&dict("<c8", "False", "(1,)"), &[0; 8])),
            decode(&file(&dict("<u4", "False", "(4,)"), &[0; 15])),
            decode(&file(&dict("<u4", "False", &huge), &[0; 16])),
            decode(&file(
                "{'descr': [('a', '<u4')], 'fortran_order': False, 'shape': (1,)}\n",
                &[0; 4],
            )),
        ];
        let messages = refusals.map(|refusal| refusal.unwrap_err());
        insta::assert_snapshot!(messages.join("\n"));
    }
}
