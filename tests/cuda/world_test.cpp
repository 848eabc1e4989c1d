// What processes that mpirun starts tell each other, without a device.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/program_run.hpp"

namespace orthros::cuda {
namespace {

class world : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // As root, with more processes than cores, and where memory of others may not be read.
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "OMPI_MCA_rmaps_base_oversubscribe"}) {
      setenv(name, "1", 1);
    }
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
  }
  void SetUp() override {
    // Two that begin at once trip over each other's folder.
    setenv("OMPI_MCA_orte_tmpdir_base", folder_.path().c_str(), 1);
    const ProgramRun tried = run_program(ORTHROS_MPIRUN, {"-n", "2", "true"});
    if (tried.status != 0) GTEST_SKIP() << "mpirun starts no processes here: " << tried.err;
  }
  static ProgramRun run(int processes, const char* scenario) {
    return run_program(ORTHROS_MPIRUN,
                       {"-n", std::to_string(processes), ORTHROS_WORLD_PROCESS, scenario});
  }
  // Each of them has what it should.
  static void expect_well(int processes, const char* scenario) {
    const ProgramRun told = run(processes, scenario);
    EXPECT_EQ(told.status, 0) << told.err;
    std::string all;
    for (int i = 0; i < processes; ++i) all += "well\n";
    EXPECT_EQ(told.out, all);
  }

 private:
  TempFolder folder_;
};

TEST_F(world, what_one_process_predicts_is_told_to_all) {
  expect_well(3, "predictions");
}

TEST_F(world, a_tokens_ids_come_from_whoever_holds_it) {
  expect_well(3, "ids");
}

TEST_F(world, more_than_a_gibibyte_arrives_whole) {
  expect_well(2, "many_bytes");
}

TEST_F(world, a_process_that_fails_ends_those_that_wait_for_it) {
  const ProgramRun failed = run(3, "failure");
  EXPECT_NE(failed.status, 0);
  EXPECT_EQ(failed.out.find("well"), std::string::npos) << failed.out;
}

}  // namespace
}  // namespace orthros::cuda
