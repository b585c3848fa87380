//! Tests of registers that are always spilled, even where registers are available.

use warploom_diag::Source;
use warploom_ptx::ast::Module;
use warploom_regalloc::checker::{Claim, check};
use warploom_regalloc::{Home, Options, Place, SharedSpills, allocate_kernel, fewest_registers};
use warploom_regalloc::{Typing, demand, max_registers};

const TEXT: &str =
    ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p) {
    .reg .b32 %r<6>; .reg .b64 %rd<3>; .reg .pred %q;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 7; mov.u32 %r3, 0;
    again: add.u32 %r3, %r3, %r2; setp.lt.u32 %q, %r3, 99; @%q bra again;
    add.u32 %r4, %r3, %r1; st.global.u32 [%rd1], %r4; ret; }";

fn module() -> Module {
    warploom_ptx::load(&Source::new("k.ptx", TEXT)).unwrap().0
}

fn kept(name: &str, place: Place) -> Options {
    Options {
        shared: Some(SharedSpills {
            block: [64, 1, 1],
            spare_bytes: 0,
            weigh_loops: false,
        }),
        kept: vec![(name.to_owned(), place)],
        ..Options::default()
    }
}

#[test]
fn a_register_is_kept_where_it_is_wanted_and_the_rest_have_registers() {
    let module = module();
    for place in [Place::Local, Place::Shared] {
        let options = kept("%r2", place);
        let allocation = allocate_kernel(&module, "k", &options).unwrap();
        let spilled = &allocation.report.spilled;
        assert_eq!(spilled.len(), 1);
        assert_eq!(spilled[0].name, "%r2");
        let wanted = match place {
            Place::Local => Home::Local(0),
            Place::Shared => Home::Shared(0),
        };
        assert_eq!(spilled[0].home, wanted);
        assert_eq!((spilled[0].loads.count, spilled[0].stores.count), (1, 1));
        let steps = &allocation.steps[0].1;
        let claim = Claim {
            original: &module,
            allocated: &allocation.module,
            function: "k",
            steps,
            block: [64, 1, 1],
            limit: None,
            typing: Typing::Bits,
        };
        check(&claim).unwrap();
    }
}

#[test]
fn a_name_that_no_register_has_is_refused() {
    let options = kept("%r99", Place::Local);
    let refusal = allocate_kernel(&module(), "k", &options).unwrap_err();
    let found: Vec<_> = refusal.iter().collect();
    let [found] = found[..] else {
        panic!("one error instead of {refusal:?}");
    };
    assert_eq!(found.code, "unknown-register");
    assert!(found.message.contains("`%r99`"), "{}", found.message);
}

#[test]
fn the_fewest_and_the_most_are_those_of_demand() {
    let (module, options) = (module(), Options::default());
    let all = demand(&module, "k", &options).unwrap();
    let fewest = |least| fewest_registers(&module, "k", &options, least).unwrap();
    assert_eq!(fewest(1), all.min_registers);
    assert_eq!(fewest(all.min_registers + 1), all.min_registers + 1);
    assert_eq!(fewest(99), all.max_registers);
    assert_eq!(
        max_registers(&module, "k", &options).unwrap(),
        all.max_registers
    );
}
