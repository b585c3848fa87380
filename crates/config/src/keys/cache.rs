//! Keys of a cache; the same for every cache.

use crate::cache_policies::REPLACEMENT;
use crate::section::section;
use crate::spec::{AllocatePolicy, MshrKind, SetIndex, WriteAllocate, WritePolicy};
use crate::value::{Rule, int, names, pow2};

names! {
    WritePolicy: WRITE {
        ReadOnly = "read-only": "never written",
        WriteBack = "write-back": "writes stay until the line is evicted",
        WriteThrough = "write-through": "writes go down and mark the line",
        WriteEvict = "write-evict": "writes go down and invalidate the line",
        LocalBackGlobalEvict = "local-back-global-evict":
            "write-back for local memory, write-evict for global memory (Fermi L1D)",
    }
    AllocatePolicy: ALLOCATE {
        OnMiss = "on-miss": "a line is reserved at the miss",
        OnFill = "on-fill": "a line is taken at the fill",
        Streaming = "streaming": "at the fill or the miss, per kernel (Volta L1D)",
    }
    WriteAllocate: WRITE_ALLOCATE {
        None = "none": "forward the write",
        WriteAndRead = "write-and-read": "forward the write and read the line",
        FetchOnWrite = "fetch-on-write": "read the line unless the write covers the sector",
        LazyFetchOnRead = "lazy-fetch-on-read":
            "keep the bytes, read the sector at the first later read of missing bytes",
    }
    SetIndex: SET_INDEX {
        Linear = "linear": "low bits of the line address",
        FermiHash = "fermi-hash": "Fermi's hash, for 32 or 64 sets",
        Xor = "xor": "two bit fields XORed",
        Ipoly = "ipoly": "irreducible polynomial, for 16, 32 or 64 sets",
    }
    MshrKind: MSHR {
        Associative = "associative": "a table by line",
        SectorAssociative = "sector-associative": "a table by sector",
        TextureFifo = "texture-fifo": "the latency-tolerant FIFO of texture caches",
        SectorTextureFifo = "sector-texture-fifo": "the same by sector",
    }
}

section! {
    CacheSpec {
        enabled: "enabled", Rule::Switch, "",
            "The cache exists.", "GPGPU-Sim cache string, `none`";
        sets: "sets", pow2(1, 1 << 20), "sets",
            "Sets.", "GPGPU-Sim cache string, nsets";
        line_bytes: "line_bytes", pow2(32, 1024), "bytes",
            "Size of a line.", "GPGPU-Sim cache string, line size";
        ways: "ways", int(1, 1024), "ways",
            "Lines of a set.", "GPGPU-Sim cache string, associativity";
        sectored: "sectored", Rule::Switch, "",
            "Lines are filled in 32-byte sectors.", "GPGPU-Sim cache string, N or S";
        replacement: "replacement", REPLACEMENT, "",
            "Which line of a set is replaced.",
            "GPGPU-Sim cache string, replacement (lru, fifo); others: `policies.md`";
        write: "write", WRITE, "",
            "What a write does.", "GPGPU-Sim cache string, write policy";
        allocate: "allocate", ALLOCATE, "",
            "When a line is taken for a miss.", "GPGPU-Sim cache string, allocation";
        write_allocate: "write_allocate", WRITE_ALLOCATE, "",
            "What a write miss does.", "GPGPU-Sim cache string, write allocation";
        index: "index", SET_INDEX, "",
            "Function from an address to its set.", "GPGPU-Sim cache string, set index";
        mshr: "mshr", MSHR, "",
            "How outstanding misses are tracked.", "GPGPU-Sim cache string, MSHR type";
        mshr_entries: "mshr_entries", int(1, 65_536), "lines or sectors",
            "Misses that can be outstanding.", "GPGPU-Sim cache string, MSHR entries";
        mshr_merge: "mshr_merge", int(1, 65_535), "requests",
            "Requests that can wait for one miss.", "GPGPU-Sim cache string, MSHR merge";
        miss_queue: "miss_queue", int(1, 65_536), "requests",
            "Requests that can wait for the next level.", "GPGPU-Sim cache string, miss queue";
        result_fifo: "result_fifo", int(0, 65_536), "results",
            "Results that can wait in a texture FIFO.", "GPGPU-Sim cache string, result FIFO";
        port_bytes: "port_bytes", pow2(4, 1024), "bytes per cycle",
            "Width of the data port.", "GPGPU-Sim cache string, port width";
        write_ratio_percent: "write_ratio_percent", int(0, 100), "percent of lines",
            "Share of dirty lines below which clean lines are replaced first.",
            "GPGPU-Sim -gpgpu_l1_cache_write_ratio";
    }
}
