//! Generated programs with branches that diverge a warp, loops, guards, values of 16, 32 and 64
//! bits, vectors, shared and local memory, constant memory, atomics, volatile accesses and accesses
//! of one word through different state spaces, many loads before their uses, and values that are
//! read before they are written.
//!
//! Every program terminates and accesses only its own memory, so that its results depend only on
//! its text.

use super::allocation::Program;
use super::execution::execute;
use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::ops::Range;
use warploom_base::{Dim3, Rng};
use warploom_regalloc::{Options, SharedSpills, Typing};
use warploom_run::{Arg, Check, Device, HostAction, HostError, HostProgram, Launch};

const BLOCK: [u32; 3] = [16, 3, 2];
const THREADS: u32 = BLOCK[0] * BLOCK[1] * BLOCK[2];
const BLOCKS: u32 = 2;
/// Number of 32-bit words that a thread reads and writes.
const WORDS: u32 = 8;

/// Largest number of loads in a burst.
const BURST: u32 = 16;

/// Counts of programs that were run.
#[derive(Default)]
pub struct Counts {
    pub programs: u64,
    pub local: u64,
    pub shared: u64,
}

/// Runs the programs with these numbers, each at a random limit.
pub fn programs(numbers: Range<u64>) -> Result<Counts> {
    let mut counts = Counts::default();
    for number in numbers {
        one(number, &mut counts).with_context(|| format!("program {number}"))?;
        counts.programs += 1;
    }
    Ok(counts)
}

fn one(number: u64, counts: &mut Counts) -> Result<()> {
    let mut rng = Rng::new(number);
    let text = Generator::new(rng.next_u64()).program();
    let program = Program::read("random.ptx", &text)?;
    let demand = program.demand("k")?;
    let limit = demand.min_registers + rng.below(demand.max_registers - demand.min_registers + 1);
    let shared = SharedSpills {
        block: BLOCK,
        spare_bytes: rng.below(24 << 10),
        weigh_loops: rng.below(2) == 0,
    };
    let options = Options {
        registers: Some(limit),
        shared: Some(shared).filter(|_| rng.below(2) == 0),
        ..Options::default()
    };
    let (allocated, report) = program.allocate("k", &options)?;
    counts.local += u64::from(report.added.local.count > 0);
    counts.shared += u64::from(report.added.shared.count > 0);
    let expected = execute("original", Host::boxed(&text), "", "")?;
    let found = execute("allocated", Host::boxed(allocated.source.text()), "", "")?;
    ensure!(expected == found, "results differ with {limit} registers");
    let kinds = Options {
        typing: Typing::Kinds,
        ..Options::default()
    };
    let (allocated, _) = program.allocate("k", &kinds)?;
    let found = execute("by kinds", Host::boxed(allocated.source.text()), "", "")?;
    ensure!(expected == found, "results differ with registers by kind");
    Ok(())
}

/// A host program that launches the kernel once.
struct Host {
    text: String,
    launched: bool,
}

impl Host {
    fn boxed(text: &str) -> Box<dyn HostProgram> {
        Box::new(Self {
            text: text.to_owned(),
            launched: false,
        })
    }
}

impl HostProgram for Host {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if std::mem::replace(&mut self.launched, true) {
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("random.ptx", &self.text)?;
        let count = (THREADS * BLOCKS * WORDS) as usize;
        let mut rng = Rng::new(1);
        let input: Vec<u32> = (0..count).map(|_| rng.next_u32()).collect();
        let args = vec![
            Arg::Pointer(device.alloc_slice(&input)?),
            Arg::Pointer(device.alloc_slice(&vec![0_u32; count])?),
        ];
        let (grid, block) = (
            Dim3::linear(BLOCKS),
            Dim3::new(BLOCK[0], BLOCK[1], BLOCK[2]),
        );
        Ok(HostAction::Launch(Launch::new(
            module, "k", grid, block, args,
        )))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

/// Generates the text of one program.
struct Generator {
    rng: Rng,
    text: String,
    /// Variables of each kind: words, halves, longs, floats, doubles, predicates.
    counts: [u32; 6],
    labels: u32,
    counters: u32,
}

const NAMES: [&str; 6] = ["%r", "%h", "%q", "%f", "%d", "%p"];
const TYPES: [&str; 6] = ["b32", "b16", "b64", "f32", "f64", "pred"];

#[derive(Clone, Copy)]
enum Kind {
    Word,
    Half,
    Long,
    Float,
    Double,
    Pred,
}

impl Generator {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut counts = [0; 6];
        for (count, most) in counts.iter_mut().zip([24, 6, 10, 12, 6, 4]) {
            *count = 1 + rng.below(most);
        }
        Self {
            rng,
            text: String::new(),
            counts,
            labels: 0,
            counters: 0,
        }
    }

    fn program(mut self) -> String {
        self.start();
        let length = 2 + self.rng.below(12);
        self.statements(length, 3);
        self.finish();
        self.header() + &self.text
    }

    fn header(&self) -> String {
        let mut text = ".version 7.0\n.target sm_60\n.address_size 64\n\
            .const .align 4 .u32 table[4] = {7, 1000, 4000000000, 3};\n\
            .visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
            .to_owned();
        for ((name, ty), count) in NAMES.iter().zip(TYPES).zip(self.counts) {
            let _ = writeln!(text, ".reg .{ty} {name}<{count}>;");
        }
        let _ = writeln!(text, ".reg .b32 %c<{}>;", self.counters + 1);
        let _ = writeln!(text, ".reg .b32 %u<{}>;", BURST);
        text + ".reg .b32 %t<6>;\n.reg .b64 %a<9>;\n.reg .b32 %v<4>;\n\
            .shared .align 8 .b8 tile[1024];\n.local .align 8 .b8 own[32];\n"
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str(";\n");
    }

    /// A random variable of a kind.
    fn any(&mut self, kind: Kind) -> String {
        let number = self.rng.below(self.counts[kind as usize]);
        format!("{}{number}", NAMES[kind as usize])
    }

    /// Writes code for thread numbers, addresses, and a first value for nearly every variable.
    fn start(&mut self) {
        for line in [
            "mov.u32 %t0, %tid.x",
            "mov.u32 %t1, %tid.y",
            "mov.u32 %t2, %tid.z",
            "mad.lo.u32 %t1, %t2, 3, %t1",
            "mad.lo.u32 %t0, %t1, 16, %t0",
            "mov.u32 %t3, %ctaid.x",
            "mad.lo.u32 %t4, %t3, 96, %t0",
            "mul.wide.u32 %a0, %t4, 32",
            "ld.param.u64 %a1, [in]",
            "cvta.to.global.u64 %a2, %a1",
            "add.s64 %a3, %a2, %a0",
            "ld.param.u64 %a4, [out]",
            "cvta.to.global.u64 %a5, %a4",
            "mov.u64 %a6, own",
            "mov.u64 %a7, tile",
            "mad.wide.u32 %a7, %t0, 8, %a7",
            "cvta.shared.u64 %a8, %a7",
            "st.local.u32 [%a6], %t0",
            "st.shared.u32 [%a7], %t4",
            "st.shared.u32 [%a7+4], %t0",
        ] {
            self.line(line);
        }
        for number in 0..self.counts[Kind::Word as usize] {
            // Some variables are read before they are written: registers start as zero.
            if self.rng.below(12) > 0 {
                let at = 4 * self.rng.below(WORDS);
                self.line(&format!("ld.global.u32 %r{number}, [%a3+{at}]"));
            }
        }
        for number in 0..self.counts[Kind::Half as usize] {
            let word = self.any(Kind::Word);
            self.line(&format!("cvt.u16.u32 %h{number}, {word}"));
        }
        for number in 0..self.counts[Kind::Long as usize] {
            let (a, b) = (self.any(Kind::Word), self.any(Kind::Word));
            self.line(&format!("mov.b64 %q{number}, {{{a}, {b}}}"));
        }
        for number in 0..self.counts[Kind::Float as usize] {
            let word = self.any(Kind::Word);
            self.line(&format!("cvt.rn.f32.u32 %f{number}, {word}"));
        }
        for number in 0..self.counts[Kind::Double as usize] {
            let long = self.any(Kind::Long);
            self.line(&format!("cvt.rn.f64.s64 %d{number}, {long}"));
        }
        for number in 0..self.counts[Kind::Pred as usize] {
            let (a, b) = (self.any(Kind::Word), self.any(Kind::Word));
            self.line(&format!("setp.lt.s32 %p{number}, {a}, {b}"));
        }
    }

    fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            match self.rng.below(12) {
                0 | 1 if depth > 0 => self.branch(depth - 1),
                2 if depth > 0 => self.repeat(depth - 1),
                3 => self.block(depth),
                4 | 5 => self.memory(),
                6 => self.crossing(),
                7 => self.burst(),
                _ => {
                    let guard = self.guard();
                    let line = self.operation();
                    self.line(&(guard + &line));
                }
            }
        }
    }

    /// A random guard (`@p`), or none.
    fn guard(&mut self) -> String {
        match self.rng.below(4) {
            0 => format!("@{} ", self.any(Kind::Pred)),
            1 => format!("@!{} ", self.any(Kind::Pred)),
            _ => String::new(),
        }
    }

    fn operation(&mut self) -> String {
        use Kind::{Double, Float, Half, Long, Pred, Word};
        let forms: &[(&str, &[Kind])] = &[
            ("add.u32 #, #, #", &[Word, Word, Word]),
            ("sub.s32 #, #, 77", &[Word, Word]),
            ("mad.lo.s32 #, #, #, #", &[Word, Word, Word, Word]),
            ("mov.u32 #, #", &[Word, Word]),
            ("mov.u32 #, 12345", &[Word]),
            ("xor.b32 #, #, #", &[Word, Word, Word]),
            ("shl.b32 #, #, 3", &[Word, Word]),
            ("selp.b32 #, #, #, #", &[Word, Word, Word, Pred]),
            ("mul.wide.u32 #, #, #", &[Long, Word, Word]),
            ("mad.wide.s32 #, #, #, #", &[Long, Word, Word, Long]),
            ("add.u64 #, #, #", &[Long, Long, Long]),
            ("mov.b64 #, #", &[Long, Long]),
            ("mov.b64 {#, #}, #", &[Word, Word, Long]),
            ("mov.b64 #, {#, #}", &[Long, Word, Word]),
            ("cvt.u32.u64 #, #", &[Word, Long]),
            ("cvt.s64.s32 #, #", &[Long, Word]),
            ("add.u16 #, #, #", &[Half, Half, Half]),
            ("mul.lo.u16 #, #, #", &[Half, Half, Half]),
            ("cvt.u32.u16 #, #", &[Word, Half]),
            ("cvt.u16.u32 #, #", &[Half, Word]),
            ("mov.b32 #, {#, #}", &[Word, Half, Half]),
            ("fma.rn.f32 #, #, #, #", &[Float, Float, Float, Float]),
            ("add.f32 #, #, #", &[Float, Float, Float]),
            ("mov.b32 #, #", &[Word, Float]),
            ("mov.b32 #, #", &[Float, Word]),
            ("mov.f32 #, #", &[Float, Float]),
            ("fma.rn.f64 #, #, #, #", &[Double, Double, Double, Double]),
            ("mov.b64 #, #", &[Double, Long]),
            ("cvt.f64.f32 #, #", &[Double, Float]),
            ("cvt.rn.f32.f64 #, #", &[Float, Double]),
            ("setp.lt.u32 #, #, #", &[Pred, Word, Word]),
            ("setp.gt.s32 #|#, #, #", &[Pred, Pred, Word, Word]),
            ("setp.ne.and.b64 #, #, #, !#", &[Pred, Long, Long, Pred]),
            ("and.pred #, #, #", &[Pred, Pred, Pred]),
            ("not.pred #, #", &[Pred, Pred]),
        ];
        let (form, kinds) = forms[self.rng.below(forms.len() as u32) as usize];
        self.fill(form, kinds)
    }

    /// Replaces every `#` by a variable. Two results of one instruction are never the same.
    fn fill(&mut self, form: &str, kinds: &[Kind]) -> String {
        loop {
            let mut names = kinds.iter().map(|kind| self.any(*kind)).collect::<Vec<_>>();
            let two = form.contains("{#, #}, #") || form.contains("#|#");
            let one_only = two && self.counts[kinds[0] as usize] == 1;
            if one_only {
                return "mov.u32 %t5, 0".to_owned();
            }
            if two && names[0] == names[1] {
                continue;
            }
            names.reverse();
            let pieces: Vec<&str> = form.split('#').collect();
            let mut text = pieces[0].to_owned();
            for piece in &pieces[1..] {
                text += &names.pop().unwrap_or_default();
                text += piece;
            }
            return text;
        }
    }

    fn memory(&mut self) {
        use Kind::{Double, Float, Half, Long, Word};
        let forms: &[(&str, &[Kind])] = &[
            ("ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%a3+16]", &[]),
            ("ld.global.v2.f32 {%v0, %v1}, [%a3+8]", &[]),
            ("ld.global.f32 #, [%a3+12]", &[Float]),
            ("ld.global.u16 #, [%a3+2]", &[Half]),
            ("ld.global.f64 #, [%a3+24]", &[Double]),
            ("st.local.u32 [%a6+4], #", &[Word]),
            ("ld.local.u32 #, [%a6+4]", &[Word]),
            ("st.local.v2.u32 [%a6+8], {#, #}", &[Word, Word]),
            ("ld.local.b64 #, [%a6+8]", &[Long]),
            ("st.shared.b64 [%a7], #", &[Long]),
            ("ld.shared.u32 #, [%a7+4]", &[Word]),
            ("st.shared.u32 [%a7+4], #", &[Word]),
            ("st.u32 [%a8+4], #", &[Word]),
            ("ld.u32 #, [%a8+4]", &[Word]),
            ("ld.volatile.shared.u32 #, [%a7]", &[Word]),
            ("st.volatile.shared.u32 [%a7], #", &[Word]),
            ("atom.shared.add.u32 #, [%a7+4], #", &[Word, Word]),
            ("red.shared.xor.b32 [%a7+4], #", &[Word]),
            ("ld.const.u32 #, [table+8]", &[Word]),
        ];
        let (form, kinds) = forms[self.rng.below(forms.len() as u32) as usize];
        let (guard, line) = (self.guard(), self.fill(form, kinds));
        self.line(&(guard + &line));
        if form.contains(".v4") {
            let word = self.any(Kind::Word);
            self.line(&format!("mad.lo.u32 {word}, %v0, %v1, %v2"));
            self.line(&format!("xor.b32 {word}, {word}, %v3"));
        } else if form.contains(".v2.f32") {
            let word = self.any(Kind::Word);
            self.line(&format!("add.u32 {word}, %v0, %v1"));
        }
    }

    /// Writes many loads before the first use, with stores to the same memory among the uses.
    fn burst(&mut self) {
        let count = 2 + self.rng.below(BURST - 2);
        for number in 0..count {
            let line = match self.rng.below(4) {
                0 => format!("ld.shared.u32 %u{number}, [%a7+{}]", 4 * self.rng.below(2)),
                1 => format!("ld.const.u32 %u{number}, [table+{}]", 4 * self.rng.below(4)),
                2 => format!("mad.lo.u32 %u{number}, %t0, {number}, %t4"),
                _ => format!(
                    "ld.global.u32 %u{number}, [%a3+{}]",
                    4 * self.rng.below(WORDS)
                ),
            };
            self.line(&line);
        }
        for number in 0..count {
            let word = self.any(Kind::Word);
            self.line(&format!("mad.lo.u32 {word}, {word}, 29, %u{number}"));
            if self.rng.below(4) == 0 {
                self.line(&format!("st.shared.u32 [%a7+4], {word}"));
            }
        }
    }

    /// Writes an exchange between lanes, or a move.
    fn crossing(&mut self) {
        let (a, b) = (self.any(Kind::Word), self.any(Kind::Word));
        let predicate = self.any(Kind::Pred);
        match self.rng.below(2) {
            0 => self.line(&format!("vote.ballot.b32 {a}, {predicate}")),
            _ => self.line(&format!("mov.b32 {a}, {b}")),
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn branch(&mut self, depth: u32) {
        let (predicate, other, end) = (self.any(Kind::Pred), self.label(), self.label());
        let negated = if self.rng.below(2) == 0 { "!" } else { "" };
        self.line(&format!("@{negated}{predicate} bra {other}"));
        let (first, second) = (1 + self.rng.below(5), self.rng.below(5));
        self.statements(first, depth);
        self.line(&format!("bra {end}"));
        let _ = writeln!(self.text, "{other}:");
        self.statements(second, depth);
        let _ = writeln!(self.text, "{end}:");
    }

    /// Writes a loop of one to four iterations, whose number differs between lanes.
    fn repeat(&mut self, depth: u32) {
        let (again, counter) = (self.label(), self.counters);
        self.counters += 1;
        let predicate = format!("%p{}", self.rng.below(self.counts[Kind::Pred as usize]));
        self.line(&format!("and.b32 %c{counter}, %t0, 3"));
        let _ = writeln!(self.text, "{again}:");
        let body = 1 + self.rng.below(5);
        self.statements(body, depth);
        self.line(&format!("sub.s32 %c{counter}, %c{counter}, 1"));
        self.line(&format!("setp.ge.s32 {predicate}, %c{counter}, 0"));
        self.line(&format!("@{predicate} bra {again}"));
    }

    /// Writes a scope with registers of its own, whose names are also used outside.
    fn block(&mut self, depth: u32) {
        let (a, b) = (self.any(Kind::Word), self.any(Kind::Word));
        let _ = writeln!(self.text, "{{\n.reg .b32 %t5, x;");
        self.line(&format!("add.u32 x, {a}, {b}"));
        self.line("mov.u32 %t5, x");
        if depth > 0 {
            self.statements(2, depth - 1);
        }
        self.line(&format!("add.u32 {b}, %t5, x"));
        let _ = writeln!(self.text, "}}");
    }

    /// Writes code that combines all variables into the thread's words.
    fn finish(&mut self) {
        self.line("add.s64 %a5, %a5, %a0");
        self.line("mov.u32 %t5, 1");
        for number in 0..self.counts[Kind::Word as usize] {
            self.line(&format!("mad.lo.u32 %t5, %t5, 31, %r{number}"));
        }
        self.line("st.global.u32 [%a5], %t5");
        for number in 0..self.counts[Kind::Half as usize] {
            self.line(&format!("cvt.u32.u16 %t4, %h{number}"));
            self.line("mad.lo.u32 %t5, %t5, 31, %t4");
        }
        self.line("st.global.u32 [%a5+4], %t5");
        for number in 1..self.counts[Kind::Long as usize] {
            self.line(&format!("xor.b64 %q0, %q0, %q{number}"));
        }
        self.line("st.global.b64 [%a5+8], %q0");
        for number in 1..self.counts[Kind::Float as usize] {
            self.line(&format!("add.f32 %f0, %f0, %f{number}"));
        }
        self.line("st.global.f32 [%a5+16], %f0");
        for number in 0..self.counts[Kind::Pred as usize] {
            self.line(&format!("selp.u32 %t4, 3, 5, %p{number}"));
            self.line("mad.lo.u32 %t5, %t5, 31, %t4");
        }
        self.line("st.global.u32 [%a5+20], %t5");
        for number in 1..self.counts[Kind::Double as usize] {
            self.line(&format!("add.f64 %d0, %d0, %d{number}"));
        }
        self.line("st.global.f64 [%a5+24], %d0");
        self.text.push_str("ret;\n}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::programs;
    use std::time::{Duration, Instant};

    /// Runs as many programs of `cargo xtask regalloc random` as ten seconds permit.
    #[test]
    fn generated_programs_agree() {
        let started = Instant::now();
        let mut number = 0;
        while number < 20 || started.elapsed() < Duration::from_secs(10) {
            let counts = programs(number..number + 10).unwrap();
            assert_eq!(counts.programs, 10);
            number += 10;
        }
    }
}
