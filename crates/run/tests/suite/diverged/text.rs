//! Prints kernels as PTX.

use crate::diverged::code::{
    Bar, BarKind, Bin, Cmp, Form, INPUTS, Ins, Kernel, Op, Opd, PREDS, Redux, Shfl, TOTALS, WarpOp,
    reg, total_op,
};
use std::fmt::Write;

/// PTX of a kernel with the line of each instruction.
pub struct Text {
    pub ptx: String,
    /// Line of each instruction of each body, counted from 1.
    pub lines: Vec<Vec<u32>>,
}

/// Prints a kernel `k` with the parameters `out`, `in` and `totals`.
pub fn print(kernel: &Kernel) -> Text {
    let mut printer = Printer {
        kernel,
        text: HEAD.to_owned(),
        lines: vec![Vec::new(); kernel.bodies.len()],
    };
    printer.shared();
    for body in (1..kernel.bodies.len()).rev() {
        printer.function(body);
    }
    printer.entry();
    Text {
        ptx: printer.text,
        lines: printer.lines,
    }
}

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

/// Register declarations. `%rd1` to `%rd3` are the addresses of the thread's word of output, of the
/// input, and of the words for atomics.
const REGISTERS: &str = ".reg .b32 %r<28>; .reg .b32 %a, %b; .reg .b64 %rd<6>; .reg .pred %p<6>;\n";

const ENTRY: &str = "\
.visible .entry k(.param .u64 out, .param .u64 in, .param .u64 totals)
{
";

const PARAMS: &str = "\
ld.param.u64 %rd1, [out];
ld.param.u64 %rd2, [in];
ld.param.u64 %rd3, [totals];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r2, %r2, %r3, %r1;
mul.wide.u32 %rd4, %r2, 4;
add.u64 %rd1, %rd1, %rd4;
";

const PLACE: &str = "\
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
shr.u32 %r3, %r1, 5;
";

struct Printer<'a> {
    kernel: &'a Kernel,
    text: String,
    lines: Vec<Vec<u32>>,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn shared(&mut self) {
        let words = self.kernel.regions().max(1) * self.kernel.threads;
        let _ = writeln!(self.text, ".shared .align 4 .b8 slots[{}];", 4 * words);
        let _ = writeln!(self.text, ".shared .align 4 .b8 sums[{}];", 4 * TOTALS);
    }

    /// Writes code that clears the registers that `code` names, from number `from` on, and all
    /// predicates.
    fn clear(&mut self, from: usize, code: &[String]) {
        let names = |name: &str| code.iter().any(|line| has_name(line, name));
        for r in (from..reg::COUNT).filter(|r| names(&format!("%r{r}"))) {
            let _ = writeln!(self.text, "mov.u32 %r{r}, 0;");
        }
        for p in (0..PREDS).filter(|p| names(&format!("%p{p}"))) {
            let _ = writeln!(self.text, "setp.ne.u32 %p{p}, %r1, %r1;");
        }
    }

    fn entry(&mut self) {
        self.put(ENTRY);
        self.put(REGISTERS);
        self.put(PARAMS);
        self.put(PLACE);
        self.put("mov.u32 %r0, 0;\n");
        let code = self.code(0);
        self.clear(usize::from(reg::DATA[0]), &code);
        self.clear_shared();
        self.body(0, &code);
        self.put("}\n");
    }

    /// Writes code that clears shared memory before the kernel's own code begins.
    fn clear_shared(&mut self) {
        for region in 0..self.kernel.regions() {
            let address = address("slots", "%r1", region * self.kernel.threads);
            let _ = writeln!(self.text, "{address} st.shared.u32 [%a], 0;");
        }
        let _ = writeln!(self.text, "mov.u32 %a, sums;");
        for word in 0..TOTALS {
            let _ = writeln!(self.text, "st.shared.u32 [%a+{}], 0;", 4 * word);
        }
        self.put("bar.sync 15;\n");
    }

    fn function(&mut self, body: usize) {
        let _ = writeln!(
            self.text,
            ".func (.param .b32 r) f{body}(.param .b64 o, .param .b64 i, .param .b64 t, \
             .param .b32 h, .param .b32 x, .param .b32 y, .param .b32 m)\n{{"
        );
        self.put(REGISTERS);
        self.put("ld.param.b64 %rd1, [o];\nld.param.b64 %rd2, [i];\nld.param.b64 %rd3, [t];\n");
        self.put(PLACE);
        let code = self.code(body);
        self.clear(usize::from(reg::DATA[2]), &code);
        self.put("ld.param.b32 %r0, [h];\nld.param.b32 %r4, [x];\nld.param.b32 %r5, [y];\n");
        let _ = writeln!(self.text, "ld.param.b32 %r{}, [m];", reg::MASKS[0]);
        self.body(body, &code);
        self.put("}\n");
    }

    fn code(&self, body: usize) -> Vec<String> {
        let all = self.kernel.bodies[body].iter().enumerate();
        all.map(|(at, ins)| self.instruction(body, at, ins))
            .collect()
    }

    /// Writes a line for each instruction.
    fn body(&mut self, body: usize, code: &[String]) {
        let first = 1 + self.text.matches('\n').count() as u32;
        self.lines[body] = (first..).take(code.len()).collect();
        for line in code {
            let _ = writeln!(self.text, "{line}");
        }
        // The end of the list without a return.
        self.put(if body == 0 {
            "ret;\n"
        } else {
            "st.param.b32 [r], %r0; ret;\n"
        });
    }

    fn instruction(&self, body: usize, at: usize, ins: &Ins) -> String {
        let guard = match ins.guard {
            None => String::new(),
            Some((p, true)) => format!("@%p{p} "),
            Some((p, false)) => format!("@!%p{p} "),
        };
        self.operation(&guard, body, at, &ins.op)
    }

    /// Text of an operation. Instructions before its last one have no effect in threads whose guard
    /// does not hold.
    fn operation(&self, guard: &str, body: usize, at: usize, op: &Op) -> String {
        let threads = self.kernel.threads;
        match op {
            Op::Label(label) => format!("L{label}:"),
            Op::Bin(Bin::Add, d, a, Opd::I(0)) => format!("{guard}mov.u32 %r{d}, {};", opd(*a)),
            Op::Bin(op, d, a, b) => format!("{guard}{} %r{d}, {}, {};", bin(*op), opd(*a), opd(*b)),
            Op::Select(d, a, b, p) => {
                format!("{guard}selp.b32 %r{d}, {}, {}, %p{p};", opd(*a), opd(*b))
            }
            Op::Compare(cmp, p, a, b) => {
                format!(
                    "{guard}setp.{}.u32 %p{p}, {}, {};",
                    comparison(*cmp),
                    opd(*a),
                    opd(*b)
                )
            }
            Op::Input(d, at) => format!(
                "and.b32 %a, {}, {}; mul.wide.u32 %rd4, %a, 4; add.u64 %rd4, %rd2, %rd4; \
                 {guard}ld.global.u32 %r{d}, [%rd4];",
                opd(*at),
                INPUTS - 1
            ),
            Op::Output => format!("{guard}st.global.u32 [%rd1], %r0;"),
            Op::Store(region, a) => {
                let address = address("slots", "%r1", u32::from(*region) * threads);
                format!(
                    "{address} mov.u32 %b, {}; {guard}st.shared.u32 [%a], %b;",
                    opd(*a)
                )
            }
            Op::Fetch(d, region, at) => {
                let address = address("slots", "%b", u32::from(*region) * threads);
                let thread = format!("min.u32 %b, {}, {};", opd(*at), threads - 1);
                format!("{thread} {address} {guard}ld.shared.u32 %r{d}, [%a];")
            }
            Op::GlobalTotal(word, a) => format!(
                "{guard}red.global.{} [%rd3+{}], {};",
                atomic(total_op(*word)),
                4 * word,
                opd(*a)
            ),
            Op::SharedTotal(word, a) => format!(
                "mov.u32 %a, sums; {guard}red.shared.{} [%a+{}], {};",
                atomic(total_op(*word)),
                4 * word,
                opd(*a)
            ),
            Op::FetchTotal(d, word) => {
                format!(
                    "mov.u32 %a, sums; {guard}ld.shared.u32 %r{d}, [%a+{}];",
                    4 * word
                )
            }
            Op::Bra(to) => format!("{guard}bra L{to};"),
            Op::Switch(index, to) => {
                let names: Vec<String> = to.iter().map(|label| format!("L{label}")).collect();
                format!(
                    "T{at}: .branchtargets {}; {guard}brx.idx %r{index}, T{at};",
                    names.join(", ")
                )
            }
            Op::Call(function, mask) => call(guard, *function, *mask),
            Op::Ret if body == 0 => format!("{guard}ret;"),
            Op::Ret => format!("st.param.b32 [r], %r0; {guard}ret;"),
            Op::Exit => format!("{guard}exit;"),
            Op::Trap => format!("{guard}trap;"),
            Op::Warp(op) => format!("{guard}{}", warp(op)),
            Op::Bar(bar) => format!("{guard}{}", self.bar(bar)),
            Op::Acquire(d) => format!("{guard}atom.global.cas.b32 %r{d}, [%rd3+64], 0, 1;"),
            Op::Release => format!("membar.gl; {guard}atom.global.exch.b32 %a, [%rd3+64], 0;"),
            Op::Guarded(a) => format!(
                "ld.volatile.global.u32 %a, [%rd3+68]; add.u32 %a, %a, {}; \
                 {guard}st.volatile.global.u32 [%rd3+68], %a;",
                opd(*a)
            ),
        }
    }

    fn bar(&self, bar: &Bar) -> String {
        let (prefix, suffix) = self.kernel.spelling[usize::from(bar.number)];
        let number = bar.number;
        let threads = bar
            .threads
            .map_or(String::new(), |count| format!(", {count}"));
        let q = pred(bar.q);
        match bar.kind {
            BarKind::Sync => format!("{prefix}sync{suffix} {number}{threads};"),
            BarKind::Arrive => format!("{prefix}arrive{suffix} {number}{threads};"),
            BarKind::Popc => {
                format!(
                    "{prefix}red.popc{suffix}.u32 %r{}, {number}{threads}, {q};",
                    bar.d
                )
            }
            BarKind::And => {
                format!(
                    "{prefix}red.and{suffix}.pred %p{}, {number}{threads}, {q};",
                    bar.p
                )
            }
            BarKind::Or => {
                format!(
                    "{prefix}red.or{suffix}.pred %p{}, {number}{threads}, {q};",
                    bar.p
                )
            }
        }
    }
}

/// Writes into `%a` the address of word `index` after the `first` words of a variable.
fn address(variable: &str, index: &str, first: u32) -> String {
    format!(
        "mov.u32 %a, {variable}; mad.lo.u32 %a, {index}, 4, %a; add.u32 %a, %a, {};",
        4 * first
    )
}

fn has_name(line: &str, name: &str) -> bool {
    let is_end = |c: Option<char>| !c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut found = line.match_indices(name);
    found.any(|(at, _)| is_end(line[at + name.len()..].chars().next()))
}

fn opd(operand: Opd) -> String {
    match operand {
        Opd::R(r) => format!("%r{r}"),
        Opd::I(value) => value.to_string(),
    }
}

fn pred((p, negated): (u8, bool)) -> String {
    format!("{}%p{p}", if negated { "!" } else { "" })
}

fn bin(op: Bin) -> &'static str {
    match op {
        Bin::Add => "add.u32",
        Bin::Sub => "sub.u32",
        Bin::Mul => "mul.lo.u32",
        Bin::And => "and.b32",
        Bin::Or => "or.b32",
        Bin::Xor => "xor.b32",
        Bin::Shl => "shl.b32",
        Bin::Shr => "shr.u32",
        Bin::Min => "min.u32",
    }
}

fn atomic(op: Bin) -> &'static str {
    match op {
        Bin::Xor => "xor.b32",
        Bin::Or => "or.b32",
        _ => "add.u32",
    }
}

fn comparison(cmp: Cmp) -> &'static str {
    match cmp {
        Cmp::Eq => "eq",
        Cmp::Ne => "ne",
        Cmp::Lt => "lt",
        Cmp::Ge => "ge",
    }
}

/// Text of a call. A guarded call is one block, so that its parameters are declared once for all
/// threads.
fn call(guard: &str, function: u8, mask: Opd) -> String {
    format!(
        "{{ .param .b64 o, i, t; .param .b32 h, x, y, m, r; st.param.b64 [o], %rd1; \
         st.param.b64 [i], %rd2; st.param.b64 [t], %rd3; st.param.b32 [h], %r0; \
         st.param.b32 [x], %r4; st.param.b32 [y], %r5; mov.u32 %a, {}; st.param.b32 [m], %a; \
         {guard}call (r), f{function}, (o, i, t, h, x, y, m); {guard}ld.param.b32 %r0, [r]; }}",
        opd(mask)
    )
}

fn warp(op: &WarpOp) -> String {
    let (d, p, a, mask) = (op.d, op.p, opd(op.a), opd(op.mask));
    let q = pred(op.q);
    match op.form {
        Form::Shfl(how) => {
            let how = match how {
                Shfl::Up => "up",
                Shfl::Down => "down",
                Shfl::Bfly => "bfly",
                Shfl::Idx => "idx",
            };
            format!(
                "shfl.sync.{how}.b32 %r{d}|%p{p}, {a}, {}, {}, {mask};",
                opd(op.b),
                op.c
            )
        }
        Form::VoteAll => format!("vote.sync.all.pred %p{p}, {q}, {mask};"),
        Form::VoteAny => format!("vote.sync.any.pred %p{p}, {q}, {mask};"),
        Form::VoteUni => format!("vote.sync.uni.pred %p{p}, {q}, {mask};"),
        Form::Ballot => format!("vote.sync.ballot.b32 %r{d}, {q}, {mask};"),
        Form::MatchAny => format!("match.any.sync.b32 %r{d}, {a}, {mask};"),
        Form::MatchAll => format!("match.all.sync.b32 %r{d}|%p{p}, {a}, {mask};"),
        Form::Redux(what) => format!("redux.sync.{} %r{d}, {a}, {mask};", redux(what)),
        Form::Elect => format!("elect.sync %r{d}|%p{p}, {mask};"),
        Form::WarpSync => format!("bar.warp.sync {mask};"),
    }
}

fn redux(what: Redux) -> &'static str {
    match what {
        Redux::Add => "add.u32",
        Redux::MinU => "min.u32",
        Redux::MaxS => "max.s32",
        Redux::And => "and.b32",
        Redux::Or => "or.b32",
        Redux::Xor => "xor.b32",
    }
}
