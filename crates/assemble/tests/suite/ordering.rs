//! Orders of basic blocks.

use crate::support::{ALL, FAR_MEMORY, ORDER, kernel, lines, lines_on};

const REGS: &str = ".reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .f32 %f<40>; .reg .pred %p<3>;";

/// Checks the order of a kernel's instructions, by their lines from the first on.
fn check(registers: u32, body: &str, expected: &[u32]) {
    let program = kernel("", &format!("{REGS}\n{body}"));
    assert_eq!(lines(&program, ORDER, registers), expected);
}

#[test]
fn a_load_is_hoisted() {
    check(
        32,
        "add.s32 %r1, %r2, %r3;
         add.s32 %r4, %r1, %r3;
         ld.global.u32 %r5, [%rd1];
         add.s32 %r6, %r5, %r4;
         st.global.u32 [%rd2], %r6;",
        &[2, 0, 1, 3, 4, 5],
    );
}

#[test]
fn a_store_that_may_alias_holds_a_load_back() {
    check(
        32,
        "add.s32 %r1, %r2, %r3;
         st.global.u32 [%rd2], %r1;
         ld.global.u32 %r5, [%rd1];
         add.s32 %r6, %r5, %r5;
         st.global.u32 [%rd2], %r6;",
        &[0, 1, 2, 3, 4, 5],
    );
    // A load of memory that is only read passes the store, unless that has the same address.
    check(
        32,
        "add.s32 %r1, %r2, %r3;
         st.global.u32 [%rd2], %r1;
         ld.global.nc.u32 %r5, [%rd1];
         add.s32 %r6, %r5, %r5;
         st.global.u32 [%rd2], %r6;",
        &[2, 0, 1, 3, 4, 5],
    );
    check(
        32,
        "add.s32 %r1, %r2, %r3;
         st.global.u32 [%rd1], %r1;
         ld.global.nc.u32 %r5, [%rd1];
         add.s32 %r6, %r5, %r5;
         st.global.u32 [%rd2], %r6;",
        &[0, 1, 2, 3, 4, 5],
    );
    // Another space cannot alias.
    check(
        32,
        "add.s32 %r1, %r2, %r3;
         st.shared.u32 [%rd2], %r1;
         ld.global.u32 %r5, [%rd1];
         add.s32 %r6, %r5, %r5;
         st.global.u32 [%rd2], %r6;",
        &[2, 0, 1, 3, 4, 5],
    );
}

#[test]
fn accesses_through_one_register_meet_where_their_bytes_do() {
    let body = |offset: u32| {
        format!(
            "ld.global.u32 %r1, [%rd2];
             st.shared.u32 [%rd1+8], %r1;
             ld.shared.v2.u32 {{%r2, %r3}}, [%rd1+{offset}];
             add.s32 %r4, %r2, %r3;
             st.global.u32 [%rd2], %r4;"
        )
    };
    let held = &[0, 1, 2, 3, 4, 5];
    check(32, &body(0), &[2, 0, 3, 1, 4, 5]);
    check(32, &body(1), held);
    check(32, &body(8), held);
    check(32, &body(11), held);
    check(32, &body(12), &[2, 0, 3, 1, 4, 5]);
    // With another value the register is another address.
    let moved = body(12).replace("ld.shared", "add.s64 %rd1, %rd1, -8;\nld.shared");
    check(32, &moved, &[0, 2, 1, 3, 4, 5, 6]);
}

#[test]
fn predicates_are_as_few_as_a_thread_has() {
    // Nine loads, each under a predicate of its own: seven of them issue before the first sum.
    let one = |nth: u32| {
        let load = format!("@%q{nth} ld.global.u32 %r{nth}, [%rd1+{}];", 4 * nth);
        let sum = format!("@%q{nth} add.s32 %r30, %r30, %r{nth};");
        format!("setp.gt.s32 %q{nth}, %r29, {nth};\n{load}\n{sum}\n")
    };
    let text: String = (0..9).map(one).collect();
    let body = format!("{REGS} .reg .pred %q<9>;\n{text}st.global.u32 [%rd2], %r30;");
    let order = lines(&kernel("", &body), ORDER, 64);
    let first_sum = order.iter().position(|line| *line < 27 && line % 3 == 2);
    let loads = order[..first_sum.expect("there are sums")].iter();
    assert_eq!(loads.filter(|line| *line % 3 == 1).count(), 7);
}

#[test]
fn loads_of_matrices_go_between_products() {
    // The second load does not wait for the first product, which waits for the first load.
    check(
        64,
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r30];
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},
             {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8},
             {%r1, %r2, %r3, %r4}, {%r7, %r8}, {%f5, %f6, %f7, %f8};
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r31];
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},
             {%r11, %r12, %r13, %r14}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
         st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
         st.global.v4.f32 [%rd2], {%f5, %f6, %f7, %f8};",
        &[0, 5, 1, 3, 6, 8, 9, 10],
    );
}

#[test]
fn registers_of_the_launch_bound_how_many_loads_come_first() {
    let body = "ld.global.u32 %r1, [%rd1];
         add.s32 %r9, %r9, %r1;
         ld.global.u32 %r2, [%rd1+4];
         add.s32 %r9, %r9, %r2;
         ld.global.u32 %r3, [%rd1+8];
         add.s32 %r9, %r9, %r3;
         st.global.u32 [%rd2], %r9;";
    // Two addresses and the sum take five registers, and each load in flight one more. The last
    // load also frees the two of its address.
    check(7, body, &[0, 2, 4, 1, 3, 5, 6, 7]);
    check(6, body, &[0, 1, 2, 4, 3, 5, 6, 7]);
    // The text needs six, also where the launch has fewer.
    check(1, body, &[0, 1, 2, 4, 3, 5, 6, 7]);
}

#[test]
fn where_nothing_fits_the_text_comes_next() {
    // Sums that begin late, each with a load under the predicate of each of twelve bits: choosing
    // what takes fewest registers would need more than seven predicates.
    let sums = 5;
    let begin: String = (0..sums)
        .map(|sum| format!("mov.u32 %r3{sum}, 0;\n"))
        .collect();
    let bits = (0..12).map(|bit| {
        let loads = (0..sums).map(|sum| {
            let at = 4 * (bit * sums + sum);
            format!(
                "@%q{bit} ld.global.u32 %r1{sum}, [%rd1+{at}];\n\
                 @%q{bit} xor.b32 %r3{sum}, %r3{sum}, %r1{sum};\n"
            )
        });
        let test = format!(
            "and.b32 %r20, %r9, {};\nsetp.ne.s32 %q{bit}, %r20, 0;\n",
            1 << bit
        );
        test + &loads.collect::<String>()
    });
    let bits: String = bits.collect();
    let ends = (0..sums).map(|sum| format!("st.global.u32 [%rd2+{}], %r3{sum};\n", 4 * sum));
    let ends: String = ends.collect();
    let program = kernel(
        "",
        &format!("{REGS} .reg .pred %q<12>;\n{begin}{bits}{ends}"),
    );
    let lines = lines(&program, ORDER, 24);
    let text: Vec<u32> = (0..lines.len() as u32).collect();
    assert_ne!(lines, text, "no order kept to the predicates");
}

#[test]
fn values_in_uniform_registers_take_no_room() {
    let body = "ld.param.u64 %rd1, [p];
         ld.global.u32 %r1, [%rd1];
         add.s32 %r9, %r9, %r1;
         ld.global.u32 %r2, [%rd1+4];
         add.s32 %r9, %r9, %r2;
         st.global.u32 [%rd2], %r9;";
    let program = kernel(".param .u64 p", &format!("{REGS}\n{body}"));
    // The sum and an address take three registers, and each load one.
    assert_eq!(lines(&program, ORDER, 5), [0, 1, 3, 2, 4, 5, 6]);
    assert_eq!(lines(&program, ORDER, 4), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn addresses_in_shared_memory_take_one_register() {
    let body = |space: &str| {
        format!(
            "ld.{space}.u32 %r1, [%rd1];
             add.s32 %r9, %r9, %r1;
             ld.{space}.u32 %r2, [%rd1+4];
             add.s32 %r9, %r9, %r2;
             st.{space}.u32 [%rd1], %r9;"
        )
    };
    // The sum, the address and two loads in flight.
    check(4, &body("shared"), &[0, 2, 1, 3, 4, 5]);
    check(4, &body("global"), &[0, 1, 2, 3, 4, 5]);
}

#[test]
fn barriers_fences_and_clocks_keep_their_places() {
    // A barrier orders accesses to memory, and arithmetic may pass it.
    check(
        32,
        "st.shared.u32 [%r1], %r2;
         bar.sync 0;
         ld.shared.u32 %r3, [%r4];
         mul.lo.s32 %r5, %r6, %r7;
         st.global.u32 [%rd1], %r5;
         st.global.u32 [%rd1+4], %r3;",
        &[0, 1, 2, 3, 4, 5, 6],
    );
    // Nothing passes a clock.
    check(
        32,
        "mov.u32 %r1, %clock;
         add.s32 %r2, %r3, %r3;
         mov.u32 %r4, %clock;
         ld.global.u32 %r5, [%rd1];
         mov.u32 %r6, %clock;",
        &[0, 1, 2, 3, 4, 5],
    );
    // Volatile accesses stay in order.
    check(
        32,
        "add.s32 %r1, %r2, %r3;
         st.volatile.global.u32 [%rd1], %r1;
         ld.volatile.shared.u32 %r4, [%r5];
         add.s32 %r6, %r4, %r4;
         st.volatile.global.u32 [%rd1], %r6;",
        &[0, 1, 2, 3, 4, 5],
    );
}

#[test]
fn carries_and_exchanges_keep_their_order() {
    // The second sum takes the carry of the first, although its operands are there before.
    check(
        32,
        "ld.global.u32 %r1, [%rd1];
         add.cc.u32 %r2, %r1, %r3;
         addc.u32 %r4, %r5, %r6;
         st.global.u32 [%rd2], %r2;
         st.global.u32 [%rd2+4], %r4;",
        &[0, 1, 2, 3, 4, 5],
    );
    // A load passes a vote of named lanes, and none that tells which lanes are together.
    let body = |vote: &str| {
        format!("{vote}\nld.global.u32 %r2, [%rd1];\nst.global.v2.u32 [%rd2], {{%r1, %r2}};")
    };
    let named = body("vote.sync.ballot.b32 %r1, %p1, -1;");
    check(32, &named, &[1, 0, 2, 3]);
    check(32, &body("vote.ballot.b32 %r1, %p1;"), &[0, 1, 2, 3]);
    check(32, &body("activemask.b32 %r1;"), &[0, 1, 2, 3]);
}

#[test]
fn a_store_stands_for_those_before_it() {
    // The last store follows the first through the second; a load of the same space follows both.
    check(
        32,
        "st.shared.u32 [%r1], %r2;
         st.shared.u32 [%r3], %r2;
         st.global.u32 [%rd1], %r2;
         ld.shared.u32 %r4, [%r5];
         st.global.u32 [%rd2], %r4;",
        &[0, 1, 3, 2, 4, 5],
    );
}

/// Nothing passes an exact division, whose machine code has a branch for rare operands.
#[test]
fn a_load_is_not_hoisted_over_an_exact_division() {
    let body = |division: &str| {
        format!(
            "{division}.f32 %f1, %f2, %f3;
             st.shared.f32 [%rd3], %f1;
             ld.global.u32 %r5, [%rd1];
             add.s32 %r6, %r5, %r4;
             st.global.u32 [%rd2], %r6;"
        )
    };
    check(32, &body("div.rn"), &[0, 2, 1, 3, 4, 5]);
    check(32, &body("div.full"), &[2, 0, 1, 3, 4, 5]);
}

/// A predicate that guards is written early enough for its latency, one that is an operand is not.
#[test]
fn a_guard_is_written_early() {
    let body = |last: &str| {
        format!(
            "add.s32 %r1, %r2, %r3;
             add.s32 %r5, %r1, %r3;
             setp.ne.s32 %p1, %r2, 0;
             {last}
             st.global.u32 [%rd2], %r6;"
        )
    };
    let guarded = body("mov.u32 %r6, %r5;\n@%p1 add.s32 %r6, %r5, 1;");
    check(32, &guarded, &[2, 0, 1, 3, 4, 5, 6]);
    check(
        32,
        &body("selp.b32 %r6, %r5, %r2, %p1;"),
        &[0, 2, 1, 3, 4, 5],
    );
}

/// Cheap instructions whose results have to wait do not take the registers of loads, so that the
/// loads of as many turns as there are predicates are in flight at once.
#[test]
fn addresses_of_later_turns_leave_registers_to_loads() {
    let turns = 24;
    let turn = |nth: u32| {
        format!(
            "add.s32 %r1, %r2, {nth};\nsetp.lt.s32 %p1, %r1, %r3;\n@!%p1 bra ON{nth};\n\
             ld.global.f32 %f1, [%rd1+{}];\nfma.rn.f32 %f2, %f1, %f1, %f2;\nON{nth}:\n",
            4 * nth
        )
    };
    let body: String = (0..turns).map(turn).collect();
    let program = kernel("", &format!("{REGS}\n{body}st.global.f32 [%rd2], %f2;"));
    let order = lines_on(&FAR_MEMORY, &program, ALL, 16);
    let place = |line: u32| order.iter().position(|other| *other == line);
    let loads = (0..turns).filter(|nth| place(6 * nth + 3) < place(4));
    assert_eq!(loads.count(), 7, "loads before the first use in {order:?}");
}
