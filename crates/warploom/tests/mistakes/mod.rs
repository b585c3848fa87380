//! Mistakes that are made with kernels of one's own, and what the command says about them.

use crate::support::{json, refusal, warploom_in};
use std::path::Path;

/// `blur` reads `in[n]`. `fill` takes `struct { float *out; int n; float k; }` and stores `k` in
/// all elements. `tile` needs dynamic shared memory.
const KERNELS: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry _Z4blurILi2EEvjPKfPf(.param .u32 n, .param .u64 in, .param .u64 out) {
.reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %rd<6>;
ld.param.u32 %r1, [n]; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
setp.ge.u32 %p, %r5, %r1; @%p ret;
mul.wide.u32 %rd3, %r5, 4; add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3;
ld.global.f32 %f1, [%rd4];
ld.global.f32 %f2, [%rd4+4];
add.f32 %f1, %f1, %f2; st.global.f32 [%rd5], %f1; ret;
}
.extern .shared .align 16 .b8 d[];
.visible .entry tile() {
.reg .b32 %r<3>;
mov.u32 %r1, d; st.shared.u32 [%r1], %r1; ret;
}
.visible .entry fill(.param .align 8 .b8 p[16]) {
.reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %rd<6>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [p+8]; ld.param.f32 %f1, [p+12];
mov.u32 %r4, %tid.x; setp.ge.u32 %p, %r4, %r1; @%p ret;
mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd1, %rd3; st.global.f32 [%rd4], %f1; ret;
}
";

const FILL: &str = "\
module = \"k.ptx\"
[[buffer]]
name = \"out\"
type = \"f32\"
shape = 64
[[launch]]
kernel = \"fill\"
grid = 1
block = 64
args = [{ struct = [\"out\", 64, 0.1] }]
[[expect]]
buffer = \"out\"
constant = 0.1
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.ptx"), KERNELS).unwrap();
    std::fs::write(folder.path().join("fill.toml"), FILL).unwrap();
    folder
}

const BLUR: [&str; 14] = [
    "run",
    "k.ptx",
    "--kernel",
    "blur",
    "--grid",
    "16",
    "--block",
    "256",
    "--arg",
    "4096",
    "--arg",
    "f32[4096]=1.0",
    "--arg",
    "f32[4096]=zeros",
];

/// Powers of two lie without gaps, so that `in[n]` is the first element of the next buffer.
#[test]
fn an_overrun_into_the_next_buffer_is_found_on_request() {
    let folder = folder();
    let run = |more: &[&str]| warploom_in(folder.path(), &[&BLUR, more].concat());
    let plain = run(&[]);
    assert_eq!(plain.status, 0, "{}", plain.err);
    assert!(
        plain.out.contains("\noutputs were not checked: "),
        "{}",
        plain.out
    );
    for more in [
        &["--check", "bounds"][..],
        &["--check", "bounds", "--functional"],
    ] {
        let ran = run(more);
        assert_eq!(ran.status, 1, "{}", ran.err);
        for part in [
            "FAULT: access out of bounds in kernel `blur<2>`, PTX line 11, block (15, 0, 0)",
            "0 bytes after the end of `arg2`, the live allocation of 16384 bytes at 0xc0000000",
            "= help: compile with `nvcc -lineinfo`",
        ] {
            assert!(ran.out.contains(part), "{}", ran.out);
        }
    }
}

#[test]
fn a_check_of_bounds_leaves_a_sound_run_as_it_is() {
    let folder = folder();
    let run = |more: &[&str]| {
        let args = [&["run", "fill.toml", "--json"], more].concat();
        let ran = warploom_in(folder.path(), &args);
        assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
        json(&ran.out)
    };
    let (plain, checked) = (run(&[]), run(&["--check", "bounds"]));
    assert_eq!(plain["checks"][0]["passed"], true);
    // The only buffer is the first one, whose address does not depend on gaps.
    assert_eq!(plain["digest"], checked["digest"]);
}

#[test]
fn forgotten_dynamic_shared_memory_is_named() {
    let folder = folder();
    let args = [
        "run",
        "k.ptx",
        "--kernel",
        "tile",
        "--grid",
        "1",
        "--block",
        "32",
        "--functional",
    ];
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 1, "{}", ran.err);
    let told = "the block has 0 bytes of shared memory, 0 of them for `extern __shared__` arrays, \
                whose size the launch states (`--shared`, `dynamic_shared_bytes`, or the third \
                number in `<<<>>>`)";
    assert!(ran.out.contains(told), "{}", ran.out);
    let ran = warploom_in(folder.path(), &[&args[..], &["--shared", "16"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.out);
}

#[test]
fn a_structure_is_an_argument() {
    let folder = folder();
    let args = [
        "run", "k.ptx", "--kernel", "fill", "--grid", "1", "--block", "64", "--arg",
    ];
    let ran = warploom_in(
        folder.path(),
        &[&args[..], &["struct:f32[64],64,0.5"]].concat(),
    );
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let refused = refusal(folder.path(), 2, &[&args[..], &["struct:64,0.5"]].concat());
    for part in [
        "argument 1 is 16 bytes, not a structure of 8 bytes",
        " --> the command line: --arg number 1",
        "`--arg struct:256,0.5,f64:1`",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    let guessed = refusal(folder.path(), 2, &["run", "k.ptx", "--kernel", "fill"]);
    assert!(guessed.contains("`--arg struct:256,0.5`"), "{guessed}");
}

/// The title is a command that makes the same run, and a note follows the result.
#[test]
fn guessed_arguments_are_told_after_the_result() {
    let folder = folder();
    let few = [&BLUR[..10], &["--functional"]].concat();
    let ran = warploom_in(folder.path(), &few);
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let title = ran.out.lines().next().unwrap();
    let command = "--arg 4096 --functional --arg 'f32[";
    assert!(title.contains(command), "{title}");
    let note = ran.err.lines().last().unwrap();
    let told =
        "note: 1 of the kernel's 3 arguments was given, and others were guessed: --arg 'f32[";
    assert!(note.starts_with(told), "{}", ran.err);
    let whole = warploom_in(folder.path(), &[&BLUR[..], &["--functional"]].concat());
    assert_eq!(whole.err, "");
}

#[test]
fn files_of_other_commands_are_named() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "s.toml",
        "[axes]\ntarget = [\"bfs\"]\n[report]\nrows = \"target\"\n",
    );
    let told = refusal(folder.path(), 2, &["run", "s.toml"]);
    assert!(
        told.contains("this is the file of a sweep, not a launch file"),
        "{told}"
    );
    assert!(told.contains("= help: `warploom sweep s.toml`"), "{told}");
    let told = refusal(folder.path(), 2, &["sweep", "fill.toml"]);
    assert!(
        told.contains("this is a launch file, not the file of a sweep"),
        "{told}"
    );
    assert!(told.contains("= help: `warploom run fill.toml`"), "{told}");
    let told = refusal(Path::new("."), 2, &["reproduce", "deut"]);
    assert!(told.contains("did you mean `duet`?"), "{told}");
}

/// Windows follow the length of the run: 64 to 128 of them, and the last one is shorter.
#[test]
fn a_page_of_a_short_run_has_many_windows() {
    let folder = folder();
    let args = [&BLUR[..], &["--html", "page.html"]].concat();
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("in windows of 100 cycles"));
}

/// The page of a run names the keys that its preset has with other values, beside the preset's.
#[test]
fn a_page_of_a_run_tells_changed_keys() {
    let folder = folder();
    let set = ["--set", "l1d.sets=64", "--html", "page.html"];
    let ran = warploom_in(folder.path(), &[&BLUR[..], &set].concat());
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert_eq!(page.matches("l1d.sets=64</").count(), 1, "{page}");
}

/// A null pointer, and a number where data is needed, are named by the place of the argument.
#[test]
fn an_argument_that_is_no_buffer_is_named() {
    let folder = folder();
    let blur = |input: &str| {
        let mut args = BLUR;
        args[11] = input;
        warploom_in(folder.path(), &[&args[..], &["--functional"]].concat())
    };
    for (input, told) in [
        (
            "0",
            "argument 2 of the kernel is 0, a null pointer if it is an address",
        ),
        (
            "5000",
            "argument 2 of the kernel is 5000, which is no address of data",
        ),
    ] {
        let ran = blur(input);
        assert_eq!(
            (ran.status, ran.out.contains(told)),
            (1, true),
            "{}",
            ran.out
        );
    }
    let few = [
        "run", "k.ptx", "--kernel", "blur", "--arg", "64", "--arg", "7",
    ];
    let refused = refusal(folder.path(), 2, &few);
    for part in [
        "--arg number 2 is the number 7, but `blur<2>` reads data at the address",
        "= help: give a buffer, such as `--arg 'f32[1024]=uniform'`; the kernel's elements are `f32`",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}

/// A setting of a policy that the machine does not have is no error, and a note names it.
#[test]
fn a_key_that_nothing_reads_is_named() {
    let folder = folder();
    let told = |command: &str| {
        let args: Vec<_> = command.split(' ').collect();
        let ran = warploom_in(folder.path(), &args);
        assert_eq!(ran.status, 0, "{command}: {}", ran.err);
        ran.err
    };
    let note = "note: the key `duet.port_bytes` changes nothing: it is a setting of the policy \
                `sm.context=duet`, and `sm.context` is none\n  \
                = help: `--set sm.context=duet` chooses it\n";
    for command in ["run vectoradd --size test", "show gpu gtx480"] {
        let with = |more: &str| told(&format!("{command} --set duet.port_bytes=64{more}"));
        assert!(with("").contains(note), "{command}: {}", with(""));
        assert!(
            !with(" --set sm.context=duet").contains("note"),
            "{command}"
        );
    }
}

/// The keys of a comparison are checked before a launch is guessed, which would be told first.
#[test]
fn a_misspelt_key_of_a_comparison_is_told_before_a_guess() {
    let folder = folder();
    let compare = |vary: &str| {
        let args = ["compare", "k.ptx", "--kernel", "blur", "--vary", vary];
        refusal(folder.path(), 2, &args)
    };
    for (vary, part) in [
        (
            "sm.warp_schedular=lrr,gto",
            "did you mean `sm.warp_scheduler`?",
        ),
        ("sm.warp_scheduler=lrr,gtoo", "did you mean \"gto\"?"),
    ] {
        let told = compare(vary);
        assert!(told.contains(part) && !told.contains("guessed"), "{told}");
    }
}

/// Typing errors and files of other kinds: each message has a remedy.
#[test]
fn mistyped_commands_and_files_of_other_kinds_are_answered() {
    let folder = folder();
    std::fs::write(folder.path().join("notes.txt"), "my notes\n").unwrap();
    let compare = "compare vectoradd --size test --vary gpu.sms=1,2 --svg x.png";
    for (command, parts) in [
        ("rnu bfs", &["similar subcommand exists: 'run'"][..]),
        ("vectoradd", &["similar subcommand exists: 'run vectoradd'"]),
        ("k.ptx", &["similar subcommand exists: 'run k.ptx'"]),
        (
            "run bfs --seed -1",
            &["'-1' for '--seed <N>': write a whole number from 0 to"],
        ),
        (
            "run bfs --max-cycles -1",
            &["invalid value '-1' for '--max-cycles <N>'"],
        ),
        (
            "run notes.txt",
            &["notes.txt is neither", "warploom run` lists workloads"],
        ),
        (
            "import fill.toml",
            &["no option of GPGPU-Sim", "`warploom run fill.toml` runs it"],
        ),
        (
            "compare vectoradd spmv --size test",
            &[
                "nothing varies",
                "--vary sm.warp_scheduler=lrr,gto",
                "to compare programs, write a file with `[axes]`",
                "`warploom sweep FILE`",
            ],
        ),
        (
            compare,
            &[
                "--svg writes SVG, and x.png is named as PNG",
                "ends in .svg",
            ],
        ),
        (
            "reproduce fig1",
            &["name the paper, too: ", "`duet/fig1`", "`crat/fig1`"],
        ),
        (
            "show bfs",
            &["a machine is all that can be shown", "`warploom list`"],
        ),
    ] {
        let args: Vec<_> = command.split(' ').collect();
        let told = refusal(folder.path(), 2, &args);
        for part in parts {
            assert!(told.contains(part), "{command}: {told}");
        }
    }
    // Close names of checks are accepted.
    let races = "run fill.toml --functional --check races,uninitialized";
    let args: Vec<_> = races.split(' ').collect();
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}", ran.err);
}
