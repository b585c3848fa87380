//! Lines made from counters that results contain only by part: schedulers, packets by size, banks.

use super::line;
use super::tally::{Config, Tally, f, get, single};
use std::fmt::Write;
use warploom_stats::result::Counts;

/// Largest number of warp slots and banks with labels.
const MOST: usize = 64;

/// Writes the blocks that ended, and the instructions of SM 0 by warp slot, up to the last slot
/// that issued.
pub(super) fn slots(text: &mut String, all: &Tally) {
    let ended = all.get("sm.blocks_finished");
    let _ = write!(text, "ctas_completed {ended}, ");
    text.push_str("Shader 0 warp_id issue ditsribution:\nwarp_id:\n");
    let none = Counts::new();
    let first = all.parts.sms.first().unwrap_or(&none);
    let of = |slot: usize| get(first, &format!("sm_detail.issued_by_slot.slot_{slot}"));
    let used = (0..MOST).rev().find(|slot| of(*slot) > 0);
    let slots = 0..used.map_or(0, |last| last + 1);
    slots.clone().for_each(|slot| {
        let _ = write!(text, "{slot}, ");
    });
    text.push_str("\ndistro:\n");
    slots.for_each(|slot| {
        let _ = write!(text, "{}, ", of(slot));
    });
    text.push('\n');
}

/// Writes issues of one instruction and of several, by scheduler, of all SMs.
pub(super) fn issues(text: &mut String, all: &Tally, config: Config<'_>) {
    let schedulers = config.number("sm.schedulers") as usize;
    for which in ["single", "dual"] {
        let _ = write!(text, "{which}_issue_nums: ");
        for scheduler in 0..schedulers {
            let name = format!("sm_detail.issues.{which}.ws{scheduler}");
            let _ = write!(text, "WS{scheduler}:{}\t", sum(&all.parts.sms, &name));
        }
        text.push('\n');
    }
}

fn sum(parts: &[Counts], name: &str) -> u64 {
    parts.iter().map(|counts| get(counts, name)).sum()
}

/// Names of packet kinds in GPGPU-Sim's order, which is alphabetical.
const KINDS: [(&str, &str); 12] = [
    ("CONST_ACC_R", "const_read"),
    ("GLOBAL_ACC_R", "global_read"),
    ("GLOBAL_ACC_W", "global_write"),
    ("GLOBAL_ATOMIC", "global_atomic"),
    ("INST_ACC_R", "inst_read"),
    ("L1_WRBK_ACC", "l1_write_back"),
    ("L1_WR_ALLOC_R", "l1_write_allocate"),
    ("L2_WRBK_ACC", "l2_write_back"),
    ("L2_WR_ALLOC_R", "l2_write_allocate"),
    ("LOCAL_ACC_R", "local_read"),
    ("LOCAL_ACC_W", "local_write"),
    ("TEXTURE_ACC_R", "texture_read"),
];
/// Sizes of packets in bytes.
const SIZES: [u64; 5] = [8, 40, 72, 104, 136];

/// Writes bytes and packets of each kind and size, in each direction.
pub(super) fn traffic(text: &mut String, all: &Tally) {
    for (way, ours) in [("coretomem", "requests"), ("memtocore", "replies")] {
        for (kind, our_kind) in KINDS {
            let of = |size: &u64| {
                let name = format!("sm_detail.{ours}.{our_kind}.bytes_{size}");
                (*size, sum(&all.parts.sms, &name))
            };
            let packets: Vec<_> = SIZES.iter().map(of).filter(|(_, n)| *n > 0).collect();
            if packets.is_empty() {
                continue;
            }
            let bytes: u64 = packets.iter().map(|(size, n)| size * n).sum();
            let _ = write!(text, "traffic_breakdown_{way}[{kind}] = {bytes} {{");
            for (size, n) in packets {
                let _ = write!(text, "{size}:{n},");
            }
            text.push_str("}\n");
        }
    }
}

/// Counters of all channels by bank.
pub(super) struct Banks<'a> {
    channels: &'a [Counts],
    banks: usize,
}

impl<'a> Banks<'a> {
    pub(super) fn new(all: &'a Tally, config: Config<'_>) -> Self {
        Self {
            channels: &all.parts.channels,
            banks: config.number("dram.banks") as usize,
        }
    }

    fn of(&self, channel: usize, name: &str, bank: usize) -> u64 {
        let name = format!("dram_detail.{name}.bank_{bank}");
        get(&self.channels[channel], &name)
    }

    /// Writes a table with one line per channel and one cell per bank.
    fn table(&self, text: &mut String, title: &str, cell: impl Fn(usize, usize) -> String) {
        let _ = writeln!(text, "{title}:");
        for channel in 0..self.channels.len() {
            let _ = write!(text, "dram[{channel}]: ");
            for bank in 0..self.banks {
                let _ = write!(text, "{} ", cell(channel, bank));
            }
            text.push('\n');
        }
    }

    /// Writes the lines on rows and their accesses.
    pub(super) fn rows(&self, text: &mut String) {
        let peak = |name: &'static str| move |c, b| format!("{:9}", self.of(c, name, b));
        let title = "maximum concurrent accesses to same row";
        self.table(text, title, peak("row_requests_max"));
        let title = "maximum service time to same row";
        self.table(text, title, peak("row_cycles_max"));
        self.table(text, "average row accesses per activate", |c, b| {
            let activates = self.of(c, "row_changes", b);
            f(single(self.of(c, "requests", b), activates), 9, 6)
        });
    }

    /// Writes accesses by bank with their sum and skew. GPGPU-Sim never counts those of reads and
    /// writes together.
    pub(super) fn accesses(&self, text: &mut String) {
        self.counted(text, "memory accesses made", "total accesses: ", |_, _| 0);
        for (what, name) in [("read", "reads"), ("write", "writes")] {
            let title = format!("{what} accesses");
            let total = format!("total dram {name} = ");
            self.counted(text, &title, &total, |c, b| self.of(c, name, b));
        }
    }

    fn counted(
        &self,
        text: &mut String,
        title: &str,
        total: &str,
        count: impl Fn(usize, usize) -> u64,
    ) {
        let title = format!("number of total {title}");
        self.table(text, &title, |c, b| format!("{:9}", count(c, b)));
        let of = |channel: usize| (0..self.banks).map(move |bank| (channel, bank));
        let channels = || 0..self.channels.len();
        let banks = channels().flat_map(of).map(|(c, b)| count(c, b));
        let chips = channels().map(|c| (0..self.banks).map(|b| count(c, b)).sum::<u64>());
        let _ = writeln!(text, "{total}{}", chips.clone().sum::<u64>());
        skew(text, "bank", banks);
        skew(text, "chip", chips);
    }

    /// Writes lines for counters that GPGPU-Sim prints but never increments.
    pub(super) fn never_counted(&self, text: &mut String, config: Config<'_>) {
        let zeros = |count: usize| "0\t".repeat(count);
        text.push_str(
            "\nNumber of Memory Banks Accessed per Memory Operation per Warp (from 0):\n",
        );
        text.push_str(&zeros(self.channels.len() * self.banks));
        let none = f(f64::NAN, 0, 6);
        let what = "Average # of Memory Banks Accessed per Memory Operation per Warp";
        let _ = writeln!(text, "\n{what}={none}");
        let queue = match config.number("dram.queue") as usize {
            0 => 1024,
            places => places,
        };
        let _ = writeln!(text, "\nposition of mrq chosen\n{}", zeros(queue));
        line(text, "\naverage position of mrq chosen", none);
    }
}

fn skew(text: &mut String, of: &str, counts: impl Iterator<Item = u64> + Clone) {
    let most = counts.clone().max().unwrap_or(0);
    let least = counts.min().unwrap_or(0);
    let _ = match least {
        0 => writeln!(text, "min_{of}_accesses = 0!"),
        _ => writeln!(
            text,
            "{of} skew: {most}/{least} = {}",
            f(single(most, least), 4, 2)
        ),
    };
}

/// Value that stands for 1 in `dram_detail.write_shares`.
const WHOLE_SHARE: f64 = (1 << 20) as f64;

/// Counters of one channel: its banks, and the use of its bandwidth.
pub(super) struct Detail<'a>(pub &'a Counts);

impl Detail<'_> {
    fn get(&self, name: &str) -> u64 {
        get(self.0, &format!("dram_detail.{name}"))
    }

    /// Writes column reads and cycles without a request of each bank.
    pub(super) fn banks(&self, text: &mut String, config: Config<'_>) {
        let cycles = get(self.0, "dram.cycles");
        for bank in 0..config.number("dram.banks") as usize {
            let reads = self.get(&format!("reads.bank_{bank}"));
            let idle = cycles - self.get(&format!("request_cycles.bank_{bank}"));
            let _ = write!(text, "bk{bank}: {reads}a {idle}i ");
        }
        let _ = writeln!(text, "\n\n{}", "-".repeat(72));
    }

    pub(super) fn parallelism(&self, text: &mut String) {
        let mean = |sum: u64, cycles: &str| single(sum, self.get(cycles));
        for (name, sum, cycles) in [
            ("Bank_Level_Parallism", "busy_banks", "busy_cycles"),
            ("Bank_Level_Parallism_Col", "open_banks", "open_cycles"),
            ("Bank_Level_Parallism_Ready", "ready_banks", "ready_cycles"),
        ] {
            line(text, name, f(mean(self.get(sum), cycles), 0, 6));
        }
        let shares = self.get("write_shares") as f64 / WHOLE_SHARE;
        let mean_share = shares / self.get("open_cycles") as f64;
        let name = "write_to_read_ratio_blp_rw_average";
        line(text, name, f(mean_share, 0, 6));
        let groups = f(mean(self.get("open_groups"), "open_cycles"), 0, 6);
        line(text, "GrpLevelPara", format!("{groups} "));
    }

    pub(super) fn bus(&self, text: &mut String) {
        for (name, ours) in [
            ("util_bw", "used"),
            ("Wasted_Col", "column_wait"),
            ("Wasted_Row", "row_wait"),
            ("Idle", "idle"),
        ] {
            let cycles = self.get(&format!("bus.{ours}"));
            line(text, name, format!("{cycles} "));
        }
        text.push_str("\nBW Util Bottlenecks: \n");
        for (name, ours) in [
            ("RCDc_limit", "rcd"),
            ("RCDWRc_limit", "rcdwr"),
            ("WTRc_limit", "wtr"),
            ("RTWc_limit", "rtw"),
            ("CCDLc_limit", "ccdl"),
            ("rwq", "data_pipe"),
            ("CCDLc_limit_alone", "ccdl_alone"),
            ("WTRc_limit_alone", "wtr_alone"),
            ("RTWc_limit_alone", "rtw_alone"),
        ] {
            let cycles = self.get(&format!("column_waits.{ours}"));
            line(text, name, format!("{cycles} "));
        }
    }
}
