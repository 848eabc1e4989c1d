// Reads scenarios/paper/table4.json.
#include "sim/paper.hpp"

#include "reference/spec/json_fields.hpp"
#include "reference/spec/scenario_files.hpp"

namespace orthros {

const PaperRow* PaperTable::find(std::string_view model, std::string_view arch, std::string_view on,
                                 const CostRequest& request) const {
  for (const PaperRow& row : rows) {
    if (row.model == model && row.arch == arch && hardware == on &&
        row.request.input == request.input && row.request.output == request.output &&
        row.request.batch == request.batch) {
      return &row;
    }
  }
  return nullptr;
}

double PaperTable::e2e_bound_of(const PaperRow& row) const {
  const bool hybrid = row.arch == "linear-hybrid" || row.arch == "orthros-h";
  return hybrid ? hybrid_e2e_bound : e2e_bound;
}

PaperTable load_paper_table() {
  const std::filesystem::path path = scenario_path("paper", "table4");
  const nlohmann::json json = read_json_file(path);
  const JsonFields fields(json, path.string());
  PaperTable table;
  table.title = fields.required_text("title");
  table.source = fields.required_text("source");
  table.conditions = fields.required_text("conditions");
  table.hardware = fields.required_text("hardware");
  const auto models = fields.object("models");
  const auto bounds = fields.object("bounds");
  const nlohmann::json* rows = fields.raw("rows");
  if (!models || !bounds || rows == nullptr || !rows->is_array()) {
    fields.fail("rows", "expected models, bounds and an array of rows");
  }
  table.ttft_bound = bounds->required_number("ttft");
  table.e2e_bound = bounds->required_number("e2e");
  table.hybrid_e2e_bound = bounds->required_number("hybrid_e2e");
  for (const nlohmann::json& entry : *rows) {
    const JsonFields row(entry, path.string(), "rows[].");
    PaperRow read;
    read.arch = row.required_text("arch");
    read.model = models->required_text(read.arch.c_str());
    read.request = {row.required_integer("input"), row.required_integer("output"),
                    fields.required_integer("batch")};
    check_request(read.request);
    read.fitted = row.boolean("fitted").value_or(false);
    read.ttft_s = row.number("ttft_s");
    read.e2e_s = row.required_number("e2e_s");
    read.output_tokens_per_s = row.number("output_tokens_per_s");
    read.decode_tokens_per_s = row.required_number("decode_tokens_per_s");
    table.rows.push_back(read);
  }
  return table;
}

}  // namespace orthros
