// Objects that OpenFHE wrote, from tests/vectors/openfhe or the folder that HEMERA_OPENFHE_VECTORS names.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace hemera::interop::openfhe::test {

/// The contexts that have values to decrypt to.
inline const std::vector<std::string> folders = {"bfv", "bgv", "ckks-fixedmanual", "ckks-flexibleauto"};

/// The name of a test of a folder.
inline std::string name_of(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::erase(name, '-');
  return name;
}

/// The bytes of a file, decompressed; empty if it is not there.
std::optional<std::vector<std::byte>> find(const std::string& folder, const std::string& name);
/// The same; a failure if it is not there.
std::vector<std::byte> get(const std::string& folder, const std::string& name);
/// A file of tests/vectors/openfhe-versions/FOLDER.
std::vector<std::byte> get_of_version(const std::string& folder, const std::string& name);
/// Names of all files of a folder that OpenFHE wrote.
std::vector<std::string> names(const std::string& folder);
/// values.json.
nlohmann::json values(const std::string& folder);

}  // namespace hemera::interop::openfhe::test
