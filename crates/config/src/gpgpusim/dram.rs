//! Conversion of memory partitions and DRAM: queues, address mapping, timing.

use super::convert::Draft;
use super::emit::OriginKind;
use super::number::whole;
use super::report::Class;
use super::settings::Setting;
use crate::address_map::{Masks, print};
use crate::spec::ModelStyle;
use crate::value::Raw;

/// Timing values in the order of the form without names: the name in GPGPU-Sim, our key, and
/// whether it must be given.
const TIMING: [(&str, &str, bool); 14] = [
    ("nbk", "dram.banks", true),
    ("CCD", "dram.timing.ccd", true),
    ("RRD", "dram.timing.rrd", true),
    ("RCD", "dram.timing.rcd", true),
    ("RAS", "dram.timing.ras", true),
    ("RP", "dram.timing.rp", true),
    ("RC", "dram.timing.rc", true),
    ("CL", "dram.timing.cl", true),
    ("WL", "dram.timing.wl", true),
    ("CDLR", "dram.timing.cdlr", true),
    ("WR", "dram.timing.wr", true),
    ("nbkgrp", "dram.bank_groups", false),
    ("CCDL", "dram.timing.ccdl", false),
    ("RTPL", "dram.timing.rtpl", false),
];

/// Values of `-gpgpu_mem_address_mask`: number, bit of the channel, masks of bank, row and column
/// (GPGPU-Sim 4.2, `addrdec.cc`).
const ADDRESS_MASKS: [(i64, i64, u64, u64, u64); 13] = [
    (0, 10, 0x300, 0x07FF_E000, 0x1CFF),
    (1, 13, 0x1800, 0x07FF_E000, 0x7FF),
    (2, 11, 0x1800, 0x07FF_E000, 0x7FF),
    (3, 11, 0x1800, 0x0FFF_E000, 0x7FF),
    (5, 5, 0x1800, 0x07FF_E000, 0x7FF),
    (6, 6, 0x1800, 0x07FF_E000, 0x7FF),
    (14, 14, 0x1800, 0x07FF_E000, 0x7FF),
    (15, 15, 0x1800, 0x07FF_E000, 0x7FF),
    (16, 16, 0x1800, 0x07FF_E000, 0x7FF),
    (100, 1, 0x3, 0x07FF_E000, 0x1FFC),
    (103, 3, 0x3, 0x07FF_E000, 0x1FFC),
    (106, 6, 0x1800, 0x07FF_E000, 0x7FF),
    (160, 6, 0x300, 0x07FF_E000, 0x1CFF),
];

const MAPPING: &str = "write dramid@BIT; and 64 letters, highest bit first: R row, B bank, \
                       C column, S burst, 0 none; `.` and `|` only separate";

impl Draft {
    pub(super) fn partition(&mut self) {
        let option = "-gpgpu_dram_partition_queues";
        let setting = self.settings.of(option).clone();
        let lengths = self.numbers(option, ':', 4, 4);
        let queues = ["noc_to_l2", "l2_to_dram", "dram_to_l2", "l2_to_noc"];
        for (queue, length) in queues.into_iter().zip(lengths) {
            let key = format!("partition.{queue}");
            self.put(&key, Raw::Int(Some(length)), &setting, option);
        }
        let exact = Raw::Bool(self.style == ModelStyle::V3);
        self.source(
            "partition.exact_sectors",
            exact,
            "4.2 misplaces them; 3.2.2 has none",
        );
        self.own(
            "partition.far_cycles",
            Raw::Int(Some(0)),
            OriginKind::Ours,
            "L2 is one in GPGPU-Sim",
        );
        self.source("partition.fetch_bytes", Raw::Int(Some(32)), "");
        for key in ["partition.write_cycles", "partition.partial_write_cycles"] {
            self.source(key, Raw::Int(Some(1)), "");
        }
        self.channel_index();
        self.address_map();
    }

    fn channel_index(&mut self) {
        let option = "-gpgpu_memory_partition_indexing";
        let setting = self.settings.of(option).clone();
        // As in the enumeration of 4.2's source; its help text is wrong about 3.
        let name = match self.int(option) {
            0 => "consecutive",
            1 => "xor",
            2 => "ipoly",
            4 => "random",
            3 | 5 => {
                let text = "GPGPU-Sim has no code for it; channels follow the address's own bits";
                self.outcome(option, Class::NotModelled, text);
                "consecutive"
            }
            other => {
                let reason = format!("there is no indexing {other}");
                let help = "write 0 none, 1 XOR, 2 IPOLY or 4 random";
                return self.refuse(&setting, reason, help);
            }
        };
        self.put(
            "partition.channel_index",
            Raw::Text(name.to_owned()),
            &setting,
            option,
        );
    }

    /// Converts the mapping, or that of `-gpgpu_mem_address_mask` if there is none.
    fn address_map(&mut self) {
        let option = "-gpgpu_mem_addr_mapping";
        let Some(setting) = self.settings.get(option).cloned() else {
            return self.address_masks();
        };
        match mapping(&setting.text) {
            Ok((bit, letters)) => self.put_address_map(bit, letters, &setting, option),
            Err(reason) => self.refuse(&setting, reason, MAPPING),
        }
    }

    fn address_masks(&mut self) {
        let option = "-gpgpu_mem_address_mask";
        let setting = self.settings.of(option).clone();
        let wanted = self.int(option);
        let found = ADDRESS_MASKS.iter().find(|(number, ..)| *number == wanted);
        let Some(&(_, bit, bank, row, column)) = found else {
            let reason = format!("there is no address mask {wanted}");
            return self.refuse(&setting, reason, "write -gpgpu_mem_addr_mapping instead");
        };
        let burst = 0;
        let masks = Masks {
            bank,
            row,
            column,
            burst,
        };
        self.put_address_map(bit, print(masks), &setting, option);
    }

    fn put_address_map(&mut self, bit: i64, letters: String, setting: &Setting, option: &str) {
        self.put(
            "partition.channel_bit",
            Raw::Int(Some(bit)),
            setting,
            option,
        );
        self.put("partition.address_map", Raw::Text(letters), setting, option);
    }

    pub(super) fn dram(&mut self) {
        self.choice(
            "-gpgpu_dram_scheduler",
            "dram.scheduler",
            &["fcfs", "fr-fcfs"],
        );
        self.choice(
            "-dram_bnk_indexing_policy",
            "dram.bank_index",
            &["linear", "xor", "ipoly"],
        );
        let switches = [
            ("-dram_dual_bus_interface", "dram.dual_bus"),
            ("-dram_bnkgrp_indexing_policy", "dram.group_by_low_bits"),
        ];
        for (option, key) in switches {
            let setting = self.settings.of(option).clone();
            match self.int(option) {
                on @ (0 | 1) => self.put(key, Raw::Bool(on == 1), &setting, option),
                other => self.refuse(&setting, format!("there is no {other}"), "write 0 or 1"),
            }
        }
        self.write_queue();
        self.timing();
    }

    /// Converts the queue of writes, if it is switched on; its watermarks are read in any case.
    fn write_queue(&mut self) {
        let (option, enable) = (
            "-dram_write_queue_size",
            "-dram_seperate_write_queue_enable",
        );
        let [size, high, low] = self.numbers(option, ':', 3, 3)[..] else {
            return;
        };
        let (size, by) = match self.int(enable) {
            0 => (0, enable),
            _ => (size, option),
        };
        for (key, value, by) in [
            ("size", size, by),
            ("high", high, option),
            ("low", low, option),
        ] {
            let setting = self.settings.of(by).clone();
            let key = format!("dram.write_queue.{key}");
            self.put(&key, Raw::Int(Some(value)), &setting, by);
        }
    }

    /// Converts a number that stands for a name.
    pub(super) fn choice(&mut self, option: &str, key: &str, names: &[&str]) {
        let setting = self.settings.of(option).clone();
        let index = usize::try_from(self.int(option)).ok();
        match index.and_then(|index| names.get(index)) {
            Some(name) => self.put(key, Raw::Text((*name).to_owned()), &setting, option),
            None => {
                let known: Vec<_> = names.iter().enumerate().collect();
                let known: Vec<_> = known
                    .iter()
                    .map(|(i, name)| format!("{i} {name}"))
                    .collect();
                let reason = format!("`{option}` has no {}", setting.text);
                self.refuse(&setting, reason, &format!("write {}", known.join(", ")));
            }
        }
    }

    fn timing(&mut self) {
        let option = "-gpgpu_dram_timing_opt";
        let setting = self.settings.of(option).clone();
        let values = match timing(&setting.text) {
            Ok(values) => values,
            Err(reason) => {
                let help = "write nbk=16:CCD=2:RRD=6:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=4:CDLR=5:\
                            WR=12 followed by nbkgrp, CCDL and RTPL if there are bank groups";
                return self.refuse(&setting, reason, help);
            }
        };
        for ((_, key, _), value) in TIMING.into_iter().zip(values) {
            self.put(key, Raw::Int(Some(value)), &setting, option);
        }
    }
}

/// Parses timing values into the order of [`TIMING`].
fn timing(text: &str) -> Result<[i64; 14], String> {
    let mut values = [None; 14];
    if text.contains('=') {
        let words: Vec<_> = text
            .split(|c: char| "=:;".contains(c) || c.is_whitespace())
            .filter(|word| !word.is_empty())
            .collect();
        for pair in words.chunks(2) {
            let place = TIMING.iter().position(|(name, ..)| *name == pair[0]);
            let place = place.ok_or_else(|| format!("`{}` is no DRAM timing", pair[0]))?;
            let value = pair.get(1).and_then(|value| whole(value));
            values[place] = Some(value.ok_or_else(|| format!("`{}` without a number", pair[0]))?);
        }
    } else {
        let words: Vec<_> = text.split(':').map(str::trim).collect();
        if words.len() > TIMING.len() {
            return Err(format!("{} numbers where at most 14 belong", words.len()));
        }
        for (slot, word) in values.iter_mut().zip(words) {
            *slot = Some(whole(word).ok_or_else(|| format!("`{word}` is no number"))?);
        }
    }
    let mut all = [0; 14];
    for (((name, _, needed), value), slot) in TIMING.iter().zip(values).zip(&mut all) {
        *slot = match value {
            Some(value) => value,
            None if *needed => return Err(format!("no value for {name}")),
            None => i64::from(*name == "nbkgrp"),
        };
    }
    Ok(all)
}

/// Parses a mapping into the bit of the channel and the letters of the other bits. Letters D, an
/// alternative to `dramid@`, mark the bits of the channel and are removed.
fn mapping(text: &str) -> Result<(i64, String), String> {
    let (head, letters) = text.split_once(';').unwrap_or(("", text));
    let bit = match head.trim().strip_prefix("dramid@") {
        Some(bit) => Some(whole(bit).ok_or_else(|| format!("`{bit}` is no bit"))?),
        None if head.is_empty() => None,
        None => return Err(format!("`{head}` is not dramid@BIT")),
    };
    let letters: String = letters.chars().filter(|c| !".| ".contains(*c)).collect();
    if letters.len() != 64 {
        return Err(format!(
            "{} letters for the 64 bits of an address",
            letters.chars().count()
        ));
    }
    let is_channel = |c: char| c.eq_ignore_ascii_case(&'D');
    match (bit, letters.rfind(is_channel)) {
        (Some(bit), None) => Ok((bit, letters)),
        (Some(_), Some(_)) => Err("letters D together with dramid@".to_owned()),
        (None, None) => Err("nothing names the channel's bits".to_owned()),
        (None, Some(last)) => {
            let count = letters.chars().filter(|c| is_channel(*c)).count();
            let first = letters.find(is_channel).unwrap_or(last);
            if last - first + 1 != count {
                return Err("channel bits that are not next to each other".to_owned());
            }
            let rest = letters.chars().filter(|c| !is_channel(*c)).collect();
            Ok(((63 - last) as i64, rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{mapping, timing};

    #[test]
    fn both_forms_of_timing_give_the_same() {
        let named = "nbk=16:CCD=2:RRD=6:RCD=12:RAS=28:RP=12:RC=40: CL=12:WL=4:CDLR=5:WR=12";
        let values = timing(named).unwrap();
        assert_eq!(values, [16, 2, 6, 12, 28, 12, 40, 12, 4, 5, 12, 1, 0, 0]);
        assert_eq!(timing("16:2:6:12:28:12:40:12:4:5:12").unwrap(), values);
        let groups = timing("16:2:6:12:28:12:40:12:4:5:12:4:3:2").unwrap();
        assert_eq!(groups[11..], [4, 3, 2]);
        let any_order = format!("RTPL=2;CCDL=3;nbkgrp=4;{named}");
        assert_eq!(timing(&any_order).unwrap(), groups);
    }

    #[test]
    fn broken_timing_is_refused() {
        for text in [
            "",
            "nbk=16",
            "nbk=:CCD",
            "FOO=3",
            "1:2:x",
            "1:2:3:4:5:6:7:8:9:10:11:12:13:14:15",
        ] {
            assert!(timing(text).is_err(), "{text}");
        }
    }

    #[test]
    fn letters_for_the_channel_are_taken_out() {
        let rest = "0".repeat(52);
        let (bit, letters) = mapping(&format!("dramid@8;{rest}RRBB.CCCC|SSSS")).unwrap();
        assert_eq!((bit, letters.len()), (8, 64));
        let (bit, letters) = mapping(&format!("{rest}RRDDCCCCSSSS")).unwrap();
        assert_eq!((bit, letters), (8, format!("{rest}RRCCCCSSSS")));
        for bad in [
            "",
            "dramid@8",
            "dramid@x;R",
            "foo;R",
            &format!("dramid@8;{rest}RRDDCCCCSSSS"),
            &format!("{rest}RDRDCCCCSSSS"),
            &format!("{rest}RRBBCCCCSSSS"),
        ] {
            assert!(mapping(bad).is_err(), "{bad}");
        }
    }
}
