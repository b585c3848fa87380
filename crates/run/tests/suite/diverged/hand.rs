//! Kernels whose results are worked out by hand. The reference and Warploom must compute them.

use crate::diverged::code::{
    Bar, BarKind, Bin, Cmp, Form, Ins, Kernel, Op, Opd, Shfl, WarpOp, reg,
};
use crate::diverged::lanes::{End, interpret};
use crate::diverged::machine::{Seen, run, ways};
use crate::diverged::text::print;

const FULL: Opd = Opd::I(u32::MAX);
const LANE: Opd = Opd::R(reg::LANE);
const TID: Opd = Opd::R(reg::TID);

fn ins(op: Op) -> Ins {
    op.into()
}

fn when(p: u8, value: bool, op: Op) -> Ins {
    let guard = Some((p, value));
    Ins { guard, op }
}

fn bin(op: Bin, d: u8, a: Opd, b: Opd) -> Ins {
    ins(Op::Bin(op, d, a, b))
}

fn compare(cmp: Cmp, p: u8, a: Opd, b: Opd) -> Ins {
    ins(Op::Compare(cmp, p, a, b))
}

/// An operation of a warp on the hash, into the hash and `%p5`, with the predicate `%p0`.
fn warp(form: Form, mask: Opd) -> Op {
    Op::Warp(WarpOp {
        form,
        d: reg::HASH,
        p: 5,
        a: Opd::R(reg::HASH),
        q: (0, false),
        b: Opd::I(1),
        c: 31,
        mask,
    })
}

fn sync(number: u8, threads: Option<u32>) -> Op {
    Op::Bar(Bar {
        kind: BarKind::Sync,
        number,
        threads,
        d: 0,
        p: 0,
        q: (0, false),
    })
}

/// Checks the words that threads store.
fn leaves(body: Vec<Ins>, expected: &[u32]) {
    let threads = expected.len() as u32;
    let kernel = Kernel::of(body, 1, threads);
    let end = interpret(&kernel, 1).expect("it has a meaning");
    let End::Done(words) = &end else {
        panic!("{end:?}")
    };
    assert_eq!(words[..expected.len()], *expected);
    let text = print(&kernel);
    for named in ways() {
        let seen = run(&kernel, &text.ptx, &named.way);
        assert_eq!(
            seen,
            Seen::Done(words.clone()),
            "{}:\n{}",
            named.name,
            text.ptx
        );
    }
}

/// Checks that the kernel ends in a deadlock.
fn deadlocks(body: Vec<Ins>, threads: u32) {
    let kernel = Kernel::of(body, 1, threads);
    let end = interpret(&kernel, 1).expect("it has a meaning");
    assert!(matches!(end, End::Deadlock(_)), "{end:?}");
    let text = print(&kernel);
    for named in ways() {
        let seen = run(&kernel, &text.ptx, &named.way);
        assert!(
            matches!(seen, Seen::Deadlock(_)),
            "{}: {seen:?}\n{}",
            named.name,
            text.ptx
        );
    }
}

/// A jump that is never taken leads past the operation. Odd and even lanes would reconverge after
/// the operation, but they wait for each other at it.
#[test]
fn a_jump_that_nobody_takes_changes_nothing() {
    let body = vec![
        bin(Bin::Add, reg::HASH, TID, Opd::I(0)),
        bin(Bin::And, reg::TEMP[0], TID, Opd::I(1)),
        compare(Cmp::Eq, 0, Opd::R(reg::TEMP[0]), Opd::I(1)),
        when(0, false, Op::Bra(1)),
        ins(Op::Input(reg::TEMP[0], Opd::I(0))),
        compare(Cmp::Eq, 1, Opd::R(reg::TEMP[0]), Opd::I(7)),
        when(1, true, Op::Bra(2)),
        bin(Bin::Add, reg::HASH, Opd::R(reg::HASH), Opd::I(100)),
        ins(Op::Label(1)),
        ins(warp(Form::WarpSync, FULL)),
        ins(warp(Form::Shfl(Shfl::Bfly), FULL)),
        ins(Op::Label(2)),
        ins(Op::Output),
    ];
    let expected: Vec<u32> = (0..32)
        .map(|lane| if lane % 2 == 0 { lane + 101 } else { lane - 1 })
        .collect();
    leaves(body, &expected);
}

/// Both halves of a warp vote, each in an arm of the branch.
#[test]
fn arms_of_a_branch_vote_together() {
    let ballot = || {
        let Op::Warp(op) = warp(Form::Ballot, FULL) else {
            unreachable!("it is one")
        };
        let q = (1, false);
        ins(Op::Warp(WarpOp { q, ..op }))
    };
    let body = vec![
        compare(Cmp::Lt, 0, TID, Opd::I(16)),
        // The second half has lanes 16 to 31.
        compare(Cmp::Ge, 1, TID, Opd::I(16)),
        when(0, true, Op::Bra(1)),
        ballot(),
        ins(Op::Bra(2)),
        ins(Op::Label(1)),
        ballot(),
        ins(Op::Label(2)),
        ins(Op::Output),
    ];
    leaves(body, &[0xffff_0000; 32]);
}

/// Both halves reach the block's barrier, each in an arm of the branch, and read the other's words.
#[test]
fn arms_of_a_branch_come_to_one_barrier() {
    let arm = |number| {
        vec![
            ins(sync(number, None)),
            bin(Bin::Xor, reg::TEMP[1], TID, Opd::I(31)),
            ins(Op::Fetch(reg::HASH, 0, Opd::R(reg::TEMP[1]))),
        ]
    };
    let mut body = vec![
        bin(Bin::Add, reg::TEMP[0], TID, Opd::I(100)),
        ins(Op::Store(0, Opd::R(reg::TEMP[0]))),
        compare(Cmp::Lt, 0, TID, Opd::I(16)),
        when(0, true, Op::Bra(1)),
    ];
    body.extend(arm(0));
    body.extend([ins(Op::Bra(2)), ins(Op::Label(1))]);
    body.extend(arm(0));
    body.extend([ins(Op::Label(2)), ins(Op::Output)]);
    let expected: Vec<u32> = (0..32).map(|tid| 131 - tid).collect();
    leaves(body, &expected);
}

/// A barrier for 128 threads in a block of 64, of which 32 exit. The exit of a warp does not count
/// as an arrival.
#[test]
fn the_end_of_a_warp_is_no_arrival() {
    let body = vec![
        compare(Cmp::Ge, 0, TID, Opd::I(32)),
        when(0, true, Op::Bra(1)),
        ins(sync(1, Some(128))),
        ins(Op::Label(1)),
        ins(Op::Output),
    ];
    deadlocks(body, 64);
    deadlocks(vec![ins(sync(1, Some(128))), ins(Op::Output)], 64);
}

/// Shuffles and barriers do not wait for lanes that have exited.
#[test]
fn those_that_have_exited_are_not_waited_for() {
    let body = vec![
        compare(Cmp::Lt, 0, LANE, Opd::I(4)),
        when(0, true, Op::Exit),
        compare(Cmp::Ge, 0, TID, Opd::I(0)),
        ins(sync(0, None)),
        ins(warp(Form::Ballot, FULL)),
        ins(Op::Output),
    ];
    let expected: Vec<u32> = (0..64)
        .map(|tid| if tid % 32 < 4 { 0 } else { 0xffff_fff0 })
        .collect();
    leaves(body, &expected);
}

/// A lane that leaves the loop votes outside with all lanes. The others vote inside of the loop
/// with those that are left; that vote does not include it.
#[test]
fn a_vote_in_a_loop_is_none_behind_it() {
    let (mask, count) = (reg::MASKS[0], reg::COUNTERS[0]);
    let Op::Warp(vote) = warp(Form::Ballot, Opd::R(mask)) else {
        unreachable!("it is one")
    };
    let body = vec![
        bin(Bin::Add, mask, FULL, Opd::I(0)),
        ins(Op::Label(1)),
        compare(Cmp::Lt, 0, Opd::R(count), LANE),
        ins(Op::Warp(WarpOp { d: mask, ..vote })),
        when(0, false, Op::Bra(2)),
        bin(Bin::Add, count, Opd::R(count), Opd::I(1)),
        ins(Op::Bra(1)),
        ins(Op::Label(2)),
        bin(Bin::And, reg::TEMP[0], LANE, Opd::I(1)),
        compare(Cmp::Eq, 0, Opd::R(reg::TEMP[0]), Opd::I(1)),
        ins(warp(Form::Ballot, FULL)),
        bin(Bin::Xor, reg::HASH, Opd::R(reg::HASH), Opd::R(count)),
        ins(Op::Output),
    ];
    let expected: Vec<u32> = (0..32).map(|lane| 0xaaaa_aaaa ^ lane).collect();
    leaves(body, &expected);
}

/// Waiting for a lane that never arrives is a deadlock.
#[test]
fn a_lane_elsewhere_is_waited_for_in_vain() {
    let body = vec![
        compare(Cmp::Eq, 0, LANE, Opd::I(3)),
        when(0, false, Op::Bra(1)),
        ins(sync(0, None)),
        ins(Op::Bra(2)),
        ins(Op::Label(1)),
        ins(warp(Form::WarpSync, FULL)),
        ins(Op::Label(2)),
        ins(Op::Output),
    ];
    deadlocks(body, 32);
}

/// Runs code as it is written, with the parameters of random kernels, on machines with tensor
/// units.
fn leaves_as_written(body: &str, expected: &[u32]) {
    let kernel = Kernel::of(Vec::new(), 1, expected.len() as u32);
    let ptx = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 out, .param .u64 in, .param .u64 totals) {{\n\
         .reg .b32 %r<32>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n\
         ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nmov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd1, %rd1, %rd3;\n{body}\nret;\n}}\n"
    );
    for named in ways().iter().filter(|named| named.name != "gtx480") {
        match run(&kernel, &ptx, &named.way) {
            Seen::Done(words) => assert_eq!(words[..expected.len()], *expected, "{}", named.name),
            other => panic!("{}: {other:?}", named.name),
        }
    }
}

/// Row r of the first factor is r + 1 in all columns, and column n of the second is n + 1 in all
/// rows, so that the product is 16 (r + 1)(n + 1). Odd lanes arrive late, because a jump that is
/// never taken leads past it.
#[test]
fn lanes_wait_for_each_other_at_a_product_of_matrices() {
    let body = "shr.u32 %r2, %r1, 2;\nadd.u32 %r3, %r2, 1;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\n\
        mov.u32 %r6, 0;\nand.b32 %r7, %r1, 1;\nsetp.eq.u32 %p1, %r7, 1;\n@!%p1 bra EVEN;\n\
        ld.global.u32 %r8, [%rd2];\nsetp.eq.u32 %p2, %r8, 7;\n@%p2 bra DONE;\n\
        mul.lo.u32 %r4, %r3, 0x01010101;\nadd.u32 %r5, %r4, 0x08080808;\nmov.u32 %r6, %r4;\n\
        bra JOIN;\n\
        EVEN:\nmul.lo.u32 %r4, %r3, 0x01010101;\nadd.u32 %r5, %r4, 0x08080808;\nmov.u32 %r6, %r4;\n\
        JOIN:\nmov.u32 %r9, 0;\n\
        mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%r10,%r11,%r12,%r13}, {%r4,%r5}, {%r6}, \
        {%r9,%r9,%r9,%r9};\n\
        mad.lo.u32 %r10, %r11, 3, %r10;\nmad.lo.u32 %r10, %r12, 5, %r10;\n\
        mad.lo.u32 %r10, %r13, 7, %r10;\nst.global.u32 [%rd1], %r10;\nDONE:";
    let element = |row: u32, column: u32| 16 * (row + 1) * (column + 1);
    let expected: Vec<u32> = (0..32)
        .map(|lane| {
            let (row, column) = (lane / 4, 2 * (lane % 4));
            let (above, below) = (element(row, column), element(row + 8, column));
            let (right, last) = (element(row, column + 1), element(row + 8, column + 1));
            above + 3 * right + 5 * below + 7 * last
        })
        .collect();
    leaves_as_written(body, &expected);
}

/// Every lane votes with the lanes below it, which do not name it. Lanes that arrive together vote
/// together.
#[test]
fn a_lane_need_not_be_in_its_mask() {
    let body = "mov.u32 %r2, 1;\nshl.b32 %r2, %r2, %r1;\nsub.u32 %r2, %r2, 1;\n\
        setp.ge.u32 %p1, %r1, 0;\nvote.sync.ballot.b32 %r3, %p1, %r2;\nst.global.u32 [%rd1], %r3;";
    let expected: Vec<u32> = (0..32).map(|lane| (1 << lane) - 1).collect();
    leaves_as_written(body, &expected);
}
