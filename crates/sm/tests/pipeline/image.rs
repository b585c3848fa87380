//! Facts about an instruction before it runs: pipe, latency, interval, lists of
//! registers (docs/model/sm.md, Instruction classes).

use crate::dut::image;
use warploom_base::{KernelSlot, Pc};
use warploom_config::{GpuSpec, Products, preset};
use warploom_sm::{PreparedKernel, TimedInst};

const MACHINES: [&str; 3] = ["gtx480", "gtx480-gpgpusim4", "qv100-volta"];

fn spec(name: &str) -> GpuSpec {
    preset(name).unwrap_or_else(|errors| panic!("{errors}"))
}

fn prepared(spec: &GpuSpec, body: &str) -> PreparedKernel {
    image(spec, body, KernelSlot(0), 32, 0)
}

fn first(spec: &GpuSpec, instruction: &str) -> TimedInst {
    *prepared(spec, instruction).at(Pc(0))
}

/// Pipe, latency and interval of each instruction on version 3's Fermi, version 4's and a Volta.
/// Numbers are those of the machines' configurations (`-ptx_opcode_latency_*` and
/// `-ptx_opcode_initiation_*`); the rules are:
///
/// - integers and what has no class of its own (one cycle) go to INT, where there is such a unit,
///   else to SP; single precision to SP; divisions and special functions to SFU;
/// - double precision: to SP in version 3; in version 4 to DP or, without such a unit, to SFU;
/// - `mul24` and `mad24` take a cycle more than `mul` and `mad`, and their interval is one longer;
/// - special functions take the entry of double-precision multiplication where there is no other.
const TIMES: &str = "\
add.u32 %r1, %r2, %r3;              | Sp 4/1     | Sp 4/1      | Int 4/2
min.s32 %r1, %r2, %r3;              | Sp 13/2    | Sp 13/2     | Int 13/2
mul.lo.u32 %r1, %r2, %r3;           | Sp 4/2     | Sp 4/2      | Int 4/2
mad.lo.u32 %r1, %r2, %r3, %r4;      | Sp 5/1     | Sp 5/1      | Int 5/2
div.u32 %r1, %r2, %r3;              | Sfu 145/8  | Sfu 145/8   | Sfu 145/8
rem.s32 %r1, %r2, %r3;              | Sfu 145/8  | Sfu 145/8   | Sfu 145/8
mul24.lo.u32 %r1, %r2, %r3;         | Sp 5/3     | Sp 5/3      | Int 5/3
mad24.lo.u32 %r1, %r2, %r3, %r4;    | Sp 6/2     | Sp 6/2      | Int 6/3
add.f32 %f1, %f2, %f3;              | Sp 4/1     | Sp 4/1      | Sp 4/2
max.f32 %f1, %f2, %f3;              | Sp 13/2    | Sp 13/2     | Sp 13/2
mul.f32 %f1, %f2, %f3;              | Sp 4/1     | Sp 4/1      | Sp 4/2
fma.rn.f32 %f1, %f2, %f3, %f4;      | Sp 5/1     | Sp 5/1      | Sp 5/2
div.rn.f32 %f1, %f2, %f3;           | Sfu 39/4   | Sfu 39/4    | Sfu 39/4
sin.approx.f32 %f1, %f2;            | Sfu 8/8    | Sfu 8/8     | Sfu 100/8
rsqrt.approx.f32 %f1, %f2;          | Sfu 8/8    | Sfu 8/8     | Sfu 100/8
add.f64 %fd1, %fd2, %fd3;           | Sp 8/8     | Sfu 8/8     | Dp 8/4
max.f64 %fd1, %fd2, %fd3;           | Sp 19/16   | Sfu 19/16   | Dp 19/4
fma.rn.f64 %fd1, %fd2, %fd3, %fd4;  | Sp 8/8     | Sfu 8/8     | Dp 8/4
div.rn.f64 %fd1, %fd2, %fd3;        | Sfu 330/130 | Sfu 330/130 | Sfu 330/130
shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1; | Sp 32/4 | Sp 32/4    | Int 21/4
mov.u32 %r1, %r2;                   | Sp 1/1     | Sp 1/1      | Int 1/1
shl.b32 %r1, %r2, 3;                | Sp 1/1     | Sp 1/1      | Int 1/1
cvt.rn.f32.u32 %f1, %r2;            | Sp 1/1     | Sp 1/1      | Int 1/1
setp.lt.u32 %p1, %r2, %r3;          | Sp 1/1     | Sp 1/1      | Int 1/1
bar.sync 0;                         | Sp 1/1     | Sp 1/1      | Int 1/1
membar.gl;                          | Mem 1/1    | Mem 1/1     | Mem 1/1
ld.shared.u32 %r1, [s];             | Mem 1/1    | Mem 1/1     | Mem 1/1
st.local.u32 [l], %r1;              | Mem 1/1    | Mem 1/1     | Mem 1/1
atom.shared.add.u32 %r1, [s], 1;    | Mem 1/1    | Mem 1/1     | Mem 1/1";

#[test]
fn every_class_has_its_pipe_and_its_times() {
    for (at, name) in MACHINES.into_iter().enumerate() {
        let spec = spec(name);
        for line in TIMES.lines() {
            let mut columns = line.split('|').map(str::trim);
            let instruction = columns.next().unwrap_or_default();
            let expected = columns.nth(at).unwrap_or_default();
            let inst = first(&spec, instruction);
            let found = format!("{:?} {}/{}", inst.pipe, inst.latency, inst.interval);
            assert_eq!(found, expected, "{instruction} on {name}");
        }
    }
}

/// Pipes of products by GPGPU-Sim 3.2.2's `ptx_instruction::set_opcode_and_latency`: SFU for mul
/// and mad of integers, ALU or SFU for mul of floats. The others stay where they are.
const WITH_SFU: &str = "\
mul.lo.u32 %r1, %r2, %r3;           | Sfu 4/2
mul.wide.u32 %rd1, %r2, %r3;        | Sfu 4/2
mul.hi.s32 %r1, %r2, %r3;           | Sfu 4/2
mad.lo.u32 %r1, %r2, %r3, %r4;      | Sfu 5/1
mul.f32 %f1, %f2, %f3;              | SpOrSfu 4/1
mul.f64 %fd1, %fd2, %fd3;           | SpOrSfu 8/8
fma.rn.f32 %f1, %f2, %f3, %f4;      | Sp 5/1
fma.rn.f64 %fd1, %fd2, %fd3, %fd4;  | Sp 8/8
mul24.lo.u32 %r1, %r2, %r3;         | Sp 5/3
add.u32 %r1, %r2, %r3;              | Sp 4/1
div.u32 %r1, %r2, %r3;              | Sfu 145/8";

#[test]
fn products_go_to_sfu_where_the_machine_says_so() {
    let mut spec = spec("gtx480");
    spec.sm.products = Products::Sfu;
    for line in WITH_SFU.lines() {
        let (instruction, expected) = line.split_once('|').unwrap_or_default();
        let inst = first(&spec, instruction.trim());
        let found = format!("{:?} {}/{}", inst.pipe, inst.latency, inst.interval);
        assert_eq!(found, expected.trim(), "{instruction}");
    }
    assert_eq!(preset("fermi-slicer").unwrap().sm.products, Products::Sfu);
}

/// The two-level scheduler waits for what comes from memory outside the SM.
#[test]
fn loads_are_long_but_from_shared_memory() {
    let spec = spec("gtx480");
    let long = [
        ("ld.global.u32 %r1, [%rd1];", true),
        ("ld.local.u32 %r1, [l];", true),
        ("ld.param.u64 %rd1, [buf];", true),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];", true),
        ("atom.global.add.u32 %r1, [%rd1], 1;", true),
        ("ld.shared.u32 %r1, [s];", false),
        ("atom.shared.add.u32 %r1, [s], 1;", false),
        ("st.global.u32 [%rd1], %r1;", false),
        ("add.u32 %r1, %r2, %r3;", false),
    ];
    for (instruction, expected) in long {
        assert_eq!(
            first(&spec, instruction).is_long(),
            expected,
            "{instruction}"
        );
    }
    assert!(first(&spec, "membar.cta;").fence);
    assert!(!first(&spec, "bar.sync 0;").fence);
}

/// A register that stands twice among the sources is read twice in version 3, once in version 4,
/// which also brings the others into order. Guards are no operands of the collector.
#[test]
fn sources_are_read_by_version() {
    let reads = |name: &str| {
        let image = prepared(&spec(name), "@%p1 mad.lo.u32 %r1, %r7, %r3, %r7;");
        image.list(&image.at(Pc(0)).bank_reads).to_vec()
    };
    assert_eq!(reads("gtx480"), [7, 3, 7]);
    assert_eq!(reads("gtx480-gpgpusim4"), [3, 7]);
}

/// Lists of few and of many registers.
#[test]
fn all_sources_are_read() {
    let reads = |instruction: &str| {
        let image = prepared(&spec("gtx480"), instruction);
        image.list(&image.at(Pc(0)).bank_reads).to_vec()
    };
    let few = reads("st.shared.v4.u32 [s], {%r1, %r2, %r3, %r4};");
    assert_eq!(few, [1, 2, 3, 4]);
    let many = reads(
        "tex.grad.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [t, {%f1, %f2}], {%f3, %f4}, {%f5, %f6};",
    );
    let first = many[0];
    assert_eq!(many, (first..first + 6).collect::<Vec<_>>());
}

/// The scoreboard is asked for what an instruction reads and for what it writes, guards and
/// addresses too.
#[test]
fn the_scoreboard_is_asked_for_sources_and_destinations() {
    let many: String = (0..80).map(|i| format!("mov.u32 %r{i}, {i};\n")).collect();
    let stores = (0..80).map(|i| format!("@%p1 st.shared.u32 [s+{}], %r{i};\n", 4 * i));
    let body = many + "setp.eq.u32 %p1, %r0, %r0;\n" + &stores.collect::<String>();
    let image = prepared(&spec("gtx480"), &body);
    assert!(image.program.score_len() > 64 && image.score_words() == 2);
    let bits = |entries: &[u16]| {
        let mut words = [0_u64; 2];
        for entry in entries {
            words[usize::from(entry / 64)] |= 1 << (entry % 64);
        }
        words
    };
    let mut high = 0;
    for (inst, facts) in image.timed.iter().zip(&image.program.facts) {
        let needs = [&facts.reads[..], &facts.writes].concat();
        assert!(image.needs(inst).eq(bits(&needs)));
        assert!(image.writes(inst).eq(bits(&facts.writes)));
        high += needs.iter().filter(|entry| **entry >= 64).count();
    }
    assert!(high > 0, "some entries are beyond the first word");
    let stores = image.timed.len() - 2;
    let needs = image.needs(image.at(Pc(stores as u32)));
    let needs: u32 = needs.map(u64::count_ones).sum();
    assert_eq!(needs, 2, "value and guard");
}
