//! A mesh of tetrahedra around a body: a box of cubes, each cut into six along its diagonal (Kuhn),
//! corners moved at random, cells numbered along a space-filling curve with some disorder, as mesh
//! generators leave them.

use warploom_base::Rng;

pub(super) const FACES: usize = 4;
pub(super) const WALL: i32 = -1;
pub(super) const FAR_FIELD: i32 = -2;

/// Tetrahedra of a cube: the order of axes in which an edge path runs from its corner 0 to corner
/// 7.
const PATHS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];
/// How far a cell's number may be from its place on the curve.
const DISORDER: u32 = 256;
/// How far corners move, in sides of a cube.
const JITTER: f64 = 0.2;

pub(super) struct Mesh {
    /// Cells, repetitions of the last included.
    pub(super) cells: usize,
    /// By face, then by cell: a cell, [`WALL`] or [`FAR_FIELD`].
    pub(super) neighbours: Vec<i32>,
    /// Outward normals as long as the faces are large: by component, face and cell.
    pub(super) normals: Vec<f32>,
}

/// A tetrahedron: its cube's place, and its path.
#[derive(Clone, Copy)]
struct Cell {
    cube: [usize; 3],
    path: usize,
}

/// Cubes along each axis, and which of them are fluid.
struct Box3 {
    side: usize,
}

impl Box3 {
    /// The smallest box whose fluid holds `cells` tetrahedra.
    fn holding(cells: usize) -> Self {
        let mut side = 4;
        while cells > 6 * (Self { side }).fluid().count() {
            side += 1;
        }
        Self { side }
    }

    /// Outside the body: an ellipsoid in the middle, longest along the flow.
    fn is_fluid(&self, cube: [usize; 3]) -> bool {
        let [x, y, z] = cube.map(|at| (2 * at + 1) as f64 / self.side as f64 - 1.0);
        (x / 0.5).powi(2) + (y / 0.15).powi(2) + (z / 0.15).powi(2) > 1.0
    }

    /// Fluid cubes along a Z-order curve.
    fn fluid(&self) -> impl Iterator<Item = [usize; 3]> {
        let bits = usize::BITS - (self.side - 1).leading_zeros();
        let places = (0..1_usize << (3 * bits)).map(move |code| {
            [0, 1, 2]
                .map(|axis| (0..bits).fold(0, |at, bit| at | (code >> (3 * bit + axis) & 1) << bit))
        });
        let inside = places.filter(|cube| cube.iter().all(|&at| at < self.side));
        inside.filter(|cube| self.is_fluid(*cube))
    }

    /// Number of a tetrahedron among all of the box.
    fn index(&self, cell: Cell) -> usize {
        let [x, y, z] = cell.cube;
        ((z * self.side + y) * self.side + x) * PATHS.len() + cell.path
    }

    /// The cell beyond the face opposite a corner, or what the boundary is.
    fn beyond(&self, cell: Cell, corner: usize) -> Result<Cell, i32> {
        let [a, b, c] = PATHS[cell.path];
        let path = |wanted: [usize; 3]| PATHS.iter().position(|path| *path == wanted).unwrap_or(0);
        let mut cube = cell.cube;
        let path = match corner {
            // Two inner faces: the path that takes two steps in the other order.
            1 => {
                return Ok(Cell {
                    path: path([b, a, c]),
                    ..cell
                });
            }
            2 => {
                return Ok(Cell {
                    path: path([a, c, b]),
                    ..cell
                });
            }
            0 => {
                cube[a] += 1;
                path([b, c, a])
            }
            _ => {
                cube[c] = cube[c].wrapping_sub(1);
                path([c, a, b])
            }
        };
        if cube.iter().any(|&at| at >= self.side) {
            return Err(FAR_FIELD);
        }
        let beyond = Cell { cube, path };
        if self.is_fluid(cube) {
            Ok(beyond)
        } else {
            Err(WALL)
        }
    }
}

/// The corners of a tetrahedron, in steps from the box's origin.
fn corners(cell: Cell) -> [[usize; 3]; 4] {
    let mut corners = [cell.cube; 4];
    for (step, &axis) in PATHS[cell.path].iter().enumerate() {
        corners[step + 1..]
            .iter_mut()
            .for_each(|corner| corner[axis] += 1);
    }
    corners
}

/// Where a corner has moved: the same for all cells around it.
fn place(corner: [usize; 3], side: usize, seed: u64) -> [f64; 3] {
    let number = (corner[2] * (side + 1) + corner[1]) * (side + 1) + corner[0];
    let mut rng = Rng::new(seed ^ (number as u64) << 20);
    corner.map(|at| (at as f64 + JITTER * (rng.unit_f64() - 0.5)) / side as f64)
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Half the cross product of two edges, away from the opposite corner.
fn outward(corners: [[f64; 3]; 4], opposite: usize) -> [f64; 3] {
    let [a, b, c] = [1, 2, 3].map(|step| corners[(opposite + step) % 4]);
    let (u, v) = (minus(b, a), minus(c, a));
    let cross = [
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    ];
    let away = dot(cross, minus(a, corners[opposite]));
    cross.map(|component| 0.5 * component * away.signum())
}

impl Mesh {
    /// A mesh of `cells` cells, the last repeated until there are `padded`.
    pub(super) fn generate(cells: usize, padded: usize, seed: u64) -> Self {
        let all = Box3::holding(cells);
        let mut rng = Rng::new(seed);
        let along_curve = all
            .fluid()
            .flat_map(|cube| (0..6).map(move |path| Cell { cube, path }));
        let mut order: Vec<(u32, Cell)> = (0_u32..)
            .zip(along_curve.take(cells))
            .map(|(at, cell)| (at + rng.below(DISORDER), cell))
            .collect();
        order.sort_by_key(|(at, _)| *at);
        let mut numbers = vec![None; all.side.pow(3) * PATHS.len()];
        for (number, (_, cell)) in (0..).zip(&order) {
            numbers[all.index(*cell)] = Some(number);
        }
        let mut mesh = Self {
            cells: padded,
            neighbours: vec![0; FACES * padded],
            normals: vec![0.0; 3 * FACES * padded],
        };
        for at in 0..padded {
            let cell = order[at.min(cells - 1)].1;
            let places = corners(cell).map(|corner| place(corner, all.side, seed));
            for face in 0..FACES {
                // Cells that were left out lie beyond the far field.
                let number = |cell| numbers[all.index(cell)].unwrap_or(FAR_FIELD);
                let neighbour = all.beyond(cell, face).map_or_else(|edge| edge, number);
                mesh.neighbours[face * padded + at] = neighbour;
                for (axis, component) in outward(places, face).into_iter().enumerate() {
                    mesh.normals[(axis * FACES + face) * padded + at] = component as f32;
                }
            }
        }
        mesh
    }

    /// Normal of a cell's face.
    pub(super) fn normal(&self, cell: usize, face: usize) -> [f32; 3] {
        [0, 1, 2].map(|axis| self.normals[(axis * FACES + face) * self.cells + cell])
    }

    pub(super) fn neighbour(&self, cell: usize, face: usize) -> i32 {
        self.neighbours[face * self.cells + cell]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faces(mesh: &Mesh) -> impl Iterator<Item = (usize, usize, i32)> {
        let all = (0..mesh.cells).flat_map(|cell| (0..FACES).map(move |face| (cell, face)));
        all.map(|(cell, face)| (cell, face, mesh.neighbour(cell, face)))
    }

    #[test]
    fn neighbours_are_mutual_and_share_a_face() {
        let mesh = Mesh::generate(3000, 3000, 1);
        for (cell, face, neighbour) in faces(&mesh).filter(|(_, _, neighbour)| *neighbour >= 0) {
            let back =
                (0..FACES).find(|&back| mesh.neighbour(neighbour as usize, back) == cell as i32);
            let (own, other) = (
                mesh.normal(cell, face),
                mesh.normal(neighbour as usize, back.unwrap()),
            );
            for (own, other) in own.iter().zip(other) {
                assert!((own + other).abs() < 1e-6, "cell {cell}, face {face}");
            }
        }
    }

    #[test]
    fn cells_are_closed() {
        let mesh = Mesh::generate(1000, 1000, 2);
        for cell in 0..1000 {
            for axis in 0..3 {
                let sum: f32 = (0..FACES).map(|face| mesh.normal(cell, face)[axis]).sum();
                assert!(sum.abs() < 1e-6, "cell {cell}");
            }
        }
    }

    #[test]
    fn there_is_a_body_a_far_field_and_locality() {
        let mesh = Mesh::generate(20_000, 20_160, 3);
        let count = |kind: i32| faces(&mesh).filter(|(_, _, n)| *n == kind).count();
        assert!(count(WALL) > 50 && count(FAR_FIELD) > 500);
        let near = faces(&mesh)
            .filter(|(cell, _, n)| (*cell as i32 - n).abs() < 512)
            .count();
        assert!(near > FACES * mesh.cells / 2, "{near}");
        // Padding repeats the last cell.
        assert_eq!(mesh.neighbour(20_159, 2), mesh.neighbour(19_999, 2));
    }
}
