// Times the operations of every scheme on a GPU and writes JSON: `hemera_gpu_bench --help`.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "gpu/bootstraps.hpp"
#include "gpu/gpu_energy.hpp"
#include "gpu/matrices.hpp"
#include "gpu/session.hpp"
#include "gpu/sets.hpp"
#include "hemera/runtime/device.hpp"
#include "hemera/runtime/error.hpp"
#include "options.hpp"

#if !defined(HEMERA_COMMIT)
#define HEMERA_COMMIT "unknown"
#endif

namespace hemera::gpu_bench {
namespace {

constexpr const char* help = R"(Times operations on a GPU, one call at a time, by CUDA events; writes JSON.

  --sets A,B          only these sets (a name stands for all that begin with it); default: all but smoke-...
  --operations A,B    only these operations; default: all
  --mode eager|graph|both                default: both
  --batches 1,8,32    batches for multiply_relinearize, rotate and copies (others: batch 1); default: 1
  --sweep             products and rotations at lower levels, and transforms by number of limbs, too
  --bootstraps A,B    CKKS bootstraps, and no sets: PRESET[:SLOTS][:real|:merged][:xBATCH][:iITERATIONS][:tTOGETHER]
                      [:FIELD=NUMBER], or those of a client's keys: openfhe[:SLOTS][:degree=N][:primes=N][:digits=N][:budget=N]
  --matrices A,B      products of matrices of integers and polynomials of two components, and no sets:
                      ROWSxCOLUMNSxN[:limbs=N][:bits=N], such as 4096x4096x4096
  --energy 1,10,500   energy of so many products with their relinearization one after the other, and nothing else; with
                      --bootstraps, of each bootstrap beside its time
  --repetitions N     timed calls, of which the median counts; default: 50
  --storage NAME      of switching keys: auto, eight-byte or packed; default: auto
  --device N          index of the GPU; default: 0
  --output FILE       default: standard output
  --list              the sets and the operations
)";

constexpr std::pair<std::string_view, rlwe::Storage> storages[] = {{"auto", rlwe::Storage::automatic},
                                                                   {"eight-byte", rlwe::Storage::eight_byte},
                                                                   {"packed", rlwe::Storage::packed}};

std::string name_of(rlwe::Storage storage) {
  return std::string(std::find_if(std::begin(storages), std::end(storages), [&](const auto& entry) {
                       return entry.second == storage;
                     })->first);
}

struct Options {
  std::vector<std::string> sets, operations, bootstraps, matrices;
  std::vector<std::size_t> batches = {1}, energy;
  bool eager = true, graph = true, sweep = false;
  std::size_t repetitions = 50;
  rlwe::Storage storage = rlwe::Storage::automatic;
  int device = 0;
  std::string output;
};

void list() {
  for (const Set& set : sets()) {
    const rlwe::Parameters parameters = set.make();
    std::cout << std::left << std::setw(26) << set.name << set.what << "; log QP "
              << std::lround(parameters.log_union() + parameters.log_special()) << ", "
              << rlwe::name(parameters.security()) << ", " << arithmetic(parameters) << "\n";
  }
  std::cout << "\n";
  for (const std::string& operation : operations()) std::cout << operation << "\n";
}

Options read_options(int count, char** arguments) {
  Options options;
  bench::read_options(count, arguments, [&](const std::string& name, const auto& value) {
    if (name == "--help" || name == "-h") {
      std::cout << help;
      std::exit(0);
    } else if (name == "--list") {
      list();
      std::exit(0);
    } else if (name == "--sets") {
      options.sets = bench::split(value());
    } else if (name == "--operations") {
      options.operations = bench::split(value());
    } else if (name == "--batches") {
      options.batches = bench::numbers(name, value());
    } else if (name == "--mode") {
      const std::string mode = value();
      if (mode != "eager" && mode != "graph" && mode != "both")
        throw std::invalid_argument("--mode " + mode + "?");
      options.eager = mode != "graph";
      options.graph = mode != "eager";
    } else if (name == "--bootstraps") {
      options.bootstraps = bench::split(value());
    } else if (name == "--matrices") {
      options.matrices = bench::split(value());
    } else if (name == "--energy") {
      options.energy = bench::numbers(name, value());
    } else if (name == "--sweep") {
      options.sweep = true;
    } else if (name == "--repetitions") {
      options.repetitions = bench::number<std::size_t>(name, value(), 1);
    } else if (name == "--storage") {
      const std::string text = value();
      const auto* found = std::find_if(std::begin(storages), std::end(storages),
                                       [&](const auto& entry) { return entry.first == text; });
      if (found == std::end(storages)) throw std::invalid_argument("--storage " + text + "?");
      options.storage = found->second;
    } else if (name == "--device") {
      options.device = bench::number<int>(name, value(), 0);
    } else if (name == "--output") {
      options.output = value();
    } else {
      return false;
    }
    return true;
  });
  bench::require_known_operations(options.operations, operations());
  return options;
}

bool wanted(const Options& options, const Set& set) {
  if (options.sets.empty()) return is_default(set);
  return std::any_of(options.sets.begin(), options.sets.end(),
                     [&](const std::string& name) { return set.name.starts_with(name); });
}

bool wanted(const Options& options, const std::string& operation) {
  return bench::chosen(options.operations, operation);
}

// The driver's own version where the system reports it, else the CUDA that it serves.
std::string driver_version(const runtime::CudaDevices& found) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::smatch match;
  if (std::regex_search(line, match, std::regex(R"((\d+\.\d+(\.\d+)?))"))) return match[1];
  return "CUDA " + found.driver;
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%d");
  return text.str();
}

constexpr const char* copies = "copy_between_gpus";

// Runs the calls of one set, and keeps the rows.
class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  /// Runs it. Rows of others stay where one ends with an error, which counts as a wrong result.
  template <typename What>
  void attempt(const std::string& name, const What& what) {
    try {
      run(what);
    } catch (const Error& error) {
      std::cerr << name << ": " << error.what() << "\n";
      ++wrong_;
    }
  }

  void run(const Set& set) {
    const auto begin = std::chrono::steady_clock::now();
    const rlwe::Parameters parameters = set.make();
    std::cerr << set.name << ": " << set.what << " [" << arithmetic(parameters) << "]\n";
    const bool hoisted =
        set.transforms.empty() && options_.energy.empty() && wanted(options_, "rotate_hoisted_8");
    const Client client(parameters, {runtime::Device::Kind::cuda, options_.device}, hoisted,
                        options_.storage);
    const Timer timer(*client.context, options_.repetitions);
    const std::size_t top = client.context->top_level();
    if (!options_.energy.empty()) return energy(client);
    if (!set.transforms.empty()) return transforms(client, timer, set.transforms, {1});

    at_level(client, timer, 1, top, operations());
    for (const std::size_t batch : options_.batches) {
      if (batch > 1) {
        at_level(client, timer, batch, top,
                 {"multiply_relinearize", "rotate", "upload", "download", "save", "load", copies});
      }
    }
    if (options_.sweep) {
      for (const std::size_t level : set.levels) {
        at_level(client, timer, 1, level,
                 {"multiply_relinearize", "rotate", "multiply_plain_rescale", "relinearize", "mod_up",
                  "key_inner_product", "mod_down"});
      }
      if (!set.levels.empty()) {
        transforms(client, timer, {1}, {1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40});
      }
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::cerr << "  " << fixed(seconds.count()) << " s\n";
  }

  void run(const BootstrapCase& chosen) {
    std::cerr << "bootstrap " << chosen.preset << chosen.changes << "\n";
    add_rows(time_bootstrap(chosen, options_.device, options_.repetitions));
  }

  void run(const MatrixCase& chosen) {
    std::cerr << "matrix " << chosen.rows << " x " << chosen.columns << ", N " << chosen.degree << "\n";
    add_rows(time_matrix(chosen, options_.device, options_.repetitions));
  }

  [[nodiscard]] const std::vector<std::string>& rows() const { return rows_; }
  [[nodiscard]] std::size_t wrong() const { return wrong_; }

 private:
  void add_rows(const std::vector<TimedRow>& timings) {
    for (const TimedRow& timing : timings) {
      std::string row = "{";
      for (const auto& [name, value] : timing.fields) row += json_string(name) + ": " + value + ", ";
      rows_.push_back(row + "\"microseconds\": " + fixed(timing.microseconds, 2) +
                      ", \"spread\": " + fixed(timing.spread, 2) +
                      ", \"checked\": " + (timing.checked ? "true" : "false") + "}");
      if (!timing.checked) ++wrong_;
    }
  }

  void at_level(const Client& client, const Timer& timer, std::size_t batch, std::size_t level,
                const std::vector<std::string>& names) {
    std::vector<std::string> chosen;
    for (const std::string& name : names) {
      if (wanted(options_, name)) chosen.push_back(name);
    }
    if (chosen.empty()) return;
    const Operands operands(client, batch, level);
    const std::size_t limbs = client.context->base(level).size();
    for (const std::string& name : chosen) {
      if (!has(operands, name)) continue;
      try {
        time(client, timer, make_call(operands, name), name, batch, level, limbs);
      } catch (const std::exception& error) {
        std::cerr << "  " << name << ": " << error.what() << "\n";
        ++wrong_;
      }
    }
  }

  void energy(const Client& client) {
    const Operands operands(client, 1, client.context->top_level());
    const Call call = make_call(operands, "multiply_relinearize");
    for (const std::size_t products : options_.energy) {
      const auto round = [&] {
        for (std::size_t i = 0; i < products; ++i) call.run();
        client.context->queue().synchronize();
      };
      const std::optional<bench::Energy> energy = measure_gpu_energy(options_.device, round);
      if (!energy) return;
      const auto count = static_cast<double>(products);
      add_row(client, {.median = 1e6 * energy->seconds / count, .spread = 0, .checked = call.check()},
              "eager", "energy_of_products", 1, client.context->top_level(),
              client.context->base(client.context->top_level()).size(), 0,
              {{"products", std::to_string(products)},
               {"millijoules", fixed(1e3 * energy->joules / count, 4)},
               {"watts", fixed(energy->joules / energy->seconds)},
               {"idle_watts", fixed(energy->idle_watts)}});
    }
  }

  void transforms(const Client& client, const Timer& timer, const std::vector<std::size_t>& batches,
                  const std::vector<std::size_t>& counts_of_limbs) {
    for (const std::size_t batch : batches) {
      for (const std::size_t limbs : counts_of_limbs) {
        if (limbs > client.context->key_base().size()) continue;
        for (const char* name : {"ntt", "intt"}) {
          if (!wanted(options_, name)) continue;
          time(client, timer, make_transform(client, batch, limbs, name == std::string("intt")), name, batch,
               client.context->top_level(), limbs);
        }
      }
    }
  }

  void time(const Client& client, const Timer& timer, const Call& call, const std::string& operation,
            std::size_t batch, std::size_t level, std::size_t limbs) {
    if (options_.eager) {
      add_row(client, timer.eager(call), "eager", operation, batch, level, limbs, call.bytes);
    }
    if (!options_.graph) return;
    const std::optional<Timing> graph = timer.graph(call);
    if (graph) add_row(client, *graph, "graph", operation, batch, level, limbs, call.bytes);
  }

  void add_row(const Client& client, const Timing& timing, const std::string& mode,
               const std::string& operation, std::size_t batch, std::size_t level, std::size_t limbs,
               std::size_t bytes, const Fields& more = {}) {
    const rlwe::Parameters& parameters = client.context->parameters();
    const auto& all = client.context->key_base();
    double log_q = 0;
    for (std::size_t i = 0; i < limbs; ++i) log_q += std::log2(static_cast<double>(all.modulus(i).value()));
    if (limbs == client.context->base(level).size()) log_q = parameters.log_modulus(level);
    std::string scheme = rlwe::name(parameters.scheme());
    std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    // BFV's variants give the same decrypted values at different cost.
    if (parameters.literal().bfv_multiplication == rlwe::BfvMultiplication::behz) scheme += " (behz)";
    Fields fields{{"scheme", json_string(scheme)},
                  {"operation", json_string(operation)},
                  {"n", std::to_string(client.context->degree())},
                  {"log_q", fixed(log_q)},
                  {"limbs", std::to_string(limbs)},
                  {"special", std::to_string(parameters.literal().special_primes.size())},
                  {"dnum", std::to_string(parameters.digit_count())},
                  {"level", std::to_string(level)},
                  {"batch", std::to_string(batch)},
                  {"arithmetic", json_string(arithmetic(parameters))},
                  {"security", json_string(rlwe::name(parameters.security()))},
                  {"mode", json_string(mode)}};
    if (bytes != 0) fields.emplace_back("bytes", std::to_string(bytes));
    if (options_.storage != rlwe::Storage::automatic) {
      fields.emplace_back("storage", json_string(name_of(options_.storage)));
    }
    fields.insert(fields.end(), more.begin(), more.end());
    add_rows({TimedRow{std::move(fields), timing.median, timing.spread, timing.checked}});
    std::cerr << "  " << std::left << std::setw(22) << operation << " limbs " << std::setw(3) << limbs
              << " batch " << std::setw(3) << batch << std::setw(6) << mode << std::right << std::setw(10)
              << fixed(timing.median) << " us +- " << fixed(timing.spread)
              << (bytes == 0 ? ""
                             : ", " + fixed(static_cast<double>(bytes) / timing.median / 1000, 2) + " GB/s")
              << (timing.checked ? "" : "   WRONG RESULT") << "\n";
  }

  const Options& options_;
  std::vector<std::string> rows_;
  std::size_t wrong_ = 0;
};

int run(int count, char** arguments) {
  const Options options = read_options(count, arguments);
  const runtime::CudaDevices found = runtime::find_cuda_devices();
  if (static_cast<std::size_t>(options.device) >= found.devices.size()) {
    std::cerr << "skipped: " << (found.devices.empty() ? found.problem : "there is no such device") << "\n";
    return 77;
  }
  const runtime::CudaDevice& gpu = found.devices[static_cast<std::size_t>(options.device)];
  if (wanted(options, copies) && !other_gpu({runtime::Device::Kind::cuda, options.device})) {
    std::cerr << copies << ": skipped, there is no other GPU\n";
  }
  Bench bench(options);
  for (const std::string& text : options.bootstraps) {
    BootstrapCase chosen = read_bootstrap(text);
    chosen.storage = options.storage;
    chosen.measures_energy = !options.energy.empty();
    bench.attempt(text, chosen);
  }
  for (const std::string& text : options.matrices) bench.attempt(text, read_matrix(text));
  for (const Set& set : sets()) {
    if (options.bootstraps.empty() && options.matrices.empty() && wanted(options, set)) {
      bench.attempt(set.name, set);
    }
  }
  std::ostringstream json;
  json << "{\n  \"gpu\": " << json_string(gpu.name)
       << ",\n  \"driver\": " << json_string(driver_version(found))
       << ",\n  \"commit\": " << json_string(HEMERA_COMMIT) << ",\n  \"date\": " << json_string(today())
       << ",\n  \"rows\": [\n";
  for (std::size_t i = 0; i < bench.rows().size(); ++i) {
    json << "    " << bench.rows()[i] << (i + 1 < bench.rows().size() ? ",\n" : "\n");
  }
  json << "  ]\n}\n";
  if (options.output.empty()) {
    std::cout << json.str();
  } else {
    std::ofstream(options.output) << json.str();
  }
  if (bench.wrong() != 0) std::cerr << bench.wrong() << " calls failed or gave wrong results\n";
  return bench.wrong() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace hemera::gpu_bench

int main(int argument_count, char** arguments) {
  try {
    return hemera::gpu_bench::run(argument_count, arguments);
  } catch (const std::exception& error) {
    std::cerr << "hemera_gpu_bench: " << error.what() << "\n";
    return 1;
  }
}
