#include "interop/openfhe/vectors.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace hemera::interop::openfhe::test {
namespace {

std::filesystem::path root() {
  const char* const given = std::getenv("HEMERA_OPENFHE_VECTORS");
  return given != nullptr ? std::filesystem::path(given)
                          : std::filesystem::path(HEMERA_TEST_VECTORS) / "openfhe";
}

// A file as it is, or decompressed.
std::vector<std::byte> read(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  for (int count = 1; count > 0;) {
    bytes.resize(size + (std::size_t{1} << 20));
    count = gzread(file.get(), bytes.data() + size, 1U << 20);
    if (count < 0) throw std::runtime_error("cannot read " + path.string());
    size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::optional<std::vector<std::byte>> find_below(const std::filesystem::path& folder,
                                                 const std::string& name) {
  const auto path = folder / name;
  for (const auto& candidate : {path, std::filesystem::path(path.string() + ".gz")}) {
    if (std::filesystem::exists(candidate)) return read(candidate);
  }
  return {};
}

std::optional<std::vector<std::byte>> find(const std::string& folder, const std::string& name) {
  return find_below(root() / folder, name);
}

std::vector<std::byte> get_of_version(const std::string& folder, const std::string& name) {
  auto bytes = find_below(root().parent_path() / "openfhe-versions" / folder, name);
  if (!bytes) throw std::runtime_error("there is no " + folder + "/" + name);
  return std::move(*bytes);
}

std::vector<std::byte> get(const std::string& folder, const std::string& name) {
  auto bytes = find(folder, name);
  if (!bytes) throw std::runtime_error("there is no " + folder + "/" + name);
  return std::move(*bytes);
}

std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(root() / folder)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    const bool is_object = name.ends_with(".bin") || name.ends_with(".json");
    if (is_object && name != "values.json" && name != "stages.json") found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

nlohmann::json values(const std::string& folder) {
  const auto bytes = get(folder, "values.json");
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  return nlohmann::json::parse(text, text + bytes.size());
}

}  // namespace hemera::interop::openfhe::test
