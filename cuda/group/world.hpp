// World: the processes that mpirun started, one a rank; without it this one alone.
#pragma once

#include <cstdint>

namespace orthros::cuda {

// Through MPI go rank numbers, the first words of NCCL, and what one process alone has for the
// host: predictions, and entries to be looked at. All else is NCCL's.
struct World {
  int32_t rank = 0;
  int32_t size = 1;
  int32_t on_host = 0;  // its number among the processes of its host
};

// Joins where mpirun started the process and the build knows MPI; throws std::runtime_error where
// it does not know it, since every process would take itself for the only one. Once, before any
// other.
World join_world();
const World& world();
// One rank's bytes to all; all call it, on the thread that joined.
void broadcast(void* data, int64_t bytes, int32_t from = 0);
// Ends the world: in order where status is 0, else by taking all other processes down.
void leave_world(int status);

}  // namespace orthros::cuda
