// The portable binary encoding: numbers without names, lists and strings with a 64-bit count before them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hemera/runtime/bytes.hpp"
#include "interop/openfhe/archive.hpp"

namespace hemera::interop::openfhe {

/// Reads bytes that it does not own. Counts are compared with what is left before memory is taken.
class BinaryReader final : public Archive {
 public:
  explicit BinaryReader(std::span<const std::byte> file);

  [[nodiscard]] std::size_t position() const override { return position_; }
  void expect_end() const override;

  [[nodiscard]] bool is_reading() const override { return true; }
  [[noreturn]] void fail(const std::string& problem) const override;
  void value(const char* name, bool& value) override;
  void value(const char* name, std::uint8_t& value) override;
  void value(const char* name, std::uint32_t& value) override;
  void value(const char* name, std::int32_t& value) override;
  void value(const char* name, std::uint64_t& value) override;
  void value(const char* name, float& value) override;
  void value(const char* name, double& value) override;
  void value(const char* name, std::string& value) override;
  void words(const char* name, std::vector<std::uint64_t>& values) override;
  void begin(const char* /*name*/) override {}
  void end() override {}

 private:
  std::size_t begin_list(const char* name, std::size_t count, std::size_t least_bytes) override;
  void end_list() override {}

  std::span<const std::byte> take(std::size_t count);
  template <typename T>
  T number();
  std::size_t count(std::size_t least_bytes);

  std::span<const std::byte> file_;
  std::size_t position_ = 0;
  bool is_big_endian_ = false;
};

/// Writes little-endian, whatever the machine.
class BinaryWriter final : public Archive {
 public:
  BinaryWriter();

  [[nodiscard]] std::vector<std::byte> take() { return out_.take(); }

  [[nodiscard]] std::size_t position() const override { return out_.size(); }
  void expect_end() const override {}

  [[nodiscard]] bool is_reading() const override { return false; }
  [[noreturn]] void fail(const std::string& problem) const override;
  void value(const char* /*name*/, bool& value) override { out_.boolean(value); }
  void value(const char* /*name*/, std::uint8_t& value) override { out_.u8(value); }
  void value(const char* /*name*/, std::uint32_t& value) override { out_.u32(value); }
  void value(const char* /*name*/, std::int32_t& value) override {
    out_.u32(static_cast<std::uint32_t>(value));
  }
  void value(const char* /*name*/, std::uint64_t& value) override { out_.u64(value); }
  void value(const char* name, float& value) override;
  void value(const char* /*name*/, double& value) override { out_.f64(value); }
  void value(const char* name, std::string& value) override;
  void words(const char* name, std::vector<std::uint64_t>& values) override;
  void begin(const char* /*name*/) override {}
  void end() override {}

 private:
  std::size_t begin_list(const char* name, std::size_t count, std::size_t least_bytes) override;
  void end_list() override {}

  runtime::ByteWriter out_;
};

}  // namespace hemera::interop::openfhe
