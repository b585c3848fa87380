//! Tests of `warploom slices` from a user's view.

mod support;

use std::fs;
use std::path::Path;
use support::{json, output, refusal, warploom_in};

/// Copies rows of 64 words through an index that is data in one array and computed in the other.
const GATHER: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry gather(.param .u64 index, .param .u64 from, .param .u64 to)
{
.reg .b32 %r<10>; .reg .b64 %rd<12>;
ld.param.u64 %rd1, [index]; ld.param.u64 %rd2, [from]; ld.param.u64 %rd3, [to];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %tid.x;
shl.b32 %r4, %r1, 5; add.s32 %r5, %r4, %r3; mad.lo.s32 %r6, %r2, 64, %r5;
mul.wide.u32 %rd4, %r6, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r7, [%rd5];
mul.wide.u32 %rd6, %r7, 4;
add.s64 %rd7, %rd2, %rd6;
ld.global.u32 %r8, [%rd7];
add.s64 %rd8, %rd3, %rd4;
st.global.u32 [%rd8], %r8;
ret;
}
";

#[test]
fn accesses_have_slices_or_reasons() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gather.ptx"), GATHER).unwrap();
    let ran = warploom_in(folder.path(), &["slices", "gather.ptx"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    let launch = [
        "slices",
        "gather.ptx",
        "--kernel",
        "gather",
        "--grid",
        "2,4",
        "--block",
        "32",
        "--arg",
        "u32[256]=zeros",
        "--arg",
        "u32[256]=zeros",
        "--arg",
        "u32[256]=zeros",
    ];
    let launched = warploom_in(folder.path(), &[&launch[..], &["--svg", "t.svg"]].concat());
    assert_eq!((launched.status, launched.err.as_str()), (0, ""));
    let (_, rest) = launched.out.split_once("\nfirst launch").unwrap();
    insta::assert_snapshot!(format!("{}\nfirst launch{rest}", ran.out));
    let picture = fs::read_to_string(folder.path().join("t.svg")).unwrap();
    // Four blocks in each of two arrays are filled and framed.
    assert_eq!(picture.matches("opacity=\"0.35\"").count(), 8);
    let report = json(&warploom_in(folder.path(), &[&launch[..], &["--json"]].concat()).out);
    let kernel = &report["kernels"][0];
    assert_eq!(kernel["accesses"][1]["regular"], false);
    // Rows of 256 bytes are two lines.
    assert_eq!(kernel["launch"]["arrays"][1]["pitch"], 256);
    let rect = &kernel["launch"]["blocks"][3]["rectangles"][1][0];
    assert_eq!((&rect["line"], &rect["row"]), (&1.into(), &1.into()));
}

#[test]
fn a_workload_is_looked_at_launch_by_launch() {
    let report = json(&output(&["slices", "lud", "--at", "0", "--json"]));
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 3);
    assert!(
        kernels
            .iter()
            .all(|kernel| kernel["launch"]["blocks"][0]["block"][0] == 0)
    );
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gather.ptx"), GATHER).unwrap();
    let refused = |args: &[&str]| refusal(folder.path(), 2, args);
    insta::assert_snapshot!(
        [
            refused(&["slices", "gather.ptx", "--kernel", "scatter"]),
            refused(&["slices", "gather.ptx", "--svg", "t.svg"]),
            refused(&["slices", "vectoradd", "--at", "100000"]),
            refused(&["slices", "vectoradd", "--at", "x"]),
            refused(&["slices", "nothing"]),
        ]
        .join("\n")
    );
    assert!(!Path::new("t.svg").exists());
}
