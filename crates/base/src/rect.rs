//! Rectangles of cache lines that a block touches in an array (Chen, NTU thesis 2016, 3.3.1).

use warploom_state::Value;

/// Rectangle of an array; columns are counted in cache lines, rows in rows of the array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Rect {
    /// First cache line within a row.
    pub x: i32,
    /// First row of the rectangle.
    pub y: i32,
    /// Number of cache lines in a row.
    pub width: u32,
    /// Number of rows of the rectangle.
    pub height: u32,
}

impl Rect {
    /// Creates a rectangle of one line.
    pub fn line(x: i32, y: i32) -> Self {
        Self {
            x,
            y,
            width: 1,
            height: 1,
        }
    }

    /// Returns the smallest rectangle that contains both.
    pub fn hull(self, other: Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let right = self.right().max(other.right());
        let bottom = self.bottom().max(other.bottom());
        Self {
            x,
            y,
            width: (right - i64::from(x)) as u32,
            height: (bottom - i64::from(y)) as u32,
        }
    }

    /// True if both contain a common line, or if a line of one lies beside, above or below a line
    /// of the other.
    pub fn touches(&self, other: &Self) -> bool {
        let (wide, high) = self.common(other);
        (wide >= 0 && high > 0) || (wide > 0 && high >= 0)
    }

    /// True if the rectangle contains all lines of the other.
    pub fn contains(&self, other: &Self) -> bool {
        self.overlap(other) == other.area()
    }

    /// Number of cache lines that both contain (Fig. 3.9).
    pub fn overlap(&self, other: &Self) -> u64 {
        let (wide, high) = self.common(other);
        wide.max(0) as u64 * high.max(0) as u64
    }

    /// Number of cache lines in the rectangle.
    pub fn area(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }

    /// Number of columns and of rows that both have. A negative number is the distance between
    /// them.
    fn common(&self, other: &Self) -> (i64, i64) {
        let wide = self.right().min(other.right()) - i64::from(self.x.max(other.x));
        let high = self.bottom().min(other.bottom()) - i64::from(self.y.max(other.y));
        (wide, high)
    }

    fn right(&self) -> i64 {
        i64::from(self.x) + i64::from(self.width)
    }

    fn bottom(&self) -> i64 {
        i64::from(self.y) + i64::from(self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect {
            x,
            y,
            width,
            height,
        }
    }

    /// The thesis's area for rectangles of one size: (width - distance x) (height - distance y).
    #[test]
    fn overlap_is_figure_3_9s_area() {
        let at = rect(2, 3, 4, 5);
        assert_eq!(at.overlap(&rect(3, 5, 4, 5)), (4 - 1) * (5 - 2));
        assert_eq!(at.overlap(&rect(3, 1, 4, 5)), (4 - 1) * (5 - 2));
        assert_eq!(at.overlap(&at), at.area());
        assert_eq!(at.overlap(&rect(6, 3, 4, 5)), 0, "side by side");
        assert_eq!(at.overlap(&rect(2, 9, 4, 5)), 0, "one row between");
    }

    #[test]
    fn hull_holds_both() {
        let hull = rect(-1, 0, 2, 1).hull(rect(4, 3, 1, 2));
        assert_eq!(hull, rect(-1, 0, 6, 5));
    }
}
