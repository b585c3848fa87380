//! An L2 in two halves.

use super::{ROP, reply_at};
use crate::Request;
use crate::partition::SubPartition;
use crate::testing::{fermi_spec, read};
use proptest::prelude::*;
use warploom_base::{Cycle, SmId, SubPartitionId};
use warploom_config::GpuSpec;

const FAR: u32 = 30;

/// Four SMs in two GPCs, and L2 banks of which the first half is near to SMs 0 and 1.
fn halves() -> GpuSpec {
    let mut spec = fermi_spec();
    (spec.gpu.sms, spec.gpu.gpcs) = (4, 2);
    spec.partition.far_cycles = FAR;
    spec
}

fn bank(spec: &GpuSpec, number: u16) -> SubPartition {
    SubPartition::new(spec, SubPartitionId(number), ROP)
}

fn of(sm: u16, addr: u64) -> Request {
    Request {
        sm: SmId(sm),
        ..read(addr, 32)
    }
}

#[test]
fn a_request_of_the_other_half_comes_later() {
    let spec = halves();
    let last = (spec.gpu.channels * spec.gpu.sub_partitions_per_channel - 1) as u16;
    for (number, near, far) in [(0, 1, 2), (last, 2, 1)] {
        let mut sub = bank(&spec, number);
        sub.push(100, &of(near, 0));
        assert_eq!(sub.next_event(100), Some(120));
        assert_eq!(reply_at(&mut sub, 100, 300).map(|r| r.0), Some(124));
        // A hit is answered by the look-up, one cycle after the delays of 30 and 20.
        sub.push(200, &of(far, 0));
        assert_eq!(sub.next_event(200), Some(250));
        assert!(!sub.is_idle());
        assert_eq!(reply_at(&mut sub, 200, 251).map(|r| r.0), None);
        assert_eq!(reply_at(&mut sub, 251, 300).map(|r| r.0), Some(251));
        assert!(sub.is_idle());
        assert_eq!((sub.counters().packets, sub.counters().far_packets), (2, 1));
    }
}

/// A packet that crosses from cycle 100 to 130 enters the fixed delay after one that comes in cycle
/// 129, and before one that comes in 130.
#[test]
fn packets_enter_the_delay_as_they_come() {
    let mut sub = bank(&halves(), 0);
    sub.push(100, &of(3, 0));
    sub.push(129, &of(0, 32));
    sub.push(130, &of(1, 64));
    let replies: Vec<_> =
        std::iter::from_fn(|| reply_at(&mut sub, 130, 300).map(|r| r.1.addr)).collect();
    assert_eq!(replies, [32, 0, 64]);
}

/// Addresses and cycles of the replies of a bank whose packets are handed over up to `lead` cycles
/// after they came.
fn replies(spec: &GpuSpec, packets: &[(Cycle, Request)], lead: Cycle) -> Vec<(Cycle, u64)> {
    let mut sub = bank(spec, 0);
    let mut left = packets.iter().peekable();
    let mut replies = Vec::new();
    for now in 0..2_000 {
        let given_until = match lead {
            0 => now,
            _ => now / lead * lead,
        };
        while let Some((at, packet)) = left.next_if(|(at, _)| *at < given_until) {
            sub.push(*at, packet);
        }
        let reply = reply_at(&mut sub, now, now + 1);
        replies.extend(reply.map(|(at, reply)| (at, reply.addr)));
    }
    assert!(left.peek().is_none() && sub.is_idle());
    replies
}

proptest! {
    /// As long as packets are handed over within the fixed delay, as windows do.
    #[test]
    fn a_bank_may_run_ahead_of_its_packets(
        steps in prop::collection::vec((0..9_u64, 0..4_u16, 0..64_u64), 1..100)
    ) {
        let mut at = 0;
        let packets: Vec<_> = steps
            .iter()
            .map(|(wait, sm, line)| {
                at += wait;
                (at, of(*sm, line * 128))
            })
            .collect();
        let spec = halves();
        let expected = replies(&spec, &packets, 0);
        prop_assert_eq!(expected.len(), packets.len());
        for lead in [7, ROP.into()] {
            prop_assert_eq!(&replies(&spec, &packets, lead), &expected);
        }
    }
}
