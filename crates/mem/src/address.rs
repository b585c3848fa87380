//! Which channel, L2 bank, DRAM bank, row and column an address belongs to.

use warploom_base::{ChannelId, SubPartitionId};
use warploom_config::GpuSpec;

/// Where an address lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Memory channel.
    pub channel: ChannelId,
    /// L2 bank, numbered over the whole GPU: channel x banks per channel + local number.
    pub sub_partition: SubPartitionId,
    /// DRAM bank within the channel.
    pub bank: u32,
    /// DRAM row.
    pub row: u32,
    /// Byte column within the row.
    pub column: u32,
}

/// Decodes addresses of one GPU.
#[derive(Clone, Debug)]
pub struct AddressDecoder {}

impl AddressDecoder {
    /// A decoder for `spec`.
    pub fn new(spec: &GpuSpec) -> Self {
        let _ = spec;
        todo!()
    }
    /// The whole location of `addr`.
    pub fn decode(&self, addr: u64) -> Location {
        let _ = addr;
        todo!()
    }
    /// Only the L2 bank of `addr`: what the network needs.
    pub fn sub_partition(&self, addr: u64) -> SubPartitionId {
        self.decode(addr).sub_partition
    }
    /// `addr` with the bits that chose channel and L2 bank taken out: what L2 indexes its sets by.
    pub fn partition_addr(&self, addr: u64) -> u64 {
        let _ = addr;
        todo!()
    }
}
