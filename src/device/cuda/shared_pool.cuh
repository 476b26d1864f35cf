/*
 * Memory that host and GPU reach at one address. The driver takes long over each piece, so pieces
 * are cut from large ones, which are empty again when all that was cut from them is given back.
 * Emulated, each piece is the driver's own, so that what is read beyond its end is seen.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

class vv_shared_pool {
  public:
    void *take(size_t bytes) {
        size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        for (chunk &c : chunks) {
            if (c.bytes - c.used >= room) {
                return cut(c, room);
            }
        }
        chunk c = {nullptr, whole(room), 0, 0};
        if (cudaMallocManaged(reinterpret_cast<void **>(&c.at), c.bytes) != cudaSuccess) {
            cudaGetLastError();
            return nullptr;
        }
        chunks.push_back(c);
        return cut(chunks.back(), room);
    }

    void give(void *at) {
        for (size_t i = 0; i < chunks.size(); i++) {
            chunk &c = chunks[i];
            size_t offset = (size_t)(static_cast<uint8_t *>(at) - c.at);
            if (static_cast<uint8_t *>(at) >= c.at && offset < c.bytes) {
                c.used = --c.pieces ? c.used : 0;
                if (c.pieces == 0 && c.bytes != CHUNK) {
                    cudaFree(c.at);
                    chunks.erase(chunks.begin() + (std::ptrdiff_t)i);
                }
                return;
            }
        }
    }

    ~vv_shared_pool() {
        for (chunk &c : chunks) {
            cudaFree(c.at);
        }
    }

  private:
    static constexpr size_t ALIGNMENT = 256, CHUNK = (size_t)64 << 20;
    struct chunk {
        uint8_t *at;
        size_t bytes, used, pieces;
    };
    std::vector<chunk> chunks;

    static size_t whole(size_t room) {
#ifdef VV_CUDA_EMULATED
        return room;
#else
        return room > CHUNK ? room : CHUNK;
#endif
    }

    static void *cut(chunk &c, size_t room) {
        void *at = c.at + c.used;
        c.used += room;
        c.pieces++;
        return at;
    }
};
