#include "gpu/matrices.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>

#include "gpu/timer.hpp"
#include "hemera/poly/backend.hpp"
#include "hemera/schemes/ckks.hpp"
#include "options.hpp"

namespace hemera::gpu_bench {
namespace {

constexpr std::size_t components = 2;

__extension__ using int128 = __int128;

// A number for each place, without a state: SplitMix64's output function (Steele, Lea and Flood, 2014).
std::uint64_t hash(std::uint64_t place) {
  std::uint64_t x = (place + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

// The input, a matrix and the output, in one context.
class Product {
 public:
  Product(const MatrixCase& chosen, const rlwe::Context& context, int bytes)
      : chosen_(chosen),
        context_(context),
        base_(context.base(context.top_level())),
        in_(context.memory(), chosen.columns, components, base_, poly::Form::coefficient),
        out_(context.memory(), chosen.rows, components, base_, poly::Form::coefficient),
        host_(chosen.rows * chosen.columns * static_cast<std::size_t>(bytes)),
        device_(context.memory(), host_.size()),
        space_(context.memory()),
        bytes_(bytes) {
    const std::size_t degree = chosen.degree;
    context.backend().upload_rows(context.queue(), in_.view(), poly::Form::coefficient,
                                  [&](std::size_t first, std::span<std::uint64_t> rows) {
                                    for (std::size_t i = 0; i < rows.size(); ++i) {
                                      rows[i] = residue(first + i / degree, i % degree);
                                    }
                                  });
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = static_cast<std::byte>(hash(~i));
    context.backend().upload_values(context.queue(), {device_.data(), host_.size()}, host_);
  }

  void run() {
    context_.backend().multiply_matrix(context_.queue(), out_.view(), std::as_const(in_).view(), integers(),
                                       base_, space_);
  }

  [[nodiscard]] bool is_right() const {
    std::vector<std::uint64_t> row(components * base_.size() * chosen_.degree);
    for (const std::size_t r : {std::size_t{0}, chosen_.rows / 2, chosen_.rows - 1}) {
      context_.backend().download(context_.queue(), row, out_.view().batches(r, 1), poly::Form::coefficient);
      context_.queue().synchronize();
      for (std::size_t place = 0; place < 64; ++place) {
        const std::size_t i = hash(place + r) % row.size();
        if (row[i] != expected(r, i / chosen_.degree, i % chosen_.degree)) return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] poly::IntegerMatrixView integers() const {
    return {.data = device_.data(),
            .host = host_.data(),
            .rows = chosen_.rows,
            .columns = chosen_.columns,
            .bytes = bytes_};
  }
  // A residue of the input: `row` counts [column, component, limb].
  [[nodiscard]] std::uint64_t residue(std::size_t row, std::size_t entry) const {
    return hash(row * chosen_.degree + entry) % base_.modulus(row % base_.size()).value();
  }
  [[nodiscard]] std::uint64_t expected(std::size_t r, std::size_t component_and_limb,
                                       std::size_t entry) const {
    int128 sum = 0;
    for (std::size_t j = 0; j < chosen_.columns; ++j) {
      const std::size_t row = j * components * base_.size() + component_and_limb;
      sum += static_cast<int128>(integers().at(r, j)) * static_cast<int128>(residue(row, entry));
    }
    const auto q = static_cast<int128>(base_.modulus(component_and_limb % base_.size()).value());
    return static_cast<std::uint64_t>((sum % q + q) % q);
  }

  const MatrixCase& chosen_;
  const rlwe::Context& context_;
  poly::RnsBase base_;
  poly::Poly in_, out_;
  std::vector<std::byte> host_;
  runtime::Buffer device_;
  runtime::Workspace space_;
  int bytes_;
};

}  // namespace

MatrixCase read_matrix(const std::string& text) {
  MatrixCase result;
  const std::string name = "--matrices " + text;
  std::size_t* const sizes[] = {&result.rows, &result.columns, &result.degree};
  const std::vector<std::string> parts = bench::split(text, ':');
  const std::vector<std::string> extents = bench::split(text.substr(0, text.find(':')), 'x');
  if (extents.size() != 3) throw std::invalid_argument(name + ": use ROWSxCOLUMNSxN");
  for (std::size_t i = 0; i < 3; ++i) *sizes[i] = bench::number<std::size_t>(name, extents[i], 1);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t sign = parts[i].find('=');
    const std::string field = parts[i].substr(0, sign);
    if (sign == std::string::npos || (field != "limbs" && field != "bits")) {
      throw std::invalid_argument(name + ": a matrix has no field " + field + "; use limbs=, bits=");
    }
    (field == "limbs" ? result.limbs : result.bits) =
        bench::number<std::size_t>(name, parts[i].substr(sign + 1), 1);
  }
  return result;
}

std::vector<TimedRow> time_matrix(const MatrixCase& chosen, int device, std::size_t repetitions) {
  const rlwe::Parameters parameters =
      ckks::parameters_from_bits({.degree = chosen.degree,
                                  .prime_bits = std::vector<int>(chosen.limbs, static_cast<int>(chosen.bits)),
                                  .special_bits = {static_cast<int>(chosen.bits)},
                                  .scale = 0x1p30,
                                  .security = std::nullopt});
  const auto context = rlwe::Context::make(parameters, {runtime::Device::Kind::cuda, device});
  const Timer timer(*context, repetitions);
  std::vector<TimedRow> timings;
  for (const int bytes : {1, 2}) {
    Product product(chosen, *context, bytes);
    const Call call{
        .run = [&] { product.run(); }, .release = [] {}, .check = [&] { return product.is_right(); }};
    const auto add = [&](const char* mode, const Timing& timing) {
      const double products =
          static_cast<double>(chosen.rows * chosen.columns * chosen.degree * chosen.limbs * components);
      timings.push_back({{{"operation", json_string("multiply_matrix")},
                          {"rows", std::to_string(chosen.rows)},
                          {"columns", std::to_string(chosen.columns)},
                          {"n", std::to_string(chosen.degree)},
                          {"limbs", std::to_string(chosen.limbs)},
                          {"bits", std::to_string(chosen.bits)},
                          {"bytes", std::to_string(bytes)},
                          {"mode", json_string(mode)},
                          {"products_per_ns", fixed(products / timing.median / 1000)}},
                         timing.median,
                         timing.spread,
                         timing.checked});
    };
    add("eager", timer.eager(call));
    if (const auto graph = timer.graph(call)) add("graph", *graph);
  }
  return timings;
}

}  // namespace hemera::gpu_bench
