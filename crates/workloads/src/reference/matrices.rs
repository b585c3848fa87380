//! Shared parts of both matrix products: square matrices of small integers, exact in any order.

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{LaunchShape, Request, Size, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

/// A product of two matrices by blocks of 16 x 16 threads.
pub(super) struct Product {
    pub workload: &'static WorkloadInfo,
    pub entry: &'static str,
    /// Number of registers per thread.
    pub registers: u32,
}

const TILE: u32 = 16;

/// Number of rows and columns.
pub(super) fn extent(size: Size) -> u32 {
    size.pick(64, 128, 256)
}

impl Product {
    pub fn shape(&self, size: Size) -> LaunchShape {
        let tiles = extent(size) / TILE;
        let (grid, block) = (Dim3::new(tiles, tiles, 1), Dim3::new(TILE, TILE, 1));
        LaunchShape::once(self.entry, grid, block)
    }

    pub fn program(&'static self, request: &Request) -> Box<dyn HostProgram> {
        let size = request.size;
        Sequence::boxed(move |device| self.plan(device, size))
    }

    fn plan(&self, device: &mut Device, size: Size) -> Result<Plan, HostError> {
        let n = extent(size);
        let (a, b) = inputs(n);
        let module = load(device, self.workload)?;
        let [a_ptr, b_ptr] = [device.alloc_slice(&a)?, device.alloc_slice(&b)?];
        let c_ptr = alloc_output::<f32>(device, a.len())?;
        let pointers = [a_ptr, b_ptr, c_ptr].map(Arg::Pointer);
        let args = pointers.into_iter().chain([Arg::U32(n)]).collect();
        let mut launch = self.shape(size).launch(module, args);
        launch.registers_per_thread = Some(self.registers);
        Ok(Plan::new(vec![launch], move |device| {
            let c = device.output(c_ptr, a.len())?;
            Ok(vec![equal("C", &c, &product(n, &a, &b))])
        }))
    }
}

/// A and B in row-major order: integers from -3 to 3 and from -2 to 2.
fn inputs(n: u32) -> (Vec<f32>, Vec<f32>) {
    let matrix = |modulus: u32, offset: f32| {
        let value = |i: u32| (i % modulus) as f32 - offset;
        (0..n * n).map(value).collect()
    };
    (matrix(7, 3.0), matrix(5, 2.0))
}

/// A x B. Sums of integers below 2^24 are exact, so their order does not matter.
fn product(n: u32, a: &[f32], b: &[f32]) -> Vec<f32> {
    let n = n as usize;
    let element = |at: usize| {
        let (row, column) = (at / n, at % n);
        (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum()
    };
    (0..n * n).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::{inputs, product};

    #[test]
    fn inputs_repeat_in_the_periods_of_the_recording() {
        let (a, b) = inputs(4);
        assert_eq!(a[..8], [-3., -2., -1., 0., 1., 2., 3., -3.]);
        assert_eq!(b[..6], [-2., -1., 0., 1., 2., -2.]);
    }

    #[test]
    fn products_are_rows_times_columns() {
        let (a, b) = ([1., 2., 3., 4.], [5., 6., 7., 8.]);
        assert_eq!(product(2, &a, &b), [19., 22., 43., 50.]);
    }
}
