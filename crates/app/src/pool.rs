//! Memory pools: memory that is given and taken in the order of streams.
//!
//! What was freed in a stream can be given again to what comes behind that: in the same stream at
//! once, in another as soon as that waits for an event recorded behind it or the host has waited.
//! Both are known when the program calls, so that addresses are the same in every run. Only where
//! memory is short does the host wait for it. What nobody has goes back to the device when the host
//! waits, but for as much as the pool's release threshold says.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::memory::{Block, Kind};
use crate::order::Moment;
use crate::work::Work;
use std::collections::BTreeMap;
use warploom_run::DevicePtr;

/// Bytes to a multiple of which allocations are rounded up.
const GRAIN: u64 = 512;

/// `cudaMemPoolAttr`: what may be used again, the release threshold, and bytes.
const REUSE: std::ops::RangeInclusive<i32> = 1..=3;
const THRESHOLD: i32 = 4;
const RESERVED: i32 = 5;
const RESERVED_HIGH: i32 = 6;
const USED: i32 = 7;
const USED_HIGH: i32 = 8;

/// Memory that nobody has.
struct Spare {
    address: u64,
    bytes: u64,
    /// Where it was freed.
    freed: Moment,
}

/// Bytes now, and at most.
#[derive(Clone, Copy, Default)]
struct Level {
    now: u64,
    high: u64,
}

impl Level {
    fn add(&mut self, bytes: u64) {
        self.now += bytes;
        self.high = self.high.max(self.now);
    }
}

/// A pool of device memory.
pub(crate) struct Pool {
    spares: Vec<Spare>,
    threshold: u64,
    /// Flags by number, from `cudaMemPoolReuseFollowEventDependencies` on.
    reuse: [bool; 3],
    reserved: Level,
    used: Level,
    /// The program has destroyed the pool: what is freed goes back to the device at once.
    destroyed: bool,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            spares: Vec::new(),
            threshold: 0,
            reuse: [true; 3],
            reserved: Level::default(),
            used: Level::default(),
            destroyed: false,
        }
    }
}

/// The pools of a process.
#[derive(Default)]
pub(crate) struct Pools {
    pools: BTreeMap<u64, Pool>,
    /// The one that is there from the beginning.
    standard: Option<u64>,
    /// The one that `cudaMallocAsync` takes.
    current: Option<u64>,
    /// Memory that the program has: its pool and the bytes that were allocated for it.
    given: BTreeMap<u64, (u64, u64)>,
}

fn counted(bytes: u64) -> u64 {
    bytes.next_multiple_of(GRAIN)
}

impl Context {
    /// The pool that is there from the beginning (`cudaDeviceGetDefaultMemPool`).
    pub fn default_pool(&mut self) -> u64 {
        if let Some(pool) = self.pools.standard {
            return pool;
        }
        let pool = self.create_pool();
        self.pools.standard = Some(pool);
        pool
    }

    /// The pool that `cudaMallocAsync` takes.
    pub fn current_pool(&mut self) -> u64 {
        match self.pools.current {
            Some(pool) => pool,
            None => self.default_pool(),
        }
    }

    /// Makes a pool the current one of the device.
    pub fn set_current_pool(&mut self, pool: u64) -> Cuda {
        self.pool(pool)?;
        self.pools.current = Some(pool);
        Ok(())
    }

    /// Makes an empty pool and returns its handle.
    pub fn create_pool(&mut self) -> u64 {
        let handle = self.handle();
        self.pools.pools.insert(handle, Pool::default());
        handle
    }

    fn pool(&mut self, pool: u64) -> Cuda<&mut Pool> {
        let pools = &mut self.pools.pools;
        let own = pools.get_mut(&pool).filter(|own| !own.destroyed);
        own.ok_or(CudaError::INVALID_VALUE)
    }

    /// Destroys a pool; what the program has of it stays until it is freed.
    pub fn destroy_pool(&mut self, pool: u64) -> Cuda {
        if self.pools.standard == Some(pool) {
            return Err(CudaError::INVALID_VALUE);
        }
        self.pool(pool)?.destroyed = true;
        if self.pools.current == Some(pool) {
            self.pools.current = None;
        }
        self.synchronize()?;
        self.release(pool, 0)
    }

    /// Allocates in the order of a stream, from a pool or from the current one.
    pub fn malloc_async(&mut self, bytes: u64, pool: Option<u64>, stream: u64) -> Cuda<u64> {
        self.stream_facts(stream)?;
        let pool = match pool {
            Some(pool) => pool,
            None => self.current_pool(),
        };
        self.pool(pool)?;
        if bytes == 0 {
            return Ok(0);
        }
        if let Some(stream) = self.capturing(stream)? {
            let address = self.allocate_for_node(bytes)?;
            self.capture(stream, Work::Allocate(address, bytes))?;
            return Ok(address);
        }
        let stream = self.stream_key(stream)?;
        let (address, held) = match self.take_spare(pool, bytes, stream)? {
            Some(spare) => (spare.address, spare.bytes),
            None => (self.allocate_for(pool, bytes)?, bytes),
        };
        let block = Block {
            bytes,
            kind: Kind::Device,
            flags: 0,
        };
        self.memory.insert(address, block);
        self.pools.given.insert(address, (pool, held));
        self.pool(pool)?.used.add(counted(held));
        Ok(address)
    }

    /// The smallest memory that nobody has, fits, and may be given to a stream now.
    fn take_spare(&mut self, pool: u64, bytes: u64, stream: u64) -> Cuda<Option<Spare>> {
        let order = &self.order;
        let own = self.pools.pools.get_mut(&pool);
        let own = own.ok_or(CudaError::INVALID_VALUE)?;
        let [events, host, _] = own.reuse;
        let may = |freed: Moment| {
            freed.stream == stream
                || events && order.follows(stream, freed)
                || host && order.is_over(freed)
        };
        // Larger ones are kept for those who need them.
        let most = bytes.saturating_mul(2).max(GRAIN);
        let spares = own.spares.iter().enumerate();
        let fits = spares.filter(|(_, spare)| (bytes..=most).contains(&spare.bytes));
        let free = fits.filter(|(_, spare)| may(spare.freed));
        let found = free.min_by_key(|(at, spare)| (spare.bytes, *at));
        let found = found.map(|(at, _)| at);
        Ok(found.map(|at| own.spares.remove(at)))
    }

    /// Allocates anew; where memory is short what the pool has spare goes back first.
    fn allocate_for(&mut self, pool: u64, bytes: u64) -> Cuda<u64> {
        let got = match self.allocate_freely(bytes, Kind::Device) {
            Err(CudaError::MEMORY_ALLOCATION) => {
                self.synchronize()?;
                self.order.all_over();
                self.release(pool, 0)?;
                self.allocate_freely(bytes, Kind::Device)
            }
            other => other,
        };
        let address = got?;
        self.pool(pool)?.reserved.add(counted(bytes));
        Ok(address)
    }

    /// Allocates memory for a node that begins its use (`cudaGraphAddMemAllocNode`).
    pub fn allocate_for_node(&mut self, bytes: u64) -> Cuda<u64> {
        if bytes == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = self.allocate_freely(bytes, Kind::Device)?;
        self.graphs.memory.insert(address);
        Ok(address)
    }

    /// Frees in the order of a stream. Memory of no pool is freed when all that may use it is done.
    pub fn free_async(&mut self, address: u64, stream: u64) -> Cuda {
        self.stream_facts(stream)?;
        if let Some(stream) = self.capturing(stream)? {
            self.block(address)
                .filter(|(base, _)| *base == address)
                .ok_or(CudaError::INVALID_VALUE)?;
            return self.capture(stream, Work::Free(address));
        }
        if self.graphs.memory.contains(&address) {
            return Ok(());
        }
        let stream = self.stream_key(stream)?;
        match self.pools.given.contains_key(&address) {
            true => {
                let freed = self.order.now(stream);
                self.give_back(address, freed)
            }
            false => self.free(address, &[Kind::Device]),
        }
    }

    /// `cudaFree` of memory of a pool or of a graph: true if it is of one.
    pub(crate) fn free_of_pool(&mut self, address: u64) -> Cuda<bool> {
        if self.graphs.memory.contains(&address) {
            return self.synchronize().map(|()| true);
        }
        if !self.pools.given.contains_key(&address) {
            return Ok(false);
        }
        self.synchronize()?;
        self.order.all_over();
        let freed = self.order.past();
        self.give_back(address, freed).map(|()| true)
    }

    fn give_back(&mut self, address: u64, freed: Moment) -> Cuda {
        let given = self.pools.given.remove(&address);
        let (pool, bytes) = given.ok_or(CudaError::INVALID_VALUE)?;
        self.memory.remove(&address);
        let own = self.pools.pools.get_mut(&pool);
        let own = own.ok_or(CudaError::INVALID_VALUE)?;
        own.used.now -= counted(bytes);
        own.spares.push(Spare {
            address,
            bytes,
            freed,
        });
        match own.destroyed {
            true => {
                self.synchronize()?;
                self.order.all_over();
                self.release(pool, 0)
            }
            false => Ok(()),
        }
    }

    /// Gives back to the device what nobody has and what is done with, until a pool holds no more
    /// than `keep` bytes.
    fn release(&mut self, pool: u64, keep: u64) -> Cuda {
        loop {
            let order = &self.order;
            let Some(own) = self.pools.pools.get_mut(&pool) else {
                return Ok(());
            };
            let over = own
                .spares
                .iter()
                .position(|spare| order.is_over(spare.freed));
            let Some(at) = over.filter(|_| own.reserved.now > keep) else {
                return Ok(());
            };
            let Spare { address, bytes, .. } = own.spares.remove(at);
            own.reserved.now -= counted(bytes);
            self.used_bytes -= bytes;
            self.with(move |device| device.free(DevicePtr(address)))?
                .map_err(|_| CudaError::UNKNOWN)?;
        }
    }

    /// The host has waited: pools give back what they hold beyond their thresholds.
    pub(crate) fn release_spares(&mut self) -> Cuda {
        let pools = self.pools.pools.iter();
        let some: Vec<(u64, u64)> = pools
            .filter(|(_, own)| !own.spares.is_empty())
            .map(|(pool, own)| (*pool, own.threshold))
            .collect();
        some.into_iter()
            .try_for_each(|(pool, keep)| self.release(pool, keep))
    }

    /// Gives back to the device what nobody has, until a pool holds no more than `keep` bytes.
    pub fn trim_pool(&mut self, pool: u64, keep: u64) -> Cuda {
        self.pool(pool)?;
        self.release(pool, keep)
    }

    /// An attribute of a pool (`cudaMemPoolAttr`).
    pub fn pool_attribute(&mut self, pool: u64, number: i32) -> Cuda<u64> {
        let own = self.pool(pool)?;
        Ok(match number {
            number if REUSE.contains(&number) => {
                own.reuse[(number - REUSE.start()) as usize].into()
            }
            THRESHOLD => own.threshold,
            RESERVED => own.reserved.now,
            RESERVED_HIGH => own.reserved.high,
            USED => own.used.now,
            USED_HIGH => own.used.high,
            _ => return Err(CudaError::INVALID_VALUE),
        })
    }

    /// Sets one; the most bytes can only be forgotten.
    pub fn set_pool_attribute(&mut self, pool: u64, number: i32, value: u64) -> Cuda {
        let own = self.pool(pool)?;
        match (number, value) {
            (number, value) if REUSE.contains(&number) => {
                own.reuse[(number - REUSE.start()) as usize] = value != 0;
            }
            (THRESHOLD, value) => own.threshold = value,
            (RESERVED_HIGH, 0) => own.reserved.high = own.reserved.now,
            (USED_HIGH, 0) => own.used.high = own.used.now,
            _ => return Err(CudaError::INVALID_VALUE),
        }
        Ok(())
    }

    /// Whether an attribute's value has four bytes, else eight.
    pub fn pool_attribute_is_word(number: i32) -> bool {
        REUSE.contains(&number)
    }

    /// Forgets all pools with their memory, of which `memory` knows no more.
    pub(crate) fn forget_pools(&mut self) -> Cuda {
        self.order.all_over();
        let pools: Vec<u64> = self.pools.pools.keys().copied().collect();
        for pool in pools {
            self.release(pool, 0)?;
        }
        self.pools = Pools::default();
        Ok(())
    }
}
