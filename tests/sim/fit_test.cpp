// Fits: laws are recovered from tables that they made, and tables are read strictly.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "reference/spec/input_error.hpp"
#include "sim/fit_kernels.hpp"
#include "sim/profile.hpp"

namespace orthros {
namespace {

class TempFile {
 public:
  explicit TempFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("orthros_fit_test_" + std::to_string(getpid()) + ".csv")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<MeasuredKernel> gemm_rows_of(const Law& law) {
  std::vector<MeasuredKernel> rows;
  for (int64_t n : {1024, 4096, 12288}) {
    for (int64_t m = 1; m <= 32768; m *= 2) {
      Op op;
      op.kind = OpKind::gemm;
      op.m = m;
      op.n = n;
      op.k = 4096;
      op.flops = 2 * m * n * op.k;
      op.bytes_read = 2 * (m * op.k + n * op.k);
      op.bytes_written = 2 * m * n;
      rows.push_back({op, law.seconds(op)});
    }
  }
  return rows;
}

TEST(sim_fit, a_table_that_a_law_made_is_predicted_by_its_fit) {
  Law law;
  law.launch_s = 4e-6;
  law.rate = 800e12;
  law.bandwidth = 3.0e12;
  const auto rows = gemm_rows_of(law);
  const KernelFit fit = fit_kernel(rows, OpKind::gemm, load_hardware("h100-sxm"));
  // Held-out rows of a law within the family: what the pull to the start leaves, far below noise.
  EXPECT_LT(fit.cross_validated.median, 0.01);
  EXPECT_LE(fit.parameters, 24);
}

TEST(sim_fit, fewer_rows_than_twice_the_numbers_are_refused) {
  Law law;
  law.launch_s = 1e-6;
  auto rows = gemm_rows_of(law);
  rows.resize(20);
  EXPECT_THROW(fit_kernel(rows, OpKind::gemm, load_hardware("h100-sxm")), InputError);
  EXPECT_THROW(fit_kernel(rows, OpKind::recurrence, load_hardware("h100-sxm")), InputError);
}

TEST(sim_fit, percentiles_are_of_the_rows) {
  const ErrorSummary summary = summarize({0.4, 0.1, 0.3, 0.2, 1.0, 0.5, 0.6, 0.7, 0.8, 0.9});
  EXPECT_EQ(summary.rows, 10);
  EXPECT_DOUBLE_EQ(summary.median, 0.55);
  EXPECT_DOUBLE_EQ(summary.p90, 0.9);
  EXPECT_DOUBLE_EQ(summary.mean, 0.55);
  EXPECT_EQ(summarize({}).rows, 0);
}

TEST(sim_fit, tables_may_end_lines_as_dos_does_and_lack_the_last_one) {
  const TempFile file("m,n,k,latency_ms\r\n1,1024,4096,0.01\r\n2,1024,4096,\"0.02\"");
  CsvTable table = CsvTable::read(file.path());
  const auto rows = measured_kernels(table, OpKind::gemm, {});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].op.m, 2);
  EXPECT_DOUBLE_EQ(rows[1].seconds, 2e-5);
  table.keep_where("m", "2");
  EXPECT_EQ(table.rows(), 1u);
}

TEST(sim_fit, malformed_tables_name_the_row) {
  for (const char* body : {"1,2\n", "1,2,3,nan\n", "1,2,3,-1\n", "1,2,3,0\n", "0,2,3,1\n",
                           "1.5,2,3,1\n", "1,2,3,\n", "\"1,2,3,4\n"}) {
    const TempFile file(std::string("m,n,k,latency_ms\n") + body);
    EXPECT_THROW(measured_kernels(CsvTable::read(file.path()), OpKind::gemm, {}), InputError)
        << body;
  }
  EXPECT_THROW(CsvTable::read("/no/such/table.csv"), InputError);
}

TEST(sim_fit, attention_rows_are_the_ops_of_a_layer) {
  const TempFile file("batch,isl,step,window,latency_ms\n2,8192,0,0,1\n2,8192,0,128,1\n");
  const auto rows = measured_kernels(CsvTable::read(file.path()), OpKind::prefill_attention, {});
  EXPECT_EQ(rows[0].op.pairs, 2 * 33'558'528);  // 8192 x 8193 / 2
  EXPECT_EQ(rows[0].op.flops, 4 * 4096 * rows[0].op.pairs);
  EXPECT_EQ(rows[1].op.pairs, 2 * (8192 * 128 - 128 * 127 / 2));
  const TempFile decode("batch,isl,step,window,latency_ms\n4,1,1023,0,1\n");
  const auto step = measured_kernels(CsvTable::read(decode.path()), OpKind::decode_attention, {});
  EXPECT_EQ(step[0].op.pairs, 4 * 1024);
}

TEST(sim_fit, heads_are_checked) {
  EXPECT_EQ(parse_heads("64/8x64").query_heads, 64);
  for (const char* bad : {"", "32", "32/8", "32x8/128", "33/2x128", "0/0x1", "8/32x128"}) {
    EXPECT_THROW(parse_heads(bad), InputError) << bad;
  }
}

}  // namespace
}  // namespace orthros
