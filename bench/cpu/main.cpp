// Times the operations of every scheme on the CPU with several numbers of threads and writes JSON:
// `hemera_cpu_bench --help`.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cpu/session.hpp"
#include "cpu/sets.hpp"
#include "energy.hpp"
#include "hemera/rlwe/security.hpp"
#include "options.hpp"

#if !defined(HEMERA_COMMIT)
#define HEMERA_COMMIT "unknown"
#endif

namespace hemera::cpu_bench {
namespace {

constexpr const char* help = R"(Times operations on the CPU, in turn with each number of threads; writes JSON.

  --sets A,B          only these sets; default: all but smoke_...
  --degrees N,M       only these degrees; default: those of each set
  --operations A,B    only these operations; default: all
  --threads 1,2,4     numbers of threads; default: 1
  --rounds N          how often each row is measured, in turn with the others; default: 5
  --seconds S         how long each time, at least one call; default: 0.02
  --pause S           seconds before each call in which threads can fall asleep; default: none
  --energy 1,10,500   energy of so many products with their relinearization one after the other, and nothing else
  --output FILE       default: standard output
  --list              the sets and the operations
)";

struct Options {
  std::vector<std::string> sets, operations;
  std::vector<std::size_t> degrees, threads = {1}, energy;
  std::size_t rounds = 5;
  double seconds = 0.02, pause = 0;
  std::string output;
};

struct Row {
  std::string set, operation;
  std::size_t degree, threads;
  /// The least of all calls, and the least median of a round's calls: in microseconds.
  double least = std::numeric_limits<double>::infinity();
  double median = std::numeric_limits<double>::infinity();
  /// Energy: products of a round, and joules of one of them.
  std::size_t products = 0;
  double joules = 0, watts = 0, idle_watts = 0;
};

// std::invalid_argument for a name that is none.
void require_known(const Options& options) {
  for (const std::string& name : options.sets) {
    if (std::none_of(sets().begin(), sets().end(), [&](const Set& set) { return set.name == name; })) {
      throw std::invalid_argument("there is no set '" + name + "'; --list names them");
    }
  }
  bench::require_known_operations(options.operations, operations());
}

void list() {
  for (const Set& set : sets()) {
    for (const std::size_t degree : set.degrees) {
      const rlwe::Parameters parameters = set.make(degree);
      std::cout << std::left << std::setw(14) << set.name << std::setw(7) << degree << set.what << "; log QP "
                << std::lround(parameters.log_union() + parameters.log_special()) << ", "
                << rlwe::name(parameters.security()) << "\n";
    }
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
    } else if (name == "--degrees") {
      options.degrees = bench::numbers(name, value());
    } else if (name == "--threads") {
      options.threads = bench::numbers(name, value());
    } else if (name == "--energy") {
      options.energy = bench::numbers(name, value());
    } else if (name == "--rounds") {
      options.rounds = bench::number<std::size_t>(name, value(), 1);
    } else if (name == "--seconds") {
      options.seconds = bench::number<double>(name, value(), 0);
    } else if (name == "--pause") {
      options.pause = bench::number<double>(name, value(), 0);
    } else if (name == "--output") {
      options.output = value();
    } else {
      return false;
    }
    return true;
  });
  require_known(options);
  return options;
}

double microseconds(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  call.run();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// The first call of a round brings memory and threads back, and does not count.
void measure(Row& row, const Call& call, const Options& options) {
  call.run();
  std::vector<double> times;
  double sum = 0;
  do {
    if (options.pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>(options.pause));
    times.push_back(microseconds(call));
    sum += times.back() + 1e6 * options.pause;
  } while (sum < 1e6 * options.seconds);
  row.least = std::min(row.least, *std::min_element(times.begin(), times.end()));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  row.median = std::min(row.median, *middle);
}

std::vector<Row> measure_energy(const Set& set, std::size_t degree, const Options& options) {
  std::vector<Row> rows;
  for (const std::size_t threads : options.threads) {
    const std::vector<Call> all = calls(set.make(degree), static_cast<int>(threads));
    const auto product =
        std::find_if(all.begin(), all.end(), [](const Call& call) { return call.operation == "multiply"; });
    for (const std::size_t products : options.energy) {
      const auto round = [&] {
        for (std::size_t i = 0; i < products; ++i) product->run();
      };
      constexpr double least_seconds = 1.5;
      const auto energy = bench::measure_energy(bench::processor_energy(), round, least_seconds);
      if (!energy) {
        std::cerr << "  energy: skipped, this user can not read the processor's counter\n";
        return rows;
      }
      const double seconds = energy->seconds / static_cast<double>(products);
      rows.push_back({.set = set.name,
                      .operation = "energy_of_products",
                      .degree = degree,
                      .threads = threads,
                      .least = 1e6 * seconds,
                      .median = 1e6 * seconds,
                      .products = products,
                      .joules = energy->joules / static_cast<double>(products),
                      .watts = energy->joules / energy->seconds,
                      .idle_watts = energy->idle_watts});
    }
  }
  return rows;
}

std::vector<Row> measure(const Set& set, std::size_t degree, const Options& options) {
  const rlwe::Parameters parameters = set.make(degree);
  std::vector<Row> rows;
  std::vector<Call> measured;
  for (const std::size_t threads : options.threads) {
    for (Call& call : calls(parameters, static_cast<int>(threads))) {
      if (!bench::chosen(options.operations, call.operation)) continue;
      if (!call.check()) {
        throw std::runtime_error(set.name + " at N = " + std::to_string(degree) + ": " + call.operation +
                                 " gives a wrong result");
      }
      rows.push_back({.set = set.name, .operation = call.operation, .degree = degree, .threads = threads});
      measured.push_back(std::move(call));
    }
  }
  // Rows of one operation follow each other, so that what else the machine does meets them alike.
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto place = [&](std::size_t i) {
    return std::find(operations().begin(), operations().end(), rows[i].operation);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  for (std::size_t round = 0; round < options.rounds; ++round) {
    for (const std::size_t i : order) measure(rows[i], measured[i], options);
  }
  return rows;
}

void write(std::ostream& out, const std::vector<Row>& rows) {
  out << "{\n  \"commit\": \"" HEMERA_COMMIT "\",\n  \"rows\": [";
  const char* separator = "\n";
  for (const Row& row : rows) {
    out << separator << R"(    {"set": ")" << row.set << R"(", "operation": ")" << row.operation
        << R"(", "n": )" << row.degree << R"(, "threads": )" << row.threads << R"(, "microseconds": )"
        << row.least << R"(, "median": )" << row.median;
    if (row.products != 0) {
      out << R"(, "products": )" << row.products << R"(, "millijoules": )" << 1e3 * row.joules
          << R"(, "watts": )" << row.watts << R"(, "idle_watts": )" << row.idle_watts;
    }
    out << "}";
    separator = ",\n";
  }
  out << "\n  ]\n}\n";
}

void run(const Options& options) {
  std::vector<Row> rows;
  for (const Set& set : sets()) {
    if (options.sets.empty() ? set.name.starts_with("smoke_") : !bench::chosen(options.sets, set.name))
      continue;
    for (const std::size_t degree : set.degrees) {
      if (!bench::chosen(options.degrees, degree)) continue;
      std::cerr << set.name << ", N = " << degree << "\n";
      const std::vector<Row> measured =
          options.energy.empty() ? measure(set, degree, options) : measure_energy(set, degree, options);
      rows.insert(rows.end(), measured.begin(), measured.end());
    }
  }
  if (options.output.empty()) return write(std::cout, rows);
  std::ofstream file(options.output);
  write(file, rows);
  if (!file.flush()) throw std::runtime_error("can not write " + options.output);
}

}  // namespace
}  // namespace hemera::cpu_bench

int main(int count, char** arguments) {
  try {
    hemera::cpu_bench::run(hemera::cpu_bench::read_options(count, arguments));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "hemera_cpu_bench: " << error.what() << "\n";
    return 1;
  }
}
