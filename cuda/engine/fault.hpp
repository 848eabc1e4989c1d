// Faults seeded on purpose, to show that the check catches them.
#pragma once

namespace orthros::cuda {

// Only a build with -DORTHROS_CUDA_FAULTS=ON acts on any but `none`.
enum class EngineFault {
  none,
  window_off_by_one,   // a base row sees w + 1 keys
  copy_writes_cache,   // an output copy's K and V replace its position's cache entry
  index_as_position,   // a copy's row in the packed tensor taken for its position
  dropped_split,       // the last split of an output row's keys left out
  stale_graph_length,  // a replayed graph keeps the lengths of its capture
  neighbour_scale,     // e4m3 entries read with the next KV head's scale
};

}  // namespace orthros::cuda
