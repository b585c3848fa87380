//! Launches that are guessed for kernels written as a compiler writes them.

use warploom_diag::Source;
use warploom_guess::{Candidate, Ended, Fixed, Parameter, Search, Unguessable, candidates, uses};
use warploom_ptx::ast::{Function, Item, Module};

/// A kernel with these parameters, directives and instructions.
fn kernel(params: &str, directives: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k({params})\n{directives}\n\
         {{\n.reg .pred %p<9>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .f64 %fd<9>; .reg .b64 \
         %rd<40>;\n{body}\nret;\n}}\n"
    )
}

fn with<T>(text: &str, ask: impl FnOnce(&Module, &Function) -> T) -> T {
    let (module, problems) = warploom_ptx::read(&Source::new("k.ptx", text));
    assert!(!problems.has_errors(), "{text}");
    let function = module.items.iter().find_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    });
    ask(&module, function.expect("a kernel"))
}

fn list(text: &str, fixed: &Fixed) -> Result<Vec<Candidate>, Unguessable> {
    with(text, |module, kernel| {
        candidates(&uses(module, kernel), fixed)
    })
}

/// The first candidate as the command's options.
fn first(text: &str) -> String {
    let list = list(text, &Fixed::default()).expect("a guess");
    shown(&list[0])
}

fn shown(candidate: &Candidate) -> String {
    let [x, y, z] = candidate.grid;
    let [bx, by, bz] = candidate.block;
    format!(
        "{x},{y},{z} {bx},{by},{bz} {} {}",
        candidate.shared_bytes,
        candidate.args.join(" ")
    )
}

/// Reads `[p0 + 4 i]` and stores to `[p1 + 4 i]` for i from `%tid.x` and `%ctaid.x`.
const COPY: &str = "
ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u32 %r9, [p2];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3;
setp.ge.s32 %p1, %r4, %r9; @%p1 ret;
cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;
mul.wide.s32 %rd5, %r4, 4; add.s64 %rd6, %rd3, %rd5; add.s64 %rd7, %rd4, %rd5;
ld.global.f32 %f1, [%rd6]; st.global.f32 [%rd7], %f1;";
const COPIED: &str = ".param .u64 p0, .param .u64 p1, .param .u32 p2";

#[test]
fn a_thread_has_an_element_and_integers_are_the_extent() {
    let expected = "1024,1,1 256,1,1 0 f32[262144]=uniform f32[262144]=zeros 262144";
    assert_eq!(first(&kernel(COPIED, "", COPY)), expected);
}

/// nvcc stores the constant `1.0f` as an integer.
#[test]
fn a_float_that_is_stored_as_a_constant_is_a_float() {
    let body = COPY.replace(
        "ld.global.f32 %f1",
        "st.global.u32 [%rd6], 1065353216; ld.volatile.global.f32 %f1",
    );
    let guessed = first(&kernel(COPIED, "", &body));
    assert!(
        guessed.contains(" f32[262144]=uniform f32[262144]=zeros"),
        "{guessed}"
    );
}

#[test]
fn launch_bounds_and_a_required_block_are_kept() {
    let bounds = kernel(COPIED, ".maxntid 128, 1, 1", COPY);
    assert!(first(&bounds).starts_with("2048,1,1 128,1,1 "));
    let required = kernel(COPIED, ".reqntid 64, 2, 1", COPY);
    assert!(first(&required).starts_with("4096,1,1 64,2,1 "));
}

/// Newer compilers load floats as untyped bits; the arithmetic on them tells the type.
#[test]
fn untyped_loads_have_the_type_of_the_arithmetic() {
    let body = COPY.replace(
        "ld.global.f32 %f1, [%rd6]; st.global.f32 [%rd7], %f1;",
        "
ld.global.b32 %r20, [%rd6]; mov.b32 %r21, %r20; fma.rn.f32 %r22, %r21, %r21, %r21;
st.global.b32 [%rd7], %r22;",
    );
    let guess = first(&kernel(COPIED, "", &body));
    assert!(
        guess.contains("f32[262144]=uniform f32[262144]=zeros"),
        "{guess}"
    );
}

/// Compilers copy floats to shared memory as integers; the loads from there tell the type.
#[test]
fn copies_to_shared_memory_have_the_type_of_its_loads() {
    let guessed = |shared: &str| {
        let body = COPY.replace(
            "ld.global.f32 %f1, [%rd6]; st.global.f32 [%rd7], %f1;",
            &format!(
                "ld.global.v2.u32 {{%r20, %r21}}, [%rd6];\n\
                 st.shared.v2.u32 [tile], {{%r20, %r21}};\n{shared} st.global.f32 [%rd7], %f1;"
            ),
        );
        let array = ".shared .align 8 .b8 tile[2048];\n";
        first(&kernel(COPIED, "", &format!("{array}{body}")))
    };
    let floats = guessed("ld.shared.v2.f32 {%f1, %f2}, [tile];");
    assert!(floats.contains(" f32["), "{floats}");
    assert!(!floats.contains("iota"), "{floats}");
    let mixed = guessed("ld.shared.f32 %f1, [tile]; ld.shared.u32 %r22, [tile];");
    assert!(mixed.contains("=iota"), "{mixed}");
}

#[test]
fn integers_that_are_read_are_indices_within_the_data() {
    let body = COPY.replace(
        "ld.global.f32 %f1, [%rd6]; st.global.f32 [%rd7], %f1;",
        "
ld.global.s32 %r20, [%rd6]; mul.wide.s32 %rd10, %r20, 8; add.s64 %rd11, %rd4, %rd10;
ld.global.f64 %fd1, [%rd11]; add.f64 %fd2, %fd1, %fd1; st.global.f64 [%rd11], %fd2;",
    );
    let guess = first(&kernel(COPIED, "", &body));
    assert!(
        guess.contains("i32[262144]=iota f64[262144]=uniform"),
        "{guess}"
    );
}

#[test]
fn the_indices_that_are_read_give_the_dimensions() {
    let read = |names: &str| {
        let reads = names.split(' ').enumerate();
        let reads: String = reads
            .map(|(n, name)| format!("mov.u32 %r{}, {name};\n", n + 20))
            .collect();
        first(&kernel(COPIED, "", &(reads + COPY)))
    };
    assert!(read("%tid.y %ctaid.y").starts_with("32,32,1 16,16,1 0 f32[262144]"));
    assert!(read("%ctaid.y").starts_with("2,512,1 256,1,1 "));
    assert!(read("%tid.z").starts_with("8,8,16 8,8,4 0 f32[262144]=uniform f32[262144]=zeros 64"));
}

/// A tile of 32 x 33 words belongs to a block of 32 x 32 threads, an array of 128 words to a block
/// of 128 threads.
#[test]
fn shared_arrays_give_the_block() {
    let tile = |bytes: u32, index: &str| {
        let array = format!(".shared .align 4 .b8 tile[{bytes}];\nmov.u32 %r20, {index};\n");
        first(&kernel(COPIED, "", &(array + COPY)))
    };
    assert!(tile(32 * 33 * 4, "%tid.y").starts_with("16,16,1 32,32,1 "));
    assert!(tile(16 * 16 * 4, "%tid.y").starts_with("32,32,1 16,16,1 "));
    assert!(tile(128 * 4, "%tid.x").starts_with("2048,1,1 128,1,1 "));
    let dynamic = kernel(COPIED, "", &format!("mov.u32 %r20, more;\n{COPY}")).replace(
        ".visible",
        ".extern .shared .align 16 .b8 more[];\n.visible",
    );
    let (_, rest) = dynamic.split_once(".extern").expect("the array");
    assert!(rest.contains("more[]"));
    assert!(
        first(&dynamic).contains(" 4096 f32["),
        "{}",
        first(&dynamic)
    );
}

/// Blocks and contents that are tried for a kernel whose first block with at most `fits` threads
/// stays within the shared arrays, and then fails otherwise.
fn tried(text: &str, fits: u32) -> Vec<String> {
    let list = list(text, &Fixed::default()).expect("guesses");
    let (mut search, mut ended, mut tried) = (Search::new(list), None, Vec::new());
    while let Some(candidate) = search.next(ended) {
        let [x, y, z] = candidate.block;
        ended = Some(match x * y * z > fits {
            true => Ended::BeyondShared,
            false => Ended::Failed,
        });
        let told = format!("{x},{y},{z} {}", candidate.args[2]);
        if tried.last() != Some(&told) {
            tried.push(told);
        }
    }
    tried
}

/// An array of 130 words, as for 128 threads and a border, has no room for 256.
#[test]
fn smaller_blocks_follow_an_access_beyond_the_shared_arrays() {
    let array = |bytes: u32, index: &str| {
        let array = format!(".shared .align 4 .b8 t[{bytes}];\nmov.u32 %r20, {index};\n");
        kernel(COPIED, "", &(array + COPY))
    };
    let line = tried(&array(130 * 4, "%tid.x"), 128);
    assert_eq!(line[..2], ["256,1,1 262144", "128,1,1 262144"]);
    assert!(line.iter().all(|told| !told.starts_with("64,")), "{line:?}");
    // Other contents begin with the usual block again.
    assert!(line.contains(&"256,1,1 1".to_owned()), "{line:?}");
    let tile = tried(&array(32 * 33 * 4, "%tid.y"), 256);
    assert_eq!(tile[..2], ["32,32,1 512", "32,8,1 512"]);
    let never = tried(&array(130 * 4, "%tid.x"), 256);
    assert!(
        never.iter().all(|told| told.starts_with("256,")),
        "{never:?}"
    );
}

/// A size that took too long is not tried again, with any contents or block.
#[test]
fn sizes_that_take_too_long_are_left_out() {
    let list = list(&kernel(COPIED, "", COPY), &Fixed::default()).expect("guesses");
    let mut search = Search::new(list);
    let first = search.next(None).expect("the largest");
    let mut rest = Vec::new();
    let mut ended = Some(Ended::TooLong);
    while let Some(candidate) = search.next(ended) {
        ended = Some(Ended::Failed);
        rest.push(candidate);
    }
    assert!(!rest.is_empty());
    assert!(
        rest.iter()
            .all(|other| other.size != first.size && other.nth_block == 0)
    );
}

#[test]
fn what_the_caller_fixed_stays() {
    let fixed = Fixed {
        grid: Some([4, 1, 1]),
        block: Some([64, 1, 1]),
        shared_bytes: None,
        args: vec!["f32[7]=iota".to_owned()],
    };
    let list = list(&kernel(COPIED, "", COPY), &fixed).expect("a guess");
    assert_eq!(
        shown(&list[0]),
        "4,1,1 64,1,1 0 f32[7]=iota f32[256]=zeros 256"
    );
    assert!(
        list.iter()
            .all(|one| one.grid == [4, 1, 1] && one.args[0] == "f32[7]=iota")
    );
}

/// A buffer that the caller gives states how many elements the data has.
#[test]
fn a_given_buffer_gives_the_size() {
    let fixed = Fixed {
        args: vec!["f32[10,100]=iota".to_owned()],
        ..Fixed::default()
    };
    let list = list(&kernel(COPIED, "", COPY), &fixed).expect("a guess");
    let expected = "4,1,1 256,1,1 0 f32[10,100]=iota f32[1000]=zeros 1000";
    assert_eq!(shown(&list[0]), expected);
}

/// An image that the caller gives has two extents, or the sides of a square.
#[test]
fn a_given_image_gives_both_extents() {
    let flat = kernel(COPIED, "", &format!("mov.u32 %r20, %tid.y;\n{COPY}"));
    let guess = |buffer: &str| {
        let fixed = Fixed {
            args: vec![buffer.to_owned()],
            ..Fixed::default()
        };
        shown(&list(&flat, &fixed).expect("a guess")[0])
    };
    let square = "16,16,1 16,16,1 0 f32[65536] f32[65536]=zeros 256";
    assert_eq!(guess("f32[65536]"), square);
    let wide = "40,13,1 16,16,1 0 f32[200,640] f32[128000]=zeros 640";
    assert_eq!(guess("f32[200,640]"), wide);
    // Other numbers of elements have no sides.
    assert!(guess("f32[1000]").starts_with("32,32,1 "));
}

/// A block of 32 x 8 threads that copies a shared tile of 32 x 32 takes four elements in a thread:
/// the grid has a block for each tile.
#[test]
fn a_block_covers_the_whole_of_its_tile() {
    let array = ".shared .align 4 .b8 tile[4096];\nmov.u32 %r20, %tid.y;\n";
    let text = kernel(COPIED, "", &(array.to_owned() + COPY));
    let all = list(&text, &Fixed::default()).expect("guesses");
    let rows = all.iter().find(|one| one.block == [32, 8, 1]);
    let expected = "16,16,1 32,8,1 0 f32[262144]=uniform f32[262144]=zeros 512";
    assert_eq!(rows.map(shown).as_deref(), Some(expected));
    let fixed = Fixed {
        grid: Some([4, 2, 1]),
        block: Some([32, 8, 1]),
        ..Fixed::default()
    };
    let given = &list(&text, &fixed).expect("guesses")[0];
    let expected = "4,2,1 32,8,1 0 f32[8192]=uniform f32[8192]=zeros 128";
    assert_eq!(shown(given), expected);
}

/// Sizes fall, and buffers of a size grow, before other contents are tried.
#[test]
fn later_candidates_are_smaller_then_different() {
    let list = list(&kernel(COPIED, "", COPY), &Fixed::default()).expect("guesses");
    assert!(
        list[1].args[0].starts_with("f32[524288]"),
        "{}",
        shown(&list[1])
    );
    let small = list
        .iter()
        .position(|one| one.grid == [1, 1, 1])
        .expect("the smallest");
    let ones = list
        .iter()
        .position(|one| one.args[2] == "1")
        .expect("integers of 1");
    assert!(small < ones);
}

#[test]
fn a_structure_or_a_texture_is_refused() {
    let params = ".param .u64 p0, .param .align 8 .b8 p1[24], .param .u32 p2";
    let body = COPY.replace("ld.param.u64 %rd2, [p1]", "ld.param.u64 %rd2, [p1+8]");
    let refused = list(&kernel(params, "", &body), &Fixed::default()).expect_err("no guess");
    assert_eq!(refused.number, 2);
    assert_eq!(refused.parameter, Parameter::Aggregate(24));
    assert_eq!(refused.to_string(), "argument 2 is a structure of 24 bytes");
}
