// Resampling of a particle filter: each thread searches the cumulative weights from the start for the
// first that reaches its mark, and takes that particle's place.

extern "C" __global__ void kernel(const double *x, const double *y, const double *cumulative,
                                  const double *marks, double *new_x, double *new_y, int particles)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < particles) {
        int chosen = -1;
        for (int j = 0; j < particles; ++j) {
            if (cumulative[j] >= marks[i]) {
                chosen = j;
                break;
            }
        }
        if (chosen == -1) {
            chosen = particles - 1;
        }
        new_x[i] = x[chosen];
        new_y[i] = y[chosen];
    }
}
