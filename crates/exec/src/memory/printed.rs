//! Buffer of text that kernels have printed and the host has not yet read. It is a ring, as in CUDA
//! ("Formatted Output" in the CUDA C++ Programming Guide): if it is full, the oldest texts are
//! dropped.

use std::collections::VecDeque;
use warploom_state::Value;

/// Default capacity of the buffer in bytes (`cudaLimitPrintfFifoSize`).
const STANDARD_BYTES: u64 = 1 << 20;

/// Printed texts of one process.
#[derive(Clone, Debug, Value)]
pub(crate) struct Printed {
    texts: VecDeque<Box<[u8]>>,
    bytes: u64,
    limit: u64,
}

impl Default for Printed {
    fn default() -> Self {
        Self {
            texts: VecDeque::new(),
            bytes: 0,
            limit: STANDARD_BYTES,
        }
    }
}

impl Printed {
    /// Appends the text of one call.
    pub fn push(&mut self, text: Box<[u8]>) {
        self.bytes += text.len() as u64;
        self.texts.push_back(text);
        self.shrink();
    }

    /// Drops the oldest texts until the rest fits.
    fn shrink(&mut self) {
        while self.bytes > self.limit {
            let oldest = self.texts.pop_front();
            self.bytes -= oldest.map_or(self.bytes, |text| text.len() as u64);
        }
    }

    /// Sets the capacity of the buffer.
    pub fn limit(&mut self, bytes: u64) {
        self.limit = bytes;
        self.shrink();
    }

    /// Removes and returns all texts, oldest first.
    pub fn take(&mut self) -> Vec<u8> {
        self.bytes = 0;
        let texts = std::mem::take(&mut self.texts);
        texts.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Printed;

    #[test]
    fn the_oldest_texts_go_first() {
        let mut printed = Printed::default();
        let push = |printed: &mut Printed, text: &str| printed.push(text.as_bytes().into());
        printed.limit(8);
        ["one ", "two ", "six "]
            .iter()
            .for_each(|text| push(&mut printed, text));
        assert_eq!(printed.take(), b"two six ");
        assert_eq!(printed.take(), b"");
        push(&mut printed, "more than eight bytes");
        assert_eq!(printed.take(), b"");
        ["a", "b"].iter().for_each(|text| push(&mut printed, text));
        printed.limit(1);
        assert_eq!(printed.take(), b"b");
    }
}
