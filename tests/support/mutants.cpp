// The five seeded faults, each compiled here whatever the build's own fault is.
#include <stdexcept>

#include "tests/support/subject_model.hpp"

namespace orthros {

Subject mutant(Fault fault) {
  switch (fault) {
    case Fault::window_off_by_one:
      return {"window_off_by_one", 8, SubjectModel<double, Fault::window_off_by_one>::load};
    case Fault::copy_writes_cache:
      return {"copy_writes_cache", 8, SubjectModel<double, Fault::copy_writes_cache>::load};
    case Fault::index_as_position:
      return {"index_as_position", 8, SubjectModel<double, Fault::index_as_position>::load};
    case Fault::output_reads_window:
      return {"output_reads_window", 8, SubjectModel<double, Fault::output_reads_window>::load};
    case Fault::scale_offset_swapped:
      return {"scale_offset_swapped", 8, SubjectModel<double, Fault::scale_offset_swapped>::load};
    case Fault::none:
      break;
  }
  throw std::logic_error("expected a fault to seed");
}

}  // namespace orthros
