// Faults seeded on purpose, to show that the tests catch them.
#pragma once

namespace orthros {

// Each is a mistake that people made in public. A build has `none` unless configured with
// -DORTHROS_FAULT=NAME; the mutation tests instantiate forward with each in turn.
enum class Fault {
  none,
  window_off_by_one,     // a base row sees w + 1 keys
  copy_writes_cache,     // an output copy's K and V replace its position's cache entry
  index_as_position,     // a copy's row in the fused tensor taken for its position
  output_reads_window,   // the output stream reads the window only
  scale_offset_swapped,  // alpha, beta exchanged with alpha', beta'
};

#ifndef ORTHROS_FAULT
#define ORTHROS_FAULT none
#endif
inline constexpr Fault configured_fault = Fault::ORTHROS_FAULT;

}  // namespace orthros
