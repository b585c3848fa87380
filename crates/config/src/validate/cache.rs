//! Rules between the keys of a cache.

use super::Rules;
use crate::cache_policies::Replacement;
use crate::policies::WarpSchedulerChoice;
use crate::spec::*;

/// Checks the rules between the keys of one cache.
pub(super) fn check(rules: &mut Rules, name: &str, cache: &CacheSpec) {
    if cache.enabled {
        lines_of_cache(rules, name, cache);
        writes_of_cache(rules, name, cache);
        misses_of_cache(rules, name, cache);
    }
}

/// Lines, sets and the data port of a cache.
fn lines_of_cache(rules: &mut Rules, name: &str, cache: &CacheSpec) {
    let key = |field: &str| format!("{name}.{field}");
    rules.require(
        !cache.sectored || cache.line_bytes == 128,
        &[&key("sectored"), &key("line_bytes")],
        format!("`{name}`: a line of {} bytes in sectors", cache.line_bytes),
        "write `line_bytes = 128` (four sectors of 32 bytes), or turn `sectored` off",
    );
    rules.require(
        cache.port_bytes <= cache.line_bytes,
        &[&key("port_bytes"), &key("line_bytes")],
        format!("`{name}`: the data port is wider than a line"),
        "write at most `line_bytes`",
    );
    let hashed = match cache.index {
        SetIndex::FermiHash => matches!(cache.sets, 32 | 64),
        SetIndex::Ipoly => matches!(cache.sets, 16 | 32 | 64),
        SetIndex::Linear | SetIndex::Xor => true,
    };
    rules.require(
        hashed,
        &[&key("index"), &key("sets")],
        format!("`{name}`: the hash is not defined for {} sets", cache.sets),
        &format!(
            "write 32 or 64 sets (`ipoly` takes 16 too), or `index = \"linear\"`; `{name}.ways` \
             changes the size with any hash"
        ),
    );
    rules.require(
        cache.replacement != Replacement::Dip || cache.sets >= 4,
        &[&key("replacement"), &key("sets")],
        format!(
            "`{name}`: {} sets have none that follows the leader sets of both policies",
            cache.sets
        ),
        "write at least 4 sets, or another replacement policy",
    );
}

/// Rules of the replacement policy `cacp`, which needs to know the warp of each access, and whether
/// the warp is critical.
pub(super) fn critical_lines(rules: &mut Rules, spec: &GpuSpec, caches: &[(&str, &CacheSpec)]) {
    for (name, cache) in caches.iter().filter(|(name, _)| *name != "l1d") {
        rules.require(
            cache.replacement != Replacement::Cacp,
            &[&format!("{name}.replacement")],
            format!("`{name}`: `cacp` needs the warp of each access, which only L1D knows"),
            "choose another replacement policy",
        );
    }
    if spec.l1d.replacement != Replacement::Cacp {
        return;
    }
    rules.require(
        matches!(spec.sm.warp_scheduler, WarpSchedulerChoice::Cawa(_)),
        &["l1d.replacement", "sm.warp_scheduler"],
        "`l1d.replacement=cacp` prefers the lines of critical warps, which the warp scheduler \
         `cawa` alone finds"
            .to_owned(),
        "write `sm.warp_scheduler = \"cawa\"`, or choose another replacement policy",
    );
    rules.require(
        spec.sm.context.rules().is_none(),
        &["l1d.replacement", "sm.context"],
        "`l1d.replacement=cacp` knows warps by slots, which context switching (`sm.context`) \
         changes"
            .to_owned(),
        "choose another replacement policy, or write `sm.context = \"none\"`",
    );
}

/// Write policies of a cache.
fn writes_of_cache(rules: &mut Rules, name: &str, cache: &CacheSpec) {
    let key = |field: &str| format!("{name}.{field}");
    let keeps_writes = cache.write == WritePolicy::WriteBack;
    rules.require(
        !keeps_writes || cache.allocate == AllocatePolicy::OnMiss,
        &[&key("write"), &key("allocate")],
        format!("`{name}`: write-back needs its line at the miss, or fills and evictions block each other"),
        "write `allocate = \"on-miss\"`",
    );
    let fills = matches!(
        cache.write_allocate,
        WriteAllocate::FetchOnWrite | WriteAllocate::LazyFetchOnRead
    );
    rules.require(
        !fills || cache.allocate == AllocatePolicy::OnMiss,
        &[&key("write_allocate"), &key("allocate")],
        format!("`{name}`: this write allocation keeps bytes in a line before the fill"),
        "write `allocate = \"on-miss\"`",
    );
}

/// Miss queue and MSHRs of a cache.
fn misses_of_cache(rules: &mut Rules, name: &str, cache: &CacheSpec) {
    let key = |field: &str| format!("{name}.{field}");
    let (most, why) = most_requests(cache);
    rules.require(
        most <= cache.miss_queue,
        &[&key("miss_queue"), &key("write"), &key("write_allocate")],
        format!(
            "`{name}`: {why} {most} requests at once, and {} can wait",
            cache.miss_queue
        ),
        &format!("write at least {most} for `{}`", key("miss_queue")),
    );
    let fifo = matches!(
        cache.mshr,
        MshrKind::TextureFifo | MshrKind::SectorTextureFifo
    );
    rules.require(
        !fifo || cache.result_fifo > 0,
        &[&key("mshr"), &key("result_fifo")],
        format!("`{name}`: a texture FIFO without room for results"),
        "write at least 1 for `result_fifo`",
    );
    rules.require(
        fifo == (name == "l1t"),
        &[&key("mshr")],
        format!("`{name}`: a texture FIFO belongs to `l1t`, and only there"),
        if fifo {
            "write \"associative\""
        } else {
            "write \"texture-fifo\""
        },
    );
}

/// Largest number of requests that one access puts into the miss queue, and the kind of access.
fn most_requests(cache: &CacheSpec) -> (u32, &'static str) {
    match (cache.write, cache.write_allocate) {
        (WritePolicy::ReadOnly, _) => (1, "a read that misses sends"),
        (_, WriteAllocate::WriteAndRead) => (3, "a write that misses may send"),
        _ => (2, "a read that misses may send"),
    }
}
