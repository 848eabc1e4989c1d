// The recurrent mixer of a layer over a step's rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/model/chunkwise.hpp"
#include "reference/model/linear_inputs.hpp"
#include "reference/model/norm.hpp"
#include "reference/model/parallel.hpp"

namespace orthros {

template <class S>
class LinearLayer {
 public:
  using A = Accumulator<S>;

  LinearLayer(const Step<S>& step, const LinearMixer& mixer, const LinearMixerWeights<S>& weights,
              int64_t layer)
      : step_(step), mixer_(mixer), weights_(weights), layer_(layer) {}

  // n: RMSNorm(x), rows x D. Base rows move the states on; an output copy reads the state after
  // its token's update and leaves it as it is. Result: RMSNorm(o) * silu(n W_gate), times W_o.
  Matrix<S> operator()(const Matrix<S>& n) const {
    const LinearInputs<A> inputs = LinearInputMaker<S>(step_, mixer_, weights_, layer_)(n);
    Matrix<A> o(n.rows(), mixer_.values_width());
    const auto sequences = static_cast<int64_t>(step_.batch.size());
    const int64_t heads = mixer_.value_heads;
    const int64_t work = 3 * n.rows() * mixer_.values_width() * mixer_.key_width;
    parallel_for(sequences * heads, work,
                 [&](int64_t i) { run_head(inputs, i / heads, i % heads, o); });
    const Matrix<S> gated = gate(n, o);
    step_.observe("attention", layer_, gated);
    return weights_.output(gated);
  }

 private:
  // One sequence's rows in one value head, in order of tokens, cut into segments within which no
  // document starts and no copy reads.
  void run_head(const LinearInputs<A>& inputs, int64_t sequence, int64_t head, Matrix<A>& o) const {
    const int64_t key_at = head * mixer_.key_heads / mixer_.value_heads * mixer_.key_width;
    auto& recurrent = std::get<RecurrentState<S>>(
        step_.batch[static_cast<size_t>(sequence)].cache->layers[static_cast<size_t>(layer_)]);
    State<A> state = recurrent.state.middleRows(head * mixer_.key_width, mixer_.key_width);
    const std::vector<int64_t> copies = copies_of(sequence);
    auto copy = copies.begin();
    const auto read_copies_at = [&](int64_t entry) {
      for (; copy != copies.end() && step_.rows[static_cast<size_t>(*copy)].entry <= entry;
           ++copy) {
        read_state<A>(&inputs.q(*copy, key_at), state, &o(*copy, head * mixer_.value_width));
      }
    };
    const auto [begin, end] = base_rows_of(sequence);
    if (begin == end) read_copies_at(std::numeric_limits<int64_t>::max());
    for (int64_t row = begin; row < end;) {
      const Row& at = step_.rows[static_cast<size_t>(row)];
      if (row == begin) read_copies_at(at.entry - 1);
      if (at.entry == at.first) state.fill(A(0.0));
      const int64_t next_copy =
          copy == copies.end() ? end
                               : row + step_.rows[static_cast<size_t>(*copy)].entry - at.entry + 1;
      const int64_t stop = segment_end(row, std::min(end, next_copy));
      run_segment(inputs, row, stop, head, key_at, state, o);
      row = stop;
      read_copies_at(step_.rows[static_cast<size_t>(row - 1)].entry);
    }
  }

  // The first row from `row` + 1 on that starts a document or a chunk; at most `limit`.
  int64_t segment_end(int64_t row, int64_t limit) const {
    const bool chunkwise = step_.options.form == RecurrentForm::chunkwise;
    const int64_t most = std::min(limit, row + (chunkwise ? step_.options.chunk : 1));
    int64_t stop = row + 1;
    while (stop < most && step_.rows[static_cast<size_t>(stop)].first ==
                              step_.rows[static_cast<size_t>(row)].first) {
      ++stop;
    }
    return stop;
  }

  void run_segment(const LinearInputs<A>& inputs, int64_t row, int64_t stop, int64_t head,
                   int64_t key_at, State<A> state, Matrix<A>& o) const {
    const int64_t value_at = head * mixer_.value_width;
    if (step_.options.form == RecurrentForm::recurrent) {
      update_state(mixer_.kind, token(inputs, row, head, key_at), state);
      read_state<A>(&inputs.q(row, key_at), state, &o(row, value_at));
      return;
    }
    std::vector<RecurrentToken<A>> tokens;
    for (int64_t r = row; r < stop; ++r) tokens.push_back(token(inputs, r, head, key_at));
    const Matrix<A> q = inputs.q.block(row, key_at, stop - row, mixer_.key_width);
    o.block(row, value_at, stop - row, mixer_.value_width) =
        Chunk<A>(mixer_.kind, q, tokens, state).run();
  }

  RecurrentToken<A> token(const LinearInputs<A>& inputs, int64_t row, int64_t head,
                          int64_t key_at) const {
    const bool per_channel = mixer_.kind == Recurrence::gated_linear;
    RecurrentToken<A> token{&inputs.k(row, key_at), &inputs.v(row, head * mixer_.value_width),
                            &inputs.log_gate(row, per_channel ? key_at : head), per_channel,
                            A(1.0)};
    if (mixer_.kind == Recurrence::gated_delta) token.write = inputs.write(row, head);
    return token;
  }

  // Output rows of a sequence, by the entry that they stand at.
  std::vector<int64_t> copies_of(int64_t sequence) const {
    std::vector<int64_t> copies;
    for (auto r = static_cast<size_t>(step_.base_rows); r < step_.rows.size(); ++r) {
      if (step_.rows[r].sequence == sequence) copies.push_back(static_cast<int64_t>(r));
    }
    std::stable_sort(copies.begin(), copies.end(), [&](int64_t x, int64_t y) {
      return step_.rows[static_cast<size_t>(x)].entry < step_.rows[static_cast<size_t>(y)].entry;
    });
    return copies;
  }

  struct RowRange {
    int64_t begin;
    int64_t end;
  };
  RowRange base_rows_of(int64_t sequence) const {
    int64_t begin = 0;
    for (int64_t s = 0; s < sequence; ++s) {
      begin += static_cast<int64_t>(step_.batch[static_cast<size_t>(s)].tokens.size());
    }
    return {begin,
            begin + static_cast<int64_t>(step_.batch[static_cast<size_t>(sequence)].tokens.size())};
  }

  // RMSNorm of each head's o, times silu of the row's own gate.
  Matrix<S> gate(const Matrix<S>& n, const Matrix<A>& o) const {
    const Matrix<S> gates = weights_.gate(n);
    Matrix<S> result(o.rows(), o.cols());
    const int64_t width = mixer_.value_width;
    for (int64_t r = 0; r < o.rows(); ++r) {
      for (int64_t at = 0; at < o.cols(); at += width) {
        const A inverse = Operations<S>::inverse_rms(&o(r, at), width, step_.spec.norm_eps);
        for (int64_t i = 0; i < width; ++i) {
          const A normed = o(r, at + i) * inverse * widen(weights_.norm(i));
          result(r, at + i) = static_cast<S>(normed * silu(widen(gates(r, at + i))));
        }
      }
    }
    return result;
  }

  const Step<S>& step_;
  const LinearMixer& mixer_;
  const LinearMixerWeights<S>& weights_;
  int64_t layer_;
};

}  // namespace orthros
