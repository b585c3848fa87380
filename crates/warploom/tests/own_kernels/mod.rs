//! Kernels of one's own without a launch file: launches that are guessed, and explanations of what
//! bounds them. Each kernel of `bounds.cu` is made so that one part bounds it.

use crate::support::{json, refusal, warploom_in};
use std::path::Path;

const KERNELS: &str = include_str!("../bounds.ptx");
const WAITS: &str = include_str!("waits.ptx");

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bounds.ptx"), KERNELS).unwrap();
    std::fs::write(folder.path().join("waits.ptx"), WAITS).unwrap();
    folder
}

/// The five sentences on a kernel of `bounds.cu` or `waits.cu`, each on one line. `analyze` gives
/// the same verdict and the same next step.
fn explained(kernel: &str, options: &str) -> Vec<String> {
    let folder = folder();
    let file = match WAITS.contains(&format!(".entry {kernel}(")) {
        true => "waits.ptx",
        false => "bounds.ptx",
    };
    let command = format!("run {file} --explain --stats r.json --kernel {kernel} {options}");
    let args: Vec<_> = command.split_whitespace().collect();
    let ran = warploom_in(folder.path(), &args);
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let (_, text) = ran
        .out
        .split_once("\nexplanation\n- ")
        .expect("an explanation");
    let text = text.replace("\n  ", " ");
    let sentences: Vec<_> = text.trim_end().split("\n- ").map(str::to_owned).collect();
    assert_eq!(sentences.len(), 5, "{text}");
    let analysed = warploom_in(folder.path(), &["analyze", "r.json", "--json"]);
    let advice = json(&analysed.out)["advice"].clone();
    let advice: Vec<_> = advice.as_array().expect("sentences").iter().collect();
    assert_eq!(advice[0], &sentences[0]);
    // A stored result has no lines of the program.
    let has_lines = sentences[4].starts_with("Next: execute fewer instructions, ");
    assert!(
        has_lines || advice.iter().any(|told| *told == &sentences[4]),
        "{advice:?}"
    );
    sentences
}

/// The explanation names the bound and a next step.
#[track_caller]
fn bound(kernel: &str, options: &str, bound: &str, next: &str) {
    let told = explained(kernel, options);
    assert!(told[0].starts_with(bound), "{kernel}: {told:#?}");
    assert!(told[4].starts_with(next), "{kernel}: {told:#?}");
}

#[test]
fn the_bound_of_each_kernel_is_named() {
    let bandwidth = "DRAM bounds `bandwidth`: ";
    bound("bandwidth", "", bandwidth, "Next: move fewer bytes: ");
    let compute = "Instruction issue bounds `compute`: ";
    bound("compute", "", compute, "Next: execute fewer instructions, ");
    let shared = "Shared memory bounds `conflicts`: it is busy in 9";
    bound(
        "conflicts",
        "--grid 120",
        shared,
        "Next: change the layout in shared memory",
    );
    let diverge = "Diverged warps bound `diverge`: an instruction takes effect in 7.7 of 32 lanes";
    bound(
        "diverge",
        "--grid 90",
        diverge,
        "Next: let the lanes of a warp branch alike",
    );
    let special = "Function units bound `special`: ";
    bound(
        "special",
        "--grid 180",
        special,
        "Next: execute fewer instructions of the pipe `sfu`",
    );
    bound(
        "barriers",
        "--grid 15",
        "Barriers bound `barriers`: ",
        "Next: use smaller blocks",
    );
}

/// At a stride of 64 words each lane of a load needs a line of its own, and those of a store share
/// one.
#[test]
fn uncoalesced_accesses_are_named_with_the_transactions_they_could_save() {
    let network = "The network from L2 to the SMs bounds `strided`: ";
    let next = "Next: let neighbouring threads access neighbouring words; a load then needs 1.0 \
                transactions at best instead of 32.0";
    bound("strided", "", network, next);
    let told = explained("strided", "");
    assert!(
        told[0].contains("because a load is split into 32.0 transactions"),
        "{told:#?}"
    );
}

/// On machines whose collectors serve all pipes, accesses that wait for L1D fill them, and
/// arithmetic finds no place: the scheduler cycles say `execution_pipe`, although few instructions
/// use any unit.
#[test]
fn accesses_that_hold_operand_collectors_are_not_function_units() {
    let launch = "--grid 24 --block 256 --arg f32[2048] --arg f32[6144] --arg 16 --set gpu.sms=2";
    let next = |ideal: &str| {
        format!(
            "Next: let neighbouring threads access neighbouring words; a load then needs {ideal} \
             transactions at best instead of 32.0"
        )
    };
    let sectored = format!("{launch} --gpu rtx3070-ampere --set gpu.kernel_launch_cycles=0");
    let units = "The load/store units bound `columns`: ";
    bound("columns", &sectored, units, &next("4.0"));
    let told = explained("columns", &sectored);
    assert!(
        told[0].contains("L1D takes 32.0 transactions of a load one after the other")
            && told[0].contains("accesses that wait hold the operand collectors"),
        "{told:#?}"
    );
    assert!(told[1].contains("(`execution_pipe`)"), "{told:#?}");
    // Each pipe has collectors of its own.
    let port = "The L1 data cache port bounds `columns`: ";
    bound("columns", launch, port, &next("1.0"));
}

/// A padding column makes this kernel 1.27 times faster, although stalls for misses are a little
/// more frequent than conflicts.
#[test]
fn bank_conflicts_are_named_beside_a_larger_reason() {
    let units = "The load/store units bound `transpose`: ";
    bound(
        "transpose",
        "",
        units,
        "Next: change the layout in shared memory",
    );
    let told = explained("transpose", "");
    let conflicts = "and because an access to shared memory waits 15.5 cycles for bank conflicts.";
    assert!(told[0].ends_with(conflicts), "{told:#?}");
}

/// A histogram of bytes in global memory has eight lines of 128 bytes, in four L2 banks.
#[test]
fn banks_of_few_lines_are_named_with_what_fills_them() {
    let launch = "--grid 160 --block 256 --arg u8[163840]=uniform(0,256) --arg u32[256] \
                  --arg 163840 --gpu qv100-volta --set gpu.kernel_launch_cycles=0";
    let banks = "4 of 64 L2 banks bound `histogram`: 9";
    let next = "Next: let each block update a copy of its own in shared memory (privatisation)";
    bound("histogram", launch, banks, next);
    let told = explained("histogram", launch);
    assert!(told[0].contains("mostly atomics, go to them"), "{told:#?}");
    assert!(
        told[3].contains("a load takes 1.0 transactions and an atomic 2"),
        "{told:#?}"
    );

    let launch = "--grid 60 --block 256 --arg f32[128] --arg f32[15360] --arg 16";
    let next = "Next: load lines that all blocks read once for a block";
    bound(
        "few_lines",
        launch,
        "2 of 12 L2 banks bound `few_lines`: 9",
        next,
    );
}

#[test]
fn turns_of_atomics_and_uneven_work_are_named() {
    let launch = "--grid 264 --block 256 --arg u32[2112] --arg 32 --gpu h200-hopper \
                  --set gpu.kernel_launch_cycles=0 --set gpu.sms=33";
    let shared = "Shared memory bounds `tally`: it is busy in ";
    let next = "Next: let fewer lanes of a warp update the same word of shared memory";
    bound("tally", launch, shared, next);
    let told = explained("tally", launch);
    assert!(
        told[0].contains("an atomic of shared memory waits 31.0 cycles"),
        "{told:#?}"
    );

    let launch = "--grid 60 --block 256 --arg f32[15360] --arg 16";
    let next = "Next: use smaller blocks";
    bound("uneven", launch, "Barriers bound `uneven`: ", next);
}

/// The copies of inputs leave them in L2 on machines of GPGPU-Sim's version 4.
#[test]
fn hits_of_copied_inputs_are_named_with_their_option() {
    let sentence = |options: &str| {
        let launch = "--grid 64 --block 256 --arg f32[16384]=iota --arg f32[16384]=iota";
        let options = format!("{launch} --arg f32[16384] --arg 16384 {options}");
        explained("bandwidth", &options)[3].clone()
    };
    let option = "--set gpu.copies_warm_l2=false";
    let warm = sentence("--gpu qv100-volta");
    assert!(
        warm.contains("only because the host's copies left the data there"),
        "{warm}"
    );
    assert!(warm.contains(option), "{warm}");
    let cold = sentence(&format!("--gpu qv100-volta {option}"));
    assert!(!cold.contains("copies"), "{cold}");
}

#[test]
fn too_few_warps_are_named_with_what_they_wait_for() {
    let latency = "The latency of arithmetic bounds `chain`: ";
    bound(
        "chain",
        "--grid 15 --block 64",
        latency,
        "Next: add warps: the grid has 15 blocks",
    );
    let chase = "--grid 15 --block 32 --arg u32[1048576] --arg u32[480] --arg 100";
    bound(
        "chase",
        chase,
        "The latency of loads from global memory bounds `chase`: ",
        "Next: add warps",
    );
    let idle = "Idle SMs bound `chain`: they hold no block in 93% of their cycles, because the grid \
                has 1 block for 15 SMs. Where they hold one, the bound is: latency of arithmetic.";
    bound(
        "chain",
        "--grid 1 --block 32",
        idle,
        "Next: let more threads share the work, in more blocks",
    );
    let told = explained("chain", "--grid 1 --block 32");
    let waits = "for results of arithmetic (`execution_dependence`).";
    assert!(
        told[1].contains("of their cycles with warps") && told[1].ends_with(waits),
        "{told:#?}"
    );
}

/// A program of several kernels is explained by the one that takes the most cycles.
#[test]
fn the_longest_kernel_of_several_is_explained() {
    let here = Path::new(".");
    let ran = warploom_in(here, &["run", "atax", "--size", "test", "--explain"]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let (_, told) = ran
        .out
        .split_once("\nexplanation of ")
        .expect("an explanation");
    let (kernel, rest) = told.split_once(", which takes ").expect("a share");
    assert!(
        kernel.starts_with("atax_kernel") && rest.contains(&format!("`{kernel}`")),
        "{told}"
    );
    let refused = refusal(here, 2, &["run", "bfs", "--explain", "--json"]);
    assert!(refused.contains("cannot be used with"), "{refused}");
}

/// The note of a guess is a command that makes the same run.
#[test]
fn a_guess_is_told_as_a_command_that_makes_the_same_run() {
    let folder = folder();
    let run = |args: &[&str]| {
        let ran = warploom_in(folder.path(), args);
        assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
        let mut lines = ran.out.lines();
        let digest = lines.find(|line| line.starts_with("digest "));
        (ran.err, digest.expect("a digest").to_owned())
    };
    let (told, digest) = run(&["run", "bounds.ptx", "--kernel", "chase", "--grid", "4"]);
    let guessed = "bounds.ptx --kernel chase --grid 4 --block 256 --arg 'u32[1048576]=iota' \
                   --arg 'u32[1048576]=zeros' --arg 1024";
    assert!(
        told.contains(&format!("\n  warploom run {guessed}\n")),
        "{told}"
    );
    let plain = guessed.replace('\'', "");
    let args: Vec<_> = std::iter::once("run").chain(plain.split(' ')).collect();
    assert_eq!(run(&args), (String::new(), digest));
}

/// Two mistakes: several kernels and none chosen; a kernel that no launch suits.
#[test]
fn what_cannot_be_guessed_is_told_with_a_remedy() {
    let folder = folder();
    let refused = refusal(folder.path(), 2, &["run", "bounds.ptx"]);
    let choice = "bounds.ptx has 11 kernels; choose one with --kernel: bandwidth, compute, chain";
    assert!(refused.contains(choice), "{refused}");

    let lost = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry lost(.param .u64 p) \
                {\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nld.global.u64 %rd2, [%rd1];\n\
                add.s64 %rd2, %rd2, 1;\nst.global.u64 [%rd2], %rd1;\nret;\n}\n";
    std::fs::write(folder.path().join("lost.ptx"), lost).unwrap();
    let refused = refusal(folder.path(), 2, &["run", "lost.ptx"]);
    assert!(
        refused.contains("no launch of `lost` could be guessed: the last one ended"),
        "{refused}"
    );
    assert!(refused.contains("launch file"), "{refused}");
}

#[test]
fn without_a_compiler_source_code_is_refused_with_the_ways_to_compile_it() {
    let folder = folder();
    std::fs::write(folder.path().join("k.cu"), "__global__ void k() {}\n").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(["run", "k.cu"]).current_dir(folder.path());
    let command = command
        .env("PATH", "")
        .env("VIRTUAL_ENV", folder.path())
        .env_remove("NVCC")
        .env_remove("CUDA_HOME");
    let ran = command.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{told}");
    for part in [
        "there is no `nvcc` here",
        "pip install",
        "nvcc -ptx",
        "warploom app",
    ] {
        assert!(told.contains(part), "{told}");
    }
    // A compiler of a Python package is found in the active virtual environment.
    let packages = "lib/python3.11/site-packages/nvidia/cu13/bin";
    let packages = folder.path().join(packages);
    std::fs::create_dir_all(&packages).unwrap();
    std::fs::write(packages.join("nvcc"), "no program").unwrap();
    let ran = command.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(
        told.contains("cu13/bin/nvcc: it may not be executed"),
        "{told}"
    );
}

#[test]
fn a_file_without_its_ending_is_suggested() {
    let folder = folder();
    let told = refusal(folder.path(), 2, &["run", "bounds"]);
    assert!(told.contains("did you mean `bounds.ptx`?"), "{told}");
    let told = refusal(folder.path(), 2, &["run", "no/bounds"]);
    assert!(!told.contains("bounds.ptx"), "{told}");
}

/// `crat` states the registers that it allocated in the PTX, and runs give each thread as many. The
/// kernel would otherwise get an estimate, which spill code makes larger.
#[test]
fn a_run_of_allocated_ptx_has_the_registers_that_were_allocated() {
    let folder = folder();
    let args = "crat bounds.ptx --kernel compute --registers 5 --verify -o small.ptx";
    let args: Vec<_> = args.split(' ').collect();
    let made = warploom_in(folder.path(), &args);
    assert_eq!(made.status, 0, "{}", made.err);
    let limit = |out: &str| -> Option<u64> {
        let (_, rest) = out.split_once("written to small.ptx; its `.maxnreg ")?;
        rest.split_once('`')?.0.parse().ok()
    };
    let limit = limit(&made.out).expect("the limit");
    let args = ["run", "small.ptx", "--kernel", "compute", "--functional"];
    assert_eq!(warploom_in(folder.path(), &args).status, 0);
    let needs = warploom_in(folder.path(), &["resources", "small.ptx", "--json"]).out;
    let kernels = json(&needs)["kernels"].clone();
    let of = |name: &str| {
        let kernels = kernels.as_array().expect("kernels");
        let kernel = kernels.iter().find(|kernel| kernel["kernel"] == name);
        kernel.expect("the kernel")["registers_per_thread"].as_u64()
    };
    assert_eq!(of("compute"), Some(limit));
    // The other kernels have their estimates.
    let needs = warploom_in(folder.path(), &["resources", "bounds.ptx", "--json"]).out;
    let before = json(&needs)["kernels"].clone();
    let same =
        |(a, b): (&serde_json::Value, &serde_json::Value)| a == b || a["kernel"] == "compute";
    let pairs = before.as_array().expect("kernels").iter();
    assert!(pairs.zip(kernels.as_array().expect("kernels")).all(same));
}

/// Status, standard output and standard error of a run of CUDA source whose compiler is a script.
#[cfg(unix)]
fn compiled_by(folder: &Path, script: &str) -> (Option<i32>, String, String) {
    use std::os::unix::fs::PermissionsExt;
    let compiler = folder.join("compiler");
    std::fs::write(&compiler, format!("#!/bin/sh\n{script}\n")).unwrap();
    let may = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&compiler, may).unwrap();
    std::fs::write(folder.join("k.cu"), "// not read by this compiler\n").unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(["run", "k.cu", "--kernel", "bandwidth", "--grid", "4"]);
    let ran = command
        .env("NVCC", &compiler)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

/// Source code is compiled by the compiler that NVCC names; its messages are shown.
#[test]
#[cfg(unix)]
fn cuda_source_is_compiled_by_the_named_compiler() {
    let folder = folder();
    let compiler = folder.path().join("compiler");
    let run = |script: &str| compiled_by(folder.path(), script);
    // The compiler's arguments end with `-o FILE k.cu`.
    let (status, out, told) = run("cat bounds.ptx >\"$5\"");
    assert_eq!(status, Some(0), "{told}");
    assert!(out.contains("\nbandwidth "), "{out}");
    assert!(
        told.contains("note: compiled k.cu by `nvcc -ptx -arch=compute_75 -lineinfo`"),
        "{told}"
    );
    // A launch file may name the source, too.
    let launch = "module = \"k.cu\"\n[[buffer]]\nname = \"a\"\ntype = \"f32\"\nshape = [1024]\n\
                  [[launch]]\nkernel = \"compute\"\ngrid = 1\nblock = 64\nargs = [\"a\", 8]\n";
    std::fs::write(folder.path().join("k.toml"), launch).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warploom"));
    command.args(["run", "k.toml"]).env("NVCC", &compiler);
    let ran = command.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{told}");
    assert!(told.contains("note: compiled k.cu by"), "{told}");
    // So do the verbs that read PTX alone.
    for verb in ["resources", "crat"] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warploom"));
        command
            .args([verb, "k.cu", "--registers", "8"])
            .env("NVCC", &compiler);
        let ran = command.current_dir(folder.path()).output().unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(told.contains("note: compiled k.cu by"), "{told}");
        assert!(!told.contains("error["), "{told}");
    }
    let (status, _, told) = run("echo 'k.cu(1): error: expected a declaration' >&2; exit 1");
    assert_eq!(status, Some(2));
    assert!(
        told.contains("cannot compile k.cu\nk.cu(1): error: expected"),
        "{told}"
    );
}

/// The output is a file in a temporary folder. A compiler may write elsewhere, or nothing.
#[test]
#[cfg(unix)]
fn a_compiler_without_output_is_told() {
    let folder = folder();
    let run = |script: &str| compiled_by(folder.path(), script);
    let (status, _, told) = run("echo \"$5\" >&2; exit 1");
    assert_eq!(status, Some(2));
    assert!(
        told.contains("/kernel.ptx") && !told.contains("/dev/stdout"),
        "{told}"
    );
    for (script, remedy) in [
        (
            "cat bounds.ptx",
            "it wrote to standard output; write to the file that its option `-o`",
        ),
        ("true", "check that NVCC or PATH names the CUDA compiler"),
    ] {
        let (status, _, told) = run(script);
        assert_eq!(status, Some(2));
        let nothing = "compiler compiled k.cu without an error, but wrote no PTX";
        assert!(told.contains(nothing) && told.contains(remedy), "{told}");
    }
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warploom"));
    command
        .args(["run", "k.cu"])
        .env("NVCC", folder.path().join("compiler"));
    let ran = command.env("TMPDIR", "nowhere").current_dir(folder.path());
    let told = String::from_utf8_lossy(&ran.output().unwrap().stderr).into_owned();
    assert!(
        told.contains("no temporary folder can be made in nowhere (there is no such folder)"),
        "{told}"
    );
}

/// Each thread sums a row of a matrix, so that each load makes 32 transactions. The largest guess
/// within the bound of instructions, 4096 x 4096, makes 17 million of them, and the next one 1.05
/// million.
#[test]
fn a_guess_is_bounded_by_transactions_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("rows.ptx"), include_str!("rows.ptx")).unwrap();
    let ran = warploom_in(folder.path(), &["run", "rows.ptx", "--functional"]);
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let size = "--grid 4 --block 256 --arg 1024 --arg 1024 --arg 'f32[1048576]=uniform'";
    assert!(ran.err.contains(size), "{}", ran.err);
    assert!(ran.err.contains("give --grid alone"), "{}", ran.err);
    let smaller = ["run", "rows.ptx", "--functional", "--grid", "1"];
    let ran = warploom_in(folder.path(), &smaller);
    let size = "--grid 1 --block 256 --arg 256 --arg 256 --arg 'f32[65536]=uniform'";
    assert!(ran.err.contains(size), "{}", ran.err);
    assert!(!ran.err.contains("give --grid alone"), "{}", ran.err);
}

/// Each thread writes every second word of `p` and a word of `q`: `p` needs twice the words, which
/// it overruns into `q` otherwise.
#[test]
fn a_guess_overruns_no_buffer_into_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = ".version 7.0\n.target sm_75\n.address_size 64\n\
        .visible .entry every(.param .u64 p, .param .u64 q) {\n.reg .b32 %r<8>; .reg .b64 %d<8>;\n\
        ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];\n\
        mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 256, %r1;\n\
        mul.wide.u32 %d3, %r3, 4; add.u64 %d4, %d1, %d3; add.u64 %d4, %d4, %d3;\n\
        add.u64 %d5, %d2, %d3; st.global.u32 [%d4], %r1; st.global.u32 [%d5], %r1;\nret;\n}\n";
    std::fs::write(folder.path().join("every.ptx"), kernel).unwrap();
    let ran = warploom_in(folder.path(), &["run", "every.ptx", "--check", "bounds"]);
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let told = ran.err.replace("\n  ", " ");
    assert!(
        told.contains("--grid 1024 --block 256 --arg 'u32[524288]=zeros'"),
        "{told}"
    );
    assert!(told.contains("after the end of `arg1`"), "{told}");
}

/// An array of 130 words holds the elements of 128 threads and a border: 256 threads, the usual
/// number, access it out of bounds.
#[test]
fn a_guess_respects_the_shared_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = ".version 7.0\n.target sm_75\n.address_size 64\n\
        .visible .entry _Z4turnPj(.param .u64 p) {\n.reg .b32 %r<8>; .reg .b64 %rd<6>;\n\
        .shared .align 4 .b8 t[520];\n\
        ld.param.u64 %rd1, [p]; cvta.to.global.u64 %rd2, %rd1;\n\
        mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n\
        mad.lo.u32 %r4, %r1, %r2, %r3; mul.wide.u32 %rd3, %r4, 4; add.u64 %rd4, %rd2, %rd3;\n\
        ld.global.u32 %r5, [%rd4]; shl.b32 %r6, %r3, 2; mov.u32 %r7, t; add.u32 %r6, %r6, %r7;\n\
        st.shared.u32 [%r6], %r5; ld.shared.u32 %r5, [%r6]; st.global.u32 [%rd4], %r5; ret;\n}\n";
    std::fs::write(folder.path().join("turn.ptx"), kernel).unwrap();
    let ran = warploom_in(folder.path(), &["run", "turn.ptx", "--functional"]);
    assert_eq!(ran.status, 0, "{}{}", ran.err, ran.out);
    let told = "  warploom run turn.ptx --kernel turn --grid 2048 --block 128 ";
    assert!(ran.err.contains(told), "{}", ran.err);
}
