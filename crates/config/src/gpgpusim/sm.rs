//! Conversion of the SM's options: warps, units with latencies, operand collectors, memory path.

use super::convert::{Draft, same};
use super::emit::OriginKind;
use super::number::whole;
use super::report::Class;
use super::settings::{ADAPTIVE, Setting};
use crate::spec::ModelStyle;
use crate::value::Raw;

/// Kinds of units: our name, the name in GPGPU-Sim's options, the option of the count.
const UNITS: [(&str, &str, &str); 6] = [
    ("sp", "sp", "-gpgpu_num_sp_units"),
    ("dp", "dp", "-gpgpu_num_dp_units"),
    ("int", "int", "-gpgpu_num_int_units"),
    ("sfu", "sfu", "-gpgpu_num_sfu_units"),
    ("tensor", "tensor_core", "-gpgpu_num_tensor_core_units"),
    ("mem", "mem", "-gpgpu_num_mem_units"),
];

const OPERATIONS: [&str; 5] = ["add", "minmax", "mul", "mad", "div"];

/// Latency and interval of shfl in GPGPU-Sim 4.2, for lists without them.
const SHUFFLE: (i64, i64) = (32, 4);

impl Draft {
    pub(super) fn sm(&mut self) {
        self.threads();
        self.scheduler();
        self.shared_memory();
        self.coalescing();
        self.ports();
        self.units();
        self.latencies();
        self.collectors();
        self.prefer_l1();
        self.choice(
            "-gpgpu_l1_banks_hashing_function",
            "sm.l1d_bank_index",
            &["linear", "xor", "ipoly", "fermi-hash"],
        );
        let order = match self.style {
            ModelStyle::V3 => "highest-lane-last",
            ModelStyle::V4 => "taken-first",
        };
        self.source("sm.branch_order", Raw::Text(order.to_owned()), "");
        let products = match self.style {
            ModelStyle::V3 => "sfu",
            ModelStyle::V4 => "by-type",
        };
        self.source("sm.products", Raw::Text(products.to_owned()), "");
        self.source("sm.folds_instructions", Raw::Bool(false), "");
        self.source("sm.machine_instructions", Raw::Bool(false), "");
        for key in ["root", "guard"] {
            self.source(&format!("sm.{key}_latency_cycles"), Raw::Int(Some(0)), "");
        }
        for key in ["branch", "memory_issue"] {
            self.source(&format!("sm.{key}_cycles"), Raw::Int(Some(0)), "");
        }
        self.source("sm.instruction_order", Raw::Text("text".to_owned()), "");
        self.divergence();
        self.source("sm.register_granularity", Raw::Int(Some(4)), "");
        self.source("sm.wide_shared_conflicts", Raw::Bool(false), "");
        self.source("sm.l1d_one_line", Raw::Bool(false), "");
        self.source("sm.shared_phases", Raw::Bool(false), "");
        self.source("sm.shared_atomic_cycles", Raw::Int(Some(0)), "");
        self.source("sm.context", Raw::Text("none".to_owned()), "");
        self.source("sm.block_limit", Raw::Text("none".to_owned()), "");
        self.source("sm.l1d_allocation", Raw::Text("always".to_owned()), "");
        self.source("sm.l1d_victims", Raw::Text("none".to_owned()), "");
        for key in ["sm.warp_group_cycles", "sm.warp_group_latency_cycles"] {
            let why = "GPGPU-Sim has no such products";
            self.own(key, Raw::Int(Some(0)), OriginKind::Ours, why);
        }
        let why = "GPGPU-Sim has no bulk copies";
        for (key, value) in [
            ("sm.bulk_interval_cycles", 32),
            ("sm.bulk_requests", 384),
            ("sm.bulk_issue_cycles", 0),
        ] {
            self.own(key, Raw::Int(Some(value)), OriginKind::Ours, why);
        }
        let why = "the one that follows from the resources of an SM";
        self.own(
            "gpu.compute_capability",
            Raw::Int(Some(0)),
            OriginKind::Ours,
            why,
        );
        self.code();
        self.source("sm.latency_from", Raw::Text("unit".to_owned()), "");
        for (key, value) in [
            ("gpu.gpcs", 1),
            ("sm.cluster_latency_cycles", 180),
            ("sm.cluster_bytes_per_cycle", 20),
        ] {
            let why = "GPGPU-Sim has no clusters of blocks";
            self.own(key, Raw::Int(Some(value)), OriginKind::Ours, why);
        }
        let speed = "changes the speed only";
        self.own("sim.skip_idle", Raw::Bool(true), OriginKind::Ours, speed);
    }

    /// Keys of fetch that GPGPU-Sim has no options for.
    fn code(&mut self) {
        self.source("sm.instruction_bytes", Raw::Int(Some(8)), "");
        for key in ["sm.prefetched_code_lines", "sm.code_latency_cycles"] {
            let why = "GPGPU-Sim reads no code ahead";
            self.own(key, Raw::Int(Some(0)), OriginKind::Ours, why);
        }
        let why = "GPGPU-Sim has one switch for both";
        self.own(
            "sm.perfect_const_cache",
            Raw::Bool(false),
            OriginKind::Ours,
            why,
        );
    }

    fn threads(&mut self) {
        let option = "-gpgpu_shader_core_pipeline";
        if let [threads, lanes] = self.numbers(option, ':', 2, 2)[..] {
            let setting = self.settings.of(option).clone();
            self.put("sm.max_threads", Raw::Int(Some(threads)), &setting, option);
            if lanes != 32 {
                let reason = format!("warps of {lanes} threads");
                self.refuse(&setting, reason, "only warps of 32 threads are modelled");
            }
        }
        let registers = match self.capability() {
            ..20 => 124,
            20..35 => 63,
            _ => 255,
        };
        let why = "by compute capability, CUDA C++ Programming Guide";
        let registers = Raw::Int(Some(registers));
        self.own(
            "sm.max_registers_per_thread",
            registers,
            OriginKind::Ours,
            why,
        );
    }

    /// Compute capability as major x 10 + minor: the one that 4.2 reports to programs, or that of
    /// the PTX that 3.2.2 selects.
    fn capability(&self) -> i64 {
        let forced = self.int("-gpgpu_ptx_force_max_capability");
        if self.style == ModelStyle::V3 && forced > 0 {
            return forced;
        }
        let major = self.int("-gpgpu_compute_capability_major");
        let minor = self.int("-gpgpu_compute_capability_minor");
        major.saturating_mul(10).saturating_add(minor)
    }

    /// Chooses the model of divergence. GPGPU-Sim uses a stack for every GPU. Programs for Volta
    /// and later rely on the progress of all lanes; others run alike with both models.
    fn divergence(&mut self) {
        let (name, why) = match self.capability() {
            70.. => ("independent", "programs for Volta and later rely on it"),
            _ => ("stack", "as GPGPU-Sim and GPUs before Volta"),
        };
        let raw = Raw::Text(name.to_owned());
        self.own("sm.divergence", raw, OriginKind::Ours, why);
    }

    /// Converts the scheduler. GPGPU-Sim searches the text for names in this order.
    fn scheduler(&mut self) {
        let option = "-gpgpu_scheduler";
        let setting = self.settings.of(option).clone();
        let text = setting.text.as_str();
        let name = match text {
            _ if text.contains("lrr") => "lrr",
            _ if text.contains("two_level_active") => "two-level",
            _ if text.contains("gto") => "gto",
            _ if text.contains("rrr") => "rrr",
            _ if text.contains("old") => "oldest",
            _ if text.contains("warp_limiting") => "static-limit",
            _ => {
                let reason = format!("there is no scheduler `{text}`");
                let help = "the names are lrr, gto, rrr, old, two_level_active, warp_limiting";
                return self.refuse(&setting, reason, help);
            }
        };
        let parts: Vec<_> = text.split(':').skip(1).map(whole).collect();
        match (name, &parts[..]) {
            ("two-level", [Some(active), Some(0), Some(1)]) => {
                let active = Raw::Int(Some(*active));
                self.put("two-level.active_warps", active, &setting, option);
            }
            ("two-level", _) => {
                let help = "write two_level_active:N:0:1 (loose round robin, strict round robin)";
                self.refuse(&setting, "no setting of two_level_active".to_owned(), help);
            }
            ("static-limit", [Some(2), Some(limit)]) => {
                let limit = Raw::Int(Some(*limit));
                self.put("static-limit.warps", limit, &setting, option);
            }
            ("static-limit", _) => {
                let help = "write warp_limiting:2:N (greedy then oldest, N warps)";
                self.refuse(&setting, "no setting of warp_limiting".to_owned(), help);
            }
            _ => {}
        }
        self.put(
            "sm.warp_scheduler",
            Raw::Text(name.to_owned()),
            &setting,
            option,
        );
    }

    /// Converts the size of shared memory. 4.2 uses -gpgpu_shmem_sizeDefault at each launch; 3.2.2
    /// has one option.
    fn shared_memory(&mut self) {
        let option = match self.style {
            ModelStyle::V3 => "-gpgpu_shmem_size",
            ModelStyle::V4 => "-gpgpu_shmem_sizeDefault",
        };
        let setting = self.settings.of(option).clone();
        let bytes = self.int(option);
        self.put("sm.shared_bytes", Raw::Int(Some(bytes)), &setting, option);
        let first = self.settings.of("-gpgpu_shmem_size").clone();
        if self.style == ModelStyle::V4 && !same(&first.text, &setting.text) {
            let text = "each launch sets the size to -gpgpu_shmem_sizeDefault";
            self.outcome("-gpgpu_shmem_size", Class::NoEffect, text);
        }
        let key = "sm.max_shared_bytes_per_block";
        let option = "-gpgpu_shmem_per_block";
        let limit = self.int(option);
        match self.style {
            ModelStyle::V4 if limit <= bytes => {
                let setting = self.settings.of(option).clone();
                self.put(key, Raw::Int(Some(limit)), &setting, option);
            }
            _ => self.source(key, Raw::Int(Some(bytes)), "all that an SM has"),
        }
    }

    /// Converts the rule of coalescing. 3.2.2 has one rule; 4.2 selects it by architecture
    /// (`memory_coalescing_arch`).
    fn coalescing(&mut self) {
        let option = "-gpgpu_coalesce_arch";
        let setting = self.settings.of(option).clone();
        let name = match (self.style, self.int(option)) {
            // The rules of 4.2 do not cover 39.
            (ModelStyle::V3, _) | (_, 13..20 | 39) => "segments",
            (_, 20..40) => "segments-and-sectors",
            (_, 40..) => "sectors",
            (_, arch) => {
                let reason = format!("there is no architecture {arch}");
                let help = "write 13 (GT200), 20 (Fermi), 35 (Kepler), 40 and more (Maxwell on)";
                return self.refuse(&setting, reason, help);
            }
        };
        self.put(
            "sm.coalescing",
            Raw::Text(name.to_owned()),
            &setting,
            option,
        );
    }

    /// Converts the ports of the load/store unit. Without this option, and always in 3.2.2, the
    /// unit steps once for each part of a warp (`ldst_unit::clock_multiplier`).
    fn ports(&mut self) {
        let ports = "-gpgpu_mem_unit_ports";
        let option = match self.int(ports) {
            0 => "-gpgpu_shmem_warp_parts",
            _ => ports,
        };
        let setting = self.settings.of(option).clone();
        let steps = Raw::Int(Some(self.int(option)));
        self.put("sm.mem_unit_ports", steps, &setting, option);
    }

    /// Reads the widths by unit, in our order of units, and that of the write-back.
    fn widths(&mut self) -> Option<([(i64, i64); 6], i64)> {
        let option = "-gpgpu_pipeline_widths";
        let tensor = self.int("-gpgpu_tensor_core_avail") != 0;
        let least = match (self.style, tensor) {
            (ModelStyle::V3, _) => 7,
            (ModelStyle::V4, false) => 11,
            (ModelStyle::V4, true) => 13,
        };
        let most = if least == 7 { 7 } else { 13 };
        let n = self.numbers(option, ',', least, most);
        Some(match n[..] {
            [sp, sfu, mem, sp_out, sfu_out, mem_out, back] => {
                let none = (0, 0);
                let (sp, sfu, mem) = ((sp, sp_out), (sfu, sfu_out), (mem, mem_out));
                let units = [sp, none, none, sfu, none, mem];
                (units, back)
            }
            [
                sp,
                dp,
                int,
                sfu,
                mem,
                sp_out,
                dp_out,
                int_out,
                sfu_out,
                mem_out,
                back,
                ref tensor @ ..,
            ] => {
                let tensor = match tensor {
                    [tensor, tensor_out] => (*tensor, *tensor_out),
                    _ => (0, 0),
                };
                let units = [
                    (sp, sp_out),
                    (dp, dp_out),
                    (int, int_out),
                    (sfu, sfu_out),
                    tensor,
                    (mem, mem_out),
                ];
                (units, back)
            }
            _ => return None,
        })
    }

    /// Converts counts of units, and widths if there are units.
    fn units(&mut self) {
        let option = "-gpgpu_pipeline_widths";
        let Some((widths, writeback)) = self.widths() else {
            return;
        };
        let setting = self.settings.of(option).clone();
        let writeback = Raw::Int(Some(writeback));
        self.put("sm.writeback_width", writeback, &setting, option);
        for ((kind, _, count_option), (issue, dispatch)) in UNITS.into_iter().zip(widths) {
            let key = |field: &str| format!("sm.units.{kind}.{field}");
            let count = self.unit_count(kind, count_option);
            if kind == "mem" {
                self.source(&key("count"), Raw::Int(Some(1)), "");
            }
            for (field, width) in [("issue_width", issue), ("dispatch_width", dispatch)] {
                match count {
                    0 => self.source(&key(field), Raw::Int(Some(0)), "no such units"),
                    _ => self.put(&key(field), Raw::Int(Some(width)), &setting, option),
                }
            }
        }
        for unit in 1..=8 {
            let option = format!("-specialized_unit_{unit}");
            if self.settings.of(&option).text.starts_with('0') {
                self.outcome(&option, Class::Carried, "");
            }
        }
    }

    fn unit_count(&self, kind: &str, option: &str) -> i64 {
        match kind {
            "mem" => 1,
            "tensor" if self.int("-gpgpu_tensor_core_avail") == 0 => 0,
            _ => self.int(option),
        }
    }

    fn latencies(&mut self) {
        self.type_latencies("int", "int_timing", 6);
        self.type_latencies("fp", "f32_timing", 5);
        self.type_latencies("dp", "f64_timing", 5);
        let sfu = match self.style {
            // 3.2.2 uses the entry of f64 mul.
            ModelStyle::V3 => ("-ptx_opcode_latency_dp", "-ptx_opcode_initiation_dp", 2),
            ModelStyle::V4 => ("-ptx_opcode_latency_sfu", "-ptx_opcode_initiation_sfu", 0),
        };
        self.one_latency("sfu_timing", sfu);
        let tensor = (
            "-ptx_opcode_latency_tesnor",
            "-ptx_opcode_initiation_tensor",
            0,
        );
        self.one_latency("tensor_timing", tensor);
    }

    fn type_latencies(&mut self, theirs: &str, ours: &str, most: usize) {
        let lists = [
            ("latency", "latency_cycles", SHUFFLE.0),
            ("initiation", "interval_cycles", SHUFFLE.1),
        ];
        for (list, field, shuffle) in lists {
            let option = format!("-ptx_opcode_{list}_{theirs}");
            let setting = self.settings.of(&option).clone();
            let numbers = self.numbers(&option, ',', 5, most);
            for (operation, number) in OPERATIONS.iter().zip(&numbers) {
                let key = format!("sm.units.{ours}.{operation}.{field}");
                self.put(&key, Raw::Int(Some(*number)), &setting, &option);
            }
            let key = format!("sm.units.shuffle_timing.{field}");
            match numbers[..] {
                [_, _, _, _, _, own] => self.put(&key, Raw::Int(Some(own)), &setting, &option),
                [_, _, _, _, _] if theirs == "int" => self.missing_shuffle(&key, &option, shuffle),
                _ => {}
            }
        }
    }

    /// Reports a list of five numbers, for which 4.2 leaves the sixth uninitialised.
    fn missing_shuffle(&mut self, key: &str, option: &str, shuffle: i64) {
        let why = "the default of GPGPU-Sim 4.2: the list has no sixth number";
        self.source(key, Raw::Int(Some(shuffle)), why);
        if self.style == ModelStyle::V4 {
            let text = format!(
                "the list has no sixth number (shfl), for which GPGPU-Sim 4.2 then uses an \
                 uninitialised variable; {shuffle} is taken"
            );
            self.outcome(option, Class::Carried, &text);
        }
    }

    fn one_latency(&mut self, ours: &str, (latency, interval, index): (&str, &str, usize)) {
        for (option, field) in [(latency, "latency_cycles"), (interval, "interval_cycles")] {
            let setting = self.settings.of(option).clone();
            let number = setting
                .text
                .split(',')
                .nth(index)
                .and_then(|n| whole(n.trim()));
            let key = format!("sm.units.{ours}.{field}");
            match number {
                Some(number) => self.put(&key, Raw::Int(Some(number)), &setting, option),
                None => self.refuse(
                    &setting,
                    format!("`{option}` is no number of cycles"),
                    "write a whole number",
                ),
            }
        }
    }

    /// Converts the sets of collectors. Sets of kinds without units are left out, and if GPGPU-Sim
    /// is told so, all but the general set.
    fn collectors(&mut self) {
        let special = "-gpgpu_enable_specialized_operand_collector";
        let own_sets = self.int(special) != 0;
        let special = self.settings.of(special).clone();
        for (kind, theirs, count_option) in UNITS {
            let count = self.unit_count(kind, count_option);
            for (field, option) in set_options(theirs) {
                let key = format!("sm.collectors.{kind}.{field}");
                let setting = self.settings.of(&option).clone();
                match (own_sets, count) {
                    (_, 0) => self.source(&key, Raw::Int(Some(0)), "no such units"),
                    (false, _) => {
                        let option = "-gpgpu_enable_specialized_operand_collector 0";
                        self.put(&key, Raw::Int(Some(0)), &special, option);
                    }
                    _ => self.put_number(&key, &setting, &option),
                }
            }
        }
        for (field, option) in set_options("gen") {
            let setting = self.settings.of(&option).clone();
            self.put_number(&format!("sm.collectors.general.{field}"), &setting, &option);
        }
    }

    fn put_number(&mut self, key: &str, setting: &Setting, option: &str) {
        self.put(key, Raw::Int(whole(&setting.text)), setting, option);
    }

    /// Reports options for kernels that prefer L1D or shared memory, unless they are the same.
    fn prefer_l1(&mut self) {
        let pairs = [
            ("-gpgpu_cache:dl1PrefL1", "-gpgpu_cache:dl1"),
            ("-gpgpu_cache:dl1PrefShared", "-gpgpu_cache:dl1"),
            ("-gpgpu_shmem_size_PrefL1", "-gpgpu_shmem_size"),
            ("-gpgpu_shmem_size_PrefShared", "-gpgpu_shmem_size"),
        ];
        for (prefer, plain) in pairs {
            if same(
                &self.settings.of(prefer).text,
                &self.settings.of(plain).text,
            ) {
                self.outcome(prefer, Class::Carried, "");
            }
        }
        if self.int("-gpgpu_adaptive_cache_config") == 0 {
            for option in ADAPTIVE {
                let text = "read only with -gpgpu_adaptive_cache_config 1";
                self.outcome(option, Class::NoEffect, text);
            }
        }
    }
}

/// Names of the fields of a set of collectors, with their options.
fn set_options(kind: &str) -> [(&'static str, String); 3] {
    let option = |what: &str| format!("-gpgpu_operand_collector_num_{what}_{kind}");
    [
        ("units", option("units")),
        ("in_ports", option("in_ports")),
        ("out_ports", option("out_ports")),
    ]
}
