//! Against GPGPU-Sim's own powers, by hand, and for what always holds.

use crate::{
    Activity, Component, Energy, EnergyPreset, Event, PRESETS, Power, StaticRate, UnitMix,
    evaluate, evaluate_at, find, for_gpu, read,
};
use serde_json::Value;
use std::collections::BTreeMap;
use warploom_diag::Source;
use warploom_stats::result::Counts;

/// Returns the counts of GPGPU-Sim 4.2 under the names of our counters.
fn counts(run: &Value) -> Counts {
    let mut counts = Counts::new();
    let of = |name: &str| run["counters"][name].as_f64().unwrap().round() as u64;
    let mut put = |name: String, value: u64| {
        counts.insert(name, value);
    };
    put("sm.decoded".into(), of("TOT_INST"));
    let caches = [
        ("l1i", "inst_read", "IC_H", "IC_M"),
        ("l1d", "global_read", "DC_RH", "DC_RM"),
        ("l1d", "global_write", "DC_WH", "DC_WM"),
        ("l1c", "const_read", "CC_H", "CC_M"),
        ("l1t", "texture_read", "TC_H", "TC_M"),
        ("l2", "global_read", "L2_RH", "L2_RM"),
        ("l2", "global_write", "L2_WH", "L2_WM"),
    ];
    for (cache, kind, hit, miss) in caches {
        // Accesses that merge into a pending miss count as hits and lower the misses, which may
        // come out below 0.
        let misses = run["counters"][miss].as_f64().unwrap().round() as i64;
        let merged = (-misses).max(0) as u64;
        put(format!("{cache}.accesses.hit.{kind}"), of(hit) - merged);
        put(format!("{cache}.accesses.mshr_hit.{kind}"), merged);
        put(
            format!("{cache}.accesses.miss.{kind}"),
            misses.max(0) as u64,
        );
    }
    put("sm.shared_instructions".into(), of("SHRD_ACC"));
    put("sm.register_reads".into(), of("REG_RD") / 32);
    put("sm.register_writes".into(), of("REG_WR") / 32);
    put("sm.other_operands".into(), of("NON_REG_OPs") / 32);
    let lanes = [
        ("int_add", "INT_ACC"),
        ("int_mul24", "INT_MUL24_ACC"),
        ("int_mul32", "INT_MUL32_ACC"),
        ("int_mul", "INT_MUL_ACC"),
        ("int_div", "INT_DIV_ACC"),
        ("fp_add", "FPU_ACC"),
        ("fp_mul", "FP_MUL_ACC"),
        ("fp_div", "FP_DIV_ACC"),
        ("sqrt", "FP_SQRT_ACC"),
        ("log", "FP_LG_ACC"),
        ("sin", "FP_SIN_ACC"),
        ("exp", "FP_EXP_ACC"),
        ("dp_add", "DPU_ACC"),
        ("dp_mul", "DP_MUL_ACC"),
        ("dp_div", "DP_DIV_ACC"),
        ("tensor", "TENSOR_ACC"),
        ("texture", "TEX_ACC"),
    ];
    let per_warp = run["threads_per_warp"].as_f64().unwrap();
    let factors = &data()["lane_factors"][run["config"].as_str().unwrap()];
    for (unit, counter) in lanes {
        // These counters are of lanes times their factor, inactive lanes included.
        let counted = run["counters"][counter].as_f64().unwrap();
        let lanes = counted / factors[counter].as_f64().unwrap();
        put(format!("sm.unit_lanes.{unit}"), lanes.round() as u64);
        put(
            format!("sm.unit_warps.{unit}"),
            (lanes / per_warp).ceil() as u64,
        );
    }
    put("sm.flits_sent".into(), of("NOC_A"));
    put("dram.reads".into(), of("MEM_RD"));
    put("dram.writes".into(), of("MEM_WR"));
    put("dram.precharges".into(), of("MEM_PRE"));
    let (sms, width) = machine(run);
    let cycles = cycles(run) as f64;
    let duty = run["counters"]["PIPE_A"].as_f64().unwrap();
    let lanes = duty * cycles * f64::from(32 * width * sms);
    put("sm.thread_instructions".into(), lanes.round() as u64);
    let idle = run["counters"]["IDLE_CORE_N"].as_f64().unwrap();
    let active = (f64::from(sms) - idle) * cycles;
    put("sm.active_cycles".into(), active.round() as u64);
    counts
}

fn machine(run: &Value) -> (u32, u32) {
    match run["config"].as_str().unwrap() {
        "SM2_GTX480" => (15, 2),
        _ => (80, 8),
    }
}

fn cycles(run: &Value) -> u64 {
    run["samples"].as_u64().unwrap() * run["sample_cycles"].as_u64().unwrap()
}

fn activity<'a>(run: &Value, counts: &'a Counts) -> Activity<'a> {
    Activity {
        counts,
        cycles: cycles(run),
        core_hz: run["core_clock_hz"].as_f64().unwrap(),
        sms: machine(run).0,
        gated_lanes: true,
    }
}

/// GPGPU-Sim's names of what a component of ours holds. Its schedulers are left out: it does not
/// count an instruction that is decoded together with a floating-point one and is none itself.
const PARTS: &[(&[Component], &[&str])] = &[
    (&[Component::Decode], &["IBP"]),
    (&[Component::L1i], &["ICP"]),
    (&[Component::L1d], &["DCP"]),
    (&[Component::Shared], &["SHRDP"]),
    (&[Component::RegisterFile, Component::Collectors], &["RFP"]),
    (&[Component::IntUnits], &["INTP"]),
    (
        &[Component::IntMultiply],
        &["INT_MUL24P", "INT_MUL32P", "INT_MULP", "INT_DIVP"],
    ),
    (&[Component::FpUnits], &["FPUP"]),
    (&[Component::FpMultiply], &["FP_MULP", "FP_DIVP"]),
    (&[Component::DpUnits], &["DPUP", "DP_MULP", "DP_DIVP"]),
    (&[Component::L2], &["L2CP"]),
    (&[Component::MemoryControllers], &["MCP"]),
    (&[Component::Network], &["NOCP"]),
    (&[Component::Dram], &["DRAMP"]),
    (&[Component::Pipeline], &["PIPEP"]),
    (&[Component::IdleSms], &["IDLE_COREP"]),
    (&[Component::Constant], &["CONSTP"]),
];

fn data() -> Value {
    serde_json::from_str(include_str!("../tests/gpgpusim-4.2.json")).unwrap()
}

fn runs() -> Vec<Value> {
    data()["runs"].as_array().unwrap().clone()
}

fn preset_of(run: &Value) -> EnergyPreset {
    let name = match run["config"].as_str().unwrap() {
        "SM2_GTX480" => "gtx480-gpgpusim4",
        _ => "qv100",
    };
    find(name).unwrap()
}

/// GPGPU-Sim's counters give GPGPU-Sim's powers, component by component.
#[test]
fn components_are_those_of_gpgpu_sim() {
    for run in runs() {
        let counts = counts(&run);
        let energy = evaluate(&preset_of(&run), &activity(&run, &counts));
        for (ours, theirs) in PARTS {
            let watts: f64 = theirs
                .iter()
                .map(|name| run["watts"][name].as_f64().unwrap())
                .sum();
            let joules: f64 = ours.iter().map(|part| energy.of(*part)).sum();
            let got = joules / energy.seconds;
            let label = (&run["config"], &run["kernel"], theirs);
            assert!(
                (got - watts).abs() <= 0.002 * watts + 1e-3,
                "{label:?}: {got} W, {watts} W"
            );
        }
    }
}

/// Static power depends on the units that work in a sample, which the sum over a kernel hides.
#[test]
fn static_power_of_whole_kernels_is_near() {
    for run in runs().iter().filter(|run| run["config"] == "SM7_QV100") {
        let counts = counts(run);
        let energy = evaluate(&preset_of(run), &activity(run, &counts));
        let total = run["average_power_w"].as_f64().unwrap();
        assert!(
            (energy.watts() - total).abs() < 0.1 * total,
            "{}",
            run["kernel"]
        );
    }
}

#[test]
fn every_built_in_preset_is_whole() {
    for row in PRESETS {
        let preset = find(row.name).unwrap();
        assert_eq!(preset.name, row.name);
        assert!(!preset.about.is_empty());
        let free = Event::ALL.iter().zip(&preset.joules);
        let free =
            free.filter(|(event, joules)| **joules == 0.0 && event.component != Component::L1c);
        assert_eq!(free.count(), 0, "{}", row.name);
        for gpu in row.gpus {
            assert_eq!(for_gpu(gpu).unwrap().name, row.name);
            assert!(warploom_config::preset(gpu).is_ok(), "{gpu}");
        }
    }
}

#[test]
fn every_machine_has_a_preset() {
    for gpu in warploom_config::PRESETS {
        assert!(for_gpu(gpu.name).is_some(), "{}", gpu.name);
    }
}

/// A derived preset is its base times the factors that it names.
#[test]
fn scales_multiply_their_groups_of_the_base() {
    let text = "base = \"qv100\"\n[scale]\nevents = 2\ndram = 3\nstatic = 5\nmemory = 7\n\
                [picojoules]\nflit = 9\n[watts]\nconstant = 1.5\n";
    let base = find("qv100").unwrap();
    let own = read(&Source::new("own", text)).unwrap();
    let ratio = |key: &str| own.joules_of(key).unwrap() / base.joules_of(key).unwrap();
    for (event, joules) in Event::ALL.iter().zip(&own.joules) {
        let wanted = match (event.key, event.component) {
            ("flit", _) => 9e-12 / base.joules_of("flit").unwrap(),
            (_, Component::Dram) => 3.0,
            _ => 2.0,
        };
        let got = ratio(event.key);
        assert!(
            (got - wanted).abs() < 1e-9 * wanted,
            "{}: {joules}",
            event.key
        );
    }
    let [mix, other] = [&own, &base].map(|of| of.static_power(UnitMix::IntFp));
    assert_eq!(mix.first_lane_w, 5.0 * other.first_lane_w);
    assert_eq!(mix.added_lane_w, 5.0 * other.added_lane_w);
    let watts = |power: Power| own.power(power) / base.power(power);
    assert_eq!(watts(Power::IdleSm), 5.0);
    assert_eq!(watts(Power::MemoryControllers), 7.0);
    assert_eq!(own.power(Power::Constant), 1.5);
    let alone = read(&Source::new("own", "about = \"x\"\n[scale]\nevents = 2\n"));
    let errors = alone.unwrap_err().to_string();
    assert!(
        errors.contains("own:2:1") && errors.contains("`scale` needs a base"),
        "{errors}"
    );
}

/// Static, idle and constant power of a derived preset leave room for work below the power that
/// the board was sold for (NVIDIA's data sheets), and are no small part of it.
#[test]
fn power_without_events_fits_the_boards_of_derived_presets() {
    let boards = [
        ("titan-kepler", 14.0, 250.0),
        ("maxwell-duet", 16.0, 165.0),
        ("titanx-pascal", 28.0, 250.0),
        ("rtx2060-turing", 30.0, 160.0),
        ("rtx3070-ampere", 46.0, 220.0),
        ("a100-ampere", 108.0, 400.0),
        ("h100-hopper", 132.0, 700.0),
        ("h200-hopper", 132.0, 700.0),
        ("rtx5090-blackwell", 170.0, 575.0),
    ];
    for (name, sms, board) in boards {
        let preset = find(name).unwrap();
        let active = preset.static_power(UnitMix::IntFp).at(32.0) / f64::from(preset.sms) * sms;
        let idle = preset.power(Power::IdleSm) * sms;
        let always = preset.power(Power::Constant);
        for watts in [active + always, idle + always] {
            assert!((0.05..0.5).contains(&(watts / board)), "{name}: {watts} W");
        }
    }
}

/// A preset in which event `i` costs `i` joules and powers are 10, 20, 30, 40 W, on two SMs.
fn simple() -> EnergyPreset {
    let mut preset = find("qv100").unwrap();
    preset.joules = (0..Event::ALL.len()).map(|at| at as f64).collect();
    preset.watts = [10.0, 20.0, 30.0, 40.0];
    for power in &mut preset.statics {
        (power.first_lane_w, power.added_lane_w) = (6.0, 2.0);
    }
    preset.sms = 2;
    preset
}

fn two_sms(counts: &Counts, cycles: u64) -> Activity<'_> {
    Activity {
        counts,
        cycles,
        core_hz: 100.0,
        sms: 2,
        gated_lanes: true,
    }
}

#[test]
fn an_idle_machine_takes_idle_power_for_its_time() {
    let counts = Counts::new();
    let energy = evaluate(&simple(), &two_sms(&counts, 300));
    assert_eq!(energy.seconds, 3.0);
    assert_eq!(energy.of(Component::IdleSms), 10.0 * 2.0 * 3.0);
    assert_eq!(energy.of(Component::MemoryControllers), 20.0 * 3.0);
    assert_eq!(energy.of(Component::Dram), 30.0 * 3.0);
    assert_eq!(energy.of(Component::Constant), 40.0 * 3.0);
    assert_eq!(energy.total(), (20.0 + 20.0 + 30.0 + 40.0) * 3.0);
    assert_eq!(energy.watts(), 110.0);
    assert_eq!(energy.energy_delay(), 990.0);
}

#[test]
fn lanes_and_static_power_by_hand() {
    let counts = BTreeMap::from([
        ("sm.active_cycles".to_owned(), 50),
        ("sm.unit_lanes.int_add".to_owned(), 40),
        ("sm.unit_warps.int_add".to_owned(), 4),
        ("sm.unit_lanes.int_div".to_owned(), 8),
        ("sm.unit_warps.int_div".to_owned(), 1),
    ]);
    let activity = two_sms(&counts, 100);
    let at = |key: &str| {
        Event::ALL
            .iter()
            .position(|event| event.key == key)
            .unwrap() as f64
    };
    let energy = evaluate(&simple(), &activity);
    assert_eq!(energy.of(Component::IntUnits), 40.0 * at("int_add"));
    assert_eq!(energy.of(Component::IntMultiply), 8.0 * at("int_div"));
    // 48 lanes in 5 warps are 10 active lanes: 6 W + 9 x 2 W for two SMs, one of them for 0.5 s.
    assert_eq!(energy.of(Component::Static), 24.0 / 2.0 * 0.5);
    assert_eq!(energy.of(Component::IdleSms), 10.0 * 1.5);
    // Of 128 - 40 inactive lanes half count, of 32 - 8 of a division three quarters.
    let all = Activity {
        gated_lanes: false,
        ..activity
    };
    let energy = evaluate(&simple(), &all);
    assert_eq!(energy.of(Component::IntUnits), 84.0 * at("int_add"));
    assert_eq!(energy.of(Component::IntMultiply), 26.0 * at("int_div"));
}

#[test]
fn windows_sum_to_the_run() {
    let run = &runs()[5];
    let whole = counts(run);
    let preset = preset_of(run);
    let all = activity(run, &whole);
    let first: Counts = whole
        .iter()
        .map(|(name, value)| (name.clone(), value / 3))
        .collect();
    let rest: Counts = whole
        .iter()
        .map(|(name, value)| (name.clone(), value - value / 3))
        .collect();
    let rate = StaticRate::of(&preset, &all);
    let window = |counts, cycles| {
        let part = Activity {
            counts,
            cycles,
            ..all
        };
        evaluate_at(&preset, &part, rate)
    };
    let cycles = all.cycles;
    let parts: [Energy; 2] = [
        window(&first, cycles / 2),
        window(&rest, cycles - cycles / 2),
    ];
    let energy = evaluate(&preset, &all);
    for part in Component::ALL {
        let sum: f64 = parts.iter().map(|window| window.of(part)).sum();
        assert!(
            (sum - energy.of(part)).abs() <= 1e-9 * energy.total(),
            "{}",
            part.key()
        );
    }
}

#[test]
fn a_lower_voltage_saves_with_its_square() {
    let preset = find("qv100").unwrap();
    let low = preset.clone().at_volts(0.5);
    assert_eq!(low.joules[0], preset.joules[0] / 4.0);
    assert_eq!(low.watts[0], preset.watts[0] / 2.0);
    assert_eq!(low.watts[3], preset.watts[3]);
    assert_eq!(
        low.statics[0].first_lane_w,
        preset.statics[0].first_lane_w / 2.0
    );
}

#[test]
fn kinds_of_work_follow_from_the_units() {
    let mix = |names: &[&str]| {
        let counts: Counts = names.iter().map(|name| ((*name).to_owned(), 1)).collect();
        UnitMix::of(&two_sms(&counts, 1))
    };
    let [add, mul, fp] = [
        "sm.unit_lanes.int_add",
        "sm.unit_lanes.int_mul32",
        "sm.unit_lanes.fp_add",
    ];
    assert_eq!(mix(&[]), UnitMix::Light);
    assert_eq!(mix(&["l2.accesses.hit.global_read"]), UnitMix::L2);
    assert_eq!(mix(&["sm.shared_instructions"]), UnitMix::Shared);
    assert_eq!(mix(&["l1d.accesses.hit.global_read"]), UnitMix::L1d);
    assert_eq!(mix(&[add]), UnitMix::IntAdd);
    assert_eq!(mix(&[mul]), UnitMix::IntMul);
    assert_eq!(mix(&[add, mul]), UnitMix::Int);
    assert_eq!(mix(&[add, fp]), UnitMix::IntFp);
    assert_eq!(mix(&[add, fp, "sm.unit_lanes.dp_mul"]), UnitMix::IntFpDp);
    assert_eq!(mix(&[add, fp, "sm.unit_lanes.sin"]), UnitMix::IntFpSpecial);
    assert_eq!(mix(&[fp]), UnitMix::Other);
}

#[test]
fn mistakes_in_a_preset_are_located() {
    let text = "base = \"qv100\"\nvolt = 1\n[picojoules]\nflits = 3\nflit = -1\n[watts]\nconstant = true\n";
    let errors = read(&Source::new("my.toml", text)).unwrap_err().to_string();
    for part in [
        "my.toml:2:1",
        "did you mean `volts`?",
        "did you mean `flit`?",
        "my.toml:5:8",
    ] {
        assert!(errors.contains(part), "{part}\n{errors}");
    }
    let errors = read(&Source::new("my.toml", "about = \"x\"\n"))
        .unwrap_err()
        .to_string();
    assert!(
        errors.contains("`picojoules` lacks decode, schedule"),
        "{errors}"
    );
    assert!(errors.contains("name a `base`"), "{errors}");
    let own = read(&Source::new(
        "my",
        "base = \"qv100\"\n[picojoules]\nflit = 7\n",
    ))
    .unwrap();
    assert_eq!(own.joules_of("flit"), Some(7e-12));
    assert_eq!(
        own.joules_of("decode"),
        find("qv100").unwrap().joules_of("decode")
    );
}
