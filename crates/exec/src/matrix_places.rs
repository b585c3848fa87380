//! Places of the elements that the lanes hold in products of matrices, computed once for a launch.

use warploom_base::WARP_SIZE;
use warploom_ir::Program;
use warploom_ir::matrix::{Fragment, MetadataPlace, Mma};

/// By slot of a fragment: the place of each lane's element, as [`Fragment::place`] gives it.
type OfFragment = Vec<[u16; WARP_SIZE]>;

/// Places of the elements of a product.
#[derive(Clone, Debug)]
pub(crate) struct MmaPlaces {
    mma: Mma,
    /// Multiplicands a and b, then the accumulator c, then the result d.
    pub of: [OfFragment; 4],
    /// By stored element of a sparse a, row by row: the place of its metadata.
    pub metadata: Vec<MetadataPlace>,
}

/// Places of the products of a program.
#[derive(Clone, Default, Debug)]
pub(crate) struct MatrixPlaces {
    shapes: Vec<MmaPlaces>,
    /// By further operands of an instruction: its shape, if it is a product.
    of_extra: Vec<u16>,
}

/// Shape of an instruction that is no product.
const NONE: u16 = u16::MAX;

impl MatrixPlaces {
    /// The places of all products of a program.
    pub fn new(program: &Program) -> Self {
        let mut this = Self::default();
        let extras = program.extras.iter();
        let products = extras.map(|extra| extra.matrix);
        if products.clone().flatten().next().is_some() {
            this.of_extra = products
                .map(|mma| mma.map_or(NONE, |mma| this.shape_of(mma)))
                .collect();
        }
        this
    }

    fn shape_of(&mut self, mma: Mma) -> u16 {
        let known = self.shapes.iter().position(|shape| shape.mma == mma);
        let shape = known.unwrap_or_else(|| {
            let fragments = [mma.a(), mma.b(), mma.accumulator(1), mma.accumulator(0)];
            let of = fragments.map(|fragment| places(&fragment));
            let metadata = metadata(&mma);
            self.shapes.push(MmaPlaces { mma, of, metadata });
            self.shapes.len() - 1
        });
        shape as u16
    }

    /// Places for an instruction with these further operands, if it is a product.
    #[inline]
    pub fn of(&self, extra: usize) -> Option<&MmaPlaces> {
        let shape = *self.of_extra.get(extra)?;
        self.shapes.get(usize::from(shape))
    }
}

fn places(fragment: &Fragment) -> OfFragment {
    let of_slot = |slot| std::array::from_fn(|lane| fragment.place(lane, slot) as u16);
    (0..fragment.slots).map(of_slot).collect()
}

fn metadata(mma: &Mma) -> Vec<MetadataPlace> {
    let Some(sparsity) = mma.sparsity else {
        return Vec::new();
    };
    let a = mma.a();
    let of_place = |place| mma.metadata(sparsity, place / a.cols, place % a.cols);
    (0..a.rows * a.cols).map(of_place).collect()
}
