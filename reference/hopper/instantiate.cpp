// The reference compiled for the engine's arithmetic.
#include "reference/hopper/forward.hpp"

namespace orthros {

template class Forward<Hopper, configured_fault>;
template class ModelLoader<Hopper>;

}  // namespace orthros
