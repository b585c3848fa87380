// Training step of a two-layer perceptron with 16 hidden units. Weights are stored by rows, one row
// an input unit; unit 0 of either layer is the bias, so that rows and columns start at 1 here.

#define SIDE 16
#define LOG_SIDE 4

// Products of inputs and weights, summed over the 16 inputs of a block by a tree in shared memory.
// The host adds the blocks' partial sums. The products remain in the place of the weights.
extern "C" __global__ void layerforward(const float *input, float *weights, float *partial_sums,
                                        int hidden)
{
    __shared__ float inputs[SIDE];
    __shared__ float products[SIDE][SIDE];
    const int block = blockIdx.y;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int weight = (hidden + 1) * (SIDE * block + ty + 1) + tx + 1;

    if (tx == 0) {
        inputs[ty] = input[SIDE * block + ty + 1];
    }
    __syncthreads();
    products[ty][tx] = weights[weight];
    __syncthreads();
    products[ty][tx] = products[ty][tx] * inputs[ty];
    __syncthreads();
    for (int level = 1; level <= LOG_SIDE; ++level) {
        // The public benchmark takes the stride from the fast power function and divides by it. The
        // compiler knows the power but not the rounded integer, so that the division remains: part
        // of what makes this kernel bound by computation. Rounding hides the power's last bits.
        const int stride = __float2int_rn(__powf(2.0f, (float)level));
        if (ty % stride == 0) {
            products[ty][tx] = products[ty][tx] + products[ty + stride / 2][tx];
        }
        __syncthreads();
    }
    weights[weight] = products[ty][tx];
    __syncthreads();
    if (tx == 0) {
        partial_sums[block * hidden + ty] = products[tx][ty];
    }
}

// w += rate * delta * input + momentum * previous change, for the weights and for the biases.
extern "C" __global__ void adjust_weights(const float *delta, int hidden, const float *input,
                                          float *weights, float *changes)
{
    const float rate = 0.3f;
    const float momentum = 0.3f;
    const int block = blockIdx.y;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int weight = (hidden + 1) * (SIDE * block + ty + 1) + tx + 1;
    const int row = SIDE * block + ty + 1;
    const int column = tx + 1;

    weights[weight] += rate * delta[column] * input[row] + momentum * changes[weight];
    changes[weight] = rate * delta[column] * input[row] + momentum * changes[weight];
    __syncthreads();
    if (ty == 0 && block == 0) {
        weights[column] += rate * delta[column] + momentum * changes[column];
        changes[column] = rate * delta[column] + momentum * changes[column];
    }
}
