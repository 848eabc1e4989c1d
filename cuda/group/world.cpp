// Asks MPI, where there is one.
#include "cuda/group/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#ifdef ORTHROS_MPI
#define OMPI_SKIP_MPICXX 1  // the C interface alone
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace orthros::cuda {
namespace {

World the_world;

// What Open MPI, MPICH and Slurm's launchers tell the processes they start.
bool started_by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

const World& world() {
  return the_world;
}

#ifdef ORTHROS_MPI

World join_world() {
  if (!started_by_mpirun()) return the_world;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &the_world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &the_world.size);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &the_world.on_host);
  MPI_Comm_free(&host);
  return the_world;
}

void broadcast(void* data, int64_t bytes, int32_t from) {
  if (the_world.size == 1) return;
  constexpr int64_t most = int64_t{1} << 30;  // MPI counts in int
  for (int64_t at = 0; at < bytes; at += most) {
    MPI_Bcast(static_cast<char*>(data) + at, static_cast<int>(std::min(most, bytes - at)), MPI_BYTE,
              from, MPI_COMM_WORLD);
  }
}

void leave_world(int status) {
  int there = 0;
  MPI_Initialized(&there);
  if (there == 0) return;
  if (status == 0) {
    MPI_Finalize();
  } else {
    MPI_Abort(MPI_COMM_WORLD, status);
  }
}

#else

World join_world() {
  if (started_by_mpirun()) {
    throw std::runtime_error(
        "started by mpirun, but this build knows no MPI: configure with -DORTHROS_MPI=ON");
  }
  return the_world;
}

void broadcast(void*, int64_t, int32_t) {}
void leave_world(int) {}

#endif

}  // namespace orthros::cuda
