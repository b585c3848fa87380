//! Tests of saved and restored values, of refused state and of damaged bytes.

use crate::{Io, State, StateError, Value};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Debug, PartialEq, Value)]
enum Step {
    Rest,
    Runs { to: u64, by: Option<u16> },
    Waits(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Value)]
struct Entry<T>(T, bool);

#[derive(State)]
struct Machine {
    #[state(fixed)]
    name: &'static str,
    #[state(scratch)]
    turns: Vec<&'static str>,
    now: u64,
    steps: VecDeque<Step>,
    #[state(each)]
    banks: Vec<Bank>,
    names: BTreeMap<u8, Entry<i32>>,
    lanes: [[u16; 2]; 3],
    open: Box<[(u128, f64)]>,
    policy: Policy,
}

#[derive(State)]
struct Bank {
    #[state(fixed)]
    ways: usize,
    rows: Box<u32>,
}

#[derive(State)]
enum Policy {
    Oldest,
    Limit(u32),
}

fn machine(banks: usize, policy: Policy) -> Machine {
    let bank = || Bank {
        ways: 4,
        rows: Box::new(0),
    };
    Machine {
        name: "own",
        turns: Vec::new(),
        now: 0,
        steps: VecDeque::new(),
        banks: (0..banks).map(|_| bank()).collect(),
        names: BTreeMap::new(),
        lanes: [[0; 2]; 3],
        open: Box::default(),
        policy,
    }
}

fn busy() -> Machine {
    let mut machine = machine(2, Policy::Limit(7));
    machine.turns.push("not saved");
    machine.now = u64::MAX - 3;
    let runs = Step::Runs { to: 9, by: Some(3) };
    let waits = Step::Waits(vec!["bar".into(), String::new()]);
    machine.steps = [runs, Step::Rest, waits].into();
    *machine.banks[1].rows = 11;
    machine.names.insert(5, Entry(-4, true));
    machine.lanes[2][1] = 0xabcd;
    machine.open = vec![(1 << 100, -0.0)].into();
    machine
}

fn saved(state: &mut impl State) -> Vec<u8> {
    let mut io = Io::save();
    state.state(&mut io).expect("saving cannot fail");
    io.into_bytes()
}

fn restored(state: &mut impl State, bytes: &[u8]) -> Result<(), StateError> {
    let mut io = Io::restore(bytes);
    state.state(&mut io)?;
    io.end()
}

#[test]
fn all_but_the_marked_fields_come_back() {
    let mut before = busy();
    let bytes = saved(&mut before);
    let mut after = machine(2, Policy::Limit(0));
    after.name = "another";
    after.banks[0].ways = 8;
    after.steps = [Step::Rest, Step::Rest].into();
    assert_eq!(restored(&mut after, &bytes), Ok(()));
    assert_eq!((after.name, after.banks[0].ways), ("another", 8));
    assert!(after.turns.is_empty());
    assert_eq!((after.now, &after.steps), (before.now, &before.steps));
    assert_eq!((*after.banks[1].rows, &after.names), (11, &before.names));
    assert_eq!(after.lanes, before.lanes);
    assert_eq!(after.open[0].1.to_bits(), (-0.0_f64).to_bits());
    assert_eq!(saved(&mut after), bytes);
}

#[test]
fn state_of_another_machine_is_refused() {
    let bytes = saved(&mut busy());
    let restore = |mut into: Machine| restored(&mut into, &bytes);
    let shape = StateError::Shape { own: 3, saved: 2 };
    assert_eq!(restore(machine(3, Policy::Limit(0))), Err(shape));
    let variant = StateError::Variant("Policy");
    assert_eq!(restore(machine(2, Policy::Oldest)), Err(variant));
}

/// No byte sequence is too short, too long or too wrong: each gives state or an error.
#[test]
fn damaged_bytes_never_panic() {
    let bytes = saved(&mut busy());
    let restore = |bytes: &[u8]| restored(&mut machine(2, Policy::Limit(0)), bytes);
    for end in 0..bytes.len() {
        assert!(restore(&bytes[..end]).is_err(), "cut at {end}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(restore(&longer), Err(StateError::Left(1)));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << bit;
            let _ = restore(&wrong);
        }
    }
}

#[test]
fn a_list_longer_than_its_bytes_is_not_allocated() {
    let bytes = saved(&mut vec![0_u8; 4]);
    let mut long = bytes.clone();
    long[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let into = &mut Vec::<[u64; 32]>::new();
    assert_eq!(restored(into, &long), Err(StateError::Long(u64::MAX)));
    assert_eq!(restored(into, &bytes), Err(StateError::Short));
    assert!(into.capacity() <= 4);
}

#[test]
fn another_policy_begins_anew_in_a_fork_only() {
    let save = |own: &'static str, mut state: (u64, u8)| {
        let mut io = Io::save();
        assert_eq!(io.part(own, |io| state.0.state(io)), Ok(true));
        state.1.state(&mut io).expect("saving cannot fail");
        io.into_bytes()
    };
    let restore = |mut io: Io<'_>| {
        let mut state = (7_u64, 0_u8);
        let kept = io.part("gto", |io| state.0.state(io))?;
        state.1.state(&mut io)?;
        io.end()?;
        Ok((kept, state))
    };
    let (same, other) = (save("gto", (3, 4)), save("lrr", (3, 4)));
    assert_eq!(restore(Io::restore(&same)), Ok((true, (3, 4))));
    assert_eq!(restore(Io::fork(&same)), Ok((true, (3, 4))));
    assert_eq!(restore(Io::fork(&other)), Ok((false, (7, 4))));
    let refused = StateError::Policy { own: "gto" };
    assert_eq!(restore(Io::restore(&other)), Err(refused));
}
