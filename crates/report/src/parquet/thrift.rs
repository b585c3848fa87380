//! Records in Thrift's compact protocol, as far as Parquet's metadata need it.

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A record under construction. Fields are added in the order of their numbers.
#[derive(Default)]
pub struct Record {
    bytes: Vec<u8>,
    last: u8,
}

impl Record {
    /// Begins a field. The difference to the previous number takes four bits.
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    /// A number of 32 bits, or the number of an enumeration's value.
    pub fn small(&mut self, number: u8, value: i64) {
        self.field(number, I32);
        varint(&mut self.bytes, zigzag(value));
    }

    /// A number of 64 bits.
    pub fn whole(&mut self, number: u8, value: i64) {
        self.field(number, I64);
        varint(&mut self.bytes, zigzag(value));
    }

    /// A text as a field.
    pub fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        binary(&mut self.bytes, text);
    }

    /// A record inside of this one.
    pub fn record(&mut self, number: u8, record: Self) {
        self.field(number, STRUCT);
        self.bytes.extend(record.bytes());
    }

    /// A list of records.
    pub fn list(&mut self, number: u8, records: Vec<Self>) {
        self.begin_list(number, STRUCT, records.len());
        for record in records {
            self.bytes.extend(record.bytes());
        }
    }

    /// A list of texts.
    pub fn texts(&mut self, number: u8, texts: &[&str]) {
        self.begin_list(number, BINARY, texts.len());
        for text in texts {
            binary(&mut self.bytes, text);
        }
    }

    /// A list of numbers of 32 bits.
    pub fn numbers(&mut self, number: u8, values: &[i64]) {
        self.begin_list(number, I32, values.len());
        for value in values {
            varint(&mut self.bytes, zigzag(*value));
        }
    }

    fn begin_list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, LIST);
        match u8::try_from(length) {
            Ok(short @ 0..15) => self.bytes.push(short << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                varint(&mut self.bytes, length as u64);
            }
        }
    }

    /// Bytes of the record with its end.
    pub fn bytes(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// Adds a number in groups of seven bits, the lowest first.
pub fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A signed number as an unsigned one that is small if the number is near 0.
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn binary(bytes: &mut Vec<u8>, text: &str) {
    varint(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{varint, zigzag};

    #[test]
    fn numbers_have_the_protocol_s_form() {
        let form = |value| {
            let mut bytes = Vec::new();
            varint(&mut bytes, value);
            bytes
        };
        assert_eq!(
            (form(0), form(127), form(300)),
            (vec![0], vec![127], vec![0xac, 2])
        );
        assert_eq!([0, -1, 1, -2, 2].map(zigzag), [0, 1, 2, 3, 4]);
    }
}
