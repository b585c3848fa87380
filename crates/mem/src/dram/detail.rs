//! Statistics of a channel beyond [`super::DramCounters`]: use of the data bus and activity of each
//! bank, as GPGPU-Sim 4.2 prints them (`dram_t::cycle`, `frfcfs_scheduler::data_collection`).
//! Results have them by channel only, and not in their digest.

use super::Pending;
use warploom_base::Cycle;
use warploom_state::{State, Value};
use warploom_stats::{Peak, declare_stats};

/// Largest number of banks of a channel.
pub const MAX_BANKS: usize = 64;

/// Labels of DRAM banks by number.
pub const BANKS: &[&str] = &[
    "bank_0", "bank_1", "bank_2", "bank_3", "bank_4", "bank_5", "bank_6", "bank_7", "bank_8",
    "bank_9", "bank_10", "bank_11", "bank_12", "bank_13", "bank_14", "bank_15", "bank_16",
    "bank_17", "bank_18", "bank_19", "bank_20", "bank_21", "bank_22", "bank_23", "bank_24",
    "bank_25", "bank_26", "bank_27", "bank_28", "bank_29", "bank_30", "bank_31", "bank_32",
    "bank_33", "bank_34", "bank_35", "bank_36", "bank_37", "bank_38", "bank_39", "bank_40",
    "bank_41", "bank_42", "bank_43", "bank_44", "bank_45", "bank_46", "bank_47", "bank_48",
    "bank_49", "bank_50", "bank_51", "bank_52", "bank_53", "bank_54", "bank_55", "bank_56",
    "bank_57", "bank_58", "bank_59", "bank_60", "bank_61", "bank_62", "bank_63",
];
/// Labels of the uses of the data bus in a command cycle.
pub const BUS_USES: &[&str] = &["used", "column_wait", "row_wait", "idle"];
/// Labels of the constraints that a column command waits for.
pub const COLUMN_WAITS: &[&str] = &[
    "rcd",
    "rcdwr",
    "wtr",
    "rtw",
    "ccdl",
    "data_pipe",
    "ccdl_alone",
    "wtr_alone",
    "rtw_alone",
];
/// Number that stands for a share of 1 in `write_shares`.
pub const WHOLE_SHARE: u64 = 1 << 20;

/// Uses of the data bus that are counted, by their position in [`BUS_USES`]; the others follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BusUse {
    /// A request to an open row waits.
    ColumnWait = 1,
    /// Requests wait for their rows.
    RowWait,
}

/// Constraint that a column command waits for, in the order of [`COLUMN_WAITS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColumnWait {
    Rcd,
    Rcdwr,
    Wtr,
    Rtw,
    Ccdl,
    DataPipe,
    CcdlAlone,
    WtrAlone,
    RtwAlone,
}

declare_stats! {
    /// Details of a channel.
    pub struct DramDetail in "dram_detail" {
        /// Banks with a request, summed over command cycles.
        pub busy_banks: u64 = Cycles, as "Bank_Level_Parallism x busy_cycles";
        /// Command cycles in which a bank had a request.
        pub busy_cycles: u64 = Cycles;
        /// Banks whose request finds its row open, summed over command cycles.
        pub open_banks: u64 = Cycles, as "Bank_Level_Parallism_Col x open_cycles";
        /// Groups of those banks, summed over command cycles.
        pub open_groups: u64 = Cycles, as "GrpLevelPara x open_cycles";
        /// Command cycles in which there was such a bank.
        pub open_cycles: u64 = Cycles;
        /// The share of writes among those banks in parts of 2^20, summed over command cycles.
        pub write_shares: u64 = Events, as "write_to_read_ratio_blp_rw_average x open_cycles x 2^20";
        /// Banks whose column command could go out, summed over command cycles.
        pub ready_banks: u64 = Cycles, as "Bank_Level_Parallism_Ready x ready_cycles";
        /// Command cycles in which there was such a bank.
        pub ready_cycles: u64 = Cycles;
        /// Command cycles by what the data bus did: used, or waiting for a column command, for
        /// rows, for requests.
        pub bus: [u64; 4] = Cycles, as "util_bw, Wasted_Col, Wasted_Row, Idle", by [BUS_USES];
        /// Banks whose request finds its row open, by what they waited for, summed over the command
        /// cycles that `bus` calls column_wait.
        pub column_waits: [u64; 9] = Cycles, as "RCDc_limit, RCDWRc_limit, WTRc_limit, ...", by [COLUMN_WAITS];
        /// Column reads by bank.
        pub reads: [u64; MAX_BANKS] = Commands, as "bk0: ...a", by [BANKS];
        /// Column writes by bank.
        pub writes: [u64; MAX_BANKS] = Commands, by [BANKS];
        /// Command cycles in which a bank had a request, counted when its last column command goes
        /// out.
        pub request_cycles: [u64; MAX_BANKS] = Cycles, as "n_cmd less bk0: ...i", by [BANKS];
        /// Requests assigned to each bank.
        pub requests: [u64; MAX_BANKS] = Requests, by [BANKS];
        /// Requests to another row than the one before, by bank.
        pub row_changes: [u64; MAX_BANKS] = Requests, by [BANKS];
        /// Most requests to one row, one after the other, so far in the run.
        pub row_requests_max: [Peak; MAX_BANKS] = Requests, as "maximum concurrent accesses to same row", by [BANKS];
        /// Core cycles that a bank stayed with one row at most, so far in the run.
        pub row_cycles_max: [Peak; MAX_BANKS] = Cycles, as "maximum service time to same row", by [BANKS];
    }
}

/// Counts of one bank while they are made, in one cache line of the host.
#[derive(Clone, Copy, Default, Debug, Value)]
#[repr(align(64))]
struct OfBank {
    // As in `DramDetail`.
    reads: u64,
    writes: u64,
    request_cycles: u64,
    requests: u64,
    row_changes: u64,
    /// Command cycle in which the bank got its request.
    given_at: u64,
    /// Requests since the row changed.
    row_requests: u64,
    /// Core cycle of that change.
    row_since: Cycle,
}

const _: () = assert!(size_of::<OfBank>() == 64, "a cache line of the host");

/// Details while they are counted.
#[derive(Clone, Debug, State)]
pub(super) struct Detail {
    /// Counts that are not by bank.
    pub counts: Box<DramDetail>,
    banks: Box<[OfBank]>,
}

impl Detail {
    /// Nothing counted, for a channel of `banks` banks.
    pub fn new(banks: u32) -> Self {
        Self {
            counts: Box::default(),
            banks: vec![OfBank::default(); banks as usize].into(),
        }
    }

    /// All counts, those by bank included.
    pub fn all(&self) -> DramDetail {
        let mut all = DramDetail::clone(&self.counts);
        for (at, bank) in self.banks.iter().enumerate() {
            all.reads[at] = bank.reads;
            all.writes[at] = bank.writes;
            all.request_cycles[at] = bank.request_cycles;
            all.requests[at] = bank.requests;
            all.row_changes[at] = bank.row_changes;
        }
        all
    }

    /// Counts a request that a bank gets in command cycle `now`; `hit` if to the row that the bank
    /// has open, or had open last.
    pub fn assigned(&mut self, pending: &Pending, hit: bool, now: u64, now_core: Cycle) {
        let at = pending.bank as usize;
        let bank = &mut self.banks[at];
        bank.given_at = now;
        bank.requests += 1;
        if !hit {
            bank.row_changes += 1;
            self.counts.row_requests_max[at].note(bank.row_requests);
            self.counts.row_cycles_max[at].note(now_core - bank.row_since);
            bank.row_requests = 0;
            bank.row_since = now_core;
        }
        bank.row_requests += 1;
    }

    /// Counts a column command in command cycle `now`; `is_last` if it is the last of its request.
    pub fn column(&mut self, bank: usize, is_read: bool, is_last: bool, now: u64) {
        let bank = &mut self.banks[bank];
        bank.reads += u64::from(is_read);
        bank.writes += u64::from(!is_read);
        if is_last {
            bank.request_cycles += now - bank.given_at;
        }
    }
}
