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
  /// `has_all_fields`: those too that OpenFHE 1.4 does not write.
  explicit BinaryReader(std::span<const std::byte> file, bool has_all_fields = true);

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
  [[nodiscard]] bool has_guessed() const override { return has_guessed_; }

 private:
  bool has_field(const char* /*name*/) override {
    has_guessed_ = has_all_fields_;
    return has_all_fields_;
  }
  std::size_t begin_list(const char* name, std::size_t count, std::size_t least_bytes) override;
  void end_list() override {}

  std::span<const std::byte> take(std::size_t count);
  template <typename T>
  T number();
  std::size_t count(std::size_t least_bytes);

  std::span<const std::byte> file_;
  std::size_t position_ = 0;
  bool is_big_endian_ = false;
  bool has_all_fields_ = true;
  bool has_guessed_ = false;
};

/// Writes little-endian, whatever the machine. Lists of numbers stay where they are until the file's size is
/// known, so that each is copied once.
class BinaryWriter final : public Archive {
 public:
  BinaryWriter();

  [[nodiscard]] std::size_t size() const { return out_.size() + listed_; }
  /// Writes all, `size()` bytes. Returns the places of later bytes, in their order.
  [[nodiscard]] std::vector<std::span<std::byte>> write_to(std::span<std::byte> file) const;

  [[nodiscard]] std::size_t position() const override { return size(); }
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
  void words_later(const char* name, std::size_t count) override;
  void begin(const char* /*name*/) override {}
  void end() override {}

 private:
  struct List {
    std::size_t position = 0;  // in `out_`
    std::size_t count = 0;
    const std::uint64_t* words = nullptr;  // null: later
  };
  bool has_field(const char* /*name*/) override { return true; }
  std::size_t begin_list(const char* name, std::size_t count, std::size_t least_bytes) override;
  void end_list() override {}
  void add_list(std::size_t count, const std::uint64_t* words);

  runtime::ByteWriter out_;  // but for lists
  std::vector<List> lists_;
  std::size_t listed_ = 0;  // bytes of all lists
};

/// Words in the order of a file's bytes, of 8 times as many.
void store_words(std::span<std::byte> to, std::span<const std::uint64_t> words);

}  // namespace hemera::interop::openfhe
