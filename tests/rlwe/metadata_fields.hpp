// The fields of Metadata, each with another value: what tables of "the second operand differs in X" go over.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hemera/rlwe/metadata.hpp"

namespace hemera::rlwe {

struct MetadataField {
  std::string name;
  std::function<void(Metadata&)> change;
};

/// One entry a field: second_operand_test.cpp counts them. A new field needs an entry here, and one in each
/// table that goes over these.
inline std::vector<MetadataField> metadata_fields() {
  return {{"batch", [](Metadata& meta) { meta.batch.back() += 1; }},
          {"level", [](Metadata& meta) { meta.level += 1; }},
          {"scale", [](Metadata& meta) { meta.scale *= 1.5; }},
          {"noise_scale_degree", [](Metadata& meta) { meta.noise_scale_degree += 1; }},
          {"correction", [](Metadata& meta) { meta.correction += 1; }},
          {"slots", [](Metadata& meta) { meta.slots *= 2; }},
          {"encoding", [](Metadata& meta) { meta.encoding = Encoding::coefficients; }},
          {"noise_log2", [](Metadata& meta) { meta.noise_log2 += 3; }},
          {"largest", [](Metadata& meta) { meta.largest *= 4; }},
          {"filled", [](Metadata& meta) { meta.filled += 1; }},
          {"padding", [](Metadata& meta) { meta.padding = Padding::unknown; }},
          {"is_complex", [](Metadata& meta) { meta.is_complex = true; }},
          {"spent", [](Metadata& meta) { meta.spent = true; }}};
}

}  // namespace hemera::rlwe
