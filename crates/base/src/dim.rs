//! Sizes and positions in the three dimensions of a grid or of a block.

use warploom_state::Value;

/// Extents or coordinates in three dimensions; x is the fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default, Value)]
pub struct Dim3 {
    /// Extent of the fastest dimension.
    pub x: u32,
    /// Extent of the middle dimension.
    pub y: u32,
    /// Extent of the slowest dimension.
    pub z: u32,
}

impl Dim3 {
    /// Creates a size of three extents.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// Creates a size of `x` in the fastest dimension and 1 in the others.
    pub const fn linear(x: u32) -> Self {
        Self::new(x, 1, 1)
    }

    /// Product of the three extents.
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }

    /// Coordinates of the point with rank `rank` in x-fastest order.
    pub const fn point(self, rank: u64) -> Self {
        let (x, y) = (self.x as u64, self.y as u64);
        Self::new(
            (rank % x) as u32,
            (rank / x % y) as u32,
            (rank / (x * y)) as u32,
        )
    }

    /// Coordinates of the point after `point` in x-fastest order.
    #[inline]
    pub const fn after(self, point: Self) -> Self {
        let Self { x, y, z } = point;
        if x + 1 < self.x {
            Self::new(x + 1, y, z)
        } else if y + 1 < self.y {
            Self::new(0, y + 1, z)
        } else {
            Self::new(0, 0, z + 1)
        }
    }
}

impl std::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

#[cfg(test)]
mod tests {
    use super::Dim3;

    #[test]
    fn points_are_x_fastest() {
        let grid = Dim3::new(3, 2, 2);
        assert_eq!(grid.count(), 12);
        assert_eq!(grid.point(4), Dim3::new(1, 1, 0));
        assert_eq!(grid.point(11), Dim3::new(2, 1, 1));
        for rank in 0..30 {
            assert_eq!(grid.after(grid.point(rank)), grid.point(rank + 1));
        }
    }
}
