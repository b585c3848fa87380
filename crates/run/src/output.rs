//! Outputs of a run, and which of their elements it computed.

use std::ops::Range;

/// Elements of an output. After a run that was cut, only elements that its blocks wrote are
/// computed; the others have their previous values.
#[derive(Clone, Debug)]
pub struct Output<T> {
    values: Vec<T>,
    /// Whether each element is computed. Without it, all elements are.
    computed: Option<Vec<bool>>,
}

impl<T> Output<T> {
    pub(crate) fn partial(values: Vec<T>, computed: Vec<bool>) -> Self {
        let computed = Some(computed);
        Self { values, computed }
    }

    /// Values of all elements, computed or not.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// True if the element at this index, which must exist, was computed.
    pub fn is_computed(&self, at: usize) -> bool {
        self.computed.as_ref().is_none_or(|computed| computed[at])
    }

    /// True if any of these elements, which must exist, was computed.
    pub fn has_computed(&self, mut places: Range<usize>) -> bool {
        places.any(|at| self.is_computed(at))
    }

    /// Combines elements that all blocks contribute to, such as a total. After a run that was cut,
    /// no element of the result is computed.
    pub fn combine<U>(self, make: impl FnOnce(Vec<T>) -> Vec<U>) -> Output<U> {
        let values = make(self.values);
        let computed = self.computed.map(|_| vec![false; values.len()]);
        Output { values, computed }
    }
}

impl<T: Copy> Output<T> {
    /// Elements at these indices, which must exist.
    pub fn pick(&self, places: &[usize]) -> Self {
        let computed = self.computed.as_ref();
        Self {
            values: places.iter().map(|at| self.values[*at]).collect(),
            computed: computed.map(|all| places.iter().map(|at| all[*at]).collect()),
        }
    }
}

impl<T> From<Vec<T>> for Output<T> {
    fn from(values: Vec<T>) -> Self {
        let computed = None;
        Self { values, computed }
    }
}

#[cfg(test)]
mod tests {
    use super::Output;

    #[test]
    fn a_combination_needs_all_blocks() {
        let sum = |output: Output<u32>| output.combine(|all| vec![all.iter().sum::<u32>()]);
        let part = Output::partial(vec![1, 2], vec![true, false]);
        assert_eq!(sum(Output::from(vec![1, 2])).values(), [3]);
        assert!(sum(Output::from(vec![1, 2])).is_computed(0));
        assert!(part.is_computed(0) && !part.is_computed(1));
        assert!(!sum(part).is_computed(0));
    }

    #[test]
    fn picked_elements_are_computed_as_before() {
        let part = Output::partial(vec![1, 2, 3], vec![true, false, true]);
        let picked = part.pick(&[2, 1]);
        assert_eq!(picked.values(), [3, 2]);
        assert!(picked.is_computed(0) && !picked.is_computed(1));
    }
}
