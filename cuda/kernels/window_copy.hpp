// The copying warps of a window attention block: one for keys and values, one for each warpgroup's
// tiles.
#pragma once

#include "cuda/kernels/window_shared.hpp"

namespace orthros::cuda::window {

// A warp's 32 threads together: the share of this block, and the run it begins in.
__device__ inline SegmentWalk share_of_block(const Arguments& arguments, int32_t lane) {
  const auto tiles = [&](int64_t run) {
    return run < arguments.run_count
               ? tiles_of(arguments.runs[run], arguments.positions).size() * arguments.kv_heads
               : int64_t{0};
  };
  const auto sum = [](int64_t value) {
    for (int distance = 16; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, distance);
    }
    return value;
  };
  int64_t all = 0;
#pragma unroll 1
  for (int64_t run = lane; run < arguments.run_count; run += 32) all += tiles(run);
  const TileRange share = share_of(sum(all), blockIdx.x, gridDim.x);
  int64_t start = 0;
  int64_t first = 0;
#pragma unroll 1
  for (; first + 32 < arguments.run_count; first += 32) {
    const int64_t here = sum(tiles(first + lane));
    if (start + here > share.first) break;
    start += here;
  }
  return {arguments.runs, arguments.kv_heads, arguments.positions, share, first, start};
}

// Key blocks that a segment's tiles see, by position over 16; those before 0 are zeros.
struct BlockRange {
  int32_t first;
  int32_t end;
};
__device__ __forceinline__ BlockRange blocks_of(const TileSegment& segment, int32_t positions) {
  return {key_block_of(segment.tiles.first, positions) + 1 - window_blocks,
          key_block_of(segment.tiles.end - 1, positions) + 1};
}

// One thread: every segment's key blocks into the ring.
__device__ inline void copy_blocks(Shared& shared, const Maps& maps, const Arguments& arguments,
                                   SegmentWalk walk) {
  int32_t copied = 0;
  int32_t slot = 0;
  TileSegment segment;
  while (walk.next(segment)) {
    const int32_t sequence = arguments.runs[segment.run].sequence;
    const BlockRange blocks = blocks_of(segment, arguments.positions);
#pragma unroll 1
    for (int32_t block = blocks.first; block < blocks.end; ++block) {
      if (copied >= ring_blocks) {
        const int32_t before = copied - ring_blocks;  // in this slot
        barrier_wait(&shared.block_empty[before % block_barriers], before / block_barriers & 1);
      }
      uint64_t* full = &shared.block_full[copied % block_barriers];
      barrier_arrive_expect(full, (slot < repeated_blocks ? 6 : 4) * block_bytes);
      const int32_t position = block * window_key_block;
#pragma unroll 1
      for (int32_t to = slot; to < key_slots; to += ring_blocks) {
        load_box(shared.keys[0][to], maps.keys, full, 0, position, segment.head, sequence);
        load_box(shared.keys[1][to], maps.keys, full, half_width, position, segment.head, sequence);
      }
      load_box(shared.values[slot], maps.values, full, 0, position, 0, segment.head, sequence);
      ++copied;
      slot = slot_after(slot, 1);
    }
  }
}

// One thread: the tasks of one warpgroup, their queries and their output. A segment's tiles are
// dealt out in turn; each round gives every warpgroup a task, past the segment's end one without a
// tile.
class TileCopier {
 public:
  __device__ __forceinline__ TileCopier(Shared& shared, const Maps& maps,
                                        const Arguments& arguments, int32_t warpgroup)
      : shared_(shared), maps_(maps), arguments_(arguments), warpgroup_(warpgroup) {}

  __device__ __forceinline__ void run(SegmentWalk walk) {
    int32_t entered = 0;  // key blocks of the segments before
    int32_t turn = 0;     // the warpgroup that takes the next segment's first tile
    TileSegment segment;
    while (walk.next(segment)) {
      const QueryRun& run = arguments_.runs[segment.run];
      const auto begin = static_cast<int32_t>(run.position);
      const auto end = static_cast<int32_t>(run.position + run.count);
      const auto row_of_start = static_cast<int32_t>(run.row - run.position);
      const int32_t positions = arguments_.positions;
      const BlockRange blocks = blocks_of(segment, positions);
      const int32_t start = entered - blocks.first;  // the ring's number of key block 0
      entered = start + blocks.end;
      const auto first = static_cast<int32_t>(segment.tiles.first);
      const auto last = static_cast<int32_t>(segment.tiles.end);
      const auto window_of = [&](int32_t tile) {
        return start + key_block_of(tile, positions) + 1 - window_blocks;
      };
      const int32_t mine = (warpgroup_ - turn + warpgroups) % warpgroups;
#pragma unroll 1
      for (int32_t round = first; round < last; round += warpgroups) {
        const int32_t tile = round + mine;
        TileTask task{};
        task.release_to = tile + warpgroups < last ? window_of(tile + warpgroups) : entered;
        if (tile < last) {
          const int32_t position = tile * positions;
          const TilePart part = part_in_run(position, positions, begin, end);
          task.position = position;
          task.row = row_of_start + position;
          task.head = segment.head;
          task.first = part.first;
          task.end = part.end;
          task.window = window_of(tile);
          task.slot = task.window % ring_blocks;
          task.written =
              min(end - position / window_key_block * window_key_block, window_key_block);
        }
        give(task);
      }
      turn = (turn + last - first) % warpgroups;
    }
    TileTask task{};
    task.head = -1;
    give(task);
    if (given_ > 1) finish();  // the tile before
  }

 private:
  // Into the places in turn, each after what was there.
  __device__ __forceinline__ void give(const TileTask& task) {
    if (given_ >= stages) finish();
    const int32_t stage = given_ % stages;
    uint64_t* full = &shared_.tile_full[warpgroup_][stage];
    shared_.tasks[warpgroup_][stage] = task;
    const int32_t group = arguments_.group;
    const int32_t count = task.end - task.first;
    barrier_arrive_expect(full, count * group * 2 * row_bytes);
    bf16_bits(*rows)[window_tile_rows][half_width] = shared_.queries[warpgroup_][stage];
#pragma unroll 1
    for (int32_t half = 0; half < 2; ++half) {
      if (count == arguments_.positions) {
        load_box(rows[half], maps_.q, full, 0, task.head * group, task.row, half);
        continue;
      }
#pragma unroll 1
      for (int32_t i = task.first; i < task.end; ++i) {
        load_box(rows[half][i * group], maps_.q_row, full, 0, task.head * group, task.row + i,
                 half);
      }
    }
    ++given_;
  }

  // Stores the output of the tile that was given `stages` ago (at the end: one before the last).
  __device__ __forceinline__ void finish() {
    const int32_t stage = given_ % stages;
    barrier_wait(&shared_.tile_done[warpgroup_][stage], (given_ / stages & 1) ^ 1);
    const TileTask task = shared_.tasks[warpgroup_][stage];
    const int32_t group = arguments_.group;
    const int32_t count = task.end - task.first;
    bf16_bits(*rows)[window_tile_rows][half_width] = shared_.queries[warpgroup_][stage];
#pragma unroll 1
    for (int32_t half = 0; half < 2; ++half) {
      if (count == arguments_.positions) {
        store_box(maps_.out, rows[half], 0, task.head * group, task.row, half);
        continue;
      }
#pragma unroll 1
      for (int32_t i = task.first; i < task.end; ++i) {
        store_box(maps_.out_row, rows[half][i * group], 0, task.head * group, task.row + i, half);
      }
    }
    store_commit();
    store_wait_read();
  }

  Shared& shared_;
  const Maps& maps_;
  const Arguments& arguments_;
  int32_t warpgroup_;
  int32_t given_ = 0;
};

}  // namespace orthros::cuda::window
