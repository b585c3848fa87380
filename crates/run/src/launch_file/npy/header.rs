//! Header of a `.npy` file (NumPy Enhancement Proposal 1): a magic string, a version, a length, and
//! a Python dictionary with the keys `descr`, `fortran_order` and `shape`.

const MAGIC: &[u8] = b"\x93NUMPY";
/// Multiple to which NumPy pads a header, so that the data is aligned in a mapped file.
const ALIGNMENT: usize = 64;

/// Contents of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header<'a> {
    pub ty: Type<'a>,
    /// True if the first index varies fastest.
    pub fortran: bool,
    pub shape: Vec<u64>,
}

/// Type of the elements.
#[derive(Debug, PartialEq)]
pub(super) enum Type<'a> {
    /// A type string, such as `<f4`.
    Plain(&'a str),
    /// A list of named fields.
    Records,
}

impl<'a> Header<'a> {
    /// Reads the header of a file, and returns it with the data that follows. The error names what
    /// is missing.
    pub(super) fn read(file: &'a [u8]) -> Result<(Self, &'a [u8]), &'static str> {
        let rest = file.strip_prefix(MAGIC).ok_or("its first bytes differ")?;
        let (text, data) = split(rest).ok_or("its header is cut off")?;
        let text = std::str::from_utf8(text).map_err(|_| "its header is not text")?;
        let header = dictionary(text).ok_or("its header is not understood")?;
        Ok((header, data))
    }

    /// Bytes of the header as NumPy writes it, in version 1.0 of the format.
    pub(super) fn write(ty: &str, shape: &[u64]) -> Vec<u8> {
        let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
        // A tuple of one element has a comma.
        let comma = if shape.len() == 1 { "," } else { "" };
        let shape = extents.join(", ") + comma;
        let mut text = format!("{{'descr': '{ty}', 'fortran_order': False, 'shape': ({shape}), }}");
        let unpadded = MAGIC.len() + 4 + text.len() + 1;
        let padding = unpadded.next_multiple_of(ALIGNMENT) - unpadded;
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        let length = u16::try_from(text.len()).expect("a shape of a few extents");
        [MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
    }
}

/// Divides what follows the magic string into the dictionary and the data.
fn split(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (version, rest) = rest.split_at_checked(2)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        _ => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
    };
    rest.split_at_checked(length)
}

/// Reads a dictionary with exactly the three keys, in any order.
fn dictionary(text: &str) -> Option<Header<'_>> {
    let mut rest = text.trim().strip_prefix('{')?;
    let (mut ty, mut fortran, mut shape) = (None, None, None);
    loop {
        rest = rest.trim_start();
        if rest == "}" {
            break;
        }
        let (key, after) = string(rest)?;
        rest = after.trim_start().strip_prefix(':')?.trim_start();
        rest = match key {
            "descr" => store(&mut ty, element_type(rest)?),
            "fortran_order" => store(&mut fortran, boolean(rest)?),
            "shape" => store(&mut shape, tuple(rest)?),
            _ => return None,
        };
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    Some(Header {
        ty: ty?,
        fortran: fortran?,
        shape: shape?,
    })
}

/// Keeps the value of a key, and returns the text that follows.
fn store<'a, T>(place: &mut Option<T>, (value, rest): (T, &'a str)) -> &'a str {
    *place = Some(value);
    rest
}

/// A string without escapes, in either kind of quotes.
fn string(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| "'\"".contains(*c))?;
    text[1..].split_once(quote)
}

fn element_type(text: &str) -> Option<(Type<'_>, &str)> {
    if let Some((ty, rest)) = string(text) {
        return Some((Type::Plain(ty), rest));
    }
    Some((Type::Records, &text[list_length(text)?..]))
}

/// Length of a list in brackets, up to its last bracket.
fn list_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}

fn boolean(text: &str) -> Option<(bool, &str)> {
    let yes = text.strip_prefix("True").map(|rest| (true, rest));
    yes.or_else(|| text.strip_prefix("False").map(|rest| (false, rest)))
}

/// A tuple of extents. Python 2 wrote some of them with an `L`.
fn tuple(text: &str) -> Option<(Vec<u64>, &str)> {
    let (inside, rest) = text.strip_prefix('(')?.split_once(')')?;
    let inside = inside.trim();
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    if inside.is_empty() {
        return Some((Vec::new(), rest));
    }
    let extent = |word: &str| word.trim().trim_end_matches('L').parse().ok();
    let shape: Option<Vec<u64>> = inside.split(',').map(extent).collect();
    Some((shape?, rest))
}

#[cfg(test)]
mod tests {
    use super::{Header, Type, dictionary};

    fn check(text: &str, expected: Option<(Type<'_>, bool, &[u64])>) {
        let found = dictionary(text);
        let expected = expected.map(|(ty, fortran, shape)| Header {
            ty,
            fortran,
            shape: shape.to_vec(),
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn dictionaries_are_read_in_any_order_and_layout() {
        let plain = Type::Plain;
        check(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n",
            Some((plain("<f4"), false, &[2, 3])),
        );
        check(
            "{\"shape\":(4L,),\"fortran_order\":True,\"descr\":\"|u1\"}",
            Some((plain("|u1"), true, &[4])),
        );
        check(
            "{'shape': (), 'descr': [('a', '<u4', (2,)), ('b', [('c', '|i1')])], 'fortran_order': False}",
            Some((Type::Records, false, &[])),
        );
    }

    #[test]
    fn broken_dictionaries_are_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4', 'fortran_order': False}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,, 2)}",
            "{'descr': '<f4, 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (1,)}",
            "{'descr': ], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'other': 1}",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn both_lengths_of_headers_are_read() {
        // The header that numpy.save writes for numpy.zeros((2, 3), 'f4').
        let written = Header::write("<f4", &[2, 3]);
        assert_eq!(written.len(), 128);
        let start = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ";
        assert!(written.starts_with(start), "{}", written.escape_ascii());
        let (header, data) = Header::read(&written).unwrap();
        assert_eq!((header.shape, data), (vec![2, 3], &[][..]));

        let text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n";
        let mut long = b"\x93NUMPY\x02\x00".to_vec();
        long.extend((text.len() as u32).to_le_bytes());
        long.extend(text);
        long.push(7);
        assert_eq!(Header::read(&long).unwrap().1, [7]);
        assert!(Header::read(&long[..40]).is_err());
        assert!(Header::read(&long[..7]).is_err());
    }
}
