//! Products of matrices whose elements are distributed over the lanes of a warp: shapes, types, and
//! the elements of each lane (PTX ISA, "Warp-Level Matrix Multiply-Accumulate Instructions").
//!
//! The fragments of `mma` are those of the ISA. It leaves the fragments of `wmma` open: here lanes
//! hold consecutive elements, multiplicands in the order of their layout in memory, accumulators
//! row by row. If the lanes hold more elements than the matrix has, it repeats.

/// Number of lanes of a warp.
const LANES: usize = 32;

/// Type of an element of a multiplicand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named as PTX names them")]
pub enum MatTy {
    F16,
    Bf16,
    Tf32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
}

impl MatTy {
    /// Size of an element in bits.
    pub fn bits(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 => 32,
            Self::F64 => 64,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }
}

/// Type of an element of an accumulator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "named as PTX names them")]
pub enum AccTy {
    F16,
    F32,
    F64,
    S32,
}

impl AccTy {
    /// Size of an element in bits.
    pub fn bits(self) -> usize {
        match self {
            Self::F16 => 16,
            Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
        }
    }
}

/// Operation on two elements of the multiplicands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatRule {
    /// Product of both elements.
    Multiply,
    /// Number of bits set in the exclusive or: `.xor.popc`.
    Xor,
    /// Number of bits set in the conjunction: `.and.popc`.
    And,
}

/// Sparsity of the multiplicand a (PTX ISA, "Sparse Matrix Storage"). Of every four elements of a
/// row, only two are stored: of four pairs for elements of four bits, and one of two for tf32.
/// Metadata of four bits, two for each element or pair that is stored, say which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sparsity {
    /// Which of every four lanes give the metadata, where not all of them do.
    pub selector: u8,
}

/// Bits of metadata that describe elements of a row which follow one another.
const METADATA_BITS: usize = 4;
/// Metadata in a register of 32 bits.
const METADATA_OF_REGISTER: usize = 32 / METADATA_BITS;

/// Metadata of a stored element of a sparse matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetadataPlace {
    /// Lane whose register has the metadata.
    pub lane: usize,
    /// Position of the element's two bits in the register.
    pub bit: usize,
    /// Column of the first element that the metadata describe.
    pub first: usize,
    /// Columns from `first` to the element: these for each value of the two bits.
    pub columns: [usize; 4],
}

/// Product of matrices with an accumulator: `d = a * b + c`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mma {
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Depth of the product.
    pub k: usize,
    /// Element types of a and b: equal except for signs, or both floats of 8 bits.
    pub from: [MatTy; 2],
    /// Element types of d and c.
    pub acc: [AccTy; 2],
    /// True for a and b that are stored by columns.
    pub columns: [bool; 2],
    /// True if the fragments are those of `wmma`.
    pub wmma: bool,
    /// How a is stored, if it is sparse.
    pub sparsity: Option<Sparsity>,
    /// Operation on two elements.
    pub rule: MatRule,
    /// True if integers saturate at their limits.
    pub satfinite: bool,
}

/// Number of parts of a warp, each with a product of its own, where a warp computes four products
/// (`mma.m8n8k4` of f16).
const QUADS: usize = 4;

impl Mma {
    /// Number of products that the warp computes side by side.
    pub fn products(&self) -> usize {
        match (self.wmma, self.from[0], self.k) {
            (false, MatTy::F16, 4) => QUADS,
            _ => 1,
        }
    }

    /// Number of elements in a row of a; single bits count as words of 32.
    fn depth(&self) -> usize {
        match self.from[0] {
            MatTy::B1 => self.k / 32,
            _ => self.k,
        }
    }

    /// Number of elements of a row of a that are stored.
    fn stored_depth(&self) -> usize {
        match self.sparsity {
            Some(_) => self.depth() / 2,
            None => self.depth(),
        }
    }

    /// Elements of a row that metadata of four bits describe, and how many of them are stored.
    fn described(&self) -> (usize, usize) {
        match self.from[0].bits() {
            4 => (8, 4),
            32 => (2, 1),
            _ => (4, 2),
        }
    }

    /// Number of ways to select the lanes that give the metadata of a sparse product.
    pub fn selectors(&self) -> u8 {
        (4 / self.lanes_with_metadata()).max(1) as u8
    }

    /// Number of lanes of every four that give metadata. Each has those of a part of two rows.
    fn lanes_with_metadata(&self) -> usize {
        let of_row = self.k / self.described().0;
        2 * of_row / METADATA_OF_REGISTER
    }

    /// Where the metadata of the `nth` stored element of a row are (PTX ISA, figures of "Matrix
    /// fragments for sparse mma"; CUTLASS arranges metadata for them in `reorder_meta`).
    ///
    /// The lanes whose number divided by four is `row % 8` have the metadata of a row. A register
    /// has those of two rows, eight rows apart, or of a single row if elements have eight bits or
    /// fewer.
    pub fn metadata(&self, sparsity: Sparsity, row: usize, nth: usize) -> MetadataPlace {
        let (elements, stored) = self.described();
        let (chunk, part) = (nth / stored, nth % stored);
        let (group, lower) = (row % 8, row / 8);
        let half = METADATA_OF_REGISTER / 2;
        let (lane, at) = match self.from[0].bits() {
            4 | 8 => {
                let lane = chunk / METADATA_OF_REGISTER * 2 + lower;
                (lane, chunk % METADATA_OF_REGISTER)
            }
            _ => (chunk / half, lower * half + chunk % half),
        };
        let first = usize::from(sparsity.selector) * self.lanes_with_metadata();
        let (bit, columns) = match self.from[0].bits() {
            4 => (part / 2 * 2, [0, 2, 4, 6].map(|column| column + part % 2)),
            32 => (0, [0, 0, 1, 1]),
            _ => (part * 2, [0, 1, 2, 3]),
        };
        MetadataPlace {
            lane: group * 4 + first + lane,
            bit: at * METADATA_BITS + bit,
            first: chunk * elements,
            columns,
        }
    }

    /// Fragment of the multiplicand a, without the elements that are not stored.
    pub fn a(&self) -> Fragment {
        let order = match (self.products(), self.wmma, self.columns[0]) {
            (QUADS, _, true) => Order::QuadDown,
            (QUADS, _, false) => Order::QuadRow,
            (_, true, columns) => Order::Linear(columns),
            _ => Order::Rows,
        };
        self.multiplicand(self.m, self.stored_depth(), order)
    }

    /// Fragment of the multiplicand b.
    pub fn b(&self) -> Fragment {
        let order = match (self.products(), self.wmma, self.columns[1]) {
            (QUADS, _, true) => Order::QuadCol,
            (QUADS, _, false) => Order::QuadAcross,
            (_, true, columns) => Order::Linear(columns),
            _ => Order::Columns,
        };
        self.multiplicand(self.depth(), self.n, order)
    }

    fn multiplicand(&self, rows: usize, cols: usize, order: Order) -> Fragment {
        let slots = match (self.wmma, self.from[0]) {
            // Eight registers whatever the shape.
            (true, MatTy::F16) => 16,
            _ => self.products() * rows * cols / LANES,
        };
        Fragment {
            rows,
            cols,
            bits: match self.from[0] {
                MatTy::B1 => 32,
                ty => ty.bits(),
            },
            slots,
            order,
        }
    }

    /// Fragment of d (0) or c (1).
    pub fn accumulator(&self, nth: usize) -> Fragment {
        let ty = self.acc[nth];
        let order = match (self.products(), self.wmma, ty) {
            (QUADS, _, AccTy::F16) => Order::QuadRow,
            (QUADS, ..) => Order::QuadTiles,
            (_, true, _) => Order::Linear(false),
            _ => Order::Pairs,
        };
        Fragment {
            rows: self.m,
            cols: self.n,
            bits: ty.bits(),
            slots: self.products() * self.m * self.n / LANES,
            order,
        }
    }

    /// Cost of the product: multiplied elements times their bits, in eighths of the cost of
    /// 16x16x16 halves. A sparse product multiplies only the elements that are stored.
    pub fn work(&self) -> u8 {
        let k = match self.sparsity {
            Some(_) => self.k / 2,
            None => self.k,
        };
        let bits = self.products() * self.m * self.n * k * self.from[0].bits();
        (8 * bits / (16 * 16 * 16 * 16)).max(1) as u8
    }
}

/// Distribution of elements over lanes. "Group" is the lane's number divided by four, "thread" the
/// remainder. With four products side by side, "low" is the lane's number within its part of a
/// warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Order {
    /// `mma`, a: rows by groups, registers across threads.
    Rows,
    /// `mma`, b: columns by groups.
    Columns,
    /// `mma`, accumulators: pairs in a row.
    Pairs,
    /// Consecutive elements, column by column if set.
    Linear(bool),
    /// Four products: each lane has a row.
    QuadRow,
    /// Four products: each lane has a column.
    QuadCol,
    /// Four products: each lane has half of a column.
    QuadDown,
    /// Four products: each lane has half of a row.
    QuadAcross,
    /// Four products: tiles of two by two elements.
    QuadTiles,
}

/// Part of a matrix that a lane of a warp holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub cols: usize,
    /// Size of an element in bits.
    pub bits: usize,
    /// Number of elements of a lane.
    pub slots: usize,
    order: Order,
}

impl Fragment {
    /// Number of elements in a register.
    pub fn per_register(&self) -> usize {
        (32 / self.bits).max(1)
    }

    /// Number of registers of a lane.
    pub fn registers(&self) -> usize {
        self.slots / self.per_register()
    }

    /// True if the registers have 64 bits.
    pub fn wide(&self) -> bool {
        self.bits == 64
    }

    /// True if a lane's elements are consecutive in memory, for a matrix stored by columns or by
    /// rows.
    pub fn follows(&self, columns: bool) -> bool {
        self.order == Order::Linear(columns)
    }

    /// Position of a lane's element, counted row by row, with the products one after the other.
    pub fn place(&self, lane: usize, slot: usize) -> usize {
        let (group, thread) = (lane / 4, lane % 4);
        let (high, low) = (lane / 16, lane % 4 + lane / 16 * 4);
        let per = self.per_register();
        let (register, nth) = (slot / per, slot % per);
        let part = match self.order {
            Order::Rows | Order::Columns | Order::Pairs | Order::Linear(_) => 0,
            _ => lane % 16 / 4,
        };
        let (row, col) = match self.order {
            Order::Rows => {
                let halves = self.rows / 8;
                let across = register / halves * 4 * per + thread * per + nth;
                (group + register % halves * 8, across)
            }
            Order::Columns => (register * 4 * per + thread * per + nth, group),
            Order::Pairs => (group + slot / 2 * 8, thread * 2 + slot % 2),
            Order::Linear(columns) => {
                let nth = (lane * self.slots + slot) % (self.rows * self.cols);
                match columns {
                    true => (nth % self.rows, nth / self.rows),
                    false => (nth / self.cols, nth % self.cols),
                }
            }
            Order::QuadRow => (low, slot),
            Order::QuadCol => (slot, low),
            Order::QuadDown => (slot + high * 4, thread),
            Order::QuadAcross => (thread, slot + high * 4),
            Order::QuadTiles => (
                (lane & 1) + (slot & 2) + high * 4,
                (slot & 4) + (lane & 2) + (slot & 1),
            ),
        };
        (part * self.rows + row) * self.cols + col
    }
}
