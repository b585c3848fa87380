//! Tests of the allocator where registers are few: it shares them among widths, moves loads down,
//! keeps values in memory around loops or before them, and recomputes values.

use std::fmt::Write;
use warploom_diag::Source;
use warploom_ptx::ast::Module;
use warploom_regalloc::checker::{Claim, check};
use warploom_regalloc::{Allocation, Demand, Options, Typing, allocate_kernel, demand};

fn module(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_60\n.address_size 64\n\
         .visible .entry k(.param .u64 p, .param .u32 n) {{\n\
         .reg .pred %p<3>; .reg .b32 %r<40>; .reg .b64 %rd<40>;\n{body}ret; }}\n"
    );
    let source = Source::new("k.ptx", text);
    warploom_ptx::load(&source).expect("a right program").0
}

fn allocated(module: &Module, registers: u32) -> Allocation {
    let options = Options {
        registers: Some(registers),
        ..Options::default()
    };
    let allocation = allocate_kernel(module, "k", &options).expect("enough registers");
    let claim = Claim {
        original: module,
        allocated: &allocation.module,
        function: "k",
        steps: &allocation.steps[0].1,
        block: [1; 3],
        limit: Some(registers),
        typing: options.typing,
    };
    check(&claim).unwrap();
    allocation
}

fn demand_of(module: &Module, typing: Typing) -> Demand {
    let options = Options {
        typing,
        ..Options::default()
    };
    demand(module, "k", &options).unwrap()
}

/// The text of the kernel, and that of its loop from the label `L` to the branch.
fn texts(allocation: &Allocation) -> (String, String) {
    let text = warploom_ptx::print(&allocation.module);
    let start = text.find("\nL:").expect("a label");
    let end = start + text[start..].find("bra").expect("a branch");
    (text.clone(), text[start..end].to_owned())
}

/// Loads `count` values from successive words into `%r` registers from the first one.
fn loads(first: u32, count: u32, modifiers: &str) -> String {
    let mut text = String::new();
    for i in 0..count {
        let _ = writeln!(
            text,
            "ld.{modifiers}global.u32 %r{}, [%rd0+{}];",
            first + i,
            4 * i
        );
    }
    text
}

/// Adds `count` registers from the first one to `%r0`.
fn sum(first: u32, count: u32) -> String {
    let mut text = String::new();
    for i in 0..count {
        let _ = writeln!(text, "xor.b32 %r0, %r0, %r{};", first + i);
    }
    text
}

#[test]
fn widths_share_registers_unless_types_are_kept_apart() {
    // Four 64-bit values, and then eight 32-bit values.
    let mut body = "ld.param.u64 %rd0, [p]; mov.u32 %r0, 0;\n".to_owned();
    for i in 1..=4 {
        let _ = writeln!(body, "ld.volatile.global.u64 %rd{i}, [%rd0+{}];", 8 * i);
    }
    body += "xor.b64 %rd1, %rd1, %rd2; xor.b64 %rd3, %rd3, %rd4; xor.b64 %rd1, %rd1, %rd3;\n\
        st.volatile.global.u64 [%rd0], %rd1;\n";
    body += &loads(1, 8, "volatile.");
    body += &sum(1, 8);
    body += "st.global.u32 [%rd0], %r0;\n";
    let module = module(&body);
    let bits = demand_of(&module, Typing::Bits);
    // The address, the sum and eight values of either width.
    assert_eq!((bits.pressure, bits.max_registers), (11, 11));
    let kinds = demand_of(&module, Typing::Kinds);
    assert_eq!(kinds.max_registers, 10 + 9);
}

#[test]
fn loads_move_down_to_their_uses_but_not_past_volatile_ones() {
    let program = |modifiers: &str| {
        let (loads, sum) = (loads(1, 16, modifiers), sum(1, 16));
        module(&format!(
            "ld.param.u64 %rd0, [p]; mov.u32 %r0, 0;\n{loads}{sum}st.global.u32 [%rd0], %r0;\n"
        ))
    };
    let free = allocated(&program(""), 6);
    assert_eq!(
        (
            free.report.added.local.count,
            free.report.added.others.count
        ),
        (0, 0)
    );
    assert!(demand_of(&program(""), Typing::Bits).max_registers <= 5);
    let fixed = allocated(&program("volatile."), 6);
    assert!(fixed.report.added.local.count > 0);
    assert!(demand_of(&program("volatile."), Typing::Bits).max_registers >= 18);
}

#[test]
fn stores_keep_their_order_with_loads_of_the_same_memory() {
    // Each store overwrites the word that the next load reads.
    let mut body = "ld.param.u64 %rd0, [p]; mov.u32 %r0, 0;\n".to_owned();
    for i in 1..8 {
        let _ = writeln!(body, "ld.global.u32 %r{i}, [%rd0+{}];", 4 * i);
        let _ = writeln!(body, "st.global.u32 [%rd0+{}], %r{i};", 4 * i + 4);
    }
    let module = module(&(body + &sum(1, 7) + "st.global.u32 [%rd0], %r0;\n"));
    let text = warploom_ptx::print(&allocated(&module, 5).module);
    let accesses = text.lines().filter(|line| line.contains("global"));
    let kinds: Vec<bool> = accesses.map(|line| line.contains("ld.")).collect();
    assert!(
        kinds[..14].chunks(2).all(|pair| pair == [true, false]),
        "{text}"
    );
}

/// A loop with `inside` values in use, and 10 more trips than its counter says.
fn repeat(inside: u32) -> String {
    let loads = loads(10, inside, "volatile.");
    format!(
        "mov.u32 %r1, 0;\nL:\n{loads}{}add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9;\n\
         @%p1 bra L;\n",
        sum(10, inside)
    )
}

#[test]
fn values_rest_in_memory_around_a_loop_that_does_not_use_them() {
    // Six values are loaded before the loop and used after it.
    let around = loads(30, 6, "volatile.");
    let module = module(&format!(
        "ld.param.u64 %rd0, [p]; mov.u32 %r0, 0;\n{around}{}{}st.global.u32 [%rd0], %r0;\n",
        repeat(8),
        sum(30, 6)
    ));
    let allocation = allocated(&module, 13);
    let (text, inside) = texts(&allocation);
    assert!(text.contains("ld.local"), "{text}");
    assert!(!inside.contains(".local"), "{inside}");
}

#[test]
fn values_return_before_a_loop_that_uses_them() {
    // More values than registers are in use before the loop, and two of them inside of it.
    let module = module(&format!(
        "ld.param.u64 %rd0, [p]; mov.u32 %r0, 0;\n{}st.volatile.global.u32 [%rd0], %r0;\n{}{}\
         mov.u32 %r1, 0;\nL: xor.b32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3;\n\
         add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9;\n@%p1 bra L;\n\
         st.global.u32 [%rd0], %r0;\n",
        loads(2, 2, "volatile."),
        loads(10, 8, "volatile."),
        sum(10, 8)
    ));
    let allocation = allocated(&module, 11);
    let (text, inside) = texts(&allocation);
    assert!(text.contains("ld.local"), "{text}");
    assert!(!inside.contains(".local"), "{inside}");
}

#[test]
fn values_are_recomputed_from_indices_and_parameters() {
    // The index and the address are used at both ends of a stretch without free registers.
    let module = module(&format!(
        "ld.param.u64 %rd0, [p]; mov.u32 %r0, 0;\nmov.u32 %r5, %tid.x; mul.wide.u32 %rd1, %r5, 4;\n\
         add.u64 %rd2, %rd0, %rd1; st.volatile.global.u32 [%rd2], %r5;\n{}{}\
         st.global.u32 [%rd2], %r0;\n",
        loads(10, 8, "volatile."),
        sum(10, 8)
    ));
    let allocation = allocated(&module, 11);
    let added = allocation.report.added;
    assert_eq!((added.local.count, added.shared.count), (0, 0));
    assert!(added.others.count > 0);
}

/// A value that is computed from a loaded value is recomputed only while that value is in use.
#[test]
fn values_are_recomputed_from_values_in_use() {
    let module = module(&format!(
        "ld.param.u64 %rd0, [p]; mov.u32 %r0, 0;\nld.volatile.global.u32 %r2, [%rd0];\n\
         add.u32 %r3, %r2, 77; st.volatile.global.u32 [%rd0], %r3;\n{}{}\
         xor.b32 %r0, %r0, %r3; xor.b32 %r0, %r0, %r2; st.global.u32 [%rd0], %r0;\n",
        loads(10, 8, "volatile."),
        sum(10, 8)
    ));
    let allocation = allocated(&module, 12);
    let added = allocation.report.added;
    assert_eq!((added.local.count, added.others.count), (0, 1));
}
