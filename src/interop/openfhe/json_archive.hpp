// The JSON encoding: the same tree with names. It is read as a stream, so that memory follows what is in it
// and not how it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interop/openfhe/archive.hpp"

namespace hemera::interop::openfhe {

/// JSON text as a list of its items, in order; lists of numbers are vectors.
class JsonDocument {
 public:
  /// Throws FormatError for malformed text, and for values that no file of OpenFHE has: numbers of more than
  /// 64 bits, deep nesting, more structure than residues.
  explicit JsonDocument(std::span<const std::byte> text);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  /// Zeroes the numbers.
  ~JsonDocument();

  struct Item {
    enum class Kind : std::uint8_t {
      object,
      list,
      numbers,
      unsigned_number,
      signed_number,
      real,
      text,
      truth
    };
    Kind kind = Kind::object;
    std::uint32_t name = no_name;  // in names
    std::uint64_t integer = 0;     // a number, an index into numbers or texts, the count of a list or object
    double real = 0;
    std::size_t next = 0;  // the item after this one and all that is in it
  };
  static constexpr std::uint32_t no_name = 0xFFFFFFFF;

  std::vector<Item> items;
  std::vector<std::vector<std::uint64_t>> numbers;
  std::vector<std::string> texts;
  std::vector<std::string> names;
};

/// Fields may stand in any order, and all must be known. The document stays as it is: kinds of objects are
/// tried on it one after the other.
class JsonReader final : public Archive {
 public:
  explicit JsonReader(const JsonDocument& document);

  [[nodiscard]] bool is_reading() const override { return true; }
  [[noreturn]] void fail(const std::string& problem) const override;
  [[nodiscard]] std::size_t position() const override { return position_; }
  void expect_end() const override;
  void value(const char* name, bool& value) override;
  void value(const char* name, std::uint8_t& value) override;
  void value(const char* name, std::uint32_t& value) override;
  void value(const char* name, std::int32_t& value) override;
  void value(const char* name, std::uint64_t& value) override;
  void value(const char* name, float& value) override;
  void value(const char* name, double& value) override;
  void value(const char* name, std::string& value) override;
  void words(const char* name, std::vector<std::uint64_t>& values) override;
  void begin(const char* name) override;
  void end() override;

 private:
  // An object or list that is being read.
  struct Place {
    std::size_t first = 0;
    std::size_t next = 0;
    std::size_t end = 0;
    std::size_t taken = 0;
    std::size_t count = 0;
  };

  bool has_field(const char* name) override;
  std::size_t begin_list(const char* name, std::size_t count, std::size_t least_bytes) override;
  void end_list() override { end(); }
  /// An item's place; the end of its object if there is none.
  [[nodiscard]] std::size_t find_field(const char* name) const;
  const JsonDocument::Item& take(const char* name);
  std::uint64_t integer(const char* name, std::uint64_t largest);

  const JsonDocument& document_;
  std::vector<Place> places_;
  std::size_t position_ = 0;
  const char* last_name_ = nullptr;
};

/// Writes with indented structure; lists of numbers are one line each.
class JsonWriter final : public Archive {
 public:
  JsonWriter();

  [[nodiscard]] std::vector<std::byte> take();

  [[nodiscard]] bool is_reading() const override { return false; }
  [[noreturn]] void fail(const std::string& problem) const override;
  [[nodiscard]] std::size_t position() const override { return out_.size(); }
  void expect_end() const override {}
  void value(const char* name, bool& value) override;
  void value(const char* name, std::uint8_t& value) override;
  void value(const char* name, std::uint32_t& value) override;
  void value(const char* name, std::int32_t& value) override;
  void value(const char* name, std::uint64_t& value) override;
  void value(const char* name, float& value) override;
  void value(const char* name, double& value) override;
  void value(const char* name, std::string& value) override;
  void words(const char* name, std::vector<std::uint64_t>& values) override;
  void begin(const char* name) override;
  void end() override;

 private:
  bool has_field(const char* /*name*/) override { return true; }
  std::size_t begin_list(const char* name, std::size_t count, std::size_t least_bytes) override;
  void end_list() override;
  void append(std::string_view text);
  void number(std::uint64_t value);
  void text(std::string_view value);
  void indent();
  void next(const char* name);
  void close(char bracket);

  std::vector<std::byte> out_;
  std::vector<bool> has_fields_;
};

}  // namespace hemera::interop::openfhe
