// The launches of a pass.
#include "cuda/engine/layers.hpp"

#include <algorithm>

#include "cuda/kernels/kv_entries.hpp"
#include "cuda/layout/near_keys.hpp"
#include "reference/hopper/rotary_table.hpp"

namespace orthros::cuda {
namespace {

DeviceBuffer<float> make_rotary(const Rope& rope, int64_t context) {
  std::vector<float> table(static_cast<size_t>(context * rope.width));
  constexpr int64_t piece = 4096;
#pragma omp parallel for schedule(dynamic)
  for (int64_t first = 0; first < context; first += piece) {
    const std::vector<float> part =
        hopper::rotary_table(rope, first, std::min(piece, context - first));
    std::copy(part.begin(), part.end(), table.begin() + first * rope.width);
  }
  return DeviceBuffer<float>(std::span<const float>(table));
}

// Rows of a weight from `first` on.
Weight slice(const Weight& w, int64_t first, int64_t out) {
  return {w.data + first * w.stride, out, w.in, w.stride};
}

// All shapes that a pass multiplies by, but the head, whose results are not rounded.
std::unique_ptr<Linears> prepared_linears(const DeviceModel& model, int64_t rows) {
  auto linears = std::make_unique<Linears>(rows);
  const auto& mixer = std::get<SoftmaxAttention>(model.spec.layers[0].mixer);
  const DeviceLayer& layer = model.layers[0];
  for (const Weight& w :
       {layer.qkv, slice(layer.qkv, 0, mixer.query_width()),
        slice(layer.qkv, mixer.query_width(), 2 * mixer.kv_width()), layer.output, layer.down}) {
    linears->prepare(w);
  }
  linears->prepare(layer.gate_up, true);
  return linears;
}

}  // namespace

Layers::Layers(const DeviceModel& model, const EngineLimits& limits, EngineFault fault,
               const RankHooks& hooks)
    : linears_(prepared_linears(model, Capacity(model.spec, limits).rows)),
      buffers(model.spec, limits),
      cache(model.spec, limits, fault),
      model_(model),
      fault_(fault),
      hooks_(hooks),
      shape_(attention_shape(model.spec)) {
  if (const auto& rope = mixer(0).rope) {
    rotary_ = make_rotary(*rope, limits.context);
    rotary_width_ = rope->width;
  }
}

int64_t Layers::tile_rows() const {
  return range_attention_fits(shape_) ? range_tile_rows(shape_) : 1;
}

void Layers::to_scratch(std::vector<QueryRun>& runs, std::vector<Row>& rows,
                        std::vector<RowTile>& tiles) const {
  if (cache.e4m3() == nullptr || !cache.e4m3()->widens()) return;
  place_in_scratch(runs, rows, tiles, widest_window(model_.spec));
}

const SoftmaxAttention& Layers::mixer(size_t layer) const {
  return std::get<SoftmaxAttention>(model_.spec.layers[layer].mixer);
}

Norm Layers::norm(const bf16_bits* gain, int64_t width) const {
  return {gain, width, static_cast<float>(model_.spec.norm_eps),
          model_.spec.norm == NormKind::zero_centred};
}

// x = embedding; layer by layer x = x + o W_O, x = x + SwiGLU(RMSNorm(x)); logits. The last layer's
// base rows give keys and values only.
void Layers::run(const Pass& pass, cudaStream_t stream) {
  const RowWidths& w = buffers.widths;
  const int64_t hidden = model_.spec.hidden;
  launch_embedding(model_.embedding, buffers.tokens.data(), pass.rows, hidden, buffers.x.data(),
                   w.hidden, stream);
  done("embedding");
  launch_add_norm(buffers.x.data(), nullptr, norm(model_.layers[0].input_norm, hidden), pass.rows,
                  w.hidden, buffers.n.data(), stream);
  done("elementwise");
  const size_t last = model_.layers.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    linears_->multiply(model_.layers[i].qkv, {buffers.n.data(), pass.rows, w.hidden},
                       buffers.qkv.data(), w.qkv, stream);
    done("qkv_proj");
    place(i, {0, pass.rows}, true, true, pass, stream);
    attend(i, pass, stream);
    finish_layer(i, buffers.x.data(), buffers.n.data(), {0, pass.rows},
                 model_.layers[i + 1].input_norm, stream);
  }
  last_layer(pass, stream);
}

// k, v of the base rows; all else of the predicting rows alone.
void Layers::last_layer(const Pass& pass, cudaStream_t stream) {
  const RowWidths& w = buffers.widths;
  const size_t i = model_.layers.size() - 1;
  const DeviceLayer& layer = model_.layers[i];
  const int64_t query_width = mixer(i).query_width();
  const int64_t writers = fault_ == EngineFault::copy_writes_cache ? pass.rows : pass.base_rows;
  if (writers > 0) {
    linears_->multiply(slice(layer.qkv, query_width, 2 * mixer(i).kv_width()),
                       {buffers.n.data(), writers, w.hidden}, buffers.qkv.data(), w.qkv, stream);
    done("qkv_proj");
    place(i, {0, writers}, false, true, pass, stream);
  }
  if (pass.live == 0) return;
  // Two streams: the last rows predict. One: all rows of a decode step, gathered ones of a prompt.
  const bool two_streams = model_.spec.streams == Streams::dual;
  const int64_t first = two_streams ? pass.base_rows : 0;
  bf16_bits* x = buffers.x.data() + first * w.hidden;
  bf16_bits* n = buffers.n.data() + first * w.hidden;
  if (pass.gathers) {
    x = buffers.live_x.data();
    n = buffers.live_n.data();
    const int32_t* sources = buffers.live_sources.data();
    launch_gather_rows(buffers.x.data(), sources, pass.live, w.hidden, x, stream);
    launch_gather_rows(buffers.n.data(), sources, pass.live, w.hidden, n, stream);
  }
  linears_->multiply(slice(layer.qkv, 0, query_width), {n, pass.live, w.hidden},
                     buffers.qkv.data() + first * w.qkv, w.qkv, stream);
  done("qkv_proj");
  place(i, {first, pass.live}, true, false, pass, stream);
  Attention call = attention(i, pass, stream);
  call.q += first * w.query;
  call.out += first * w.query;
  call.rows = pass.gathers ? buffers.live_rows.data() : buffers.attention_rows.data() + first;
  attend_few(call, two_streams ? 0 : pass.live, pass.live, pass);
  done(two_streams ? "output_attention" : "attention");
  finish_layer(i, x, n, {first, pass.live}, model_.norm, stream);
  predict(n, pass, stream);
}

// Queries, keys and values of rows whose projections stand in buffers.qkv.
void Layers::place(size_t layer, Span rows, bool queries, bool keys, const Pass& pass,
                   cudaStream_t stream) {
  const RowWidths& w = buffers.widths;
  const DeviceLayer& weights = model_.layers[layer];
  const bool all_write = fault_ == EngineFault::copy_writes_cache;
  const bool gathered = queries && !keys && pass.gathers;
  HeadPlacement p{};
  p.projected = buffers.qkv.data() + rows.first * w.qkv;
  p.projected_stride = w.qkv;
  p.shape = shape_;
  p.has_queries = queries;
  p.has_keys = keys;
  p.rows = gathered ? buffers.live_rows.data() : buffers.rows.data() + rows.first;
  p.count = rows.count;
  p.base_rows = all_write ? rows.count : std::min(pass.base_rows, rows.count);
  p.query_norm = norm(weights.query_norm, shape_.width);
  p.key_norm = norm(weights.key_norm, shape_.width);
  for (int s = 0; s < 2; ++s) {
    p.alpha[s] = weights.alpha[s];
    p.beta[s] = weights.beta[s];
  }
  p.scale_first = mixer(layer).scale_offset == ScaleOffset::before_qk_norm;
  p.rotary = rotary_.data();
  p.rotary_width = rotary_width_;
  p.q = buffers.q.data() + rows.first * w.query;
  p.q_stride = w.query;
  p.kv = cache.layer(static_cast<int64_t>(layer));
  if (brings_together(pass)) p.kv = cache.whole()->entries(p.kv);
  launch_place_heads(p, stream);
  done("elementwise");
  if (!keys || !brings_together(pass)) return;
  hooks_.keys->share(cache, static_cast<int64_t>(layer), stream);
  done("exchange");
}

Attention Layers::attention(size_t layer, const Pass& pass, cudaStream_t stream) const {
  int64_t window = mixer(layer).window.value_or(0);
  if (window > 0 && fault_ == EngineFault::window_off_by_one) ++window;
  const Weight& output = model_.layers[layer].output;
  KvView seen = cache.seen(static_cast<int64_t>(layer));
  if (brings_together(pass)) seen = cache.whole()->entries(seen);
  return {shape_,
          seen,
          buffers.q.data(),
          buffers.o.data(),
          buffers.widths.query,
          buffers.attention_rows.data(),
          buffers.written.data(),
          window,
          stream,
          {output.data, output.out * output.stride},
          buffers.claims.data()};
}

// o of all rows but, in the last layer, those that predict nothing.
void Layers::attend(size_t layer, const Pass& pass, cudaStream_t stream) {
  const Attention call = attention(layer, pass, stream);
  if (pass.decodes) {
    // One launch for both streams.
    Attention both = call;
    both.pairs = pass.rows == 2 * pass.base_rows;
    attend_few(both, pass.base_rows, pass.rows, pass);
    done(pass.rows > pass.base_rows ? "dual_attention" : "attention");
    return;
  }
  attend_base(call, pass);
  done("attention");
  if (pass.rows == pass.base_rows) return;
  Attention copies = call;
  copies.q += pass.base_rows * call.row_stride;
  copies.out += pass.base_rows * call.row_stride;
  copies.rows += pass.base_rows;
  attend_few(copies, 0, pass.live, pass);
  done("output_attention");
}

// Eq. 4: a prompt's base rows.
void Layers::attend_base(const Attention& call, const Pass& pass) {
  if (pass.base_rows == 0) return;
  if (cache.e4m3() != nullptr && cache.e4m3()->widens()) return attend_widened(call, pass);
  if (prompt_attention != nullptr && call.window == 0) {
    prompt_attention->attend(call, pass.prompt_runs);
  } else if (window_attention_fits(shape_, call.window)) {
    launch_window_attention(call, buffers.runs.data(), pass.runs, pass.longest_run);
  } else if (range_attention_fits(shape_)) {
    launch_range_attention(call, buffers.base_tiles.data(), pass.base_tiles);
  } else {
    launch_plain_attention(call, pass.base_rows);
  }
}

// The same over e4m3 entries, run by run over those that it sees, in bf16.
void Layers::attend_widened(const Attention& call, const Pass& pass) {
  Attention widened = call;
  widened.kv = cache.e4m3()->scratch();
  int64_t tile = 0;
  for (size_t i = 0; i < pass.prompt_runs.size(); ++i) {
    const QueryRun& run = pass.prompt_runs[i];
    launch_widen_entries(call.kv, shape_, run.sequence, near_keys(run, widest_window(model_.spec)),
                         widened.kv, call.stream);
    if (window_attention_fits(shape_, call.window)) {
      launch_window_attention(widened, buffers.runs.data() + i, 1, run.count);
      continue;
    }
    const int64_t tiles = (run.count + tile_rows() - 1) / tile_rows();
    launch_range_attention(widened, buffers.base_tiles.data() + tile, tiles);
    tile += tiles;
  }
}

// Eq. 5 and whatever else a decode step or predicting rows need: `base_rows` rows of the base
// stream, windowed where the layer is, then copies.
void Layers::attend_few(const Attention& call, int64_t base_rows, int64_t rows, const Pass& pass) {
  if (hooks_.outputs != nullptr && !brings_together(pass)) {
    hooks_.outputs->attend(call, base_rows, rows, observer);
  } else if (!range_attention_fits(shape_)) {
    launch_plain_attention(call, rows);
  } else if (rows <= buffers.capacity.split_rows) {
    launch_split_attention(call, base_rows, rows, buffers.capacity.context, buffers.splits.data());
  } else if (cache.e4m3() != nullptr) {
    // Only split attention reads e4m3 entries: as many rows at once as it has room for.
    for (int64_t first = 0; first < rows; first += buffers.capacity.split_rows) {
      const int64_t count = std::min(rows - first, buffers.capacity.split_rows);
      Attention some = call;
      some.q += first * call.row_stride;
      some.out += first * call.row_stride;
      some.rows += first;
      some.pairs = false;
      launch_split_attention(some, std::clamp<int64_t>(base_rows - first, 0, count), count,
                             buffers.capacity.context, buffers.splits.data());
    }
  } else {
    Attention tiled = call;
    if (base_rows == 0) tiled.window = 0;
    launch_range_attention(tiled, buffers.live_tiles.data(), pass.live_tiles);
  }
}

// x = x + o W_O; x = x + SwiGLU(RMSNorm(x)); n = RMSNorm(x) for what follows.
void Layers::finish_layer(size_t layer, bf16_bits* x, bf16_bits* n, Span rows,
                          const bf16_bits* next_norm, cudaStream_t stream) {
  const RowWidths& w = buffers.widths;
  const int64_t hidden = model_.spec.hidden;
  const DeviceLayer& weights = model_.layers[layer];
  bf16_bits* y = buffers.y.data();
  linears_->multiply(weights.output, {buffers.o.data() + rows.first * w.query, rows.count, w.query},
                     y, w.hidden, stream);
  done("o_proj");
  launch_add_norm(x, y, norm(weights.post_norm, hidden), rows.count, w.hidden, n, stream);
  done("elementwise");
  linears_->gated(weights.gate_up, {n, rows.count, w.hidden}, buffers.act.data(), w.ffn,
                  buffers.gate_up.data(), stream);
  done("gate_up_proj");
  linears_->multiply(weights.down, {buffers.act.data(), rows.count, w.ffn}, y, w.hidden, stream);
  done("down_proj");
  launch_add_norm(x, y, norm(next_norm, hidden), rows.count, w.hidden, n, stream);
  done("elementwise");
}

// logits_t = RMSNorm(x'_t) W_head, and the largest of each row.
void Layers::predict(const bf16_bits* n, const Pass& pass, cudaStream_t stream) {
  const RowWidths& w = buffers.widths;
  linears_->multiply(model_.head, {n, pass.live, w.hidden}, buffers.logits.data(), w.logits,
                     stream);
  done("lm_head");
  TokenSinks sinks{buffers.predicted.data(), nullptr, nullptr, nullptr, nullptr,
                   buffers.step.data()};
  if (pass.decodes) {
    const bool two_streams = model_.spec.streams == Streams::dual;
    sinks.entering = buffers.tokens.data();
    sinks.entering_rows = buffers.entering_rows.data();
    sinks.copies = two_streams ? buffers.tokens.data() + pass.base_rows : nullptr;
    sinks.history = buffers.history.data();
  }
  launch_argmax(buffers.logits.data(), pass.live, model_.spec.vocab, w.logits, sinks, stream);
  done("elementwise");
}

}  // namespace orthros::cuda
