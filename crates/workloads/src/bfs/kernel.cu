// One level of a breadth-first search over a graph in compressed rows: `kernel` opens the
// frontier's neighbours, `kernel2` makes them the next frontier and tells the host to go on.
// Two kernels, because a level ends only when every block has opened its part.

#define BLOCK 512

struct Node {
    int first_edge;
    int edges;
};

extern "C" __global__ void kernel(const Node *nodes, const int *targets, bool *frontier,
                                  bool *opened, const bool *visited, int *cost, int count)
{
    const int node = blockIdx.x * BLOCK + threadIdx.x;
    if (node < count && frontier[node]) {
        frontier[node] = false;
        const int end = nodes[node].first_edge + nodes[node].edges;
        for (int edge = nodes[node].first_edge; edge < end; ++edge) {
            const int target = targets[edge];
            // Threads that open the same node race, but all of them write the same values.
            if (!visited[target]) {
                cost[target] = cost[node] + 1;
                opened[target] = true;
            }
        }
    }
}

extern "C" __global__ void kernel2(bool *frontier, bool *opened, bool *visited, bool *again,
                                   int count)
{
    const int node = blockIdx.x * BLOCK + threadIdx.x;
    if (node < count && opened[node]) {
        frontier[node] = true;
        visited[node] = true;
        *again = true;
        opened[node] = false;
    }
}
