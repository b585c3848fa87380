//! Cases of a warp's matrix operations: products, and moves of elements.
//!
//! Elements of products are small integers, so that every sum is exact in any order of additions.
//! The comparison covers which lane holds which element, and how types are converted.

use warploom_ptx::tokens::ScalarType;

use super::case::{Accuracy, Case, Family, Given};

/// A kind of product: shapes, each with the numbers of a lane's registers for the first and the
/// second matrix.
struct Products {
    shapes: &'static [(&'static str, usize, usize)],
    /// Types of destination, matrices and addend, as in the PTX.
    types: &'static [[&'static str; 4]],
    /// Kind of values in a register of a matrix.
    element: Given,
    suffixes: &'static [&'static str],
}

const PRODUCTS: &[Products] = &[
    Products {
        shapes: &[("m16n8k8", 2, 1), ("m16n8k16", 4, 2)],
        types: &[
            ["f16", "f16", "f16", "f16"],
            ["f32", "f16", "f16", "f32"],
            ["f32", "bf16", "bf16", "f32"],
        ],
        element: Given::Small(ScalarType::F16x2),
        suffixes: &[""],
    },
    Products {
        shapes: &[("m16n8k4", 2, 1), ("m16n8k8", 4, 2)],
        types: &[["f32", "tf32", "tf32", "f32"]],
        element: Given::Small(ScalarType::F32),
        suffixes: &[""],
    },
    Products {
        shapes: &[
            ("m8n8k4", 1, 1),
            ("m16n8k4", 2, 1),
            ("m16n8k8", 4, 2),
            ("m16n8k16", 8, 4),
        ],
        types: &[["f64", "f64", "f64", "f64"]],
        element: Given::Small(ScalarType::F64),
        suffixes: &[""],
    },
    Products {
        shapes: &[("m8n8k16", 1, 1), ("m16n8k16", 2, 1), ("m16n8k32", 4, 2)],
        types: &[
            ["s32", "s8", "s8", "s32"],
            ["s32", "s8", "u8", "s32"],
            ["s32", "u8", "s8", "s32"],
            ["s32", "u8", "u8", "s32"],
        ],
        element: Given::Value(ScalarType::B32),
        suffixes: &["", ".satfinite"],
    },
];

/// All cases of matrix operations.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for products in PRODUCTS {
        for (shape, types, suffix) in combinations(products) {
            cases.push(product(products, shape, types, suffix));
        }
    }
    cases.push(transposition());
    for count in [1, 2, 4] {
        cases.extend(["", ".trans"].map(|how| load(count, how)));
    }
    cases
}

type Shape = &'static (&'static str, usize, usize);
type Types = &'static [&'static str; 4];

fn combinations(products: &Products) -> Vec<(Shape, Types, &'static str)> {
    let mut all = Vec::new();
    for shape in products.shapes {
        for types in products.types {
            let suffixes = products.suffixes.iter();
            all.extend(suffixes.map(|&suffix| (shape, types, suffix)));
        }
    }
    all
}

fn empty(name: String) -> Case {
    Case {
        name,
        family: Family::Matrix,
        accuracy: Accuracy::Exact,
        since: 80,
        inputs: Vec::new(),
        outputs: Vec::new(),
        code: Vec::new(),
    }
}

/// List of registers `{letter}{first}` and following, in braces.
fn list(letter: char, first: usize, count: usize) -> String {
    let names = (first..first + count).map(|k| format!("{letter}{k}"));
    format!("{{{}}}", names.collect::<Vec<_>>().join(", "))
}

fn product(products: &Products, shape: Shape, types: Types, suffix: &str) -> Case {
    let &(shape, of_a, of_b) = shape;
    let [d, a, b, c] = *types;
    let text = format!("mma.sync.aligned.{shape}.row.col{suffix}.{d}.{a}.{b}.{c}");
    let (sum, given) = match d {
        "f16" => (ScalarType::F16x2, Given::Small(ScalarType::F16x2)),
        "f32" => (ScalarType::F32, Given::Small(ScalarType::F32)),
        "f64" => (ScalarType::F64, Given::Small(ScalarType::F64)),
        _ => (ScalarType::B32, Given::Value(ScalarType::B32)),
    };
    let element = match a {
        "bf16" => Given::Small(ScalarType::Bf16x2),
        _ => products.element,
    };
    // A lane has m x n / 32 elements; a register contains one of them, or two of f16.
    let rows = if shape.starts_with("m8") { 8 } else { 16 };
    let of_c = rows * 8 / 32 / if d == "f16" { 2 } else { 1 };
    let mut case = empty(text.clone());
    case.inputs = vec![element; of_a + of_b];
    case.inputs.extend(vec![given; of_c]);
    case.outputs = vec![sum; of_c];
    let [d, a] = [list('d', 0, of_c), list('a', 0, of_a)];
    let [b, c] = [list('a', of_a, of_b), list('a', of_a + of_b, of_c)];
    case.code = vec![format!("{text} {d}, {a}, {b}, {c};")];
    case
}

fn transposition() -> Case {
    let mut case = empty("movmatrix.sync.aligned.m8n8.trans.b16".to_owned());
    case.inputs = vec![Given::Value(ScalarType::B32)];
    case.outputs = vec![ScalarType::B32];
    case.code = vec![format!("{} d0, a0;", case.name)];
    case
}

/// Case of `ldmatrix`: each lane writes a row of a matrix and passes its address.
fn load(count: usize, how: &str) -> Case {
    let mut case = empty(format!(
        "ldmatrix.sync.aligned.m8n8.x{count}{how}.shared.b16"
    ));
    case.inputs = vec![Given::Value(ScalarType::B32); 4];
    case.outputs = vec![ScalarType::B32; count];
    case.code = vec![
        ".shared .align 16 .b8 rows[4096];".to_owned(),
        ".reg .b32 row;".to_owned(),
        "mov.u32 row, rows;".to_owned(),
        "mov.u32 scratch, %tid.x;".to_owned(),
        "mad.lo.u32 row, scratch, 16, row;".to_owned(),
        "st.shared.v4.b32 [row], {a0, a1, a2, a3};".to_owned(),
        "bar.warp.sync 0xffffffff;".to_owned(),
        format!("{} {}, [row];", case.name, list('d', 0, count)),
    ];
    case
}
