//! Descriptions of addresses outside of every allocation, for the messages of faults.

use super::address_space::Names;
use super::{ALLOC_ALIGN, Allocation, DeviceMemory};
use warploom_ir::GLOBAL_BASE;

impl DeviceMemory {
    /// Gives the allocation at an address the name that messages use.
    pub fn name(&mut self, asid: u8, base: u64, name: &str) {
        self.space_mut(asid).names.insert(base, name.to_owned());
    }

    /// Describes an address by the allocation that contains it, or by the last live one before it,
    /// because most accesses outside of a buffer run over its end. The next one is named, too, if
    /// it is nearer, and so is an earlier one whose overrun would not have been noticed until here.
    pub fn nearest(&self, asid: u8, address: u64) -> String {
        let Some(space) = self.spaces.get(usize::from(asid)) else {
            return NOTHING.to_owned();
        };
        let all = &space.allocations;
        match address < GLOBAL_BASE {
            true => {
                let nearest = all.iter().min_by_key(|a| distance(a, address));
                nearest.map_or(NOTHING.to_owned(), |a| position(a, address, &space.names))
            }
            false => {
                let first = all.partition_point(|a| a.base < GLOBAL_BASE);
                around(&all[first..], address, &space.names)
            }
        }
    }
}

const NOTHING: &str = "nothing is allocated";

/// Describes an address by the allocations around it, which are sorted by address.
fn around(all: &[Allocation], address: u64, names: &Names) -> String {
    let (before, after) = all.split_at(all.partition_point(|a| a.base <= address));
    let holds = |a: &&Allocation| address - a.base < a.bytes;
    let live = || before.iter().rposition(|a| a.live);
    let at = match before.last().filter(holds) {
        Some(_) => before.len().checked_sub(1),
        None => live().or(before.len().checked_sub(1)),
    };
    let Some(at) = at else {
        return after
            .first()
            .map_or(NOTHING.to_owned(), |a| position(a, address, names));
    };
    let nearest = &before[at];
    let mut text = position(nearest, address, names);
    if holds(&nearest) {
        return text;
    }
    let over = address - nearest.base - nearest.bytes;
    if let Some(next) = after.first().filter(|next| next.base - address <= over) {
        text += &format!(", {}", position(next, address, names));
    }
    let touches = |a: &&Allocation| a.live && nearest.base - a.base - a.bytes < ALLOC_ALIGN;
    let earlier = before[..at].last().filter(touches);
    if let Some(earlier) = earlier.filter(|a| over < a.bytes) {
        let earlier = described(earlier, names);
        text += &format!("; an overrun of {earlier}, which lies before that, also comes here");
    }
    text
}

/// Number of bytes between an address and an allocation.
fn distance(a: &Allocation, address: u64) -> u64 {
    match address < a.base {
        true => a.base - address,
        false => address.saturating_sub(a.base + a.bytes.saturating_sub(1)),
    }
}

/// Describes the position of an address relative to an allocation.
fn position(a: &Allocation, address: u64, names: &Names) -> String {
    let place = if address < a.base {
        format!("{} bytes before", a.base - address)
    } else if address - a.base < a.bytes {
        format!("{} bytes into", address - a.base)
    } else {
        format!("{} bytes after the end of", address - a.base - a.bytes)
    };
    format!("{place} {}", described(a, names))
}

/// Describes an allocation, with its name if it has one.
fn described(a: &Allocation, names: &Names) -> String {
    let state = if a.live { "live" } else { "freed" };
    let (bytes, base) = (a.bytes, a.base);
    match names.get(&base) {
        Some(name) => format!("`{name}`, the {state} allocation of {bytes} bytes at {base:#x}"),
        None => format!("the {state} allocation of {bytes} bytes at {base:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceMemory;
    use crate::memory::device::AccessCheck;
    use warploom_ir::GLOBAL_BASE;

    /// Buffers of 64,000 bytes (`in`), 256 bytes (`out`) and 100 bytes.
    #[test]
    fn a_fault_names_the_buffers_that_were_probably_overrun() {
        let mut memory = DeviceMemory::new(1 << 24);
        for (bytes, name) in [(64_000, Some("in")), (256, Some("out")), (100, None)] {
            let base = memory.alloc(0, bytes).expect("room");
            if let Some(name) = name {
                memory.name(0, base, name);
            }
        }
        let told = |offset: u64| memory.nearest(0, GLOBAL_BASE + offset);
        let third = "the live allocation of 100 bytes at 0xc000fb00";
        let out = "`out`, the live allocation of 256 bytes at 0xc000fa00";
        let earlier = format!("; an overrun of {out}, which lies before that, also comes here");
        assert_eq!(
            told(64_356),
            format!("0 bytes after the end of {third}{earlier}")
        );
        assert_eq!(told(64_640), format!("284 bytes after the end of {third}"));
        assert_eq!(told(64_000), format!("0 bytes into {out}"));
        assert_eq!(
            memory.nearest(0, GLOBAL_BASE - 4),
            "4 bytes before `in`, the live allocation of 64000 bytes at 0xc0000000"
        );
        memory.free(0, GLOBAL_BASE + 64_000).expect("it is live");
        let told = |offset: u64| memory.nearest(0, GLOBAL_BASE + offset);
        let freed = out.replace("live", "freed");
        assert_eq!(told(64_008), format!("8 bytes into {freed}"));
        assert_eq!(told(64_356), format!("0 bytes after the end of {third}"));
    }

    /// Buffers of powers of two, as most programs have them: without gaps `in[n]` is `out[0]`.
    #[test]
    fn an_overrun_into_the_next_buffer_is_found_where_buffers_lie_apart() {
        let buffers = |apart: bool| {
            let mut memory = DeviceMemory::new(256 << 10);
            if apart {
                memory.place_apart();
            }
            let sizes = [64 << 10, 100, 128 << 10];
            let bases = sizes.map(|bytes| memory.alloc(0, bytes).expect("room"));
            memory.name(0, bases[0], "in");
            (memory, bases)
        };
        let (together, bases) = buffers(false);
        assert_eq!(together.check(0, bases[0] + (64 << 10), 4), AccessCheck::Ok);
        let (mut memory, bases) = buffers(true);
        let end = bases[0] + (64 << 10);
        for offset in [0, 4, 4096, (64 << 10) - 4] {
            let check = memory.check(0, end + offset, 4);
            assert_eq!(check, AccessCheck::Outside, "{offset}");
        }
        assert_eq!(
            memory.nearest(0, end + 4),
            "4 bytes after the end of `in`, the live allocation of 65536 bytes at 0xc0000000"
        );
        assert_eq!(memory.check(0, bases[2] - 4, 4), AccessCheck::Outside);
        // Gaps take no room.
        let free = (256 - 192) << 10;
        assert!(memory.alloc(0, free - 256 + 1).is_err());
        assert!(memory.alloc(0, free - 256).is_ok());
    }

    #[test]
    fn the_next_buffer_is_named_if_it_is_nearer() {
        let mut memory = DeviceMemory::new(1 << 24);
        memory.alloc(0, 100).expect("room");
        memory.alloc(0, 100).expect("room");
        let first = "the live allocation of 100 bytes at 0xc0000000";
        let second = "the live allocation of 100 bytes at 0xc0000100";
        let told = |offset: u64| memory.nearest(0, GLOBAL_BASE + offset);
        assert_eq!(told(100), format!("0 bytes after the end of {first}"));
        let both = format!("152 bytes after the end of {first}, 4 bytes before {second}");
        assert_eq!(told(252), both);
    }
}
