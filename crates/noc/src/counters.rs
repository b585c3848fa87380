//! Statistics of a network.

use warploom_state::Value;
use warploom_stats::{Counters, StatTable, declare_stats};

declare_stats! {
    /// Statistics of one network. [`Direction`] names the groups.
    #[derive(Copy)]
    pub struct NocCounters in "noc_to_l2", "noc_to_sm" {
        /// Cycles of the network clock.
        pub cycles: u64 = Cycles;
        /// Packets injected into the network.
        pub packets: u64 = Packets, as "Req_Network_injected_packets_num" | "Reply_Network_injected_packets_num";
        /// Flits that crossed the switch.
        pub flits: u64 = Flits;
        /// Bytes of the packets that crossed the switch.
        pub bytes: u64 = Bytes;
        /// Heads that wanted an output another input got, summed over cycles (of a butterfly, over
        /// the steps of its router).
        pub conflicts: u64 = Events;
        /// Packets inside, summed over cycles: the time that packets spend inside.
        pub packet_cycles: u64 = Cycles;
    }
}

declare_stats! {
    /// Statistics that GPGPU-Sim's local crossbars alone count. Results have them by network, in no
    /// sum and not in the digest.
    #[derive(Copy)]
    pub struct NocDetail in "noc_detail" {
        /// Network cycles with a packet at an input.
        pub active_cycles: u64 = Cycles;
        /// Packets at inputs at the end of a cycle, summed over cycles.
        pub input_packet_cycles: u64 = Cycles, as "*_Network_in_buffer_avg_util x cycles x inputs";
        /// Packets at outputs at the end of a cycle, summed over cycles.
        pub output_packet_cycles: u64 = Cycles, as "*_Network_out_buffer_avg_util x cycles x outputs";
        /// Outputs without room as their turn came, summed over cycles.
        pub full_output_cycles: u64 = Cycles, as "*_Network_out_buffer_full_per_cycle x cycles";
    }
}

/// Directions in which networks are counted, in the order of the declaration of [`NocCounters`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From SMs to L2.
    Requests,
    /// From L2 to SMs.
    Replies,
}

impl Direction {
    /// The declarations under the direction's group.
    pub const fn table(self) -> StatTable {
        <NocCounters as Counters>::TABLES[self as usize]
    }
}

/// All statistics of one network.
#[derive(Clone, Copy, Default, Debug, Value)]
pub(crate) struct Counted {
    pub(crate) counters: NocCounters,
    pub(crate) detail: NocDetail,
}

#[cfg(test)]
mod tests {
    use super::{Counters, Direction, NocCounters, NocDetail};
    use warploom_stats::{audit, audit_shapes};

    #[test]
    fn the_declarations_are_sound_and_the_directions_are_in_their_order() {
        let tables = [NocCounters::TABLES, NocDetail::TABLES].concat();
        assert_eq!(audit(&tables), Vec::<String>::new());
        assert_eq!(audit_shapes::<NocCounters>(), Vec::<String>::new());
        assert_eq!(audit_shapes::<NocDetail>(), Vec::<String>::new());
        let groups = [Direction::Requests, Direction::Replies].map(|way| way.table().group);
        assert_eq!(groups, ["noc_to_l2", "noc_to_sm"]);
    }
}
