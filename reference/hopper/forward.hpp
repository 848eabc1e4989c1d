// forward in the engine's arithmetic, compiled once.
#pragma once

#include "reference/hopper/hopper.hpp"
#include "reference/model/forward.hpp"
#include "reference/model/load_model.hpp"

namespace orthros {

extern template class Forward<Hopper, configured_fault>;
extern template class ModelLoader<Hopper>;

}  // namespace orthros
