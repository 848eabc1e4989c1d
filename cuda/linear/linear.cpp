// Linears: row_product for few rows; for others the fastest way that was seen to give its bits.
#include "cuda/linear/linear.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "cuda/kernels/elementwise.hpp"
#include "cuda/kernels/row_product.hpp"
#include "cuda/kernels/wide_product.hpp"
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
// Few rows are timed as a decode step has them: over weights that no cache holds.
constexpr int64_t cold_bytes = int64_t{300} << 20;
// A long prompt's passes run at the card's power limit, where a way that is faster in bursts may be
// slower: it draws more, and clocks fall. The largest product's ways are timed so, with the card
// hot; before clocks have settled, about a second, they are lower than they will be.
constexpr int64_t sustained_rows = 2048;
constexpr double heating = 800e3;  // microseconds before the first
constexpr double sustained = 40e3;

// A way to multiply.
struct Way {
  int id;  // as in LinearReport
  std::optional<cublasLtMatmulAlgo_t> algorithm;
};

// How a shape runs at `report.rows` rows and those before it down to the next size.
struct Choice {
  LinearReport report;
  Way way;
};

// Where results go. Gated: rows x out / 2, by way of `scratch`, rows x out, where a way needs it.
struct Output {
  bf16_bits* y;
  int64_t y_stride;
  bool gated;
  bf16_bits* scratch;
};

// One shape's random operands, and the chain's results for them.
struct Trial {
  Trial(const Weight& shape, bool for_gated, int64_t rows)
      : gated(for_gated),
        size(padded16(shape.out) * shape.stride),
        copies(1 + cold_bytes / (size * static_cast<int64_t>(sizeof(bf16_bits)))),
        weights(size * copies),
        inputs(rows * shape.stride),
        expected(rows * padded16(shape.out)),
        got(expected.size()),
        expected_activations(gated ? expected.size() / 2 : 0),
        activations(expected_activations.size()),
        differing(1),
        w{weights.data(), shape.out, shape.in, shape.stride},
        y_stride(padded16(shape.out)) {
    launch_trial_fill(weights.data(), padded16(w.out) * copies, w.in, w.stride, 0.05f, 1, nullptr);
    launch_trial_fill(inputs.data(), rows, w.in, w.stride, 1.0f, 2, nullptr);
    expected.fill_bytes(0xff);
    launch_row_product(
        {w, input(rows), expected.data(), y_stride, RowResult::rounded, false, nullptr});
    if (!gated) return;
    expected_activations.fill_bytes(0xff);
    launch_swiglu(expected.data(), rows, y_stride, w.out / 2, expected_activations.data(),
                  y_stride / 2, nullptr);
  }

  Input input(int64_t rows) const { return {inputs.data(), rows, w.stride}; }

  // Where products go, and what they must be.
  Output output(bool with_swiglu) const {
    if (!with_swiglu) return {got.data(), y_stride, false, nullptr};
    return {activations.data(), y_stride / 2, true, got.data()};
  }
  void clear(int64_t rows) {
    const auto row_bytes = static_cast<size_t>(y_stride) * sizeof(bf16_bits);
    const auto bytes = static_cast<size_t>(rows) * row_bytes;
    ORTHROS_CUDA(cudaMemset(got.data(), 0xff, bytes));
    if (gated) ORTHROS_CUDA(cudaMemset(activations.data(), 0xff, bytes / 2));
    differing.fill_bytes(0);
  }
  // Whether the last product's first `rows` rows, into output(with_swiglu), are the chain's.
  bool equal(bool with_swiglu, int64_t rows) const {
    const bf16_bits* right = with_swiglu ? expected_activations.data() : expected.data();
    const Output to = output(with_swiglu);
    launch_count_differing(right, to.y, rows * to.y_stride, differing.data(), nullptr);
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

  bool gated;      // products are timed with SwiGLU
  int64_t size;    // of a weight
  int64_t copies;  // different ones
  LaunchTimer timer;
  DeviceBuffer<bf16_bits> weights;   // copies of out x in
  DeviceBuffer<bf16_bits> inputs;    // rows x in
  DeviceBuffer<bf16_bits> expected;  // rows x out
  DeviceBuffer<bf16_bits> got;
  DeviceBuffer<bf16_bits> expected_activations;  // rows x out / 2, where gated
  DeviceBuffer<bf16_bits> activations;
  DeviceBuffer<unsigned long long> differing;
  Weight w;
  int64_t y_stride;
};

}  // namespace

class Linears::State {
 public:
  State(int64_t most_rows, int64_t pass_rows) : most_rows_(most_rows), pass_rows_(pass_rows) {}

  void prepare(const Weight& w, bool gated) {
    if (most_rows_ <= row_product_rows || choices_.contains(key(w)) || w.in % 16 != 0 ||
        w.out < fewest_outputs || w.out > most_outputs) {
      return;
    }
    int device = 0;
    ORTHROS_CUDA(cudaGetDevice(&device));
    const MadeKey made{device, key(w), gated, most_rows_, pass_rows_};
    {
      const std::lock_guard lock(made_mutex);
      if (const auto found = made_choices.find(made); found != made_choices.end()) {
        choices_.emplace(key(w), found->second);
        return;
      }
    }
    std::vector<Choice> choices;
    Trial trial(w, gated, most_rows_);
    int64_t before = 0;
    for (const int64_t rows : product_sizes(row_product_rows, most_rows_)) {
      const bool serves_passes = before < pass_rows_ && pass_rows_ <= rows;
      choices.push_back(choose(trial, rows, gated && serves_passes && rows >= sustained_rows));
      before = rows;
    }
    {
      const std::lock_guard lock(made_mutex);
      made_choices.emplace(made, choices);
    }
    choices_.emplace(key(w), std::move(choices));
  }

  // As was found best for this many rows; row_product where it cannot.
  void multiply(const Weight& w, const Input& x, const Output& to, cudaStream_t stream) const {
    const Choice* chosen = choice(w, x.rows);
    if (chosen != nullptr && run(chosen->way, w, x, to, stream)) return;
    run(by_rows, w, x, to, stream);
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
  // What this process has chosen before: another engine on the device need not choose again.
  using MadeKey = std::tuple<int, Key, bool, int64_t, int64_t>;
  static inline std::mutex made_mutex;
  static inline std::map<MadeKey, std::vector<Choice>> made_choices;

  static Key key(const Weight& w) { return {w.out, w.in, w.stride}; }
  static inline const Way by_rows{row_product_algorithm, std::nullopt};
  static inline const Way wide{wide_product_algorithm, std::nullopt};

  const Choice* choice(const Weight& w, int64_t rows) const {
    if (rows <= row_product_rows) return nullptr;
    const auto found = choices_.find(key(w));
    if (found == choices_.end()) return nullptr;
    const auto fits = [&](const Choice& one) { return rows <= one.report.rows; };
    const auto one = std::find_if(found->second.begin(), found->second.end(), fits);
    return one == found->second.end() ? nullptr : &*one;
  }

  // False, with nothing launched, where the way does not run these rows.
  bool run(const Way& way, const Weight& w, const Input& x, const Output& to,
           cudaStream_t stream) const {
    if (way.algorithm) {
      if (!to.gated) return lt_.multiply(*way.algorithm, w, x, to.y, to.y_stride, stream);
      if (!lt_.multiply(*way.algorithm, w, x, to.scratch, w.out, stream)) return false;
      launch_swiglu(to.scratch, x.rows, w.out, w.out / 2, to.y, to.y_stride, stream);
    } else if (way.id == wide_product_algorithm) {
      const WideResult result = to.gated ? WideResult::gated : WideResult::rounded;
      launch_wide_product({w, x, to.y, to.y_stride, result, overlap, stream});
    } else {
      const RowResult result = to.gated ? RowResult::gated : RowResult::rounded;
      launch_row_product({w, x, to.y, to.y_stride, result, overlap, stream});
    }
    return true;
  }

  // Whether the way runs, and gives the chain's results for the first `rows` rows.
  bool equal(Trial& trial, const Way& way, int64_t rows) const {
    const auto same = [&](bool with_swiglu) {
      return run(way, trial.w, trial.input(rows), trial.output(with_swiglu), nullptr) &&
             trial.equal(with_swiglu, rows);
    };
    trial.clear(rows);
    return same(false) && (!trial.gated || same(true));
  }

  // Different algorithms that cuBLASLt offers: for few rows at any such number, since what serves
  // one best is often offered for another alone; for prompts at `rows` and where copies begin.
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
    if (rows > prompt_rows) {
      add(rows, algorithms_tried);
      add(rows - copies_behind + 1, algorithms_tried);
      return all;
    }
    constexpr int64_t step = 8;
    for (int64_t size = row_product_rows + step; size <= prompt_rows; size += step) {
      add(size, few_rows_algorithms_tried);
    }
    return all;
  }

  struct Timed {
    Way way;
    double microseconds;
  };

  Choice choose(Trial& trial, int64_t rows, bool hot) {
    LinearReport report{trial.w.out, trial.w.in, rows, row_product_algorithm, 0.0, 0, 0};
    const Input x = trial.input(rows);
    std::vector<Timed> timed;
    double least = 0.0;
    const auto consider = [&](const Way& way) {
      const auto time = [&](size_t times) {
        return trial.microseconds(rows, times, [&](const Weight& each, cudaStream_t stream) {
          run(way, each, x, trial.output(trial.gated), stream);
        });
      };
      if (least != 0.0 && time(1) > worth_timing * least) return;
      timed.push_back({way, time(launches_timed)});
      if (least == 0.0 || timed.back().microseconds < least) least = timed.back().microseconds;
    };
    if (rows <= row_product_trial_rows) consider(by_rows);
    // Alone it is 1 to 5 % behind the best of cuBLASLt's; what it saves is SwiGLU's kernel.
    if (trial.gated && rows > prompt_rows && equal(trial, wide, rows)) consider(wide);
    for (const auto& algorithm : offered(trial, rows)) {
      ++report.offered;
      const Way way{LtProduct::id(algorithm), algorithm};
      if (!equal(trial, way, rows)) continue;
      ++report.equal;
      consider(way);
    }
    if (timed.empty()) consider(by_rows);
    if (hot) time_hot(trial, rows, least, timed);
    const auto faster = [](const Timed& a, const Timed& b) {
      return a.microseconds < b.microseconds;
    };
    const Timed& best = *std::min_element(timed.begin(), timed.end(), faster);
    report.algorithm = best.way.id;
    report.microseconds = best.microseconds;
    return {report, best.way};
  }

  // Times those near the least again, with the card as hot as a long prompt's passes make it, and
  // drops the others.
  void time_hot(Trial& trial, int64_t rows, double least, std::vector<Timed>& timed) const {
    std::erase_if(timed, [&](const Timed& one) { return one.microseconds > worth_timing * least; });
    if (timed.size() == 1) return;
    const auto mean = [&](const Timed& one, double long_enough) {
      return trial.timer.mean_microseconds(long_enough, least, [&](cudaStream_t stream) {
        run(one.way, trial.w, trial.input(rows), trial.output(trial.gated), stream);
      });
    };
    mean(timed.front(), heating);
    // There and back, so that what is left of a drift of clocks favours none.
    for (Timed& one : timed) one.microseconds = mean(one, sustained) / 2.0;
    for (auto one = timed.rbegin(); one != timed.rend(); ++one) {
      one->microseconds += mean(*one, sustained) / 2.0;
    }
  }

  int64_t most_rows_;
  int64_t pass_rows_;
  LtProduct lt_;
  std::map<Key, std::vector<Choice>> choices_;
};

Linears::Linears(int64_t most_rows, int64_t pass_rows)
    : state_(std::make_unique<State>(most_rows, pass_rows)) {}
Linears::~Linears() = default;

void Linears::prepare(const Weight& w, bool gated) {
  state_->prepare(w, gated);
}

void Linears::set_overlap(bool overlap) {
  state_->overlap = overlap;
}

void Linears::multiply(const Weight& w, const Input& x, bf16_bits* y, int64_t y_stride,
                       cudaStream_t stream) {
  state_->multiply(w, x, {y, y_stride, false, nullptr}, stream);
}

void Linears::multiply(const Weight& w, const Input& x, float* y, int64_t y_stride,
                       cudaStream_t stream) {
  launch_row_product({w, x, y, y_stride, RowResult::floating, state_->overlap, stream});
}

void Linears::gated(const Weight& w, const Input& x, bf16_bits* y, int64_t y_stride,
                    bf16_bits* scratch, cudaStream_t stream) {
  state_->multiply(w, x, {y, y_stride, true, scratch}, stream);
}

std::vector<LinearReport> Linears::report() const {
  return state_->report();
}

}  // namespace orthros::cuda
