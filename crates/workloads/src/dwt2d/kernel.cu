// A level of the reversible 5/3 wavelet transform (JPEG 2000) of an image's components, and the split of
// an RGB image into them. A block transforms a strip of columns by a window of 8 rows that slides down: it
// loads each column, lifts it vertically, then lifts the window's rows in shared memory, where even and odd
// columns lie apart. Sides must be even.

#define THREADS 256
#define WINDOW 8
// Rows above the window's first output row, and below its last.
#define ABOVE 2
#define ROWS (WINDOW + ABOVE + 1)

extern "C" __global__ void copy_components(int *red, int *green, int *blue,
                                           const unsigned char *source, int pixels)
{
    __shared__ unsigned char bytes[THREADS * 3];
    const int thread = threadIdx.x;
    const int first = blockDim.x * blockIdx.x;
    if (thread * 4 < THREADS * 3) {
        ((unsigned int *)bytes)[thread] = ((const unsigned int *)source)[(first * 3 >> 2) + thread];
    }
    __syncthreads();
    const int r = bytes[thread * 3];
    const int g = bytes[thread * 3 + 1];
    const int b = bytes[thread * 3 + 2];
    const int at = first + thread;
    if (at < pixels) {
        red[at] = r - 128;
        green[at] = g - 128;
        blue[at] = b - 128;
    }
}

// The window in shared memory: columns -2 to WIDTH, even ones first.
template <int WIDTH> struct Window {
    enum {
        STRIDE = WIDTH / 2 + 2,
        SIZE = STRIDE * ROWS,
        // Puts an even column and the odd one beside it half of the banks apart.
        PADDING = 32 - (SIZE + 16) % 32,
        ODD = SIZE + PADDING
    };
    int data[2 * SIZE + PADDING];

    __device__ static int place(int column)
    {
        return (column + 2) / 2 + ((column + 2) & 1) * ODD;
    }

    __device__ void predict(int before, int at, int after)
    {
        data[at] -= (data[before] + data[after]) / 2;
    }

    __device__ void update(int before, int at, int after)
    {
        data[at] += (data[before] + data[after] + 2) / 4;
    }

    // Lifts the output rows: all of their odd columns, or all of their even ones.
    __device__ void lift_rows(bool odd)
    {
        const int count = WINDOW * STRIDE - 1;
        const int even_at = ABOVE * STRIDE;
        const int odd_at = even_at + ODD;
        for (int i = threadIdx.x; i < count; i += WIDTH) {
            if (odd) {
                predict(even_at + i, odd_at + i, even_at + i + 1);
            } else {
                update(odd_at + i, even_at + 1 + i, odd_at + i + 1);
            }
        }
    }
};

// One column of the image on its way into the window. CHECKED: it turns round at the lower edge.
template <int WIDTH, bool CHECKED> struct Column {
    int place;
    int last;
    int stride;
    int end;
    // Its last three pixels as they came: the next window's first.
    int pixels[3];

    __device__ int load(const int *input)
    {
        last += stride;
        if (CHECKED && last == end) {
            last -= 2 * stride;
            stride = -stride;
        }
        return input[last];
    }

    __device__ void seek(int width, int height, int x, int y)
    {
        last = x + width * y - width;
        stride = width;
        end = CHECKED ? height * width + x : 0;
    }

    __device__ void start(const int *input, int width, int height, int column, int first_y)
    {
        place = Window<WIDTH>::place(column);
        int x = blockIdx.x * WIDTH + column;
        x = x >= width ? 2 * width - 2 - x : x < 0 ? -x : x;
        if (blockIdx.y == 0) {
            // Mirrored at the upper edge.
            seek(width, height, x, first_y);
            pixels[2] = load(input);
            pixels[1] = load(input);
            pixels[0] = load(input);
            seek(width, height, x, first_y + 1);
        } else {
            seek(width, height, x, first_y - ABOVE);
            pixels[0] = load(input);
            pixels[1] = load(input);
            pixels[2] = load(input);
        }
    }

    // Loads the window's next rows and lifts them.
    __device__ void advance(Window<WIDTH> &window, const int *input)
    {
        const int step = Window<WIDTH>::STRIDE;
        int *rows = window.data + place;
        rows[0 * step] = pixels[0];
        rows[1 * step] = pixels[1];
        rows[2 * step] = pixels[2];
        for (int i = 3; i < ROWS; ++i) {
            rows[i * step] = load(input);
        }
        pixels[0] = rows[(ROWS - 3) * step];
        pixels[1] = rows[(ROWS - 2) * step];
        pixels[2] = rows[(ROWS - 1) * step];
        for (int i = 1; i < ROWS; i += 2) {
            window.predict(place + (i - 1) * step, place + i * step, place + (i + 1) * step);
        }
        for (int i = 2; i < ROWS - 1; i += 2) {
            window.update(place + (i - 1) * step, place + i * step, place + (i + 1) * step);
        }
    }
};

// Writes a column's coefficients into the four bands. CHECKED: it stops at the lower edge.
template <bool CHECKED> struct Writer {
    int next;
    int to_high;
    int to_low;
    int end;

    __device__ Writer(int width, int height, int x, int y)
    {
        const int band = (width / 2) * (height / 2);
        const int top = x / 2 + (x & 1) * band;
        if (x < width) {
            to_high = 2 * band;
            to_low = width / 2 - to_high;
            end = CHECKED ? top + height / 2 * (width / 2) : 0;
            next = top + y / 2 * (width / 2);
        } else {
            to_high = to_low = end = next = 0;
        }
    }

    __device__ void write(int *output, int value, int step)
    {
        if (!CHECKED || next != end) {
            output[next] = value;
            next += step;
        }
    }
};

template <int WIDTH, bool CHECK_LOADS, bool CHECK_WRITES>
__device__ __forceinline__ void transform(Window<WIDTH> &window, const int *input, int *output,
                                          int width, int height, int steps)
{
    const int thread = threadIdx.x;
    const int first_y = blockIdx.y * WINDOW * steps;
    Column<WIDTH, CHECK_LOADS> column;
    Column<WIDTH, CHECK_LOADS> beyond = {};
    column.start(input, width, height, thread, first_y);
    // Three columns beyond the strip: one to its right, two to its left.
    if (thread < 3) {
        beyond.start(input, width, height, thread == 0 ? WIDTH : thread - 3, first_y);
    }
    // The first half of the threads writes even columns.
    const int out_column = thread < WIDTH / 2 ? 2 * thread : 2 * (thread - WIDTH / 2) + 1;
    const int *out = window.data + Window<WIDTH>::place(out_column);
    Writer<CHECK_WRITES> writer(width, height, blockIdx.x * WIDTH + out_column, first_y);

    for (int step = 0; step < steps; ++step) {
        column.advance(window, input);
        if (thread < 3) {
            beyond.advance(window, input);
        }
        __syncthreads();
        window.lift_rows(true);
        __syncthreads();
        window.lift_rows(false);
        __syncthreads();
        for (int row = ABOVE; row < ABOVE + WINDOW; row += 2) {
            writer.write(output, out[row * Window<WIDTH>::STRIDE], writer.to_high);
            writer.write(output, out[(row + 1) * Window<WIDTH>::STRIDE], writer.to_low);
        }
        __syncthreads();
    }
}

template <int WIDTH>
__device__ __forceinline__ void fdwt(const int *input, int *output, int width, int height,
                                     int steps)
{
    __shared__ Window<WIDTH> window;
    // Code without checks for blocks away from the edges.
    const bool at_right = (blockIdx.x + 1) * WIDTH + 1 >= width;
    const bool at_bottom = (blockIdx.y + 1) * WINDOW * steps + 1 >= height;
    if (at_bottom) {
        transform<WIDTH, true, true>(window, input, output, width, height, steps);
    } else if (at_right) {
        transform<WIDTH, false, true>(window, input, output, width, height, steps);
    } else {
        transform<WIDTH, false, false>(window, input, output, width, height, steps);
    }
}

extern "C" __global__ void __launch_bounds__(192)
    fdwt53_192(const int *input, int *output, int width, int height, int steps)
{
    fdwt<192>(input, output, width, height, steps);
}

extern "C" __global__ void __launch_bounds__(128)
    fdwt53_128(const int *input, int *output, int width, int height, int steps)
{
    fdwt<128>(input, output, width, height, steps);
}

extern "C" __global__ void __launch_bounds__(64)
    fdwt53_64(const int *input, int *output, int width, int height, int steps)
{
    fdwt<64>(input, output, width, height, steps);
}
