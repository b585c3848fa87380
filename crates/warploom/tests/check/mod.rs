//! The verb `check` refuses exactly the files and kernels that `run` refuses.

use crate::support::{json, warploom_in};

/// Features that no GPU supports are errors of the file, and features that only this simulator
/// lacks are not.
#[test]
fn check_tells_wrong_from_unsupported() {
    let folder = tempfile::tempdir().unwrap();
    let head = ".version 7.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n";
    let status = |body: &str| {
        std::fs::write(
            folder.path().join("k.ptx"),
            format!("{head}{body}\nret;\n}}\n"),
        )
        .unwrap();
        warploom_in(folder.path(), &["check", "k.ptx"]).status
    };
    assert_eq!(status("DONE:"), 0);
    assert_eq!(status("bra DUNE;\nDONE:"), 2);
    let multimem =
        ".reg .b64 %rd; .reg .b32 %r; multimem.red.relaxed.sys.global.add.u32 [%rd], %r;";
    assert_eq!(status(multimem), 1);
}

/// An error in a function that no kernel reaches refuses no kernel, but is reported.
#[test]
fn check_tells_of_functions_that_no_kernel_reaches() {
    let folder = tempfile::tempdir().unwrap();
    let check = |body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func f() {{\n{body}\nret;\n}}\n\
             .visible .entry k() {{ ret; }}\n"
        );
        std::fs::write(folder.path().join("k.ptx"), text).unwrap();
        let launch = [
            "run", "k.ptx", "--kernel", "k", "--grid", "1", "--block", "1",
        ];
        assert_eq!(warploom_in(folder.path(), &launch).status, 0, "{body}");
        let ran = warploom_in(folder.path(), &["check", "k.ptx"]);
        (ran.status, ran.out)
    };
    assert_eq!(check("").0, 0);
    let (status, out) = check("add.s32 %r1, %r1, 1;");
    assert!(
        status == 2 && out.contains("`%r1` is not declared"),
        "{out}"
    );
}

/// Kernels that no GPU accepts (according to `ptxas` 13.5), and some that only this simulator
/// refuses.
#[test]
fn check_refuses_what_run_refuses_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let bodies = [
        "shl.s32 %r1, %r2, 1;",
        "add.rn.sat.ftz.u32 %f1, %f2, %f2;",
        "add.s32 %r1, %f1, %r2;",
        "sqrt.f32 %f1, %f2;",
        "div.f32 %f1, %f2, %f2;",
        "cvt.f32.s32 %r1, %r2;",
        "mad.f32 %f1, %f1, %f1, %f1;",
        "st.const.u32 [c], %r1;",
        "add.frob.s32 %r1, %r1, %r1;",
        "frob.s32 %r1, %r1;",
        "mov.u32 %r1, %nowhere;",
        "bra nowhere;",
        "add.s32 %r1, %r1",
        "{ .reg .b64 %rd; multimem.red.relaxed.sys.global.add.u32 [%rd], %r1; }",
        "{ .reg .b64 %rd; red.async.relaxed.cluster.global.add.u32 [%rd], %r1; }",
    ];
    let kernels = bodies.iter().enumerate().map(|(nth, body)| {
        format!(".visible .entry k{nth}() {{ .reg .f32 %f<3>; .reg .b32 %r<3>;\n{body}\nret; }}\n")
    });
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n.const .u32 c;\n";
    let text = format!(
        "{head}{}.visible .entry good() {{ ret; }}\n",
        kernels.collect::<String>()
    );
    std::fs::write(folder.path().join("k.ptx"), text).unwrap();
    let checked = warploom_in(folder.path(), &["check", "k.ptx", "--json"]);
    assert_eq!(checked.status, 2, "{}", checked.err);
    let report = json(&checked.out);
    assert_eq!(report["kernels"][0]["name"], "good");
    let refused = report["refused"].as_array().unwrap();
    assert_eq!(refused.len(), bodies.len());
    for row in refused {
        let (kernel, reason) = (&row["kernel"], row["reason"].as_str().unwrap().trim_end());
        let kernel = kernel.as_str().unwrap();
        let launch = [
            "run", "k.ptx", "--kernel", kernel, "--grid", "1", "--block", "1",
        ];
        let ran = warploom_in(folder.path(), &launch);
        assert_eq!(ran.status, 2, "{kernel}");
        assert!(ran.err.contains(reason), "{kernel}: {}\n{reason}", ran.err);
    }
    let launch = [
        "run", "k.ptx", "--kernel", "good", "--grid", "1", "--block", "1",
    ];
    assert_eq!(warploom_in(folder.path(), &launch).status, 0);
}

/// A file cannot be loaded if its variables do not fit memory.
#[test]
fn check_loads_what_run_loads() {
    let folder = tempfile::tempdir().unwrap();
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .const .b8 c[536870912];\n.visible .entry k() { ret; }\n";
    std::fs::write(folder.path().join("k.ptx"), text).unwrap();
    let checked = warploom_in(folder.path(), &["check", "k.ptx"]);
    let launch = [
        "run", "k.ptx", "--kernel", "k", "--grid", "1", "--block", "1",
    ];
    let ran = warploom_in(folder.path(), &launch);
    assert_eq!((checked.status, ran.status), (2, 2));
    assert!(checked.err.contains("constant") && ran.err.contains(checked.err.trim()));
}
