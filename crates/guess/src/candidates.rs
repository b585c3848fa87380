//! Launches to try for a kernel, the most usual first.

use crate::uses::{Buffer, KernelUses, Parameter};
use std::fmt;

/// Parts of a launch that the caller fixed.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// Number of blocks in each dimension.
    pub grid: Option<[u32; 3]>,
    /// Number of threads of a block in each dimension.
    pub block: Option<[u32; 3]>,
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: Option<u32>,
    /// The first arguments, as the command's options write them.
    pub args: Vec<String>,
}

/// A launch that may suit a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Number of blocks in each dimension.
    pub grid: [u32; 3],
    /// Number of threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u32,
    /// Arguments as the command's options write them: `7`, `1.0`, `f32[1024]=uniform`.
    pub args: Vec<String>,
    /// Number of the candidate's size; 0 is the largest. If one candidate of a size takes too long,
    /// so do the others.
    pub size: usize,
    /// Number of the candidate's contents and scalars. Candidates with the same number differ in
    /// grid, block and extents alone.
    pub variant: usize,
    /// Number of the candidate's block; 0 is the usual one, and others have fewer threads.
    pub nth_block: usize,
}

/// A parameter for which no value can be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unguessable {
    /// Number of the parameter, from 1.
    pub number: usize,
    /// Kind of the parameter.
    pub parameter: Parameter,
}

impl fmt::Display for Unguessable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.parameter {
            Parameter::Aggregate(bytes) => {
                write!(f, "argument {number} is a structure of {bytes} bytes")
            }
            _ => write!(f, "argument {number} is a texture, a surface or a sampler"),
        }
    }
}

impl std::error::Error for Unguessable {}

/// Extents to try in each dimension, for kernels with indices in one, two and three dimensions.
const EXTENTS: [&[u32]; 3] = [
    &[262_144, 65_536, 16_384, 4096, 1024, 256],
    &[512, 256, 128, 64, 32],
    &[64, 32, 16, 8],
];
/// Elements of a buffer to try, as multiples of the number of threads.
const MULTIPLES: [u64; 4] = [1, 2, 4, 16];
/// Most elements of a buffer.
const MOST_ELEMENTS: u64 = 1 << 24;
/// Threads of a block in one dimension.
const THREADS: u32 = 256;
/// Dynamic shared memory for each thread of a block in bytes.
const SHARED_PER_THREAD: u32 = 16;

/// Contents and scalars to try.
#[derive(Clone, Copy)]
struct Variant {
    /// True if integers are the extent of the data; otherwise they are 1.
    extents: bool,
    /// Contents of buffers of integers.
    integers: &'static str,
}

/// Integers that a kernel reads may be indices, which `iota` keeps within the data.
const VARIANTS: [Variant; 3] = [
    Variant {
        extents: true,
        integers: "iota",
    },
    Variant {
        extents: true,
        integers: "zeros",
    },
    Variant {
        extents: false,
        integers: "zeros",
    },
];

/// Launches to try for a kernel with these uses, in order.
///
/// # Errors
/// A parameter that is not fixed and for which no value can be guessed.
pub fn candidates(uses: &KernelUses, fixed: &Fixed) -> Result<Vec<Candidate>, Unguessable> {
    let open = uses.parameters.iter().enumerate().skip(fixed.args.len());
    for (n, &parameter) in open {
        if matches!(parameter, Parameter::Aggregate(_) | Parameter::Opaque) {
            let number = n + 1;
            return Err(Unguessable { number, parameter });
        }
    }
    let mut list = Vec::new();
    for variant in 0..VARIANTS.len() {
        for (nth_block, block) in blocks(uses, fixed).into_iter().enumerate() {
            for (size, shape) in shapes(uses, fixed, block).into_iter().enumerate() {
                let square = shape.extent().saturating_mul(shape.extent());
                let multiples = MULTIPLES.map(|n| n * shape.elements());
                for elements in multiples.into_iter().chain([square]) {
                    if elements <= MOST_ELEMENTS || elements == shape.elements() {
                        let candidate = candidate(uses, fixed, &shape, variant, elements);
                        list.push(Candidate {
                            size,
                            nth_block,
                            ..candidate
                        });
                    }
                }
            }
        }
    }
    list.dedup_by(|a, b| a.args == b.args && a.grid == b.grid && a.block == b.block);
    Ok(list)
}

fn candidate(
    uses: &KernelUses,
    fixed: &Fixed,
    shape: &Shape,
    variant: usize,
    elements: u64,
) -> Candidate {
    let Variant { extents, integers } = VARIANTS[variant];
    let integer = if extents { shape.extent() } else { 1 };
    let argument = |parameter: &Parameter| match parameter {
        Parameter::Buffer(buffer) => contents(buffer, elements, integers),
        Parameter::Integer(bits @ (8 | 16)) => integer.min((1 << (bits - 1)) - 1).to_string(),
        Parameter::Integer(_) => integer.to_string(),
        _ => "1.0".to_owned(),
    };
    let open = uses.parameters.iter().skip(fixed.args.len());
    let args = fixed.args.iter().cloned().chain(open.map(argument));
    let dynamic = shape.block.iter().product::<u32>() * SHARED_PER_THREAD;
    Candidate {
        grid: shape.grid,
        block: shape.block,
        shared_bytes: match (fixed.shared_bytes, uses.dynamic_shared) {
            (Some(bytes), _) => bytes,
            (None, true) => dynamic,
            (None, false) => 0,
        },
        args: args.collect(),
        size: 0,
        variant,
        nth_block: 0,
    }
}

/// A buffer as the command's options write it.
fn contents(buffer: &Buffer, elements: u64, integers: &str) -> String {
    let ty = buffer.element;
    let name = match (ty.bits(), ty.is_float(), ty.is_signed()) {
        (bits @ (16 | 32 | 64), true, _) => format!("f{bits}"),
        (bits @ (8 | 16 | 32 | 64), _, true) => format!("i{bits}"),
        (bits @ (8 | 16 | 32 | 64), ..) => format!("u{bits}"),
        _ => "u8".to_owned(),
    };
    let init = match (buffer.is_read, ty.is_float()) {
        (false, _) => "zeros",
        (true, true) => "uniform",
        (true, false) => integers,
    };
    format!("{name}[{elements}]={init}")
}

/// Grid and block of a candidate.
struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    /// Elements of the data in each dimension.
    data: [u64; 3],
}

impl Shape {
    /// A grid whose blocks cover the data, where each block covers `tile` elements of it.
    fn covering(data: [u32; 3], tile: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid: [0, 1, 2].map(|axis| data[axis].div_ceil(tile[axis].max(1))),
            block,
            data: data.map(u64::from),
        }
    }

    /// Number of elements of the data.
    fn elements(&self) -> u64 {
        self.data.iter().product()
    }

    /// Number of elements in the longest dimension.
    fn extent(&self) -> u64 {
        self.data.into_iter().max().unwrap_or(1)
    }
}

/// Grids to try for a block, the largest first.
fn shapes(uses: &KernelUses, fixed: &Fixed, block: [u32; 3]) -> Vec<Shape> {
    let tile = tile(uses, block);
    if let Some(grid) = fixed.grid {
        let data = [0, 1, 2].map(|axis| u64::from(grid[axis]) * u64::from(tile[axis]));
        return vec![Shape { grid, block, data }];
    }
    let axes = usize::from(uses.axes.thread.max(uses.axes.block).clamp(1, 3));
    let usual = EXTENTS[axes - 1].iter().map(|extent| {
        // In a dimension without an index the grid has one block.
        let data = [0, 1, 2].map(|axis| if axis < axes { *extent } else { 1 });
        let covered = Shape::covering(data, tile, block);
        let whole = [0, 1, 2].map(|axis| u64::from(covered.grid[axis]) * u64::from(tile[axis]));
        Shape {
            data: whole,
            ..covered
        }
    });
    let given = given_data(fixed, axes);
    let given = given.map(|data| Shape::covering(data, tile, block));
    given.into_iter().chain(usual).collect()
}

/// Elements of the data that a block covers in each dimension: one for each thread, or those of a
/// shared square of which the block is some rows, and takes the others later.
fn tile(uses: &KernelUses, block: [u32; 3]) -> [u32; 3] {
    let [width, rows, depth] = block;
    let is_part = uses.axes.thread == 2 && depth == 1 && rows < width && width % rows.max(1) == 0;
    match is_part && side(uses) == Some(width) {
        true => [width, width, 1],
        false => block,
    }
}

/// Extents of the data by the smallest buffer among the fixed arguments: its number of elements
/// where the kernel has one dimension; its two extents, or the sides of a square of as many
/// elements, where it has two.
fn given_data(fixed: &Fixed, axes: usize) -> Option<[u32; 3]> {
    let extents = |arg: &String| {
        let (_, rest) = arg.split_once('[')?;
        let (shape, _) = rest.split_once(']')?;
        let extents = shape.split(',').map(|n| n.parse::<u32>().ok());
        let extents = extents.collect::<Option<Vec<_>>>()?;
        let elements = extents.iter().try_fold(1_u32, |all, n| all.checked_mul(*n));
        Some((elements.filter(|n| *n > 0)?, extents))
    };
    let is_plain = |arg: &&String| !arg.starts_with("struct:");
    let buffers = fixed.args.iter().filter(is_plain).filter_map(extents);
    let (elements, extents) = buffers.min_by_key(|(elements, _)| *elements)?;
    let side = elements.isqrt();
    match (axes, extents.as_slice()) {
        (1, _) => Some([elements, 1, 1]),
        (2, [rows, columns]) => Some([*columns, *rows, 1]),
        (2, _) => (side * side == elements).then_some([side, side, 1]),
        _ => None,
    }
}

/// Blocks to try: the one that programs usually take for such a kernel, then smaller ones, for
/// kernels whose shared arrays have room for fewer threads.
fn blocks(uses: &KernelUses, fixed: &Fixed) -> Vec<[u32; 3]> {
    if let Some(block) = fixed.block.or(uses.required_block) {
        return vec![block];
    }
    let most = uses.most_threads.unwrap_or(1024);
    let usual: Vec<[u32; 3]> = match uses.axes.thread {
        1 => lines(uses, most),
        2 => tiles(uses),
        _ => vec![[8, 8, 4], [4, 4, 4]],
    };
    let fits = |[x, y, z]: &[u32; 3]| x * y * z <= most;
    let blocks: Vec<_> = usual.into_iter().filter(fits).collect();
    match blocks.is_empty() {
        true => vec![[most, 1, 1]],
        false => blocks,
    }
}

/// Blocks in one dimension: as many threads as the largest shared array has elements, or 256, as
/// many threads use a few elements together. Then powers of two below.
fn lines(uses: &KernelUses, most: u32) -> Vec<[u32; 3]> {
    let lengths = [64, 128, 256, 512, 1024];
    let same = lengths
        .into_iter()
        .find(|n| uses.shared_words == Some(u64::from(*n)));
    let usual = same.unwrap_or(THREADS).min(most);
    let smaller = [512, 256, 128, 64, 32].into_iter().filter(|n| *n < usual);
    let lengths = std::iter::once(usual).chain(smaller);
    lengths.map(|length| [length, 1, 1]).collect()
}

/// Blocks in two dimensions: the sides of a shared tile, whose rows a block may also take several
/// at a time, then smaller squares.
fn tiles(uses: &KernelUses) -> Vec<[u32; 3]> {
    let side = side(uses).unwrap_or(16);
    let squares = [16, 8, 4].into_iter().filter(|smaller| *smaller < side);
    let whole = [[side, side, 1], [side, side / 4, 1]];
    let squares = squares.map(|side| [side, side, 1]);
    whole.into_iter().chain(squares).collect()
}

/// Side of the square that the largest shared array holds. It may have a column more, against bank
/// conflicts.
fn side(uses: &KernelUses) -> Option<u32> {
    let words = uses.shared_words?;
    let is_square = |side: &u32| {
        let side = u64::from(*side);
        words == side * side || words == side * (side + 1)
    };
    [8, 16, 32].into_iter().find(is_square)
}
