//! Memory pools: allocations in the order of streams.
//!
//! Memory that was freed in a stream can be reused by operations that are ordered after the free.
//! These are operations of the same stream, and those of other streams once they wait for an event
//! recorded after the free or once the host has waited. Both orders are known when the program
//! calls, so that addresses are the same in every run. The host waits for a free only if memory is
//! exhausted. Free memory beyond the release threshold of a pool is returned to the device when the
//! host waits.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::memory::{Block, Kind};
use crate::operation::Operation;
use crate::order::StreamPoint;
use std::collections::BTreeMap;
use warploom_run::DevicePtr;

/// Granularity of allocations in bytes.
const GRAIN: u64 = 512;

/// Numbers of `cudaMemPoolAttr`: conditions for reuse, the release threshold, and sizes.
const REUSE: std::ops::RangeInclusive<i32> = 1..=3;
const THRESHOLD: i32 = 4;
const RESERVED: i32 = 5;
const RESERVED_HIGH: i32 = 6;
const USED: i32 = 7;
const USED_HIGH: i32 = 8;

/// Free memory of a pool.
struct FreeBlock {
    address: u64,
    bytes: u64,
    /// Point in the order of streams at which the memory was freed.
    freed: StreamPoint,
}

/// Current and maximum size in bytes.
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
    free_blocks: Vec<FreeBlock>,
    threshold: u64,
    /// Conditions for reuse by number, starting with `cudaMemPoolReuseFollowEventDependencies`.
    reuse: [bool; 3],
    reserved: Level,
    used: Level,
    /// True if the program has destroyed the pool. Freed memory is then returned to the device at
    /// once.
    destroyed: bool,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            free_blocks: Vec::new(),
            threshold: 0,
            reuse: [true; 3],
            reserved: Level::default(),
            used: Level::default(),
            destroyed: false,
        }
    }
}

/// Memory pools of a process.
#[derive(Default)]
pub(crate) struct Pools {
    pools: BTreeMap<u64, Pool>,
    /// Default pool of the device.
    standard: Option<u64>,
    /// Pool from which `cudaMallocAsync` allocates.
    current: Option<u64>,
    /// Memory in use by the program: its pool and the number of bytes allocated for it.
    given: BTreeMap<u64, (u64, u64)>,
}

/// Size in bytes rounded up to the granularity.
fn counted(bytes: u64) -> u64 {
    bytes.next_multiple_of(GRAIN)
}

impl Context {
    /// Handle of the default pool (`cudaDeviceGetDefaultMemPool`).
    pub fn default_pool(&mut self) -> u64 {
        if let Some(pool) = self.pools.standard {
            return pool;
        }
        let pool = self.create_pool();
        self.pools.standard = Some(pool);
        pool
    }

    /// Handle of the pool from which `cudaMallocAsync` allocates.
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

    /// Creates an empty pool and returns its handle.
    pub fn create_pool(&mut self) -> u64 {
        let handle = self.handle();
        self.pools.pools.insert(handle, Pool::default());
        handle
    }

    /// Pool with the given handle that was not destroyed.
    fn pool(&mut self, pool: u64) -> Cuda<&mut Pool> {
        let pools = &mut self.pools.pools;
        let own = pools.get_mut(&pool).filter(|own| !own.destroyed);
        own.ok_or(CudaError::INVALID_VALUE)
    }

    /// Destroys a pool. Memory in use remains valid until it is freed.
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

    /// Allocates memory in the order of a stream, from the given pool or from the current one.
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
            self.capture(stream, Operation::Allocate(address, bytes))?;
            return Ok(address);
        }
        let stream = self.stream_key(stream)?;
        let (address, held) = match self.take_free_block(pool, bytes, stream)? {
            Some(block) => (block.address, block.bytes),
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

    /// Removes the smallest free memory that fits and that the stream may use now.
    fn take_free_block(&mut self, pool: u64, bytes: u64, stream: u64) -> Cuda<Option<FreeBlock>> {
        let order = &self.order;
        let own = self.pools.pools.get_mut(&pool);
        let own = own.ok_or(CudaError::INVALID_VALUE)?;
        let [events, host, _] = own.reuse;
        let may = |freed: StreamPoint| {
            freed.stream == stream
                || events && order.follows(stream, freed)
                || host && order.is_complete(freed)
        };
        // Much larger memory is kept for larger requests.
        let most = bytes.saturating_mul(2).max(GRAIN);
        let free_blocks = own.free_blocks.iter().enumerate();
        let fits = free_blocks.filter(|(_, block)| (bytes..=most).contains(&block.bytes));
        let free = fits.filter(|(_, block)| may(block.freed));
        let found = free.min_by_key(|(at, block)| (block.bytes, *at));
        let found = found.map(|(at, _)| at);
        Ok(found.map(|at| own.free_blocks.remove(at)))
    }

    /// Allocates new memory. If memory is exhausted, the free memory of the pool is returned to the
    /// device first.
    fn allocate_for(&mut self, pool: u64, bytes: u64) -> Cuda<u64> {
        let got = match self.allocate_freely(bytes, Kind::Device) {
            Err(CudaError::MEMORY_ALLOCATION) => {
                self.synchronize()?;
                self.order.complete_all();
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

    /// Frees memory in the order of a stream. Memory outside of pools is freed after all operations
    /// that may use it.
    pub fn free_async(&mut self, address: u64, stream: u64) -> Cuda {
        self.stream_facts(stream)?;
        if let Some(stream) = self.capturing(stream)? {
            self.block(address)
                .filter(|(base, _)| *base == address)
                .ok_or(CudaError::INVALID_VALUE)?;
            return self.capture(stream, Operation::Free(address));
        }
        if self.graphs.memory.contains(&address) {
            return Ok(());
        }
        let stream = self.stream_key(stream)?;
        if self.pools.given.contains_key(&address) {
            let freed = self.order.next_point(stream);
            self.give_back(address, freed)
        } else {
            self.free(address, &[Kind::Device])
        }
    }

    /// Handles `cudaFree` for memory of a pool or of a graph. Returns false for other memory.
    pub(crate) fn free_of_pool(&mut self, address: u64) -> Cuda<bool> {
        if self.graphs.memory.contains(&address) {
            return self.synchronize().map(|()| true);
        }
        if !self.pools.given.contains_key(&address) {
            return Ok(false);
        }
        self.synchronize()?;
        self.order.complete_all();
        let freed = self.order.completed_point();
        self.give_back(address, freed).map(|()| true)
    }

    /// Returns memory to its pool.
    fn give_back(&mut self, address: u64, freed: StreamPoint) -> Cuda {
        let given = self.pools.given.remove(&address);
        let (pool, bytes) = given.ok_or(CudaError::INVALID_VALUE)?;
        self.memory.remove(&address);
        let own = self.pools.pools.get_mut(&pool);
        let own = own.ok_or(CudaError::INVALID_VALUE)?;
        own.used.now -= counted(bytes);
        own.free_blocks.push(FreeBlock {
            address,
            bytes,
            freed,
        });
        if own.destroyed {
            self.synchronize()?;
            self.order.complete_all();
            self.release(pool, 0)
        } else {
            Ok(())
        }
    }

    /// Returns free memory whose uses have ended to the device, until the pool holds at most `keep`
    /// bytes.
    fn release(&mut self, pool: u64, keep: u64) -> Cuda {
        loop {
            let order = &self.order;
            let Some(own) = self.pools.pools.get_mut(&pool) else {
                return Ok(());
            };
            let over = own
                .free_blocks
                .iter()
                .position(|block| order.is_complete(block.freed));
            let Some(at) = over.filter(|_| own.reserved.now > keep) else {
                return Ok(());
            };
            let FreeBlock { address, bytes, .. } = own.free_blocks.remove(at);
            own.reserved.now -= counted(bytes);
            self.used_bytes -= bytes;
            self.with(move |device| device.free(DevicePtr(address)))?
                .map_err(|_| CudaError::UNKNOWN)?;
        }
    }

    /// Returns free memory beyond the release threshold of each pool to the device. Called after
    /// the host has waited.
    pub(crate) fn release_free_blocks(&mut self) -> Cuda {
        let pools = self.pools.pools.iter();
        let some: Vec<(u64, u64)> = pools
            .filter(|(_, own)| !own.free_blocks.is_empty())
            .map(|(pool, own)| (*pool, own.threshold))
            .collect();
        some.into_iter()
            .try_for_each(|(pool, keep)| self.release(pool, keep))
    }

    /// Returns free memory to the device until the pool holds at most `keep` bytes
    /// (`cudaMemPoolTrimTo`).
    pub fn trim_pool(&mut self, pool: u64, keep: u64) -> Cuda {
        self.pool(pool)?;
        self.release(pool, keep)
    }

    /// Value of an attribute of a pool (`cudaMemPoolAttr`).
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

    /// Sets an attribute of a pool. Maximum sizes can only be reset.
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

    /// True if the value of an attribute has four bytes, false if it has eight.
    pub fn pool_attribute_is_word(number: i32) -> bool {
        REUSE.contains(&number)
    }

    /// Removes all pools and returns their free memory to the device.
    pub(crate) fn forget_pools(&mut self) -> Cuda {
        self.order.complete_all();
        let pools: Vec<u64> = self.pools.pools.keys().copied().collect();
        for pool in pools {
            self.release(pool, 0)?;
        }
        self.pools = Pools::default();
        Ok(())
    }
}
