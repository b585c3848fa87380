// What opening a centre at one point would save: every point compares its cost with its distance to the
// candidate, and adds the difference to its own row of savings, under the candidate or under its
// present centre.

struct Point {
    float weight;
    // Where the host keeps the coordinates; the device has them by dimension.
    float *coordinates;
    long long assigned;
    float cost;
};

extern "C" __global__ void compute_cost(int points, int dimensions, long long candidate,
                                        const Point *point, int centres, int stride,
                                        const float *coordinates, float *savings,
                                        const int *centre_of, bool *switches)
{
    const int block = blockIdx.x + gridDim.x * blockIdx.y;
    const int at = blockDim.x * block + threadIdx.x;
    if (at >= points) {
        return;
    }
    float *row = &savings[at * stride];
    const int other = candidate;
    float distance = 0.0f;
    for (int d = 0; d < dimensions; ++d) {
        const float difference = coordinates[d * points + at] - coordinates[d * points + other];
        distance = fmaf(difference, difference, distance);
    }
    const float cost = distance * point[at].weight;
    if (cost < point[at].cost) {
        switches[at] = true;
        row[centres] += cost - point[at].cost;
    } else {
        row[centre_of[point[at].assigned]] += point[at].cost - cost;
    }
}
