//! Rectangles of cache lines: what a block touches of an array (thesis, 3.3.1).

/// A stretch of columns and rows of an array, in units of cache lines and of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rect {
    /// First line in a row.
    pub x: i64,
    /// First row.
    pub y: i64,
    /// Lines.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

impl Rect {
    /// One line.
    pub fn line(x: i64, y: i64) -> Self {
        Self {
            x,
            y,
            width: 1,
            height: 1,
        }
    }

    /// The smallest rectangle that holds both.
    pub fn hull(self, other: Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let right = self.right().max(other.right());
        let bottom = self.bottom().max(other.bottom());
        Self {
            x,
            y,
            width: (right - x) as u64,
            height: (bottom - y) as u64,
        }
    }

    /// Lines that both touch (Fig. 3.9).
    pub fn overlap(&self, other: &Self) -> u64 {
        let wide = self.right().min(other.right()) - self.x.max(other.x);
        let high = self.bottom().min(other.bottom()) - self.y.max(other.y);
        wide.max(0) as u64 * high.max(0) as u64
    }

    /// Lines that it holds.
    pub fn area(&self) -> u64 {
        self.width * self.height
    }

    fn right(&self) -> i64 {
        self.x + self.width as i64
    }

    fn bottom(&self) -> i64 {
        self.y + self.height as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: i64, y: i64, width: u64, height: u64) -> Rect {
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
