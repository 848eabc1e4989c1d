// 128-bit integers, for products of 64-bit sizes that must not wrap.
#pragma once

namespace orthros {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

}  // namespace orthros
