//! The registry of the machine's statistics: every group with its names, units and sentences, in
//! the order in which results list them.

use crate::counters::{BankPart, DeviceCounters, MachineCounters, PartCounters, SmPart};
use warploom_mem::cache::CacheGroup;
use warploom_mem::dram::{DramCounters, DramDetail};
use warploom_mem::partition::PartitionCounters;
use warploom_noc::{Direction, NocDetail};
use warploom_policy::{BlockLimitCounters, SmFilterCounters, WarpPolicyCounters};
use warploom_sm::{ContextCounters, SlotCause, SmCounters, SmDetail};
use warploom_stats::{Counters, StatTable, declare_stats};

declare_stats! {
    /// GPGPU-Sim's three classes of scheduler cycles without an issue, made of `sm.slots`.
    pub struct IssueStats in "issue" {
        /// No warp of an SM with blocks has an instruction to issue: no_warp, barrier and
        /// instruction_buffer, without cycles in which the SM held no block.
        pub idle: u64 = Slots, as "W0_Idle";
        /// Every warp with an instruction waits for the scoreboard: memory_dependence and
        /// execution_dependence.
        pub scoreboard: u64 = Slots, as "W0_Scoreboard";
        /// A warp passed the scoreboard and did not issue (memory_pipe, execution_pipe, policy).
        pub stall: u64 = Slots, as "Stall";
    }
}

impl From<&SmCounters> for IssueStats {
    fn from(c: &SmCounters) -> Self {
        let sum = |causes: &[SlotCause]| {
            causes
                .iter()
                .map(|cause| c.slots[*cause as usize])
                .sum::<u64>()
        };
        let idle = sum(&[
            SlotCause::NoWarp,
            SlotCause::Barrier,
            SlotCause::InstructionBuffer,
        ]);
        let stalled = sum(&[
            SlotCause::MemoryPipe,
            SlotCause::ExecutionPipe,
            SlotCause::Policy,
        ]);
        Self {
            idle: idle - c.inactive_slots,
            scoreboard: sum(&[SlotCause::MemoryDependence, SlotCause::ExecutionDependence]),
            stall: stalled,
        }
    }
}

/// Every group of the machine's statistics, as `list stats` prints them. Results have those up to
/// the networks by kernel and in total, and the details that follow by part.
pub const TABLES: &[StatTable] = &[
    DeviceCounters::TABLE,
    SmFilterCounters::TABLE,
    BlockLimitCounters::TABLE,
    SmCounters::TABLE,
    IssueStats::TABLE,
    WarpPolicyCounters::TABLE,
    ContextCounters::TABLE,
    CacheGroup::L1d.table(),
    CacheGroup::L1i.table(),
    CacheGroup::L1c.table(),
    CacheGroup::L1t.table(),
    PartitionCounters::TABLE,
    CacheGroup::L2.table(),
    DramCounters::TABLE,
    Direction::Requests.table(),
    Direction::Replies.table(),
    SmDetail::TABLE,
    DramDetail::TABLE,
    NocDetail::TABLE,
];

/// A list of counters that groups are added to.
trait List {
    /// Adds the counters of a group, in order of declaration.
    fn add<C: Counters>(&mut self, counters: &C, table: StatTable);
}

/// Counters by their full names.
#[derive(Default)]
struct Names {
    all: Vec<(String, u64)>,
    /// True to leave out counters that are 0, whose names need not be made then.
    only_counted: bool,
}

impl List for Names {
    fn add<C: Counters>(&mut self, counters: &C, table: StatTable) {
        counters.visit(&mut |meta, at, value| {
            if value != 0 || !self.only_counted {
                self.all.push((table.element_name(meta, at), value));
            }
        });
    }
}

/// Values of counters, in the order of [`Names`].
#[derive(Default)]
struct Values(Vec<u64>);

impl List for Values {
    fn add<C: Counters>(&mut self, counters: &C, _table: StatTable) {
        counters.visit(&mut |_, _, value| self.0.push(value));
    }
}

impl SmPart {
    /// Every counter by its full name, without the details.
    pub fn named(&self) -> Vec<(String, u64)> {
        let mut names = Names::default();
        self.list(&mut names);
        names.all
    }

    /// Every counter of the details by its full name.
    pub fn detailed(&self) -> Vec<(String, u64)> {
        let mut names = Names::default();
        self.list(&mut names);
        names.add(&self.detail, SmDetail::TABLE);
        names.all
    }

    fn list(&self, list: &mut impl List) {
        list.add(&self.sm, SmCounters::TABLE);
        list.add(&IssueStats::from(&self.sm), IssueStats::TABLE);
        list.add(&self.policy, WarpPolicyCounters::TABLE);
        list.add(&self.context, ContextCounters::TABLE);
        list.add(&self.l1d, CacheGroup::L1d.table());
        list.add(&self.l1i, CacheGroup::L1i.table());
        list.add(&self.l1c, CacheGroup::L1c.table());
        list.add(&self.l1t, CacheGroup::L1t.table());
    }
}

impl BankPart {
    /// Every counter by its full name.
    pub fn named(&self) -> Vec<(String, u64)> {
        let mut names = Names::default();
        self.list(&mut names);
        names.all
    }

    fn list(&self, list: &mut impl List) {
        list.add(&self.partition, PartitionCounters::TABLE);
        list.add(&self.l2, CacheGroup::L2.table());
    }
}

impl PartCounters {
    /// Every counter of one channel by its full name.
    pub fn channel_named(&self, channel: usize) -> Vec<(String, u64)> {
        self.channels[channel].named()
    }

    /// Every counter of the details of one channel by its full name.
    pub fn channel_detailed(&self, channel: usize) -> Vec<(String, u64)> {
        let detail = self.channel_details[channel].named();
        [self.channel_named(channel), detail].concat()
    }

    /// Details of the networks: towards L2, then towards SMs.
    pub fn networks_detailed(&self) -> [Vec<(String, u64)>; 2] {
        self.network_details.map(|network| network.named())
    }
}

impl MachineCounters {
    /// Every counter by its full name.
    pub fn named(&self) -> Vec<(String, u64)> {
        let mut names = Names::default();
        self.list(&mut names);
        names.all
    }

    /// Every counter that is not 0 by its full name.
    pub fn counted(&self) -> Vec<(String, u64)> {
        let mut names = Names {
            only_counted: true,
            ..Names::default()
        };
        self.list(&mut names);
        names.all
    }

    fn list(&self, list: &mut impl List) {
        list.add(&self.device, DeviceCounters::TABLE);
        list.add(&self.filter, SmFilterCounters::TABLE);
        list.add(&self.limit, BlockLimitCounters::TABLE);
        list.add(&self.sm, SmCounters::TABLE);
        list.add(&IssueStats::from(&self.sm), IssueStats::TABLE);
        list.add(&self.policy, WarpPolicyCounters::TABLE);
        list.add(&self.context, ContextCounters::TABLE);
        list.add(&self.l1d, CacheGroup::L1d.table());
        list.add(&self.l1i, CacheGroup::L1i.table());
        list.add(&self.l1c, CacheGroup::L1c.table());
        list.add(&self.l1t, CacheGroup::L1t.table());
        list.add(&self.partition, PartitionCounters::TABLE);
        list.add(&self.l2, CacheGroup::L2.table());
        list.add(&self.dram, DramCounters::TABLE);
        list.add(&self.requests, Direction::Requests.table());
        list.add(&self.replies, Direction::Replies.table());
    }
}

impl warploom_stats::Snapshot for MachineCounters {
    fn since(&self, earlier: &Self) -> Self {
        self.since(earlier)
    }

    fn named(&self) -> Vec<(String, u64)> {
        self.named()
    }

    fn values(&self) -> Vec<u64> {
        let mut values = Values::default();
        self.list(&mut values);
        values.0
    }
}

impl warploom_stats::Snapshot for PartCounters {
    fn since(&self, earlier: &Self) -> Self {
        self.since(earlier)
    }

    /// The whole machine's, then each part's with the part before them: `sm3:l1d.fill_port_busy`.
    fn named(&self) -> Vec<(String, u64)> {
        let mut all = self.sum().named();
        let mut add = |part: &str, at: usize, named: Vec<(String, u64)>| {
            let of_part = |(name, value)| (format!("{part}{at}:{name}"), value);
            all.extend(named.into_iter().map(of_part));
        };
        for (i, sm) in self.sms.iter().enumerate() {
            add("sm", i, sm.named());
        }
        for (i, bank) in self.banks.iter().enumerate() {
            add("bank", i, bank.named());
        }
        for i in 0..self.channels.len() {
            add("channel", i, self.channel_named(i));
        }
        all
    }

    fn values(&self) -> Vec<u64> {
        let mut values = Values::default();
        self.sum().list(&mut values);
        self.sms.iter().for_each(|sm| sm.list(&mut values));
        self.banks.iter().for_each(|bank| bank.list(&mut values));
        for channel in &self.channels {
            values.add(channel, DramCounters::TABLE);
        }
        values.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(warploom_stats::audit(TABLES), Vec::<String>::new());
        assert!(TABLES.len() >= 10);
    }

    #[test]
    fn values_are_in_the_order_of_their_names() {
        let mut counters = PartCounters {
            sms: vec![SmPart::default(); 2],
            banks: vec![BankPart::default()],
            channels: vec![Default::default(); 2],
            ..PartCounters::default()
        };
        counters.sms[1].l1t.fill_port_busy = 3;
        counters.banks[0].l2.data_port_busy = 5;
        counters.channels[1].precharges = 7;
        let named = warploom_stats::Snapshot::named(&counters);
        let values: Vec<u64> = named.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, warploom_stats::Snapshot::values(&counters));
        for (name, value) in [
            ("sm1:l1t.fill_port_busy", 3),
            ("l1t.fill_port_busy", 3),
            ("bank0:l2.data_port_busy", 5),
            ("channel1:dram.precharges", 7),
        ] {
            assert!(named.contains(&(name.to_owned(), value)), "{name}");
        }
    }

    #[test]
    fn counted_are_all_that_is_not_zero() {
        let mut counters = MachineCounters::default();
        assert_eq!(counters.counted(), []);
        counters.sm.warp_instructions = 3;
        counters.l2.accesses[0][0] = 5;
        let counted = counters.counted();
        let mut named = counters.named();
        named.retain(|(_, value)| *value != 0);
        assert_eq!(counted, named);
        assert_eq!(counted.len(), 2);
    }

    /// Elements of the tables whose group is one of the details, or is none.
    fn declared(details: bool) -> Vec<String> {
        let mut all = Vec::new();
        let of = |table: &&StatTable| table.group.ends_with("_detail") == details;
        for table in TABLES.iter().filter(of) {
            for meta in table.stats {
                let sizes = meta.labels.iter().map(|labels| labels.len());
                let elements = sizes.clone().product::<usize>();
                all.extend((0..elements).map(|nth| {
                    let place = sizes.clone().rev().scan(nth, |left, size| {
                        let at = *left % size;
                        *left /= size;
                        Some(at)
                    });
                    let mut place: Vec<_> = place.collect();
                    place.reverse();
                    table.element_name(meta, &place)
                }));
            }
        }
        all
    }

    /// Each declared counter is in a result: in totals, kernels and windows, which all list the
    /// machine's counters, or by part if it is a detail. No other counter is.
    #[test]
    fn every_declared_statistic_is_in_results_once() {
        let names = |named: Vec<(String, u64)>| named.into_iter().map(|(name, _)| name);
        let machine: Vec<_> = names(MachineCounters::default().named()).collect();
        assert_eq!(machine, declared(false));
        assert!(machine.contains(&"l2.accesses.hit.global_read".to_owned()));
        let parts = PartCounters {
            channels: vec![Default::default()],
            channel_details: vec![Default::default()],
            ..PartCounters::default()
        };
        let details = [
            SmPart::default().detail.named(),
            parts.channel_details[0].named(),
            parts.networks_detailed()[0].clone(),
        ];
        assert_eq!(names(details.concat()).collect::<Vec<_>>(), declared(true));
        let channel: Vec<_> = names(parts.channel_detailed(0)).collect();
        let of_channel = |name: &&String| name.starts_with("dram");
        let all = [declared(false), declared(true)].concat();
        assert_eq!(
            channel.iter().collect::<Vec<_>>(),
            all.iter().filter(of_channel).collect::<Vec<_>>()
        );
    }
}
