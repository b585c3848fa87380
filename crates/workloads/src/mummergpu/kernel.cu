// Matches of queries in a reference by its suffix tree: for every position of a query the longest
// match that starts there, if it has at least `min_length` characters. One thread a query.
//
// A query is stored as a mark, its characters, and a 0. A node is named by its texel, x in the
// lower half and y in the upper; 0 is none. A node's record is (first, last character of its edge,
// suffix link, unused), and its children stand by their edge's first character in the order A, C,
// G, T.

typedef unsigned int uint;
typedef unsigned long long texture;

// The reference's characters stand four to a column, in rows of 2^16.
#define LOG_ROW 16

struct Match {
    uint node;
    // Characters of the node's edge that match; 0: the whole edge and no child goes on.
    uint on_edge;
};

__device__ uint4 fetch(texture records, uint node)
{
    return tex2D<uint4>(records, (float)(node & 0xffff), (float)(node >> 16));
}

__device__ char fetch_character(texture reference, uint at)
{
    const uint column = at >> 2 & ((1 << LOG_ROW) - 1);
    const uint row = at >> (LOG_ROW + 2) << 2 | at & 3;
    return tex2D<signed char>(reference, (float)column, (float)row);
}

__device__ uint child(const uint4 &children, char c)
{
    switch (c) {
    case 'A': return children.x;
    case 'C': return children.y;
    case 'G': return children.z;
    case 'T': return children.w;
    default: return 0;
    }
}

extern "C" __global__ void match_queries(
    Match *matches, const char *queries, const int *starts, const int *lengths, int count,
    int min_length, uint root, texture nodes, texture child_lists, texture reference)
{
    const int query = blockDim.x * blockIdx.x + threadIdx.x;
    if (query >= count) {
        return;
    }
    const int start = starts[query];
    const int positions = lengths[query] - min_length + 1;
    const char *text = queries + start;
    Match *match = matches + (start - query * (min_length + 1));
    uint node = 0;
    // Where the next character is, counted from the mark before the position.
    int at = 0;
    // Characters below `node` that are known to match.
    uint known = 0;
    for (int position = 0; position < positions; ++position, ++match, ++text) {
        if (node == 0 || at < 1) {
            node = root;
            at = 1;
            known = 0;
        }
        uint parent = node;
        uint on_edge = 0;
        bool off_tree = false, mismatch = false;
        char c = text[at];
        while (c != 0 && !mismatch) {
            parent = node;
            node = child(fetch(child_lists, node), c);
            if (node == 0) {
                off_tree = true;
                break;
            }
            const uint4 record = fetch(nodes, node);
            const uint first = record.x, end = record.y + 1;
            uint edge_at;
            if (known > 0) {
                const uint skip = min(known, end - first);
                edge_at = first + skip;
                at += skip;
                known -= skip;
            } else {
                edge_at = first + 1;
                ++at;
            }
            c = text[at];
            while (edge_at < end && c != 0) {
                if (fetch_character(reference, edge_at) != c) {
                    mismatch = true;
                    break;
                }
                ++edge_at;
                ++at;
                c = text[at];
            }
            on_edge = edge_at - first;
        }
        if (at > min_length) {
            match->node = off_tree ? parent : node;
            match->on_edge = off_tree ? 0 : on_edge;
        }
        // The next position's match is at least as long as this one's without its first character.
        known = off_tree ? 0 : on_edge;
        at -= known + 1;
        node = fetch(nodes, parent).z;
    }
}
