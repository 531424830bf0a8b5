// Allocates eight levels of a grid of 2^32 cells of 4 bytes: 16 GiB each.

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                              \
    do {                                                                                                         \
        cudaError_t error = (call);                                                                              \
        if (error != cudaSuccess) {                                                                              \
            fprintf(stderr, "CUDA error at %s:%d: %s (%s)\n", __FILE__, __LINE__, cudaGetErrorString(error),    \
                    cudaGetErrorName(error));                                                                    \
            exit(EXIT_FAILURE);                                                                                  \
        }                                                                                                        \
    } while (0)

int main() {
    const size_t cells = 1ull << 32;
    float *levels[8];
    for (int level = 0; level < 8; level++) {
        printf("level %d: %zu cells\n", level, cells);
        fflush(stdout);
        CHECK(cudaMalloc(&levels[level], cells * sizeof(float)));
    }
    return 0;
}
