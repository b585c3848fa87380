//! Small reads that are usually close to each other, such as those of texels.

use crate::memory::device::{PAGE_BYTES, block_of};
use crate::memory::stored_lines::Pages;
use crate::memory::write_log::MemPort;

/// Reader for small accesses, most of which begin in the same page as the previous one.
pub(crate) struct FewReader<'m> {
    port: &'m MemPort<'m>,
    asid: u8,
    /// True if the SM has stores of its own.
    own: bool,
    /// Number of the last page. The field `page` holds its contents if it was touched.
    number: u64,
    /// Pages that were read.
    pub pages: Pages,
    page: Option<&'m [u8; PAGE_BYTES]>,
}

impl MemPort<'_> {
    /// Creates a reader for small accesses that are usually close to each other.
    pub(crate) fn reader(&self, asid: u8) -> FewReader<'_> {
        FewReader {
            port: self,
            asid,
            own: !self.log.is_empty(),
            number: 0,
            pages: Pages::NONE,
            page: self.image.page_data(asid, 0),
        }
    }
}

impl FewReader<'_> {
    /// Reads bytes like [`MemPort::read_few`].
    #[inline(always)]
    pub(crate) fn read(&mut self, address: u64, bytes: usize) -> [u8; 16] {
        if self.own || (address % 16) as usize + bytes > 16 {
            self.pages.insert(address);
            self.pages.insert(address + bytes as u64 - 1);
            return self.port.read_few(self.asid, address, bytes);
        }
        let number = address / PAGE_BYTES as u64;
        if number != self.number {
            self.number = number;
            self.pages.insert(address);
            self.page = self.port.image.page_data(self.asid, address);
        }
        self.page.map_or([0; 16], |page| block_of(page, address))
    }
}
