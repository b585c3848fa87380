//! Tests of `wmma`: whole matrices from memory and back, in both orders, with a stride that exceeds
//! the length of a line.

use super::*;

#[derive(Clone, Copy, Debug)]
struct Case {
    shape: (usize, usize, usize),
    from: Ty,
    acc: [Ty; 2],
    /// Whether a, b, c and d are stored by columns.
    columns: [bool; 4],
}

/// Number of elements between the beginnings of two lines.
fn stride(inner: usize, ty: Ty) -> usize {
    inner + 128 / ty.bits
}

/// Words of a matrix in memory, and its stride.
fn in_memory(matrix: &Matrix, ty: Ty, columns: bool) -> (Vec<u32>, usize) {
    let (lines, inner) = if columns {
        (matrix.cols, matrix.rows)
    } else {
        (matrix.rows, matrix.cols)
    };
    let stride = stride(inner, ty);
    let mut words = vec![0; (lines * stride * ty.bits).div_ceil(256) * 8];
    for row in 0..matrix.rows {
        for col in 0..matrix.cols {
            let at = place((row, col), columns, stride);
            put(&mut words, ty.bits, at, ty.bits_of(matrix.at((row, col))));
        }
    }
    (words, stride)
}

fn place((row, col): (usize, usize), columns: bool, stride: usize) -> usize {
    if columns {
        col * stride + row
    } else {
        row * stride + col
    }
}

fn order(columns: bool) -> &'static str {
    if columns { "col" } else { "row" }
}

/// Number of a lane's registers (PTX ISA, "Matrix Fragments for WMMA").
fn registers(case: &Case, elements: usize) -> usize {
    match case.from {
        F16 => 8,
        _ => elements * case.from.bits / 32 / case.from.bits.max(32),
    }
}

fn name_of(ty: Ty) -> &'static str {
    if ty.bits == 64 { "%d" } else { "%r" }
}

fn check(case: Case, space: &str) {
    let (m, n, k) = case.shape;
    let shape = format!("m{m}n{n}k{k}");
    let mut rng = Rng::new(4);
    let a = Matrix::draw(m, k, case.from, &mut rng);
    let b = Matrix::draw(k, n, case.from, &mut rng);
    let c = Matrix::draw(m, n, case.acc[1], &mut rng);
    let [ca, cb, cc, cd] = case.columns;
    let parts = [
        (
            "a",
            in_memory(&a, case.from, ca),
            case.from,
            ca,
            registers(&case, m * k),
        ),
        (
            "b",
            in_memory(&b, case.from, cb),
            case.from,
            cb,
            registers(&case, k * n),
        ),
        ("c", in_memory(&c, case.acc[1], cc), case.acc[1], cc, {
            m * n * case.acc[1].bits / 32 / case.acc[1].bits.max(32)
        }),
    ];
    let (mut input, mut text, mut lists, mut first) = (Vec::new(), String::new(), vec![], 0);
    let base = if space == "shared" { "%r62" } else { "%rd1" };
    for (part, (words, stride), ty, columns, count) in parts {
        let (at, registers) = (4 * input.len(), list(name_of(ty), first, count));
        let op = format!("wmma.load.{part}.sync.aligned.{}.{shape}", order(columns));
        text += &format!(
            "{op}.{space}.{} {registers}, [{base}+{at}], {stride};\n",
            ty.name
        );
        lists.push(registers);
        first += count;
        input.extend(words);
    }
    assert!(first <= 40);
    let results = m * n * case.acc[0].bits / 32 / case.acc[0].bits.max(32);
    let d = list(name_of(case.acc[0]), 40, results);
    let types = types(&case);
    let rule = if case.from == B1 { ".xor.popc" } else { "" };
    let orders = format!("{}.{}", order(ca), order(cb));
    text += &format!(
        "wmma.mma{rule}.sync.aligned.{orders}.{shape}.{types} {d}, {};\n",
        lists.join(", ")
    );
    let inner = if cd { m } else { n };
    let apart = stride(inner, case.acc[0]);
    text += &format!(
        "wmma.store.d.sync.aligned.{}.{shape}.global.{} [%rd2], {d}, {apart};\n",
        order(cd),
        case.acc[0].name
    );
    if space == "shared" {
        text = into_shared(input.len()) + &text;
    }
    let lines = m * n / inner;
    let output = run(
        &text,
        &input,
        (lines * apart * case.acc[0].bits).div_ceil(32),
    );
    let wanted = expected(&a, &b, &c, product(&case));
    for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
        let found = get(&output, case.acc[0].bits, place((row, col), cd, apart));
        let value = case.acc[0].bits_of(wanted.at((row, col)));
        assert_eq!(found, value, "{case:?} {space}: {row}, {col}");
    }
}

/// Types in the name of a case's `wmma.mma`.
fn types(case: &Case) -> String {
    let [d, c] = case.acc.map(|ty| ty.name);
    match case.from {
        F16 => format!("{d}.{c}"),
        from => format!("{d}.{0}.{0}.{c}", from.name),
    }
}

/// Product of two elements: an exclusive or of bits, or a multiplication.
fn product(case: &Case) -> fn(i32, i32) -> i32 {
    match case.from {
        B1 => |a, b| a ^ b,
        _ => |a, b| a * b,
    }
}

/// Code that copies the input into shared memory, with its address in `%r62`.
fn into_shared(words: usize) -> String {
    assert!(words <= 2048);
    let copy = |first: usize| {
        format!(
            "ld.global.b32 %r60, [%rd3+{0}];\nst.shared.b32 [%r61+{0}], %r60;\n",
            4 * first
        )
    };
    let copies: String = (0..words).step_by(32).map(copy).collect();
    format!(
        "mov.u32 %r63, %tid.x;\nmul.wide.u32 %rd3, %r63, 4;\nadd.s64 %rd3, %rd1, %rd3;\n\
         mov.u32 %r62, s;\nshl.b32 %r61, %r63, 2;\nadd.u32 %r61, %r61, %r62;\n\
         {copies}bar.warp.sync 0xffffffff;\n"
    )
}

fn all_orders(shapes: &[(usize, usize, usize)], from: Ty, acc: [Ty; 2]) {
    for &shape in shapes {
        for bits in 0..16_u32 {
            let columns = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            check(
                Case {
                    shape,
                    from,
                    acc,
                    columns,
                },
                "global",
            );
        }
    }
}

const SHAPES: [(usize, usize, usize); 3] = [(16, 16, 16), (8, 32, 16), (32, 8, 16)];

#[test]
fn halves() {
    all_orders(&SHAPES, F16, [F32; 2]);
    all_orders(&SHAPES, F16, [F16; 2]);
    all_orders(&SHAPES[..1], F16, [F16, F32]);
    all_orders(&SHAPES, BF16, [F32; 2]);
}

#[test]
fn singles_and_doubles() {
    all_orders(&[(16, 16, 8)], TF32, [F32; 2]);
    all_orders(&[(8, 8, 4)], F64, [F64; 2]);
}

#[test]
fn integers() {
    all_orders(&SHAPES, S8, [S32; 2]);
    all_orders(&SHAPES, U8, [S32; 2]);
    for (from, shape) in [(S4, (8, 8, 32)), (U4, (8, 8, 32)), (B1, (8, 8, 128))] {
        for (cc, cd) in [(false, true), (true, false)] {
            let columns = [false, true, cc, cd];
            let acc = [S32; 2];
            check(
                Case {
                    shape,
                    from,
                    acc,
                    columns,
                },
                "global",
            );
        }
    }
}

#[test]
fn from_shared_memory() {
    for from in [F16, TF32, S8, F64] {
        let (shape, acc) = match from {
            TF32 => ((16, 16, 8), F32),
            F64 => ((8, 8, 4), F64),
            S8 => ((16, 16, 16), S32),
            _ => ((16, 16, 16), F32),
        };
        for columns in [[false, true, false, false], [true, false, true, false]] {
            let acc = [acc; 2];
            check(
                Case {
                    shape,
                    from,
                    acc,
                    columns,
                },
                "shared",
            );
        }
    }
}
