//! Places of short labels beside the dots of a picture. No label covers another one; none covers a
//! dot or the line of another label while there is room elsewhere.

/// Distance between the places that are tried, in pixels.
const STEP: i32 = 4;
/// Largest number of steps between a dot and its label in each direction.
const STEPS: i32 = 30;
/// Distance in pixels between dot and label above which a line connects them.
const NEAR: i32 = 4;

/// A point in pixels.
pub(super) type Point = (i32, i32);

/// A rectangle: left, top, right, bottom.
type Edges = [i32; 4];

/// A dot, and the size of its label in pixels if it has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dot {
    pub at: Point,
    pub radius: i32,
    pub label: Option<(i32, i32)>,
}

/// Place of a label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Label {
    /// Centre of the label.
    pub at: Point,
    /// Ends of the line from its dot, if it lies farther away.
    pub line: Option<[Point; 2]>,
}

/// Places of the labels of all dots that have one, inside of the edges `within`.
pub(super) fn places(dots: &[Dot], within: Edges) -> Vec<Label> {
    let mut offsets: Vec<Point> = (-STEPS..=STEPS)
        .flat_map(|x| (-STEPS..=STEPS).map(move |y| (x * STEP, y * STEP)))
        .collect();
    // The nearest first, and of these the highest.
    offsets.sort_by_key(|(x, y)| (x * x + y * y, *y, x.abs(), *x));
    let mut placed: Vec<(Edges, Label)> = Vec::new();
    for dot in dots {
        let Some(size) = dot.label else { continue };
        let candidates = offsets.iter().map(|(x, y)| candidate(dot, size, (*x, *y)));
        let inside = candidates.filter(|(edges, _)| contains(within, *edges));
        let inside: Vec<_> = inside.collect();
        let of_labels = |edges: Edges| placed.iter().any(|(other, _)| overlap(edges, *other));
        let of_dots = |edges: Edges| {
            let mut dots = dots
                .iter()
                .map(|dot| around(dot.at, (dot.radius, dot.radius)));
            dots.any(|dot| overlap(edges, dot))
        };
        let of_lines = |(edges, label): &(Edges, Label)| {
            let mut others = placed.iter();
            others.any(|(own, other)| crosses(other, *edges) || crosses(label, *own))
        };
        let free = |place: &&(Edges, Label)| !of_labels(place.0);
        let beside = |place: &&(Edges, Label)| free(place) && !of_dots(place.0);
        let alone = inside
            .iter()
            .find(|place| beside(place) && !of_lines(place));
        let any = || inside.iter().find(free).or(inside.first());
        let best = alone.or_else(|| inside.iter().find(beside)).or_else(any);
        let last = candidate(dot, size, (0, 0));
        let place = best.copied().unwrap_or(last);
        placed.push(place);
    }
    placed.into_iter().map(|(_, label)| label).collect()
}

/// A label of a size at an offset from its dot.
fn candidate(dot: &Dot, (width, height): (i32, i32), (x, y): Point) -> (Edges, Label) {
    let at = (dot.at.0 + x, dot.at.1 + y);
    let edges = around(at, ((width + 1) / 2 + 1, (height + 1) / 2));
    let end = (
        dot.at.0.clamp(edges[0], edges[2]),
        dot.at.1.clamp(edges[1], edges[3]),
    );
    let (far_x, far_y) = (end.0 - dot.at.0, end.1 - dot.at.1);
    let reach = dot.radius + NEAR;
    let is_far = far_x * far_x + far_y * far_y > reach * reach;
    let line = is_far.then_some([dot.at, end]);
    (edges, Label { at, line })
}

/// The rectangle around a point with half of its extents.
fn around((x, y): Point, (half_width, half_height): (i32, i32)) -> Edges {
    [
        x - half_width,
        y - half_height,
        x + half_width,
        y + half_height,
    ]
}

fn overlap(a: Edges, b: Edges) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn contains(outer: Edges, inner: Edges) -> bool {
    outer[0] <= inner[0] && outer[1] <= inner[1] && inner[2] <= outer[2] && inner[3] <= outer[3]
}

/// True if the line of a label passes through a rectangle.
fn crosses(label: &Label, edges: Edges) -> bool {
    let Some([from, to]) = label.line else {
        return false;
    };
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let steps = x.abs().max(y.abs()).max(1);
    let point = |step: i32| (from.0 + x * step / steps, from.1 + y * step / steps);
    (0..=steps)
        .map(point)
        .any(|at| overlap(edges, around(at, (1, 1))))
}

#[cfg(test)]
mod tests {
    use super::{Dot, Point, around, overlap, places};

    const WITHIN: [i32; 4] = [0, 0, 480, 480];

    fn labelled(at: Point) -> Dot {
        Dot {
            at,
            radius: 6,
            label: Some((14, 10)),
        }
    }

    #[test]
    fn a_lonely_label_stands_just_above_its_dot() {
        let [only] = places(&[labelled((100, 100))], WITHIN)[..] else {
            panic!("one label")
        };
        assert!(
            only.at.0 == 100 && (80..94).contains(&only.at.1),
            "{only:?}"
        );
        assert_eq!(only.line, None);
        // At the upper edge there is room below.
        let below = places(&[labelled((100, 4))], WITHIN)[0];
        assert!(below.at.1 > 4, "{below:?}");
    }

    /// Thirty dots at almost the same place: no label covers a label or a dot.
    #[test]
    fn labels_of_a_crowd_are_apart() {
        let dots: Vec<Dot> = (0..30)
            .map(|n| labelled((240 + n % 6, 240 + n / 6)))
            .collect();
        let labels = places(&dots, WITHIN);
        let boxes: Vec<_> = labels
            .iter()
            .map(|label| around(label.at, (7, 5)))
            .collect();
        for (n, edges) in boxes.iter().enumerate() {
            assert!(
                !boxes[n + 1..].iter().any(|other| overlap(*edges, *other)),
                "{n}"
            );
            assert!(
                !dots
                    .iter()
                    .any(|dot| overlap(*edges, around(dot.at, (6, 6)))),
                "{n}"
            );
        }
        assert!(labels.iter().any(|label| label.line.is_some()));
        assert_eq!(places(&[], WITHIN), []);
    }
}
