// Joins measured ops with the table of ops.
#include "sim/roofline.hpp"

#include <map>

namespace orthros {

std::vector<RooflineRow> roofline(const std::vector<MeasuredOps>& ops, const ModelSpec& spec,
                                  const Profile& profile, const Hardware& hardware) {
  std::map<std::string, StepCost> costs;
  std::vector<RooflineRow> rows;
  for (const MeasuredOps& one : ops) {
    if (!costs.contains(one.arch)) {
      costs.try_emplace(one.arch, run_model(spec, one.arch), Deployment{}, profile, hardware);
    }
    std::map<std::string, RooflineRow> groups;
    std::map<std::string, double> largest;
    for (const CostOp& line : cost_ops(costs.at(one.arch), one.request)) {
      const std::string group = op_group(line.op.name);
      if (line.stage != one.stage || !one.groups.contains(group)) continue;
      RooflineRow& row = groups[group];
      row.flops += line.flops;
      row.bytes += line.bytes;
      row.floor_s += line.seconds;
      if (line.seconds >= largest[group]) {
        largest[group] = line.seconds;
        row.bound = line.bound;
      }
    }
    for (auto& [group, row] : groups) {
      const MeasuredOps::Time& time = one.groups.at(group);
      row.arch = one.arch;
      row.request = one.request;
      row.stage = one.stage;
      row.group = group;
      row.launches = time.launches;
      row.measured_s = time.seconds;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace orthros
