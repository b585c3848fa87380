//! Counted loops and short branches give the right results in the order of the text and as an
//! assembler makes them, for all kinds of counting and for bounds near the ends of their types.

use std::ops::ControlFlow;
use warploom_base::Dim3;
use warploom_config::{GpuSpec, InstructionOrder, preset};
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

const THREADS: u32 = 32;
/// Most iterations of a loop.
const MOST: u32 = 64;

/// A loop `do { ... i += step } while (i cmp bound)` that begins with `first`.
#[derive(Clone, Copy, Debug)]
struct Case {
    cmp: &'static str,
    first: u32,
    step: i32,
    bound: u32,
    /// Distance between the bounds of neighbouring threads; `None` for a literal bound.
    spread: Option<u32>,
    /// True for a loop whose test stands in the middle.
    in_middle: bool,
}

impl Case {
    fn goes_on(&self, i: u32, bound: u32) -> bool {
        let signed = (i as i32, bound as i32);
        match self.cmp {
            "ne.s32" => i != bound,
            "lt.s32" => signed.0 < signed.1,
            "le.s32" => signed.0 <= signed.1,
            "gt.s32" => signed.0 > signed.1,
            "ge.s32" => signed.0 >= signed.1,
            "lt.u32" => i < bound,
            "ls.u32" => i <= bound,
            "hi.u32" => i > bound,
            "hs.u32" => i >= bound,
            other => panic!("{other}"),
        }
    }

    /// Word that thread `tid` writes.
    fn expected(&self, tid: u32) -> u32 {
        let bound = tid
            .wrapping_mul(self.spread.unwrap_or(0))
            .wrapping_add(self.bound);
        let (mut i, mut sum) = (self.first, tid);
        for trip in 0..MOST {
            sum = sum.wrapping_mul(3).wrapping_add(i);
            if sum <= 0x8000_0000 {
                sum = sum.wrapping_add(input(trip));
            }
            i = i.wrapping_add(self.step as u32);
            if !self.goes_on(i, bound) {
                return sum.wrapping_mul(5).wrapping_add(i);
            }
        }
        panic!("{self:?} has too many iterations");
    }

    fn ptx(&self) -> String {
        let bound = match self.spread {
            Some(spread) => format!("mad.lo.u32 %r2, %r3, {spread}, %r2;"),
            None => format!("mov.u32 %r2, {};", self.bound),
        };
        let iterations = match self.in_middle {
            true => self.with_test_in_middle(),
            false => self.with_test_at_end(),
        };
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 out, .param .u64 in, .param .u32 bound) {{\n\
             .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n\
             ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; ld.param.u32 %r2, [bound];\n\
             mov.u32 %r3, %tid.x; mul.wide.u32 %rd3, %r3, 4; add.s64 %rd1, %rd1, %rd3;\n\
             {bound}\nmov.u32 %r4, %r3; mov.u32 %r1, {first};\n\
             {iterations}\
             mad.lo.u32 %r4, %r4, 5, %r1;\n\
             st.global.u32 [%rd1], %r4;\nret;\n}}\n",
            first = self.first,
        )
    }

    fn with_test_at_end(&self) -> String {
        format!(
            "loop:\n\
             mad.lo.u32 %r4, %r4, 3, %r1;\n\
             setp.gt.u32 %p2, %r4, 0x80000000; @%p2 bra skip;\n\
             ld.global.u32 %r5, [%rd2]; add.u32 %r4, %r4, %r5;\n\
             skip:\n\
             add.s64 %rd2, %rd2, 4; add.s32 %r1, %r1, {step};\n\
             setp.{cmp} %p1, %r1, %r2; @%p1 bra loop;\n",
            step = self.step,
            cmp = self.cmp,
        )
    }

    fn with_test_in_middle(&self) -> String {
        let (cmp, ty) = self.cmp.split_once('.').expect("it has a type");
        let ends = match cmp {
            "ne" => "eq",
            "lt" => "ge",
            "le" => "gt",
            "gt" => "le",
            "ge" => "lt",
            "ls" => "hi",
            "hi" => "ls",
            "hs" => "lo",
            other => panic!("{other}"),
        };
        format!(
            "mov.u32 %r6, %r1; add.s32 %r1, %r1, {step}; bra.uni test;\n\
             work:\n\
             add.s64 %rd2, %rd2, 4; mov.u32 %r6, %r1; add.s32 %r1, %r1, {step};\n\
             test:\n\
             mad.lo.u32 %r4, %r4, 3, %r6;\n\
             setp.gt.u32 %p2, %r4, 0x80000000;\n\
             @!%p2 ld.global.u32 %r5, [%rd2]; @!%p2 add.u32 %r4, %r4, %r5;\n\
             setp.{ends}.{ty} %p1, %r1, %r2; @%p1 bra exit; bra.uni work;\n\
             exit:\n",
            step = self.step,
        )
    }
}

/// Word `nth` of what the loops read.
fn input(nth: u32) -> u32 {
    nth.wrapping_mul(0x9e37_79b9)
}

struct Host {
    case: Case,
    output: Option<DevicePtr>,
    words: Vec<u32>,
}

impl HostProgram for Host {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.output.is_some() {
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("loop.ptx", &self.case.ptx())?;
        let output = device.alloc_slice(&[0u32; THREADS as usize])?;
        let words: Vec<u32> = (0..MOST).map(input).collect();
        let input = device.alloc_slice(&words)?;
        self.output = Some(output);
        let args = vec![
            Arg::Pointer(output),
            Arg::Pointer(input),
            Arg::U32(self.case.bound),
        ];
        let (grid, block) = (Dim3::linear(1), Dim3::linear(THREADS));
        Ok(HostAction::Launch(Launch::new(
            module, "k", grid, block, args,
        )))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let output = self.output.expect("the launch came before");
        self.words = device.read_vec(output, THREADS as usize)?;
        Ok(Vec::new())
    }
}

/// Words that the threads write on a machine, functionally or timed.
fn run(case: Case, spec: &GpuSpec, timed: bool) -> Vec<u32> {
    let mut host = Host {
        case,
        output: None,
        words: Vec::new(),
    };
    let session = Session::new(spec.clone(), Options::default());
    let outcome = match timed {
        true => {
            let report = session.run(&mut host, &mut |_| ControlFlow::Continue(()));
            report.map(|report| report.outcome)
        }
        false => session.run_functional(&mut host).map(|run| run.outcome),
    };
    let outcome = outcome.unwrap_or_else(|error| panic!("{case:?}: {error}"));
    assert_eq!(outcome, Outcome::Finished, "{case:?}");
    host.words
}

/// Cases with a literal bound, with the same bound for all threads, and with one that differs.
fn cases() -> impl Iterator<Item = Case> {
    let (high, low) = (i32::MAX as u32, i32::MIN as u32);
    let counted = [
        ("ne.s32", 0, 1, 1, 1),
        ("ne.s32", 0, 1, 6, 1),
        ("ne.s32", 24, -4, 0, 0),
        ("ne.s32", 3, 3, 24, 0),
        ("ne.s32", high, 1, low + 5, 0),
        ("lt.s32", 0, 2, 7, 1),
        ("lt.s32", 5, 1, 3, 1),
        ("lt.s32", high - 7, 2, high - 1, 0),
        ("lt.s32", low, 1, low + 9, 1),
        ("le.s32", 0, 3, 9, 1),
        ("le.s32", high - 9, 3, high - 4, 0),
        ("gt.s32", 9, -2, (-3i32) as u32, 0),
        ("gt.s32", low + 5, -1, low, 0),
        ("ge.s32", 5, -1, 1, 0),
        ("lt.u32", 0u32.wrapping_sub(20), 4, 0u32.wrapping_sub(5), 0),
        ("lt.u32", high - 3, 1, high + 3, 1),
        ("ls.u32", 1, 5, 21, 1),
        ("hi.u32", 30, -7, 2, 0),
        ("hs.u32", 30, -7, 9, 0),
    ];
    counted
        .into_iter()
        .flat_map(|(cmp, first, step, bound, spread)| {
            let spreads = [None, Some(0), Some(spread)].into_iter();
            spreads.flat_map(move |spread| {
                [false, true].map(|in_middle| Case {
                    cmp,
                    first,
                    step,
                    bound,
                    spread,
                    in_middle,
                })
            })
        })
}

#[test]
fn loops_count_as_they_are_written() {
    let text = preset("gtx480").expect("the preset is sound");
    let mut assembled = text.clone();
    assembled.sm.folds_instructions = true;
    assembled.sm.instruction_order = InstructionOrder::Assembler;
    for case in cases() {
        let expected: Vec<u32> = (0..THREADS).map(|tid| case.expected(tid)).collect();
        for (spec, timed) in [(&text, false), (&assembled, false), (&assembled, true)] {
            assert_eq!(run(case, spec, timed), expected, "{case:?}, timed: {timed}");
        }
    }
}
