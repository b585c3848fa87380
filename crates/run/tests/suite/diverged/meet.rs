//! Results of warp operations for lanes that execute them together: the PTX ISA's definitions, lane
//! by lane, over the lanes that the own mask names.

use crate::diverged::code::{Form, Redux, Shfl};

/// Operands of a lane.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    pub lane: u32,
    pub mask: u32,
    pub a: u32,
    pub q: bool,
    pub b: u32,
    pub c: u32,
}

impl Given {
    /// True if the lane waits for the other.
    pub fn names(&self, other: &Self) -> bool {
        self.mask >> other.lane & 1 == 1
    }
}

/// Results of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Taken {
    pub word: Option<u32>,
    pub pred: Option<bool>,
}

/// Results for `lane`, given the lanes that take part. `poison` is the value of a lane that does
/// not.
pub fn result(form: Form, lane: &Given, all: &[Given], poison: u32) -> Taken {
    let named: Vec<&Given> = all.iter().filter(|other| lane.names(other)).collect();
    let bits = |holds: &dyn Fn(&Given) -> bool| -> u32 {
        let lanes = named.iter().filter(|other| holds(other));
        lanes.fold(0, |mask, other| mask | 1 << other.lane)
    };
    match form {
        Form::Shfl(how) => shuffle(how, lane, all, poison),
        Form::VoteAll => pred(named.iter().all(|other| other.q)),
        Form::VoteAny => pred(named.iter().any(|other| other.q)),
        Form::VoteUni => pred(named.iter().all(|other| other.q == named[0].q)),
        Form::Ballot => word(bits(&|other| other.q)),
        Form::MatchAny => word(bits(&|other| other.a == lane.a)),
        Form::MatchAll => {
            let alike = named.iter().all(|other| other.a == named[0].a);
            both(if alike { bits(&|_| true) } else { 0 }, alike)
        }
        Form::Redux(what) => {
            let values = named.iter().map(|other| other.a);
            word(values.reduce(|x, y| reduce(what, x, y)).unwrap_or(poison))
        }
        // The ISA does not define which lane is elected; it is the same for all. This takes the
        // lowest.
        Form::Elect => {
            let leader = named.iter().map(|other| other.lane).min();
            both(leader.unwrap_or(poison), leader == Some(lane.lane))
        }
        Form::WarpSync => Taken::default(),
    }
}

fn word(value: u32) -> Taken {
    let (word, pred) = (Some(value), None);
    Taken { word, pred }
}

fn pred(value: bool) -> Taken {
    let (word, pred) = (None, Some(value));
    Taken { word, pred }
}

fn both(word: u32, pred: bool) -> Taken {
    let (word, pred) = (Some(word), Some(pred));
    Taken { word, pred }
}

fn reduce(what: Redux, x: u32, y: u32) -> u32 {
    match what {
        Redux::Add => x.wrapping_add(y),
        Redux::MinU => x.min(y),
        Redux::MaxS => (x as i32).max(y as i32) as u32,
        Redux::And => x & y,
        Redux::Or => x | y,
        Redux::Xor => x ^ y,
    }
}

/// The pseudocode of `shfl.sync` in the PTX ISA.
fn shuffle(how: Shfl, lane: &Given, all: &[Given], poison: u32) -> Taken {
    let own = lane.lane as i32;
    let (bval, cval, segment) = (lane.b & 31, lane.c & 31, lane.c >> 8 & 31);
    let most = ((lane.lane & segment) | (cval & !segment)) as i32;
    let least = lane.lane & segment;
    let (from, is_inside) = match how {
        Shfl::Up => (own - bval as i32, own - bval as i32 >= most),
        Shfl::Down => (own + bval as i32, own + bval as i32 <= most),
        Shfl::Bfly => (own ^ bval as i32, (own ^ bval as i32) <= most),
        Shfl::Idx => {
            let from = (least | (bval & !segment)) as i32;
            (from, from <= most)
        }
    };
    let from = if is_inside { from } else { own };
    let source = all.iter().find(|other| other.lane as i32 == from);
    both(source.map_or(poison, |other| other.a), is_inside)
}
