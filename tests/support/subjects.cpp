// The library's own forward in its three scalars.
#include "tests/support/subject_model.hpp"

namespace orthros {

const std::vector<Subject>& every_subject() {
  static const std::vector<Subject> subjects = {
      {"double", 8, SubjectModel<double, configured_fault>::load},
      {"float", 4, SubjectModel<float, configured_fault>::load},
      {"bfloat16", 2, SubjectModel<bfloat16, configured_fault>::load}};
  return subjects;
}

const Subject& double_subject() {
  return every_subject().front();
}

}  // namespace orthros
