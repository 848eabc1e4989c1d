// The reference compiled once for each scalar that programs run.
#include "reference/model/forward.hpp"
#include "reference/model/load_model.hpp"

namespace orthros {

template class Forward<double, configured_fault>;
template class Forward<float, configured_fault>;
template class Forward<bfloat16, configured_fault>;
template class ModelLoader<double>;
template class ModelLoader<float>;
template class ModelLoader<bfloat16>;

}  // namespace orthros
