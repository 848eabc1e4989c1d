// RecurrentForm: how a recurrent layer goes over new tokens.
#pragma once

namespace orthros {

// recurrent: token by token, as decode does. chunkwise: in chunks of C tokens by matrix products,
// as prefill kernels do, with the same result up to rounding.
enum class RecurrentForm { recurrent, chunkwise };

}  // namespace orthros
