// BFS-like frontier expansion over a CSR graph: for every active node, visit neighbours.
extern "C" __global__ void gather(const int *rowptr, const int *col, const int *level,
                                  int *next, int *sum, int n, int cur) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  int s = 0;
  if (level[v] == cur) {
#pragma unroll 1
    for (int e = rowptr[v]; e < rowptr[v + 1]; e++) {
      int u = col[e];
      int l = level[u];
      if (l < 0) next[u] = cur + 1;
      s += l;
    }
  }
  sum[v] = s;
}
