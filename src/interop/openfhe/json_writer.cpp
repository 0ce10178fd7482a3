#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "hemera/runtime/bytes.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/json_archive.hpp"

namespace hemera::interop::openfhe {

JsonWriter::JsonWriter() {
  append("{");
  has_fields_.push_back(false);
}

void JsonWriter::fail(const std::string& problem) const { throw MismatchError("OpenFHE JSON: " + problem); }

std::vector<std::byte> JsonWriter::take() {
  close('}');
  return std::move(out_);
}

void JsonWriter::append(std::string_view text) {
  runtime::append_bytes(out_, std::as_bytes(std::span(text)));
}

void JsonWriter::indent() {
  for (std::size_t i = 0; i < has_fields_.size(); ++i) append("    ");
}

void JsonWriter::next(const char* name) {
  append(has_fields_.back() ? ",\n" : "\n");
  has_fields_.back() = true;
  indent();
  if (name == nullptr) return;
  text(name);
  append(": ");
}

void JsonWriter::close(char bracket) {
  const bool had_fields = has_fields_.back();
  has_fields_.pop_back();
  if (had_fields) {
    append("\n");
    indent();
  }
  append(std::string_view(&bracket, 1));
}

void JsonWriter::number(std::uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  append({digits, static_cast<std::size_t>(end - digits)});
}

void JsonWriter::text(std::string_view value) {
  try {
    append(nlohmann::json(value).dump());
  } catch (const nlohmann::json::exception&) {
    fail("a key tag that is no UTF-8, which JSON has no text for; write the binary format");
  }
}

void JsonWriter::value(const char* name, bool& value) {
  next(name);
  append(value ? "true" : "false");
}
void JsonWriter::value(const char* name, std::uint8_t& value) {
  next(name);
  number(value);
}
void JsonWriter::value(const char* name, std::uint32_t& value) {
  next(name);
  number(value);
}
void JsonWriter::value(const char* name, std::int32_t& value) {
  next(name);
  append(std::to_string(value));
}
void JsonWriter::value(const char* name, std::uint64_t& value) {
  next(name);
  number(value);
}
void JsonWriter::value(const char* name, float& value) {
  double wide = value;
  this->value(name, wide);
}
void JsonWriter::value(const char* name, double& value) {
  if (!std::isfinite(value)) fail("JSON has no number for one that is not finite");
  next(name);
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  const std::string_view written(digits, static_cast<std::size_t>(end - digits));
  append(written);
  if (written.find_first_of(".e") == std::string_view::npos) append(".0");
}
void JsonWriter::value(const char* name, std::string& value) {
  next(name);
  text(value);
}

void JsonWriter::words(const char* name, std::vector<std::uint64_t>& values) {
  next(name);
  append("[");
  constexpr std::size_t longest = 24;  // of one, and its comma
  std::array<char, 170 * longest> text;
  char* end = text.data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) {
      *end++ = ',';
      *end++ = ' ';
    }
    end = std::to_chars(end, text.data() + text.size(), values[i]).ptr;
    if (end + longest > text.data() + text.size()) {
      append({text.data(), end});
      end = text.data();
    }
  }
  append({text.data(), end});
  append("]");
}

void JsonWriter::begin(const char* name) {
  next(name);
  append("{");
  has_fields_.push_back(false);
}
void JsonWriter::end() { close('}'); }

std::size_t JsonWriter::begin_list(const char* name, std::size_t count, std::size_t /*least_bytes*/) {
  next(name);
  append("[");
  has_fields_.push_back(false);
  return count;
}
void JsonWriter::end_list() { close(']'); }

}  // namespace hemera::interop::openfhe
