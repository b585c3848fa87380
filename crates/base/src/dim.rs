//! Sizes and positions in the three dimensions of a grid or a block.

/// Three extents (or coordinates), x fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Dim3 {
    /// Fastest dimension.
    pub x: u32,
    /// Middle dimension.
    pub y: u32,
    /// Slowest dimension.
    pub z: u32,
}

impl Dim3 {
    /// Three extents.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// `x` in the fastest dimension, 1 in the others.
    pub const fn linear(x: u32) -> Self {
        Self::new(x, 1, 1)
    }

    /// Number of points.
    pub const fn count(self) -> u64 {
        self.x as u64 * self.y as u64 * self.z as u64
    }

    /// Coordinates of the point with the given x-fastest rank.
    pub const fn point(self, rank: u64) -> Self {
        let (x, y) = (self.x as u64, self.y as u64);
        Self::new(
            (rank % x) as u32,
            (rank / x % y) as u32,
            (rank / (x * y)) as u32,
        )
    }

    /// The point with the next x-fastest rank.
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
