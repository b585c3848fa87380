//! Tests of the allocator of Chaitin and Briggs alone.

use warploom_diag::Source;
use warploom_ptx::ast::Module;
use warploom_regalloc::checker::{Claim, check};
use warploom_regalloc::{Allocation, Method, Options, Typing, allocate_kernel, max_registers};

/// Ten values are loaded before the first of them is used, and every value is used twice.
fn module() -> Module {
    let mut text =
        ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p) {
        .reg .b32 %r<40>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [p]; mov.u32 %r30, %tid.x; mov.u32 %r31, 0;\n"
            .to_owned();
    for i in 0..10 {
        text += &format!("ld.global.u32 %r{i}, [%rd1+{}];\n", 4 * i);
    }
    for i in (0..10).chain(0..10) {
        text += &format!("mad.lo.u32 %r31, %r31, 3, %r{i};\n");
    }
    text += "add.u32 %r31, %r31, %r30; st.global.u32 [%rd1], %r31; ret; }";
    warploom_ptx::load(&Source::new("k.ptx", text)).unwrap().0
}

fn allocate(module: &Module, method: Method, registers: u32) -> Allocation {
    let options = Options {
        registers: Some(registers),
        method,
        ..Options::default()
    };
    let allocation = allocate_kernel(module, "k", &options).unwrap();
    let claim = Claim {
        original: module,
        allocated: &allocation.module,
        function: "k",
        steps: &allocation.steps[0].1,
        block: [1; 3],
        limit: Some(registers),
        typing: Typing::Bits,
    };
    check(&claim).unwrap_or_else(|why| panic!("{registers}: {why}"));
    allocation
}

/// The checker accepts the allocation at every limit.
#[test]
fn chaitin_briggs_is_right_at_every_limit() {
    let module = module();
    let options = Options {
        method: Method::ChaitinBriggs,
        ..Options::default()
    };
    let most = max_registers(&module, "k", &options).unwrap();
    // The address, ten values, the index and the sum are in use together.
    assert_eq!(most, 14);
    for registers in 6..=most {
        let spills = allocate(&module, Method::ChaitinBriggs, registers)
            .report
            .spilled;
        assert_eq!(spills.is_empty(), registers == most, "{registers}");
    }
}

/// A spilled value is stored once after its definition, and loaded before each of its two uses. No
/// value is recomputed, although the thread's index could be.
#[test]
fn chaitin_briggs_spills_everywhere_and_recomputes_nothing() {
    let module = module();
    let report = allocate(&module, Method::ChaitinBriggs, 10).report;
    assert!(!report.spilled.is_empty());
    for value in &report.spilled {
        let uses = if value.name == "%r30" { 1 } else { 2 };
        let counts = (value.stores.count, value.loads.count);
        assert_eq!(counts, (1, uses), "{}", value.name);
    }
    let full = allocate(&module, Method::Full, 10).report;
    let bytes = |report: &warploom_regalloc::Report| report.added.load_bytes;
    assert!(bytes(&full) < bytes(&report));
}
