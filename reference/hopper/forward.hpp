// forward in the engine's arithmetic, compiled once.
#pragma once

#include "reference/hopper/hopper.hpp"
#include "reference/model/forward.hpp"
#include "reference/model/load_model.hpp"

namespace orthros {

static_assert(rows_loaded_together % hopper::panel_lanes == 0, "a panel is one thread's");

extern template class Forward<Hopper, configured_fault>;
extern template class ModelLoader<Hopper>;

}  // namespace orthros
