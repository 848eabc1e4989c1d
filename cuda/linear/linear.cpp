// Linears: row_product for few rows, cuBLASLt where it was seen to give the same bits faster.
#include "cuda/linear/linear.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/row_product.hpp"
#include "cuda/layout/product_sizes.hpp"
#include "cuda/linear/launch_timer.hpp"
#include "cuda/linear/lt_product.hpp"
#include "cuda/linear/trial.hpp"
#include "cuda/support/device_buffer.hpp"

namespace orthros::cuda {
namespace {

// Up to this many rows row_product reads the weights once, and overlaps with the kernel ahead.
constexpr int64_t row_product_rows = 32;
constexpr int64_t fewest_outputs = 1024;         // for cuBLASLt: below, a product is small anyway
constexpr int64_t most_outputs = 65536;          // above, vocabularies: few rows, not rounded
constexpr int64_t row_product_trial_rows = 256;  // beyond, row_product is not worth timing
constexpr int algorithms_tried = 8;
constexpr int few_rows_algorithms_tried = 4;  // at each of many sizes
constexpr double worth_timing = 1.15;  // of the best so far: beyond, the first launch has told
// Few rows are timed as a decode step has them: over weights that no cache holds. Small weights
// stay in caches in a decode step too, and are not worth a long choice.
constexpr int64_t cold_bytes = int64_t{300} << 20;
constexpr int64_t small_bytes = int64_t{8} << 20;

// How a shape runs at `report.rows` rows and those before it down to the next size.
struct Choice {
  LinearReport report;
  std::optional<cublasLtMatmulAlgo_t> algorithm;  // none: row_product
};

// One shape's random operands, and the chain's results for them.
struct Trial {
  Trial(const Weight& shape, bool for_gated, int64_t rows)
      : gated(for_gated),
        size(padded16(shape.out) * shape.stride),
        small(bytes(size) < small_bytes),
        copies(small ? 1 : 1 + cold_bytes / bytes(size)),
        weights(size * copies),
        inputs(rows * shape.stride),
        expected(rows * padded16(shape.out)),
        got(expected.size()),
        activations(gated ? std::min(rows, prompt_rows) * padded16(shape.out) / 2 : 0),
        differing(1),
        w{weights.data(), shape.out, shape.in, shape.stride},
        y_stride(padded16(shape.out)) {
    launch_trial_fill(weights.data(), padded16(w.out) * copies, w.in, w.stride, 0.05f, 1, nullptr);
    launch_trial_fill(inputs.data(), rows, w.in, w.stride, 1.0f, 2, nullptr);
    expected.fill_bytes(0xff);
    launch_row_product(
        {w, input(rows), expected.data(), y_stride, RowResult::rounded, false, nullptr});
  }

  static int64_t bytes(int64_t values) { return values * static_cast<int64_t>(sizeof(bf16_bits)); }
  Input input(int64_t rows) const { return {inputs.data(), rows, w.stride}; }

  // Whether the algorithm runs, and gives the chain's results for the first `rows` rows.
  bool equal(const LtProduct& lt, const cublasLtMatmulAlgo_t& algorithm, int64_t rows) {
    ORTHROS_CUDA(cudaMemset(got.data(), 0xff, static_cast<size_t>(bytes(rows * y_stride))));
    differing.fill_bytes(0);
    if (!lt.multiply(algorithm, w, input(rows), got.data(), y_stride, nullptr)) return false;
    launch_count_differing(expected.data(), got.data(), rows * y_stride, differing.data(), nullptr);
    return differing.to_host()[0] == 0;
  }

  // Microseconds of multiply(weight, stream) at this many rows, the shortest of `times`.
  template <class Multiply>
  double microseconds(int64_t rows, size_t times, const Multiply& multiply) {
    const int64_t products = rows <= prompt_rows ? copies : 1;
    const auto record = [&](cudaStream_t stream) {
      for (int64_t i = 0; i < products; ++i) {
        multiply(Weight{weights.data() + i * size, w.out, w.in, w.stride}, stream);
      }
    };
    return timer.microseconds(times, record) / static_cast<double>(products);
  }

  bool gated;    // few rows' products are timed with SwiGLU
  int64_t size;  // of a weight
  bool small;
  int64_t copies;  // different ones
  LaunchTimer timer;
  DeviceBuffer<bf16_bits> weights;   // copies of out x in
  DeviceBuffer<bf16_bits> inputs;    // rows x in
  DeviceBuffer<bf16_bits> expected;  // rows x out
  DeviceBuffer<bf16_bits> got;
  DeviceBuffer<bf16_bits> activations;  // few rows x out / 2, where gated
  DeviceBuffer<unsigned long long> differing;
  Weight w;
  int64_t y_stride;
};

}  // namespace

class Linears::State {
 public:
  explicit State(int64_t most_rows) : most_rows_(most_rows) {}

  void prepare(const Weight& w, bool gated) {
    if (most_rows_ <= row_product_rows || choices_.contains(key(w)) || w.in % 16 != 0 ||
        w.out < fewest_outputs || w.out > most_outputs) {
      return;
    }
    int device = 0;
    ORTHROS_CUDA(cudaGetDevice(&device));
    std::vector<Choice> choices;
    std::optional<Trial> trial;
    for (const int64_t rows : product_sizes(row_product_rows, most_rows_)) {
      const MadeKey made{device, key(w), gated, rows};
      std::optional<Choice> choice = made_before(made);
      if (!choice) {
        if (!trial) trial.emplace(w, gated, most_rows_);
        choice = choose(*trial, rows);
        const std::lock_guard lock(made_mutex);
        made_choices.emplace(made, *choice);
      }
      choices.push_back(*choice);
    }
    choices_.emplace(key(w), std::move(choices));
  }

  // The algorithm for this many rows, or null for row_product.
  const cublasLtMatmulAlgo_t* algorithm(const Weight& w, int64_t rows) const {
    if (rows <= row_product_rows) return nullptr;
    const auto found = choices_.find(key(w));
    if (found == choices_.end()) return nullptr;
    for (const Choice& choice : found->second) {
      if (rows <= choice.report.rows) {
        return choice.algorithm ? &*choice.algorithm : nullptr;
      }
    }
    return nullptr;
  }

  // False where these rows are row_product's.
  bool through_lt(const Weight& w, const Input& x, bf16_bits* y, int64_t y_stride,
                  cudaStream_t stream) const {
    const cublasLtMatmulAlgo_t* chosen = algorithm(w, x.rows);
    return chosen != nullptr && lt_.multiply(*chosen, w, x, y, y_stride, stream);
  }

  std::vector<LinearReport> report() const {
    std::vector<LinearReport> all;
    for (const auto& [shape, choices] : choices_) {
      for (const Choice& choice : choices) all.push_back(choice.report);
    }
    return all;
  }

  bool overlap = true;

 private:
  using Key = std::tuple<int64_t, int64_t, int64_t>;
  static Key key(const Weight& w) { return {w.out, w.in, w.stride}; }

  // What this process has chosen: another engine on the device need not choose again.
  using MadeKey = std::tuple<int, Key, bool, int64_t>;  // device, shape, gated, rows
  static inline std::mutex made_mutex;
  static inline std::map<MadeKey, Choice> made_choices;

  static std::optional<Choice> made_before(const MadeKey& made) {
    const std::lock_guard lock(made_mutex);
    const auto found = made_choices.find(made);
    if (found == made_choices.end()) return std::nullopt;
    return found->second;
  }

  // Different algorithms that cuBLASLt offers: for few rows at any such number, since what serves
  // one best is often offered for another alone; for prompts at `rows` and where copies begin; for
  // small weights at `rows`.
  std::vector<cublasLtMatmulAlgo_t> offered(const Trial& trial, int64_t rows) const {
    std::vector<cublasLtMatmulAlgo_t> all;
    const auto add = [&](int64_t size, int most) {
      for (const auto& one : lt_.offered(trial.w, trial.input(size), trial.y_stride, most)) {
        const auto same = [&](const auto& other) {
          return std::equal(std::begin(one.data), std::end(one.data), std::begin(other.data));
        };
        if (std::none_of(all.begin(), all.end(), same)) all.push_back(one);
      }
    };
    if (rows > prompt_rows || trial.small) add(rows, algorithms_tried);
    if (rows > prompt_rows) add(rows - copies_behind + 1, algorithms_tried);
    if (rows > prompt_rows || trial.small) return all;
    constexpr int64_t step = 8;
    for (int64_t size = row_product_rows + step; size <= prompt_rows; size += step) {
      add(size, few_rows_algorithms_tried);
    }
    return all;
  }

  Choice choose(Trial& trial, int64_t rows) {
    const Weight& w = trial.w;
    const Input x = trial.input(rows);
    bf16_bits* y = trial.got.data();
    const bool with_gate = trial.gated && rows <= prompt_rows;
    Choice best{{w.out, w.in, rows, row_product_algorithm, 0.0, 0, 0}, std::nullopt};
    const auto row_product_time = [&] {
      return trial.microseconds(rows, launches_timed, [&](const Weight& each, cudaStream_t stream) {
        const RowResult result = with_gate ? RowResult::gated : RowResult::rounded;
        launch_row_product({each, x, y, trial.y_stride, result, true, stream});
      });
    };
    if (rows <= row_product_trial_rows) best.report.microseconds = row_product_time();
    for (const auto& algorithm : offered(trial, rows)) {
      ++best.report.offered;
      if (!trial.equal(lt_, algorithm, rows)) continue;
      ++best.report.equal;
      const auto time = [&](size_t times) {
        return trial.microseconds(rows, times, [&](const Weight& each, cudaStream_t stream) {
          lt_.multiply(algorithm, each, x, y, trial.y_stride, stream);
          if (with_gate) {
            launch_swiglu(y, rows, trial.y_stride, w.out / 2, trial.activations.data(),
                          trial.y_stride / 2, stream);
          }
        });
      };
      double& least = best.report.microseconds;
      if (least != 0.0 && time(1) > worth_timing * least) continue;
      const double measured = time(launches_timed);
      if (least == 0.0 || measured < least) {
        least = measured;
        best.report.algorithm = LtProduct::id(algorithm);
        best.algorithm = algorithm;
      }
    }
    if (best.report.microseconds == 0.0) best.report.microseconds = row_product_time();
    return best;
  }

  int64_t most_rows_;
  LtProduct lt_;
  std::map<Key, std::vector<Choice>> choices_;
};

Linears::Linears(int64_t most_rows) : state_(std::make_unique<State>(most_rows)) {}
Linears::~Linears() = default;

void Linears::prepare(const Weight& w, bool gated) {
  state_->prepare(w, gated);
}

void Linears::set_overlap(bool overlap) {
  state_->overlap = overlap;
}

void Linears::multiply(const Weight& w, const Input& x, bf16_bits* y, int64_t y_stride,
                       cudaStream_t stream) {
  if (state_->through_lt(w, x, y, y_stride, stream)) return;
  launch_row_product({w, x, y, y_stride, RowResult::rounded, state_->overlap, stream});
}

void Linears::multiply(const Weight& w, const Input& x, float* y, int64_t y_stride,
                       cudaStream_t stream) {
  launch_row_product({w, x, y, y_stride, RowResult::floating, state_->overlap, stream});
}

void Linears::gated(const Weight& w, const Input& x, bf16_bits* y, int64_t y_stride,
                    bf16_bits* scratch, cudaStream_t stream) {
  if (state_->through_lt(w, x, scratch, w.out, stream)) {
    launch_swiglu(scratch, x.rows, w.out, w.out / 2, y, y_stride, stream);
  } else {
    launch_row_product({w, x, y, y_stride, RowResult::gated, state_->overlap, stream});
  }
}

std::vector<LinearReport> Linears::report() const {
  return state_->report();
}

}  // namespace orthros::cuda
