//! Tracks of storms: places a few hours apart, each near the previous one.

use warploom_base::Rng;

/// Number of places of one storm.
const TRACK: usize = 24;

/// Alternating latitudes and longitudes in degrees with one decimal, as in the benchmark's records.
pub(super) fn places(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let mut places = Vec::with_capacity(2 * count);
    let (mut latitude, mut longitude) = (0.0, 0.0);
    for at in 0..count {
        if at % TRACK == 0 {
            latitude = 7.0 + 20.0 * rng.unit_f32();
            longitude = 20.0 + 80.0 * rng.unit_f32();
        } else {
            latitude = (latitude + 1.2 * rng.unit_f32()).min(70.0);
            longitude = (longitude + 2.0 * rng.unit_f32() - 0.6).min(150.0);
        }
        places.extend([latitude, longitude].map(|degrees: f32| (degrees * 10.0).round() / 10.0));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_track_are_near_each_other() {
        let places = places(1000, 3);
        let places: Vec<_> = places.chunks_exact(2).collect();
        for track in places.chunks(TRACK) {
            for pair in track.windows(2) {
                assert!((pair[1][0] - pair[0][0]).abs() <= 1.4, "{pair:?}");
                assert!((pair[1][1] - pair[0][1]).abs() <= 1.6, "{pair:?}");
            }
        }
    }
}
