// Looks keys up in a B+ tree. A block descends for one key: each thread compares one of the node's
// keys, and the one whose interval holds the key says which child comes next. Where a block stands is
// kept in global memory.

#define ORDER 256

struct Node {
    int location;
    // Children of an inner node, records of a leaf.
    int indices[ORDER + 1];
    int keys[ORDER + 1];
    bool is_leaf;
    int key_count;
};

extern "C" __global__ void findK(long long height, const Node *nodes, long long node_count,
                                 const int *records, long long *current, long long *next,
                                 const int *wanted, int *answers)
{
    const int thread = threadIdx.x;
    const int query = blockIdx.x;

    for (int level = 0; level < height; ++level) {
        const Node *node = &nodes[current[query]];
        if (node->keys[thread] <= wanted[query] && node->keys[thread + 1] > wanted[query]) {
            const int child = nodes[next[query]].indices[thread];
            if (child < node_count) {
                next[query] = child;
            }
        }
        __syncthreads();
        if (thread == 0) {
            current[query] = next[query];
        }
        __syncthreads();
    }

    const Node *leaf = &nodes[current[query]];
    if (leaf->keys[thread] == wanted[query]) {
        answers[query] = records[leaf->indices[thread]];
    }
}
