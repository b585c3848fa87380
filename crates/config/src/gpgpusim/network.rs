//! Conversion of the network: BookSim's fly from its file, or the local crossbar of 4.x from
//! options.

use super::convert::{Draft, same};
use super::emit::OriginKind;
use super::icnt::{self, Statement};
use super::number::{percent, whole};
use super::report::{Class, Item};
use super::{Place, ReadFile};
use crate::spec::LARGEST_NOC_BUFFER;
use crate::value::Raw;
use std::collections::BTreeMap;
use warploom_diag::{Diagnostic, Source, nearest};

/// Treatment of a key of the network's file.
#[derive(Clone, Copy)]
enum Fate {
    /// The value becomes that of this key, perhaps together with others.
    Key(&'static str),
    /// Only this value is modelled.
    Only(&'static str),
    /// First virtual channel of a class of packets; only 0 is modelled.
    FirstChannel,
    /// Last virtual channel of a class of packets; only the highest is modelled.
    LastChannel,
    /// The key has no effect, for this reason.
    NoEffect(&'static str),
}

use Fate::{FirstChannel, Key, LastChannel, NoEffect, Only};

const UNUSED: &str = "GPGPU-Sim does not use it";
const PRINTED: &str = "what BookSim prints";

/// Keys with the defaults of BookSim and of GPGPU-Sim's additions (`booksim_config.cpp`,
/// `intersim_config.cpp`), and their treatment.
const KEYS: &[(&str, &str, Fate)] = &[
    ("flit_size", "32", Key("noc.flit_bytes")),
    ("vc_buf_size", "8", Key("noc.input_buffer")),
    ("ejection_buffer_size", "0", Key("noc.output_buffer")),
    ("input_buffer_size", "0", Key("noc.injection_buffer")),
    ("boundary_buffer_size", "16", Key("noc.boundary_buffer")),
    ("num_vcs", "16", Key("noc.virtual_channels")),
    ("input_speedup", "1", Key("noc.input_speedup")),
    ("output_speedup", "1", Key("noc.output_speedup")),
    (
        "internal_speedup",
        "1.0",
        Key("noc.internal_speedup_percent"),
    ),
    ("routing_delay", "1", Key("noc.hop_cycles")),
    ("vc_alloc_delay", "1", Key("noc.hop_cycles")),
    ("sw_alloc_delay", "1", Key("noc.hop_cycles")),
    ("st_prepare_delay", "0", Key("noc.hop_cycles")),
    ("st_final_delay", "1", Key("noc.hop_cycles")),
    ("topology", "torus", Only("fly")),
    ("n", "2", Only("1")),
    ("routing_function", "none", Only("dest_tag")),
    ("vc_allocator", "islip", Only("islip")),
    ("sw_allocator", "islip", Only("islip")),
    ("alloc_iters", "1", Only("1")),
    ("arb_type", "round_robin", Only("round_robin")),
    ("router", "iq", Only("iq")),
    ("credit_delay", "0", Only("0")),
    ("output_delay", "0", Only("0")),
    ("output_extra_latency", "0", Only("0")),
    ("speculative", "0", Only("0")),
    ("wait_for_tail_credit", "0", Only("0")),
    ("hold_switch_for_packet", "0", Only("0")),
    ("vc_busy_when_full", "0", Only("0")),
    ("vc_prioritize_empty", "0", Only("0")),
    ("vc_shuffle_requests", "0", Only("0")),
    ("noq", "0", Only("0")),
    ("buffer_policy", "private", Only("private")),
    ("priority", "none", Only("none")),
    ("perfect_icnt", "0", Only("0")),
    ("fixed_lat_per_hop", "0", Only("0")),
    ("use_map", "1", Only("0")),
    ("subnets", "1", Only("2")),
    ("read_request_subnet", "0", Only("0")),
    ("write_request_subnet", "0", Only("0")),
    ("read_reply_subnet", "0", Only("1")),
    ("write_reply_subnet", "0", Only("1")),
    (
        "k",
        "8",
        NoEffect("the network has a port for each SM and each L2 bank"),
    ),
    ("c", "1", NoEffect(UNUSED)),
    ("read_request_begin_vc", "0", FirstChannel),
    ("read_request_end_vc", "5", LastChannel),
    ("write_request_begin_vc", "2", FirstChannel),
    ("write_request_end_vc", "7", LastChannel),
    ("read_reply_begin_vc", "8", FirstChannel),
    ("read_reply_end_vc", "13", LastChannel),
    ("write_reply_begin_vc", "10", FirstChannel),
    ("write_reply_end_vc", "15", LastChannel),
    ("network_count", "2", NoEffect(UNUSED)),
    ("memory_node_map", "", NoEffect(UNUSED)),
    ("sim_type", "latency", NoEffect(UNUSED)),
    ("traffic", "uniform", NoEffect(UNUSED)),
    ("injection_rate", "0.1", NoEffect(UNUSED)),
    ("injection_process", "bernoulli", NoEffect(UNUSED)),
    ("packet_size", "1", NoEffect(UNUSED)),
    ("packet_size_rate", "1", NoEffect(UNUSED)),
    ("use_read_write", "0", NoEffect(UNUSED)),
    ("use_noc_latency", "1", NoEffect(UNUSED)),
    ("seed", "0", NoEffect("nothing is random")),
    ("sample_period", "1000", NoEffect(UNUSED)),
    ("warmup_periods", "3", NoEffect(UNUSED)),
    ("max_samples", "10", NoEffect(UNUSED)),
    ("classes", "1", NoEffect(UNUSED)),
    ("enable_link_stats", "0", NoEffect(PRINTED)),
    ("print_activity", "0", NoEffect(PRINTED)),
    ("viewer_trace", "0", NoEffect(PRINTED)),
    ("watch_file", "", NoEffect(PRINTED)),
    ("watch_flits", "", NoEffect(PRINTED)),
    ("watch_packets", "", NoEffect(PRINTED)),
    ("watch_transactions", "", NoEffect(PRINTED)),
    ("watch_out", "", NoEffect(PRINTED)),
    ("stats_out", "", NoEffect(PRINTED)),
    ("MATLAB_OUTPUT", "0", NoEffect(PRINTED)),
    ("DISPLAY_LAT_DIST", "0", NoEffect(PRINTED)),
    ("DISPLAY_HOP_DIST", "0", NoEffect(PRINTED)),
    ("DISPLAY_PAIR_LATENCY", "0", NoEffect(PRINTED)),
    ("sim_power", "0", NoEffect("power model")),
];

/// Rows of a Markdown table with all keys and their treatment.
pub(super) fn keys_markdown() -> String {
    let row = |&(key, default, fate): &(&str, &str, Fate)| {
        let fate = match fate {
            Key(ours) => format!("carried into `{ours}`"),
            Only(value) => format!("modelled with `{value}` only"),
            FirstChannel => "modelled with `0` only".to_owned(),
            LastChannel => "modelled with `num_vcs` - 1 only".to_owned(),
            NoEffect(why) => format!("no effect: {why}"),
        };
        format!("| `{key}` | `{default}` | {fate} |\n")
    };
    KEYS.iter().map(row).collect()
}

/// Value that GPGPU-Sim substitutes for an `input_buffer_size` of 0.
const DEFAULT_INJECTION_BUFFER: i64 = 9;

/// Size in bytes of the largest packet of every machine: a header of 8 and a line of 128.
const LARGEST_PACKET: i64 = 136;

impl Draft {
    pub(super) fn network(&mut self, file: Option<Source>, files: &mut ReadFile<'_>) {
        match self.int("-network_mode") {
            1 => self.fly(file, files),
            2 => self.local_crossbar(),
            other => {
                let setting = self.settings.of("-network_mode").clone();
                let reason = format!("there is no network mode {other}");
                self.refuse(&setting, reason, "write 1 (BookSim) or 2 (local crossbar)");
            }
        }
    }

    fn kind(&mut self, name: &str) {
        let option = "-network_mode";
        let setting = self.settings.of(option).clone();
        self.put("noc.kind", Raw::Text(name.to_owned()), &setting, option);
    }

    fn local_crossbar(&mut self) {
        self.kind(match self.int("-icnt_arbiter_algo") {
            0 => "turn-crossbar",
            _ => "local-crossbar",
        });
        let keys = [
            ("-icnt_flit_size", "noc.flit_bytes"),
            ("-icnt_in_buffer_limit", "noc.input_buffer"),
            ("-icnt_out_buffer_limit", "noc.output_buffer"),
        ];
        for (option, key) in keys {
            let setting = self.settings.of(option).clone();
            self.put(key, Raw::Int(whole(&setting.text)), &setting, option);
        }
        // The injection buffer is counted in packets there and in flits here.
        let flits = self.int("-icnt_flit_size").max(1);
        let per_packet = LARGEST_PACKET / flits + i64::from(LARGEST_PACKET % flits != 0);
        let packets = self
            .int("-icnt_in_buffer_limit")
            .clamp(1, LARGEST_NOC_BUFFER.into());
        let injection = Raw::Int(Some((packets * per_packet).min(LARGEST_NOC_BUFFER.into())));
        let setting = self.settings.of("-icnt_in_buffer_limit").clone();
        let option = "-icnt_in_buffer_limit, in flits";
        self.put("noc.injection_buffer", injection, &setting, option);
        let fly_only = [
            ("noc.boundary_buffer", 16),
            ("noc.virtual_channels", 1),
            ("noc.input_speedup", 1),
            ("noc.output_speedup", 1),
            ("noc.internal_speedup_percent", 100),
            ("noc.hop_cycles", 3),
        ];
        for (key, number) in fly_only {
            let why = "a local crossbar does not read it";
            self.own(key, Raw::Int(Some(number)), OriginKind::Ours, why);
        }
        let only = [
            (
                "-icnt_subnets",
                "2",
                "requests and replies have a network each",
            ),
            ("-icnt_grant_cycles", "1", "a grant holds for one cycle"),
        ];
        for (option, value, meaning) in only {
            if !same(&self.settings.of(option).text, value) {
                self.outcome(option, Class::NotModelled, meaning);
            }
        }
        if !["0", "1"]
            .iter()
            .any(|known| same(&self.settings.of("-icnt_arbiter_algo").text, known))
        {
            let text = "outputs choose by iSLIP with one iteration";
            self.outcome("-icnt_arbiter_algo", Class::NotModelled, text);
        }
        let text = "read only with -network_mode 1";
        self.outcome("-inter_config_file", Class::NoEffect, text);
    }

    fn fly(&mut self, file: Option<Source>, files: &mut ReadFile<'_>) {
        self.kind("fly");
        for option in [
            "-icnt_flit_size",
            "-icnt_in_buffer_limit",
            "-icnt_out_buffer_limit",
            "-icnt_subnets",
            "-icnt_arbiter_algo",
            "-icnt_grant_cycles",
        ] {
            let text = "read only with -network_mode 2; the network's file says it";
            self.outcome(option, Class::NoEffect, text);
        }
        let setting = self.settings.of("-inter_config_file").clone();
        let file = file.map_or_else(
            || {
                let from = self.layers.sources[setting.value.source].name();
                files(from, &setting.text)
            },
            Ok,
        );
        match file {
            Ok(file) => self.fly_of(file),
            Err(reason) => {
                let help =
                    "name it with `-inter_config_file FILE`, or with `warploom import --icnt FILE`";
                let reason = format!("no file of the network: {reason}");
                self.refuse(&setting, reason, help);
            }
        }
    }

    fn fly_of(&mut self, file: Source) {
        let name = file.name().to_owned();
        let statements = icnt::read(&mut self.layers, file);
        for statement in &statements {
            if !KEYS.iter().any(|(key, ..)| *key == statement.name) {
                self.unknown_key(&name, statement);
            }
        }
        let given: BTreeMap<_, _> = statements
            .into_iter()
            .map(|s| (s.name.clone(), s))
            .collect();
        let channels = given.get("num_vcs").and_then(|given| whole(&given.value));
        let last_channel = (channels.unwrap_or(16).saturating_sub(1)).to_string();
        for &(key, default, fate) in KEYS {
            self.network_key(&name, key, (default, fate), given.get(key), &last_channel);
        }
        self.network_file = Some(name);
        let mut network = Network { given, draft: self };
        network.numbers();
    }

    fn unknown_key(&mut self, file: &str, statement: &Statement) {
        let near = nearest(&statement.name, KEYS.iter().map(|(key, ..)| *key));
        let text = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "no setting of the network that is known here".to_owned(),
        };
        self.warn(statement.key, &statement.name, &text);
        let item = self.network_item(file, statement, Class::Unknown, text);
        self.network_items.push(item);
    }

    fn network_item(&self, file: &str, of: &Statement, class: Class, text: String) -> Item {
        Item {
            option: of.name.clone(),
            value: of.value.clone(),
            class,
            text,
            file: Some(file.to_owned()),
            position: self.layers.sources[of.key.source].position(of.key.span.start),
        }
    }

    /// Reports the treatment of a key; if the key is not given, only if its default is not
    /// modelled.
    fn network_key(
        &mut self,
        file: &str,
        key: &str,
        (default, fate): (&str, Fate),
        given: Option<&Statement>,
        last_channel: &str,
    ) {
        let value = given.map_or(default, |statement| statement.value.as_str());
        let wanted = match fate {
            Key(_) | NoEffect(_) => value,
            Only(only) => only,
            FirstChannel => "0",
            LastChannel => last_channel,
        };
        let (class, text) = match fate {
            NoEffect(why) => (Class::NoEffect, why.to_owned()),
            _ if same(wanted, value) => (Class::Carried, String::new()),
            _ => {
                let text = format!("the network here has `{wanted}` in its place");
                (Class::NotModelled, text)
            }
        };
        let statement = match (given, class) {
            (Some(given), _) => given.clone(),
            (None, Class::NotModelled) => Statement {
                name: key.to_owned(),
                value: default.to_owned(),
                key: Self::nowhere(),
                place: Self::nowhere(),
            },
            (None, _) => return,
        };
        let mut item = self.network_item(file, &statement, class, text);
        if given.is_none() {
            item.file = None;
        }
        self.network_items.push(item);
    }
}

/// Settings of the file of a network.
struct Network<'a> {
    given: BTreeMap<String, Statement>,
    draft: &'a mut Draft,
}

impl Network<'_> {
    fn numbers(&mut self) {
        for (key, ours) in [
            ("flit_size", "noc.flit_bytes"),
            ("vc_buf_size", "noc.input_buffer"),
            ("boundary_buffer_size", "noc.boundary_buffer"),
            ("num_vcs", "noc.virtual_channels"),
            ("input_speedup", "noc.input_speedup"),
            ("output_speedup", "noc.output_speedup"),
        ] {
            let number = self.number(key);
            self.put(ours, key, number);
        }
        let (key, buffer) = match self.number("ejection_buffer_size") {
            Some(0) => ("vc_buf_size", self.number("vc_buf_size")),
            other => ("ejection_buffer_size", other),
        };
        self.put("noc.output_buffer", key, buffer);
        let injection = self.number("input_buffer_size").map(|size| match size {
            0 => DEFAULT_INJECTION_BUFFER,
            size => size,
        });
        self.put("noc.injection_buffer", "input_buffer_size", injection);
        let speedup = self.value("internal_speedup");
        match percent(&speedup) {
            Some(percent) => {
                self.put(
                    "noc.internal_speedup_percent",
                    "internal_speedup",
                    Some(percent),
                );
            }
            None => self.refuse("internal_speedup", "write a number such as 2.0"),
        }
        let delays = [
            "routing_delay",
            "vc_alloc_delay",
            "sw_alloc_delay",
            "st_prepare_delay",
            "st_final_delay",
        ];
        let steps: Option<Vec<i64>> = delays.iter().map(|key| self.number(key)).collect();
        let sum = steps.and_then(|all| all.iter().try_fold(0i64, |sum, n| sum.checked_add(*n)));
        self.put("noc.hop_cycles", "vc_alloc_delay", sum);
    }

    /// Value of a key as text.
    fn value(&self, key: &str) -> String {
        let default = KEYS.iter().find(|(name, ..)| *name == key);
        let default = default.map_or("", |(_, default, _)| default);
        self.given.get(key).map_or(default, |s| &s.value).to_owned()
    }

    /// Number of a key; `None` if the value is no number, which is reported.
    fn number(&mut self, key: &str) -> Option<i64> {
        let number = self.value(key).parse().ok();
        if number.is_none() {
            self.refuse(key, "write a whole number");
        }
        number
    }

    fn put(&mut self, ours: &str, key: &str, number: Option<i64>) {
        let text = format!("{key} of the network's file");
        let (places, kind) = match self.given.get(key) {
            Some(statement) => ((statement.key, statement.place), OriginKind::Imported),
            None => {
                let own: Place = Draft::nowhere();
                ((own, own), OriginKind::Default)
            }
        };
        let raw = Raw::Int(number);
        self.draft.place(ours, raw, places.0, places.1, kind, &text);
    }

    fn refuse(&mut self, key: &str, help: &str) {
        let Some(statement) = self.given.get(key) else {
            return;
        };
        let reason = format!("`{}` is no value of `{key}`", statement.value);
        let problem = Diagnostic::error("bad-network", statement.place.span, reason).help(help);
        let source = statement.place.source;
        self.draft.layers.problems.push((source, problem));
    }
}
