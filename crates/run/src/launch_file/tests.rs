//! Tests of launch files: messages, binding, and the host program without a GPU.

use super::*;
use crate::{Device, HostAction, HostProgram};
use std::path::Path;
use warploom_diag::Source;
use warploom_ir::{ModuleIr, Param, ParamKind, Program, Written};

fn param(name: &str, offset: u32, bytes: u32, kind: ParamKind) -> Param {
    Param {
        name: name.to_owned(),
        offset,
        bytes,
        align: bytes,
        kind,
    }
}

/// `void saxpy(float *x, int n, float a)`, with 64 bytes of shared memory.
fn saxpy() -> ModuleIr {
    let int = |bytes| ParamKind::Int {
        bytes,
        signed: false,
    };
    let kernel = Program {
        name: "saxpy".to_owned(),
        insts: Vec::new(),
        facts: Vec::new(),
        consts: Vec::new(),
        extras: Vec::new(),
        reg_slots: 4,
        wide_slots: 0,
        preds: 1,
        registers_per_thread: 8,
        params: vec![
            param("x", 0, 8, int(8)),
            param("n", 8, 4, int(4)),
            param("a", 12, 4, ParamKind::F32),
        ],
        param_bytes: 16,
        shared_bytes: 64,
        dynamic_shared_align: Some(16),
        local_bytes: 0,
        stack_bytes: 0,
        max_threads: None,
        required_threads: None,
        cluster: Default::default(),
        written: Written::default(),
        functions: Vec::new(),
        switch_points: Vec::new(),
    };
    ModuleIr {
        kernels: vec![kernel],
        globals: Vec::new(),
        textures: Vec::new(),
        address_bits: 64,
        refused: Vec::new(),
    }
}

const LIMITS: Limits = Limits {
    shared_bytes: 49_152,
    registers_per_thread: 63,
};

fn file(text: &str) -> Result<LaunchFile, InputErrors> {
    file_in(text, Path::new(""))
}

fn file_in(text: &str, folder: &Path) -> Result<LaunchFile, InputErrors> {
    let source = Source::new("run.toml", text);
    let plan = parse(&source)?;
    LaunchFile::new(
        source,
        plan,
        folder.to_owned(),
        Source::new("saxpy.ptx", ""),
    )
}

fn bound(text: &str) -> Result<LaunchProgram, InputErrors> {
    file(text)?.bind(
        saxpy(),
        vec![("wmma".to_owned(), "no wmma yet".to_owned())],
        LIMITS,
    )
}

const HEAD: &str = "module = \"saxpy.ptx\"\n\
    [[buffer]]\nname = \"x\"\ntype = \"f32\"\nshape = 256\ninit = \"iota\"\n";

fn with_launch(launch: &str) -> String {
    format!("{HEAD}[[launch]]\n{launch}\n")
}

fn messages(texts: &[&str], load: impl Fn(&str) -> String) -> String {
    texts
        .iter()
        .map(|text| load(text))
        .collect::<Vec<_>>()
        .join("\n\n")
}

#[test]
fn mistakes_in_the_text_are_located() {
    let refuse = |text: &str| file(text).unwrap_err().to_string();
    insta::assert_snapshot!(messages(
        &[
            "module = ",
            "",
            "module = \"saxpy.ptx\"\nlaunch = 3\n",
            "modul = \"saxpy.ptx\"\n[[launch]]\nkernel = \"saxpy\"\ngrid = 0.5\nblok = 32\n",
            "module = \"saxpy.ptx\"\n[[launch]]\nkernel = 3\ngrid = [1, 2, 3, 4]\nblock = -1\nargs = 5\n",
            "module = \"m.ptx\"\n[[buffer]]\nname = \"x\"\ntype = \"float\"\nshape = [0]\n\
             [[buffer]]\nname = \"x\"\ntype = \"f31\"\nshape = 1\ninit = \"random\"\n\
             [[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\n",
        ],
        refuse
    ));
}

#[test]
fn impossible_contents_are_located() {
    let refuse = |buffer: &str| {
        let text = format!(
            "module = \"m.ptx\"\n[[buffer]]\nname = \"x\"\n{buffer}\n\
             [[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\n"
        );
        file(&text).unwrap_err().to_string()
    };
    insta::assert_snapshot!(messages(
        &[
            "type = \"u8\"\nshape = 4\ninit = \"constant\"\nvalue = 256",
            "type = \"i32\"\nshape = 4\ninit = \"constant\"",
            "type = \"u32\"\nshape = 4\ninit = \"uniform\"",
            "type = \"f32\"\nshape = 4\ninit = \"uniform\"\nlow = 1.0\nhigh = 1.0",
            "type = \"u8\"\nshape = 4\ninit = \"uniform\"\nhigh = 257",
            "type = \"i8\"\nshape = 4\ninit = \"uniform\"\nlow = -129\nhigh = 0",
            "type = \"f32\"\nshape = 4\ninit = \"normal\"\ndeviation = -1\nseed = -1",
            "type = \"f32\"\nshape = 4\ninit = \"iota\"\nseed = 1",
            "type = \"f32\"\nshape = [65536, 65536, 2]",
            "init = \"zeros\"",
            "init = \"missing.npy\"",
        ],
        refuse
    ));
}

#[test]
fn launches_that_cannot_be_are_located() {
    let refuse = |launch: &str| bound(&with_launch(launch)).unwrap_err().to_string();
    insta::assert_snapshot!(messages(
        &[
            "kernel = \"saxpi\"\ngrid = 1\nblock = 32",
            "kernel = \"other\"\ngrid = 1\nblock = 32",
            "kernel = \"wmma\"\ngrid = 1\nblock = 32",
            "kernel = \"saxpy\"\ngrid = 0\nblock = 32\nargs = [\"x\", 1, 2]",
            "kernel = \"saxpy\"\ngrid = [1, 70000]\nblock = [1, 1, 65]\nargs = [\"x\", 1, 2]",
            "kernel = \"saxpy\"\ngrid = 1\nblock = [64, 17]\nargs = [\"x\", 1, 2]",
            "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [\"x\", 1, 2]\ndynamic_shared_bytes = 49152",
            "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [\"x\", 1, 2]\nregisters_per_thread = 64",
            "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [\"x\", 1]",
            "kernel = \"saxpy\"\ngrid = 1\nblock = 32",
            "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [\"y\", 1.5, \"x\"]",
            "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [{ f32 = 1.0 }, 4294967296, { bytes = [1, 2] }]",
            "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [[1], { f99 = 2 }, { bytes = [256] }]",
        ],
        refuse
    ));
}

#[test]
fn expectations_and_dumps_must_name_buffers() {
    let launch = "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [\"x\", 1, 2]\n";
    let refuse = |tail: &str| {
        let text = with_launch(launch) + tail;
        bound(&text).unwrap_err().to_string()
    };
    insta::assert_snapshot!(messages(
        &[
            "[[expect]]\nbuffer = \"z\"\nconstant = 1",
            "[[expect]]\nbuffer = \"x\"",
            "[[expect]]\nbuffer = \"x\"\nconstant = 1\nnpy = \"a.npy\"",
            "[[expect]]\nbuffer = \"x\"\nconstant = 1\ntolerance = nan",
            "[[expect]]\nbuffer = \"x\"\nnpy = \"missing.npy\"",
            "[[dump]]\nbuffer = \"z\"\nnpy = \"z.npy\"",
            "[[dump]]\nbuffer = \"x\"",
        ],
        refuse
    ));
}

#[test]
fn arguments_take_the_kernels_types() {
    let launch = "kernel = \"saxpy\"\ngrid = [4, 2]\nblock = 64\nargs = [\"x\", -1, 2]";
    let mut program = bound(&with_launch(launch)).unwrap();
    let mut device = Device::new(1 << 30, 0);
    let HostAction::Launch(launch) = program.next(&mut device).unwrap() else {
        panic!("no launch")
    };
    assert_eq!((launch.grid.count(), launch.block.count()), (8, 64));
    let crate::Arg::Pointer(x) = launch.args[0] else {
        panic!("no address")
    };
    assert_eq!(
        launch.args[1..],
        [crate::Arg::U32(u32::MAX), crate::Arg::F32(2.0)]
    );
    let contents: Vec<f32> = device.read_vec(x, 256).unwrap();
    assert_eq!((contents[0], contents[255]), (0.0, 255.0));
    assert_eq!(program.next(&mut device).unwrap(), HostAction::Done);
}

/// `void saxpy(struct { float *x; int n; float a; } p)`.
#[test]
fn a_structure_holds_numbers_and_addresses() {
    let mut module = saxpy();
    module.kernels[0].params = vec![param("p", 0, 16, ParamKind::Bytes)];
    let bind = |arg: &str| {
        let launch = format!("kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [{arg}]");
        file(&with_launch(&launch))?.bind(module.clone(), Vec::new(), LIMITS)
    };
    let mut program = bind("{ struct = [\"x\", 3, 0.5] }").unwrap();
    let mut device = Device::new(1 << 30, 0);
    let HostAction::Launch(launch) = program.next(&mut device).unwrap() else {
        panic!("no launch")
    };
    let crate::Arg::Bytes(bytes) = &launch.args[0] else {
        panic!("no structure")
    };
    let x = crate::DevicePtr(u64::from_le_bytes(bytes[..8].try_into().unwrap()));
    assert_eq!(device.read_vec::<f32>(x, 3).unwrap(), [0.0, 1.0, 2.0]);
    assert_eq!(bytes[8..], [3, 0, 0, 0, 0, 0, 0, 0x3f]);
    for (arg, told) in [
        (
            "{ struct = [1, 2] }",
            "argument 1 is 16 bytes, not a structure of 8 bytes",
        ),
        ("{ struct = [\"y\", 3, 0.5] }", "there is no buffer `y`"),
        (
            "{ struct = [{ u8 = 256 }] }",
            "`{ struct = [1, 0.5, \"x\"] }`",
        ),
        ("3", "`{ struct = [256, 0.5, { f64 = 1.0 }, \"x\"] }`"),
    ] {
        let refused = bind(arg).unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn files_of_other_commands_are_recognised() {
    for (text, told) in [
        (
            "[axes]\ntarget = [\"bfs\"]\n[report]\nrows = \"target\"\n",
            "`warploom sweep run.toml`",
        ),
        (
            "[[process]]\ntarget = \"bfs\"\n",
            "`warploom run run.toml` runs it",
        ),
        (
            "base = \"gtx480\"\n[sm]\nmax_blocks = 4\n",
            "`--gpu run.toml`",
        ),
    ] {
        let refused = file(text).unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
        assert_eq!(refused.matches("error[").count(), 1, "{refused}");
    }
}

#[test]
fn a_misspelt_init_is_one_problem() {
    let text = with_launch("kernel = \"saxpy\"\ngrid = 1\nblock = 32")
        .replace("init = \"iota\"", "iinit = \"constant\"\nvalue = 1");
    let refused = file(&text).unwrap_err().to_string();
    assert!(refused.contains("did you mean `init`?"), "{refused}");
    assert_eq!(refused.matches("error[").count(), 1, "{refused}");
}

/// A name from elsewhere is one problem, too: its keys belong to the contents that it means.
#[test]
fn initial_contents_of_other_names_are_suggested_with_their_keys() {
    let launch = with_launch("kernel = \"saxpy\"\ngrid = 1\nblock = 32");
    let refused = |init: &str| {
        let text = launch.replace("init = \"iota\"", init);
        let refused = file(&text).unwrap_err().to_string();
        assert_eq!(refused.matches("error[").count(), 1, "{refused}");
        refused
    };
    let random = refused("init = \"random\"\nlow = -1.0\nhigh = 1.0");
    assert!(
        random.contains("did you mean `uniform`, with the keys `low`, `high`, `seed`?"),
        "{random}"
    );
    assert!(
        random.contains("write one of zeros, iota, constant, uniform, normal"),
        "{random}"
    );
    assert!(refused("init = \"Gaussian\"").contains("`normal`, with the keys `mean`"));
    assert!(refused("init = \"arange\"").contains("did you mean `iota`?"));
    assert!(refused("init = \"uniforms\"").contains("`uniform`, with the keys `low`"));
    let other = refused("init = \"sorted\"");
    assert!(!other.contains("did you mean"), "{other}");
}

#[test]
fn contents_have_the_stated_distribution() {
    let contents = |buffer: &str| -> Vec<f64> {
        let text = format!(
            "module = \"saxpy.ptx\"\n[[buffer]]\nname = \"x\"\nshape = 4000\n{buffer}\n\
             [[launch]]\nkernel = \"saxpy\"\ngrid = 1\nblock = 1\nargs = [\"x\", 1, 1]\n"
        );
        let mut program = bound(&text).unwrap();
        let mut device = Device::new(1 << 30, 0);
        let HostAction::Launch(launch) = program.next(&mut device).unwrap() else {
            panic!("no launch")
        };
        let crate::Arg::Pointer(x) = launch.args[0] else {
            panic!("no address")
        };
        let values: Vec<f64> = device.read_vec::<f64>(x, 4000).unwrap();
        values
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let uniform = contents("type = \"f64\"\ninit = \"uniform\"\nlow = -2\nhigh = 4\nseed = 3");
    assert!(uniform.iter().all(|value| (-2.0..4.0).contains(value)));
    assert!((mean(&uniform) - 1.0).abs() < 0.1);
    let normal = contents("type = \"f64\"\ninit = \"normal\"\nmean = 5\ndeviation = 2\nseed = 3");
    let squares: Vec<f64> = normal.iter().map(|value| (value - 5.0).powi(2)).collect();
    assert!((mean(&normal) - 5.0).abs() < 0.1 && (mean(&squares).sqrt() - 2.0).abs() < 0.1);
    let same = contents("type = \"f64\"\ninit = \"normal\"\nmean = 5\ndeviation = 2\nseed = 3");
    assert_eq!(normal, same);
}

/// The bound above whole numbers is excluded, so it may be one more than the type holds.
#[test]
fn whole_numbers_are_drawn_from_all_of_their_type() {
    let program = |ty: &str, low: i128, high: i128| {
        bound(&format!(
            "module = \"saxpy.ptx\"\n[[buffer]]\nname = \"x\"\nshape = 4000\ntype = \"{ty}\"\n\
             init = \"uniform\"\nlow = {low}\nhigh = {high}\n\
             [[launch]]\nkernel = \"saxpy\"\ngrid = 1\nblock = 1\nargs = [\"x\", 1, 1]\n"
        ))
    };
    for bits in [8, 16, 32, 64] {
        let (whole, half) = (1_i128 << bits, 1_i128 << (bits - 1));
        for (ty, low, high) in [("u", 0, whole), ("i", -half, half)] {
            let ty = format!("{ty}{bits}");
            assert!(program(&ty, low, high).is_ok(), "{ty}");
            assert!(program(&ty, low, high + 1).is_err(), "{ty}");
            assert!(program(&ty, low - 1, high).is_err(), "{ty}");
        }
    }
    let mut program = program("u8", 0, 256).unwrap();
    let mut device = Device::new(1 << 30, 0);
    let Ok(HostAction::Launch(launch)) = program.next(&mut device) else {
        panic!("no launch")
    };
    let crate::Arg::Pointer(x) = launch.args[0] else {
        panic!("no address")
    };
    let bytes: Vec<u8> = device.read_vec(x, 4000).unwrap();
    assert!((0..=255).all(|byte| bytes.contains(&byte)));
}

#[test]
fn expectations_compare_and_dumps_write() {
    let folder = tempfile::tempdir().unwrap();
    let tail = "[[expect]]\nbuffer = \"x\"\nconstant = 0\n\
                [[expect]]\nbuffer = \"x\"\nnpy = \"x.npy\"\n\
                [[dump]]\nbuffer = \"x\"\nnpy = \"out.npy\"\n";
    let head = "kernel = \"saxpy\"\ngrid = 1\nblock = 32\nargs = [\"x\", 1, 2]\n";
    let array = npy::Array {
        element: Element::I64,
        shape: vec![16, 16],
        bytes: (0..256i64).flat_map(i64::to_le_bytes).collect(),
    };
    npy::store(&folder.path().join("x.npy"), &array).unwrap();
    let file = file_in(&(with_launch(head) + tail), folder.path()).unwrap();
    let mut program = file.bind(saxpy(), Vec::new(), LIMITS).unwrap();
    let mut device = Device::new(1 << 30, 0);
    while program.next(&mut device).unwrap() != HostAction::Done {}
    let checks = program.checks(&device).unwrap();
    assert_eq!(
        checks[0].detail,
        "255 of 256 differ, first at 1: 1.0 instead of 0.0; the largest difference is 2.6e2 (absolute, \
         as the expected value is at most 1), at 255"
    );
    assert!(!checks[0].passed && checks[1].passed);
    let dumped = npy::load(&folder.path().join("out.npy")).unwrap();
    assert_eq!(
        (dumped.element, dumped.shape.as_slice()),
        (Element::F32, &[256][..])
    );
}

#[test]
fn a_missing_file_says_what_to_check() {
    let error = LaunchFile::load(Path::new("nowhere/run.toml"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("nowhere/run.toml") && error.contains("check the path"),
        "{error}"
    );
}

#[test]
fn hostile_texts_are_refused_without_a_panic() {
    for text in [
        "module = []",
        "[module]\nlaunch = []",
        "module = \"a\"\nlaunch = [1]",
        "module = \"a\"\nlaunch = []",
        "module = \"a\"\n[[launch]]\nkernel = \"k\"\ngrid = [[1]]\nblock = [99999999999999999999]",
        "module = \"a\"\n[[buffer]]\nshape = [4294967295, 4294967295, 4294967295]\n[[launch]]",
    ] {
        // The text may contain an empty list of launches; this must not panic.
        let _ = file(text).map_err(|error| error.to_string());
    }
}

/// A launch of a PTX file with one buffer of four words, which are all 7 at the end.
fn old_ptx(header: &str, parameter: &str, shape: &str) -> Result<LaunchProgram, InputErrors> {
    let text = format!(
        "{header}.entry k(.param .{parameter} p) {{ .reg .u32 a; ld.param.u32 a, [p]; \
         st.global.u32 [a], 7; exit; }}"
    );
    let source = Source::new(
        "run.toml",
        format!(
            "module = \"k.ptx\"\n[[buffer]]\nname = \"x\"\ntype = \"u32\"\n{shape}\n\
             [[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 1\nargs = [\"x\"]\n\
             [[expect]]\nbuffer = \"x\"\nconstant = 7\n"
        ),
    );
    let plan = parse(&source)?;
    let module = Source::new("k.ptx", text);
    LaunchFile::new(source, plan, Path::new("").to_owned(), module)?.program(LIMITS)
}

#[test]
fn buffers_are_bound_to_parameters_as_wide_as_addresses() {
    let narrow = ".version 1.4\n.target sm_13\n";
    let wide = ".version 2.3\n.target sm_20\n.address_size 64\n";
    let bound = |header, parameter| old_ptx(header, parameter, "shape = 4").map(|_| ());
    assert!(bound(narrow, "u32").is_ok() && bound(narrow, "b32").is_ok());
    let refused = bound(narrow, "f32").unwrap_err().to_string();
    assert!(
        refused.contains("is an f32, not the buffer `x`"),
        "{refused}"
    );
    let refused = bound(wide, "u32").unwrap_err().to_string();
    assert!(refused.contains("error["), "{refused}");
}

/// A file with problems in its text also names the kernel and the buffers that do not exist.
#[test]
fn all_problems_of_a_file_are_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let ptx = ".version 7.0\n.target sm_50\n.address_size 64\n\
               .visible .entry saxpy(.param .u64 x) { ret; }\n";
    std::fs::write(path("saxpy.ptx"), ptx).unwrap();
    let told = |text: &str| {
        std::fs::write(path("run.toml"), text).unwrap();
        let error = LaunchFile::load(&path("run.toml")).unwrap_err();
        error.to_string()
    };
    let launch = "[[launch]]\nkernel = \"saxpi\"\ngrid = 1\nblocks = 32\nargs = [\"z\"]\n";
    let wrong = told(&format!("{HEAD}{launch}"));
    for problem in [
        "[[launch]] without `block`",
        "[[launch]] has no key `blocks`",
        "there is no kernel `saxpi`",
        "did you mean `saxpy`?",
        "there is no buffer `z`",
    ] {
        assert!(wrong.contains(problem), "{problem}: {wrong}");
    }
    // A module that cannot be read is told, too, and tells nothing about kernels.
    let wrong = told(&format!("{HEAD}{launch}").replace("saxpy.ptx", "none.ptx"));
    assert!(
        wrong.contains("none.ptx: there is no such file; check the path"),
        "{wrong}"
    );
    assert!(
        wrong.contains("without `block`") && !wrong.contains("saxpi`"),
        "{wrong}"
    );
    // Missing data does not hide the others.
    let launch = launch.replace("blocks", "block");
    let head = HEAD.replace("iota", "none.npy");
    let wrong = told(&format!("{head}{launch}"));
    assert!(
        wrong.contains("`none.npy`: there is no such file"),
        "{wrong}"
    );
    assert!(wrong.contains("there is no kernel `saxpi`"), "{wrong}");
    // It is told beside problems of the text, and beside a module that is missing.
    let launch = launch.replace("saxpi", "saxpy").replace('z', "x");
    let expect = "[[expect]]\nbuffer = \"x\"\nnpy = \"wanted.npy\"\n";
    for (from, to, beside) in [
        ("block =", "blocks =", "has no key `blocks`"),
        ("saxpy.ptx", "none.ptx", "none.ptx: there is no such file"),
        ("[\"x\"]", "[\"x\", 1]", "takes 1 arguments, not 2"),
        ("block = 32", "block = [0, 1]", "a block of "),
    ] {
        let wrong = told(&format!("{head}{launch}{expect}").replace(from, to));
        for problem in [
            beside,
            "`none.npy`: there is no such",
            "`wanted.npy`: there is no such",
        ] {
            assert_eq!(wrong.matches(problem).count(), 1, "{problem}: {wrong}");
        }
    }
}

/// Some editors begin a file with a byte order mark.
#[test]
fn a_byte_order_mark_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("marked.ptx");
    std::fs::write(&path, "\u{feff}.version 8.0\n").unwrap();
    assert_eq!(read(&path).unwrap().text(), ".version 8.0\n");
}

#[cfg(unix)]
#[test]
fn a_device_without_an_end_is_refused() {
    let error = read(Path::new("/dev/zero")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error: cannot read /dev/zero: it has more than 1 GiB; give a file of text"
    );
}

/// Source code that the caller compiles is asked for the kernels of a file with other problems.
#[test]
fn kernels_of_source_code_are_among_the_problems() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("saxpy.cu"), "").unwrap();
    let launch = "[[launch]]\nkernel = \"saxpi\"\ngrid = 1\nblocks = 32\nargs = []\n";
    let text = format!("{HEAD}{launch}").replace("saxpy.ptx", "saxpy.cu");
    std::fs::write(path("run.toml"), text).unwrap();
    let told = |ptx: Option<&str>| {
        let compile = |_: &Path| ptx.map(|text| Source::new("saxpy.cu as PTX", text));
        let error = LaunchFile::load_compiling(&path("run.toml"), compile).unwrap_err();
        error.to_string()
    };
    let ptx = ".version 7.0\n.target sm_50\n.address_size 64\n\
               .visible .entry saxpy(.param .u64 x) { ret; }\n";
    let wrong = told(Some(ptx));
    assert!(
        wrong.contains("did you mean `saxpy`?") && wrong.contains("has no key `blocks`"),
        "{wrong}"
    );
    let wrong = told(None);
    assert!(
        !wrong.contains("saxpi`") && wrong.contains("has no key `blocks`"),
        "{wrong}"
    );
}
