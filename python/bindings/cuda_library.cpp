// The CUDA backend of the Python extension: a library that is found by its name, checked and loaded when the
// first question about GPUs is asked (docs/decisions/cuda-wheel.md).
#include "runtime/cuda_library.hpp"

#include <dlfcn.h>
#if defined(__linux__)
#include <link.h>
#endif
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "hemera/runtime/fork.hpp"

namespace hemera::python {
using namespace nb::literals;
namespace {

using runtime::CudaLibrary;
using runtime::CudaPart;

constexpr std::string_view prefix = "libhemera_cuda-", suffix = ".so", own_version = HEMERA_VERSION;
constexpr const char* install_wheel =
    "`pip install hemera_cuda-" HEMERA_VERSION "-py3-none-*.whl` (docs/installation.md)";

// Python's function that returns further folders to look in.
nb::object& search() {
  static auto* const function = new nb::object;  // never destroyed: Python may have ended
  return *function;
}

// The file of this extension.
std::string own_file() {
  Dl_info found{};
  return dladdr(reinterpret_cast<void*>(&own_file), &found) == 0 ? "" : found.dli_fname;
}

std::vector<std::string> folders() {
  if (const char* const only = std::getenv("HEMERA_CUDA_FOLDER")) return {only};
  std::vector<std::string> result{std::filesystem::path(own_file()).parent_path().string()};
  const AcquiredGil acquire;
  if (search().is_valid()) {
    for (std::string& folder : nb::cast<std::vector<std::string>>(search()())) {
      result.push_back(std::move(folder));
    }
  }
  return result;
}

// The CUDA library of the first folder that has one, of this version rather than another.
struct Found {
  std::string file, version;
};
std::optional<Found> find(const std::vector<std::string>& places) {
  std::optional<Found> other;
  for (const std::string& folder : places) {
    std::vector<std::string> versions;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name.size() <= prefix.size() + suffix.size()) continue;
      if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
      versions.push_back(name.substr(prefix.size(), name.size() - prefix.size() - suffix.size()));
    }
    std::ranges::sort(versions);
    for (const std::string& version : versions) {
      const std::string name = std::string(prefix) + version + std::string(suffix);
      const Found found{(std::filesystem::path(folder) / name).string(), version};
      if (version == own_version) return found;
      if (!other) other = found;
    }
  }
  return other;
}

CudaPart problem(const std::string& what, const std::string& way_out) {
  return {.library = nullptr, .problem = "Hemera's CUDA library " + what + "; use 'cpu', or " + way_out};
}

CudaPart other_version(const std::string& file, const std::string& version) {
  return problem(file + " is of version " + version + ", and hemera is of version " HEMERA_VERSION,
                 std::string("install the library of this version: ") + install_wheel);
}

CudaPart not_loaded(const std::string& reason) {
  return problem("can not be loaded (" + reason + ")",
                 std::string("install it anew, of the same build as hemera: ") + install_wheel);
}

std::string loader_error() {
  const char* const reason = dlerror();
  return reason == nullptr ? "" : reason;
}

// Whether a file has all that its header promises: the table of sections is at its end. The loader believes
// the header, and ends the process where a part is missing.
bool is_whole(const std::string& file) {
#if defined(__linux__)
  ElfW(Ehdr) header{};
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(in.tellg());
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  return header.e_shoff <= size &&
         std::uint64_t{header.e_shnum} * header.e_shentsize <= size - header.e_shoff;
#else
  return true;
#endif
}

CudaPart load(const std::vector<std::string>& places) {
  const std::optional<Found> found = find(places);
  if (!found) {
    return problem("is not installed", std::string("install it: ") + install_wheel +
                                           ", or hemera from source with HEMERA_CUDA=ON (docs/gpu.md)");
  }
  if (found->version != own_version) return other_version(found->file, found->version);
  if (!is_whole(found->file)) return not_loaded(found->file + ": the file is cut off, or can not be read");
  // The library takes Hemera's functions of this extension, which Python loads for itself alone.
  if (dlopen(own_file().c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) == nullptr) {
    return not_loaded(loader_error());
  }
  void* const handle = dlopen(found->file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return not_loaded(loader_error());
  const auto entry = reinterpret_cast<decltype(&hemera_cuda_library)>(dlsym(handle, "hemera_cuda_library"));
  if (entry == nullptr) return not_loaded(loader_error());
  const CudaLibrary* const library = entry();
  if (library->version != own_version) return other_version(found->file, library->version);
  if (std::string_view(library->interface) != HEMERA_CUDA_INTERFACE) {
    return problem(found->file +
                       " was built of other sources, or by another compiler, than hemera (interface " +
                       library->interface + ", and hemera has " HEMERA_CUDA_INTERFACE ")",
                   "install both of one release, or build both of one checkout");
  }
  return {.library = library, .problem = ""};
}

}  // namespace

void bind_cuda_library(nb::module_& m) {
  m.def(
      "set_cuda_search", [](nb::object folders) { search() = std::move(folders); }, "folders"_a,
      nb::sig("def set_cuda_search(folders: collections.abc.Callable[[], list[str]]) -> None"));
}

}  // namespace hemera::python

namespace hemera::runtime {

const CudaPart& cuda_part() {
  struct State {
    ForkSafeMutex mutex;
    std::optional<CudaPart> part;
  };
  static auto* const state = new State;  // never destroyed: other threads may ask while the process exits
  const auto is_known = [] {
    const std::lock_guard lock(state->mutex);
    return state->part.has_value();
  };
  if (!is_known()) {
    // Before the mutex, as it may wait for the interpreter's lock.
    const std::vector<std::string> places = python::folders();
    const std::lock_guard lock(state->mutex);
    if (!state->part) state->part = python::load(places);
  }
  return *state->part;
}

}  // namespace hemera::runtime
