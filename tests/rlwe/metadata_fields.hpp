// The fields of Metadata, each with another value: what tables of "the second operand differs in X" go over.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hemera/rlwe/metadata.hpp"

namespace hemera::rlwe {

struct MetadataField {
  std::string name;
  std::function<void(Metadata&)> change;
  std::function<bool(const Metadata&, const Metadata&)> equal;
};

template <typename Value>
MetadataField field_of(const char* name, Value Metadata::*member, void (*change)(Metadata&)) {
  return {name, change, [=](const Metadata& a, const Metadata& b) { return a.*member == b.*member; }};
}

/// One entry a field: second_operand_test.cpp counts them. A new field needs an entry here, and one in each
/// table that goes over these.
inline std::vector<MetadataField> metadata_fields() {
  return {field_of("batch", &Metadata::batch, [](Metadata& meta) { meta.batch.back() += 1; }),
          field_of("level", &Metadata::level, [](Metadata& meta) { meta.level += 1; }),
          field_of("scale", &Metadata::scale, [](Metadata& meta) { meta.scale *= 1.5; }),
          field_of("noise_scale_degree", &Metadata::noise_scale_degree,
                   [](Metadata& meta) { meta.noise_scale_degree += 1; }),
          field_of("correction", &Metadata::correction, [](Metadata& meta) { meta.correction += 1; }),
          field_of("slots", &Metadata::slots, [](Metadata& meta) { meta.slots *= 2; }),
          field_of("encoding", &Metadata::encoding,
                   [](Metadata& meta) { meta.encoding = Encoding::coefficients; }),
          field_of("noise_log2", &Metadata::noise_log2, [](Metadata& meta) { meta.noise_log2 += 3; }),
          field_of("largest", &Metadata::largest, [](Metadata& meta) { meta.largest *= 4; }),
          field_of("filled", &Metadata::filled, [](Metadata& meta) { meta.filled += 1; }),
          field_of("padding", &Metadata::padding, [](Metadata& meta) { meta.padding = Padding::unknown; }),
          field_of("is_complex", &Metadata::is_complex, [](Metadata& meta) { meta.is_complex = true; }),
          field_of("spent", &Metadata::spent, [](Metadata& meta) { meta.spent = true; })};
}

/// The names of the fields in which two differ.
inline std::set<std::string> differing_fields(const Metadata& a, const Metadata& b) {
  std::set<std::string> names;
  for (const MetadataField& field : metadata_fields()) {
    if (!field.equal(a, b)) names.insert(field.name);
  }
  return names;
}

}  // namespace hemera::rlwe
