// main() of every test program: pins RapidCheck's seed and refuses a reproduction string, which
// would run one property and let all others pass without running.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  const char* params = std::getenv("RC_PARAMS");
  if (params != nullptr && std::string_view(params).find("reproduce") != std::string_view::npos) {
    std::fprintf(stderr,
                 "RC_PARAMS: reproduce: expected no reproduction string (it makes every other "
                 "property pass without running); use seed=N and --gtest_filter\n");
    return 2;
  }
  constexpr int keep_what_is_set = 0;
  setenv("RC_PARAMS", "seed=20261009", keep_what_is_set);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
