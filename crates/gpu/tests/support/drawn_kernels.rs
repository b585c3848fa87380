//! Bodies of kernels drawn at random, whose threads race for the same words.

use std::fmt::Write;

use warploom_base::Rng;

/// Registers: `%rd1` is the first allocation, `%rd2` the generic address of the thread's own eight
/// bytes of shared memory, `%r3` their address in that space, `%r4` the thread's number, `%r8` the
/// round, `%rd6` the handle of a texture and surface of the first allocation. Kernels compute with
/// `%r5` and `%r6`. Local memory holds the format `%d` at byte 16 and the argument of a print at
/// byte 24.
const BEGIN: &str = "\
.shared .align 8 .b8 own[2048];
.shared .align 8 .b64 barrier;
.local .align 8 .b8 l[32];
ld.param.u64 %rd1, [buf];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %tid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r1, %r3, %r2;
mov.u32 %r3, own;
mad.lo.u32 %r3, %r2, 8, %r3;
cvt.u64.u32 %rd2, %r3;
cvta.shared.u64 %rd2, %rd2;
st.shared.u32 [%r3], %r4;
st.local.u32 [l], %r4;
st.local.u32 [l+16], 681253;
mad.lo.u32 %r5, %r4, 2654435761, 17;
xor.b32 %r6, %r4, 12345;
mov.u32 %r8, 0;
mov.u64 %rd6, 1;
L:
";

/// Before any operation on the barrier object.
const BEGIN_BARRIER: &str = "\
setp.eq.u32 %p1, %r2, 0;
@%p1 mbarrier.init.shared.b64 [barrier], 40;
bar.sync 0;
";

const END: &str = "\
add.u32 %r8, %r8, 1;
setp.lt.u32 %p1, %r8, ROUNDS;
@%p1 bra L;
mul.wide.u32 %rd3, %r4, 4;
and.b64 %rd3, %rd3, 65532;
add.u64 %rd3, %rd1, %rd3;
st.global.u32 [%rd3+65536], %r5;
";

/// Draws a text of several.
pub fn one_of<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u32) as usize]
}

/// Lets `%rd3` point to a word to which other threads point, too: many or few of them.
fn point(rng: &mut Rng, text: &mut String) {
    let words = 16 << rng.below(11);
    let stride = 4 << rng.below(4);
    let mask = (words * stride - 1) & 0x1_fffc & !7;
    let which = one_of(rng, &["%r5", "%r6", "%r4", "%r2", "%r8"]);
    let _ = write!(
        text,
        "mad.lo.u32 %r9, {which}, {stride}, %r8;\nand.b32 %r9, %r9, {mask};\n\
         cvt.u64.u32 %rd3, %r9;\nadd.u64 %rd3, %rd1, %rd3;\n"
    );
}

/// `point`, but some lanes point to their own word of shared memory.
fn point_anywhere(rng: &mut Rng, text: &mut String) {
    point(rng, text);
    let lanes = 1 << rng.below(5);
    let _ = write!(
        text,
        "and.b32 %r9, %r2, {lanes};\nsetp.eq.u32 %p1, %r9, 0;\n\
         selp.b64 %rd3, %rd3, %rd2, %p1;\n"
    );
}

const LOADS: [&str; 7] = [
    "ld.SPACE.u32 %r7, [%rd3];",
    "@%p2 ld.SPACE.u32 %r7, [%rd3];",
    "ld.SPACE.u8 %r7, [%rd3+1];",
    "ld.SPACE.s16 %r7, [%rd3+2];",
    "ld.SPACE.v2.u32 {%r7, %r6}, [%rd3];",
    "ld.volatile.SPACE.u32 %r6, [%rd3];",
    "ld.SPACE.u64 %rd4, [%rd3];\ncvt.u32.u64 %r7, %rd4;",
];

const STORES: [&str; 5] = [
    "st.SPACE.u32 [%rd3], %r5;",
    "@%p2 st.SPACE.u32 [%rd3], %r6;",
    "st.SPACE.u8 [%rd3+3], %r5;",
    "st.SPACE.v2.u32 [%rd3], {%r5, %r6};",
    "st.volatile.SPACE.u32 [%rd3], %r6;",
];

const ATOMICS: [&str; 7] = [
    "atom.SPACE.add.u32 %r7, [%rd3], %r5;",
    "red.SPACE.add.u32 [%rd3], 1;",
    "@%p2 atom.SPACE.exch.b32 %r7, [%rd3], %r6;",
    "atom.SPACE.cas.b32 %r7, [%rd3], %r6, %r5;",
    "red.SPACE.xor.b32 [%rd3], %r5;",
    "atom.SPACE.inc.u32 %r6, [%rd3], 1000;",
    "atom.SPACE.max.u32 %r7, [%rd3], %r6;",
];

const OTHERS: [&str; 12] = [
    "mad.lo.u32 %r5, %r5, 3, %r6;",
    "xor.b32 %r6, %r6, %r5;",
    "shr.u32 %r6, %r5, 3;",
    "mov.u32 %r7, %clock;\nadd.u32 %r5, %r5, %r7;",
    "cvt.rn.f32.u32 %r9, %r5;\nex2.approx.f32 %r9, %r9;\nadd.u32 %r6, %r6, %r9;",
    "cvt.rn.f32.u32 %r9, %r5;\nsqrt.rn.f32 %r9, %r9;\nadd.u32 %r6, %r6, %r9;",
    "and.b32 %r9, %r5, 1;\nsetp.eq.u32 %p2, %r9, 0;",
    "st.shared.u32 [%r3], %r5;",
    "ld.shared.u32 %r7, [%r3];\nadd.u32 %r5, %r5, %r7;",
    "atom.shared.add.u32 %r7, [own], %r5;\nadd.u32 %r6, %r6, %r7;",
    "ld.local.u32 %r7, [l];\nadd.u32 %r5, %r5, %r7;\nst.local.u32 [l], %r5;",
    "membar.gl;",
];

/// Groups of special instructions. A kernel has instructions of one group, or none.
const SPECIALS: [&[&str]; 6] = [
    &[
        "tex.1d.v4.u32.s32 {%r7, %r10, %r11, %r12}, [%rd6, {%r9}];",
        "shr.u32 %r9, %r9, 2;\ntex.1d.v4.u32.s32 {%r7, %r10, %r11, %r12}, [%rd6, {%r9}];",
    ],
    &[
        "cp.async.ca.shared.global [%r3], [%rd3], 8;",
        "cp.async.ca.shared.global [%r3], [%rd3], 4;\ncp.async.commit_group;\n\
         cp.async.wait_group 0;\nld.shared.u32 %r7, [%r3];",
        "cp.async.wait_all;",
        "selp.b32 %r9, 4, 0, %p2;\ncp.async.ca.shared.global [%r3], [%rd3], 4, %r9;",
        "@%p2 cp.async.ca.shared.global [own+128], [%rd3], 4;\nld.shared.u32 %r7, [own+128];",
        "ld.shared.u32 %r7, [%r3];",
    ],
    &[
        "mbarrier.arrive.shared.b64 %rd4, [barrier];",
        "mbarrier.test_wait.shared.b64 %p1, [barrier], %rd4;\nselp.b32 %r7, 3, 7, %p1;",
        "mbarrier.arrive.noComplete.shared.b64 %rd4, [barrier], 1;",
        "mbarrier.test_wait.parity.shared.b64 %p1, [barrier], 1;\nselp.b32 %r7, 5, 9, %p1;",
    ],
    &[
        "@!%p2 bra N;\nshr.u32 %r10, %r2, 2;\nsetp.ne.u32 %p1, %r8, %r10;\n@%p1 bra N;\n\
         ld.global.u32 %r7, [%rd3];\nst.local.u32 [l+24], %r7;\nmov.u64 %rd4, l;\n\
         cvta.local.u64 %rd4, %rd4;\nadd.u64 %rd5, %rd4, 24;\nadd.u64 %rd4, %rd4, 16;\n\
         {\n.param .b64 f; st.param.b64 [f], %rd4;\n.param .b64 v; st.param.b64 [v], %rd5;\n\
         .param .b32 r; call.uni (r), vprintf, (f, v);\nld.param.b32 %r7, [r];\n}\nN:",
    ],
    &["setp.ne.u32 %p1, %r8, 1;\n@%p1 bra N;\nmov.u64 %rd4, 16;\n\
         {\n.param .b64 n; st.param.b64 [n], %rd4;\n.param .b64 r; \
         call.uni (r), malloc, (n);\nld.param.b64 %rd4, [r];\n}\n\
         setp.eq.u64 %p1, %rd4, 0;\n@%p1 bra N;\nst.u32 [%rd4], %r5;\nld.u32 %r7, [%rd4];\n\
         @!%p2 bra N;\n\
         {\n.param .b64 a; st.param.b64 [a], %rd4;\ncall.uni free, (a);\n}\nN:"],
    &[
        "suld.b.1d.b32.clamp %r7, [%rd6, {%r9}];",
        "sust.b.1d.b32.clamp [%rd6, {%r9}], %r5;",
    ],
];

/// A drawn body: the special instructions of its kernel, and its text so far.
struct Body<'a> {
    rng: &'a mut Rng,
    specials: Option<&'static [&'static str]>,
    labels: u32,
    text: String,
}

impl Body<'_> {
    /// Adds one of the special instructions, if the kernel has any. Returns whether it has.
    fn special(&mut self) -> bool {
        let Some(specials) = self.specials.filter(|_| self.rng.below(4) == 0) else {
            return false;
        };
        point(self.rng, &mut self.text);
        let which = one_of(self.rng, specials);
        self.labels += 1;
        let label = format!("N{}", self.labels);
        let named = which.replace(" N;", &format!(" {label};"));
        let named = named.replace("\nN:", &format!("\n{label}:"));
        let _ = writeln!(self.text, "{named}");
        self.text.push_str("mad.lo.u32 %r5, %r5, 5, %r7;\n");
        true
    }
}

/// Adds one action of a thread.
fn act(rng: &mut Rng, text: &mut String) {
    let kind = rng.below(10);
    let is_generic = rng.below(3) == 0;
    let from = match kind {
        0..=2 => &LOADS[..],
        3..=4 => &STORES[..],
        5 => &ATOMICS[..],
        _ => {
            text.push_str(one_of(rng, &OTHERS));
            return text.push('\n');
        }
    };
    let space = if is_generic { "" } else { ".global" };
    match is_generic && rng.below(2) == 0 {
        true => point_anywhere(rng, text),
        false => point(rng, text),
    }
    let _ = writeln!(text, "{}", one_of(rng, from).replace(".SPACE", space));
    if kind != 3 && kind != 4 && rng.below(4) > 0 {
        text.push_str("mad.lo.u32 %r5, %r5, 5, %r7;\n");
    }
}

/// Actions of a kernel's threads in each round, some of them in a part of the lanes, or after a
/// barrier.
fn body(rng: &mut Rng) -> String {
    let specials = SPECIALS.get(rng.below(2 * SPECIALS.len() as u32) as usize);
    let mut body = Body {
        rng,
        specials: specials.copied(),
        labels: 0,
        text: String::from("mov.u32 %r7, 1;\nmov.u64 %rd4, 0;\nsetp.ne.u32 %p2, %r2, 5;\n"),
    };
    for label in 0..2 + body.rng.below(5) {
        let some = body.rng.below(4) == 0;
        if some {
            let _ = writeln!(body.text, "@!%p2 bra S{label};");
        }
        for _ in 0..1 + body.rng.below(4) {
            if !body.special() {
                act(body.rng, &mut body.text);
            }
        }
        if some {
            let _ = writeln!(body.text, "S{label}:");
        } else if body.rng.below(4) == 0 {
            body.text.push_str("bar.sync 0;\n");
        }
    }
    body.text
}

/// Draws the body of a kernel. `rounds` is the number of its rounds, or a register that has it.
pub fn drawn_kernel(rng: &mut Rng, rounds: &str) -> String {
    let end = END.replace("ROUNDS", rounds);
    let body = body(rng);
    let begin = match body.contains("mbarrier") {
        true => BEGIN.replace("L:\n", &format!("{BEGIN_BARRIER}L:\n")),
        false => BEGIN.to_owned(),
    };
    format!("{begin}{body}{end}")
}
