// Builds the table of ops of a step.
#include "sim/ops.hpp"

#include <algorithm>

#include "sim/shard_ops.hpp"

namespace orthros {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Writes the ops of one step for one model on one GPU of its deployment.
class Writer {
 public:
  Writer(const CountModel& model, const Deployment& deployment,
         std::span<const PrefillChunk> prefill, const DecodeLoad& decode, std::vector<Op>& ops)
      : model_(model), to_(deployment), prefill_(prefill), decode_(decode), ops_(ops) {
    int128 tokens = 0;
    for (const PrefillChunk& chunk : prefill) {
      tokens += int128{chunk.sequences} * chunk.tokens;
      if (chunk.logits) outputs_ += chunk.sequences;
    }
    if (decode.sequences > 0) require_decode_over_shards(model, deployment);
    // Sequence parallelism splits positions of prefill; decode rows are on one rank at worst.
    base_rows_ = narrow(tokens / to_.sequence_parallel +
                        (tokens % to_.sequence_parallel != 0 ? 1 : 0) + decode.sequences);
    outputs_ += decode.sequences;
  }

  void write() {
    // The embedding rows are a gather: bytes without FLOPs.
    Op embedding = make("embedding", OpKind::elementwise, 1);
    embedding.bytes_read = narrow(int128{base_rows_} * model_.hidden * to_.weight_bytes);
    embedding.bytes_written = narrow(int128{base_rows_} * model_.hidden * to_.activation_bytes);
    ops_.push_back(embedding);
    bool shared_written = false;
    for (const LayerGroup& group : model_.groups) {
      if (group.kind == LayerGroup::Kind::shared_kv && !shared_written) {
        gemm("shared_kv_proj", 1, base_rows_, 2 * kv_width(group), model_.hidden,
             2 * int128{base_rows_} * kv_width(group) * model_.hidden, kv_written(group));
        shared_written = true;
      }
      if (group.kind == LayerGroup::Kind::linear) {
        linear_layer(group);
      } else {
        softmax_layer(group);
      }
    }
    if (outputs_ > 0) {
      const int64_t vocab = ceil_div(model_.vocab, to_.tensor_parallel);
      gemm("lm_head", 1, outputs_, vocab, model_.hidden, int128{outputs_} * vocab * model_.hidden,
           0);
    }
  }

 private:
  Op make(std::string_view name, OpKind kind, int64_t count) const {
    Op op;
    op.name = name;
    op.kind = kind;
    op.count = count;
    return op;
  }

  int64_t kv_width(const LayerGroup& group) const {  // of this rank: at least one head
    return ceil_div(group.kv_heads, to_.tensor_parallel) * (group.kv_width / group.kv_heads);
  }
  int64_t split(int64_t width) const { return ceil_div(width, to_.tensor_parallel); }
  int64_t kv_written(const LayerGroup& group) const {
    return narrow(int128{base_rows_} * 2 * kv_width(group) * to_.kv_bytes);
  }

  void gemm(std::string_view name, int64_t count, int64_t m, int64_t n, int64_t k, int128 macs,
            int64_t cache_bytes) {
    Op op = make(name, OpKind::gemm, count);
    op.m = m;
    op.n = n;
    op.k = k;
    op.flops = narrow(2 * macs);
    op.bytes_read = narrow(int128{n} * k * to_.weight_bytes + int128{m} * k * to_.activation_bytes);
    op.bytes_written = narrow(int128{m} * n * to_.activation_bytes + cache_bytes);
    ops_.push_back(op);
  }

  // The FFN and the block's elementwise work and, with tensor parallelism, its two all-reduces.
  void rest_of_layer(const LayerGroup& group, int64_t base_ffn_rows, int64_t copy_rows,
                     int64_t mixer_width) {
    const int64_t rows = base_ffn_rows + copy_rows;
    if (rows == 0) return;
    const int64_t width = split(group.ffn_width);
    const int128 cell = int128{rows} * model_.hidden * width;
    gemm("gate_up_proj", group.layers, rows, 2 * width, model_.hidden, 2 * cell, 0);
    gemm("down_proj", group.layers, rows, model_.hidden, width, cell, 0);
    // Two norms read x and write n, two residual adds read both and write x; RoPE and norms of q
    // and k, or gates; SwiGLU reads two and writes one.
    Op op = make("elementwise", OpKind::elementwise, group.layers);
    const int128 cells = int128{rows} * to_.activation_bytes;
    op.bytes_read = narrow(cells * (6 * model_.hidden + mixer_width + 2 * width));
    op.bytes_written = narrow(cells * (4 * model_.hidden + mixer_width + width));
    ops_.push_back(op);
    if (to_.tensor_parallel > 1) {
      // A ring moves 2 (p-1)/p of the rows' hidden vectors out of each GPU.
      Op reduce = make("all_reduce", OpKind::communication, 2 * group.layers);
      const int64_t p = to_.tensor_parallel;
      reduce.sequences = 1;
      reduce.bytes_written =
          narrow(2 * int128{rows} * model_.hidden * to_.activation_bytes * (p - 1) / p);
      ops_.push_back(reduce);
    }
  }

  // Whether a group runs rows of its own at output positions: copies, cross layers, or what is left
  // of a dead layer.
  bool runs_outputs(const LayerGroup& group) const {
    return model_.dual || group.dead_base || group.kind == LayerGroup::Kind::shared_kv;
  }

  void softmax_layer(const LayerGroup& group) {
    const bool shared = group.kind == LayerGroup::Kind::shared_kv;
    const int64_t copies = runs_outputs(group) ? outputs_ : 0;
    const int64_t base = shared || group.dead_base ? 0 : base_rows_;
    const int64_t rows = base + copies;
    const int64_t query = split(group.query_width + group.gate_width);
    const int64_t kv = kv_width(group);
    if (shared) {
      if (rows == 0) return;
      gemm("q_proj", group.layers, rows, query, model_.hidden, int128{rows} * query * model_.hidden,
           0);
    } else {
      // One stream's predicting rows are among the base rows.
      const int64_t projected = base_rows_ + (model_.dual ? copies : 0);
      gemm("qkv_proj", group.layers, projected, query + 2 * kv, model_.hidden,
           (int128{rows} * query + 2 * int128{base_rows_} * kv) * model_.hidden, kv_written(group));
    }
    prefill_attention(group);
    decode_attention(group);
    const int64_t out = split(group.query_width);
    if (rows > 0) {
      gemm("o_proj", group.layers, rows, model_.hidden, out, int128{rows} * out * model_.hidden, 0);
    }
    rest_of_layer(group, base, copies, query + 2 * kv);
  }

  // Base rows of the prefill pieces over their window; then, where logits are due, one output row
  // per sequence over everything.
  void prefill_attention(const LayerGroup& group) {
    const bool shared = group.kind == LayerGroup::Kind::shared_kv;
    const int64_t a = split(group.query_width);
    const int64_t kv = kv_width(group);
    const int64_t parts = to_.sequence_parallel;
    Op base = make("attention", OpKind::prefill_attention, group.layers);
    Op output = make(model_.dual || shared ? "output_attention" : "attention",
                     OpKind::decode_attention, group.layers);
    base.windowed = group.window_index >= 0;
    const bool in_order = to_.rows_in_order && runs_in_rounds(group, to_);
    int128 pairs = 0, most_pairs = 0, rows = 0, keys = 0, past_window = 0, hidden_pairs = 0;
    OutputKeys seen;
    for (const PrefillChunk& chunk : prefill_) {
      const int128 n = chunk.sequences;
      const int64_t reach = chunk.prefix + chunk.tokens;
      base.sequences += chunk.sequences;
      pairs += n * causal_pairs(chunk.prefix, chunk.tokens, group.window);
      if (in_order) {
        const int64_t last = ceil_div(chunk.tokens, parts);
        most_pairs += n * causal_pairs(reach - last, last, group.window);
      }
      rows += n * chunk.tokens;
      keys += n * (std::min(chunk.prefix, group.window - 1) + chunk.tokens);
      hidden_pairs += n * (causal_pairs(chunk.prefix, chunk.tokens, no_window) -
                           causal_pairs(chunk.prefix, chunk.tokens, group.window));
      past_window += n * std::max<int64_t>(0, reach - std::max(chunk.prefix, group.window));
      if (chunk.logits && runs_outputs(group)) {
        output.sequences += chunk.sequences;
        seen.keys += n * reach;
        seen.within_reach += n * std::min(reach, model_.reach.value_or(0));
      }
    }
    if (!shared && !group.dead_base && rows > 0) {
      base.rows = narrow((rows + parts - 1) / parts);
      base.pairs = narrow(most_pairs > 0 ? most_pairs : (pairs + parts - 1) / parts);
      base.flops = narrow(4 * int128{a} * base.pairs);
      const int128 rank_keys = runs_in_rounds(group, to_) ? keys : (keys + parts - 1) / parts;
      base.bytes_read =
          narrow(int128{base.rows} * a * to_.activation_bytes + rank_keys * 2 * kv * to_.kv_bytes);
      base.bytes_written = narrow(int128{base.rows} * a * to_.activation_bytes);
      base.overread_flops = narrow(4 * int128{a} * past_window / parts);
      base.overread_flops_most = narrow(4 * int128{a} * hidden_pairs / parts);
      ops_.push_back(base);
    }
    const bool hands_on = runs_in_rounds(group, to_) || !group.dead_base;
    if (!shared && hands_on && rows > 0 && parts > 1) exchange(group, rows, keys, base.sequences);
    if (output.sequences > 0) {
      attend(output, group, seen, 0, runs_in_rounds(group, to_) ? 1 : parts);
      ops_.push_back(output);
      if (parts > 1 && !runs_in_rounds(group, to_)) {
        append_partial_merge(model_, to_, group, output.sequences, seen, ops_);
      }
    }
  }

  // Sequence parallelism: a window needs w-1 keys and values of the left neighbour; full attention
  // needs all that other ranks hold, round a ring, or in rounds (cuda/group/key_circulation.hpp):
  // there what was kept before travels beside the layer in front, and only that of the round's rows
  // is waited for. A key's entries take a link some 12 ns, its products with a pass of 8192 rows
  // 220 ns; with fewer than about 400 rows a rank the link would be too slow for that.
  void exchange(const LayerGroup& group, int128 rows, int128 keys, int64_t sequences) {
    const int64_t parts = to_.sequence_parallel;
    const bool windowed = group.window < no_window;
    const bool at_once = runs_in_rounds(group, to_);
    Op op = make(windowed  ? "neighbour_kv"
                 : at_once ? "share_kv"
                           : "ring_kv",
                 OpKind::communication, group.layers);
    op.sequences = windowed || at_once ? 1 : parts - 1;
    op.between_shards = true;
    const int128 moved = windowed ? int128{sequences} * (group.window - 1)
                                  : (at_once ? rows : keys) * (parts - 1) / parts;
    op.bytes_written = narrow(moved * 2 * kv_width(group) * to_.kv_bytes);
    ops_.push_back(op);
  }

  // One query position per sequence over the keys that it sees, or what the rank holds of them;
  // `more_pairs` of (query, key) beside those, whose keys are among them.
  void attend(Op& op, const LayerGroup& group, const OutputKeys& seen, int128 more_pairs,
              int128 parts) const {
    const int128 a = split(group.query_width);
    const int128 key_bytes = int128{2} * kv_width(group) * to_.kv_bytes;
    const int128 held = seen.held(model_, to_);
    const int128 growth = seen.held_growth(model_, to_);
    op.rows = op.sequences;
    op.pairs = narrow(held / parts + more_pairs);
    op.flops = narrow(4 * a * held / parts + 4 * a * more_pairs);
    op.bytes_read =
        narrow((held * key_bytes + parts - 1) / parts + op.sequences * a * to_.activation_bytes);
    op.bytes_written = narrow(op.sequences * a * to_.activation_bytes);
    op.flops_growth = narrow(4 * a * growth / parts);
    op.bytes_growth = narrow(growth * key_bytes / parts);
  }

  void decode_attention(const LayerGroup& group) {
    if (decode_.sequences == 0) return;
    const bool windowed = group.window_index >= 0;
    const auto w = static_cast<size_t>(std::max(group.window_index, 0));
    const int64_t window_keys = windowed ? decode_.window_keys[w] : decode_.keys;
    const int64_t window_growth = windowed ? decode_.window_growth[w] : decode_.sequences;
    const bool output = runs_outputs(group);
    const bool base = group.kind == LayerGroup::Kind::softmax && !group.dead_base;
    Op op = make(output && base ? "dual_attention" : "attention", OpKind::decode_attention,
                 group.layers);
    op.sequences = decode_.sequences;
    OutputKeys seen;
    if (output) {
      seen = {decode_.keys, 0, decode_.sequences, 0};
      if (model_.reach) {
        const auto reach = static_cast<size_t>(model_.reach_index);
        seen.within_reach = decode_.window_keys[reach];
        seen.reach_growth = decode_.window_growth[reach];
      }
    } else {
      seen = {window_keys, 0, window_growth, 0};
    }
    attend(op, group, seen, output && base ? window_keys : 0, to_.sequence_parallel);
    if (output && base) op.flops_growth += 4 * split(group.query_width) * window_growth;
    if (!output && windowed) {
      op.overread_bytes = (decode_.sequences - window_growth) * 2 * kv_width(group) * to_.kv_bytes;
    }
    ops_.push_back(op);
    if ((output || runs_in_rounds(group, to_)) && to_.sequence_parallel > 1) {
      append_partial_merge(model_, to_, group, decode_.sequences, seen, ops_);
    }
  }

  void linear_layer(const LayerGroup& group) {
    const int64_t copies = model_.dual ? outputs_ : 0;
    const int64_t base = group.dead_base ? 0 : base_rows_;
    const int64_t rows = base + copies;
    const int64_t keys = split(group.key_heads * group.key_width);
    const int64_t values = split(group.value_heads * group.value_width);
    const int64_t heads = split(group.value_heads);
    const int64_t hidden = model_.hidden;
    int64_t decay = 0;      // columns of the projections of decay and write strength
    int128 decay_macs = 0;  // per row
    if (group.recurrence == Recurrence::gated_delta) decay = 2 * heads;
    if (group.recurrence == Recurrence::gated_retention) decay = heads;
    decay_macs = int128{decay} * hidden;
    if (group.recurrence == Recurrence::gated_linear) {
      decay = group.gate_rank;
      decay_macs = int128{hidden + keys} * group.gate_rank;
    }
    // Base rows project q, k, v, the gate and the decay; copies q and the gate.
    gemm("in_proj", group.layers, base_rows_ + copies, 2 * keys + 2 * values + decay, hidden,
         int128{base_rows_} * (int128{keys + values} * hidden + decay_macs) +
             int128{rows} * (keys + values) * hidden,
         0);
    recurrence(group, copies);
    if (rows > 0) {
      gemm("out_proj", group.layers, rows, hidden, values, int128{rows} * values * hidden, 0);
    }
    rest_of_layer(group, base, copies, 2 * keys + 2 * values);
  }

  // Convolution, state update and read, one fused op for prefill pieces and one for decode.
  void recurrence(const LayerGroup& group, int64_t copies) {
    const int64_t p = to_.tensor_parallel;
    const int64_t conv = split(group.conv_channels()) * group.conv_width;
    const int64_t state = split(group.value_heads) * group.key_width * group.value_width;
    const int64_t row_width =
        split(2 * group.key_heads * group.key_width + 2 * group.value_heads * group.value_width);
    const int64_t taps = split(group.conv_channels()) * std::max<int64_t>(group.conv_width - 1, 0);
    const int64_t kept = state * to_.state_bytes + taps * to_.activation_bytes;
    Op chunked = make("chunk_scan", OpKind::recurrence, group.layers);
    int128 macs = 0, rows = 0;
    int64_t prefill_copies = 0;
    for (const PrefillChunk& chunk : prefill_) {
      chunked.sequences += chunk.sequences;
      rows += int128{chunk.sequences} * chunk.tokens;
      macs += chunk.sequences *
              recurrence_macs(group, chunk.tokens, to_.prefill_form, to_.recurrent_chunk) / p;
      if (chunk.logits && copies > 0) prefill_copies += chunk.sequences;
    }
    if (rows > 0) {
      macs += rows * conv + int128{prefill_copies} * state;
      const int128 parts = to_.sequence_parallel;
      chunked.flops = narrow(2 * macs / parts);
      chunked.bytes_read = narrow(rows * row_width * to_.activation_bytes / parts +
                                  int128{chunked.sequences} * kept);
      chunked.bytes_written = chunked.bytes_read;
      ops_.push_back(chunked);
    }
    if (decode_.sequences == 0) return;
    Op step = make("recurrent_step", OpKind::recurrence, group.layers);
    step.sequences = decode_.sequences;
    const int128 n = decode_.sequences;
    const int128 once = recurrence_macs(group, 1, RecurrentForm::recurrent, 1) / p;
    step.flops = narrow(2 * n * (once + conv + (copies > 0 ? state : 0)));
    step.bytes_read = narrow(n * (kept + row_width * to_.activation_bytes));
    step.bytes_written = step.bytes_read;
    ops_.push_back(step);
  }

  const CountModel& model_;
  const Deployment& to_;
  std::span<const PrefillChunk> prefill_;
  const DecodeLoad& decode_;
  std::vector<Op>& ops_;
  int64_t base_rows_ = 0;
  int64_t outputs_ = 0;
};

}  // namespace

void append_ops(const CountModel& model, const Deployment& deployment,
                std::span<const PrefillChunk> prefill, const DecodeLoad& decode,
                std::vector<Op>& ops) {
  Writer(model, deployment, prefill, decode, ops).write();
}

}  // namespace orthros
