#include "interop/openfhe/json_archive.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "hemera/runtime/error.hpp"
#include "hemera/runtime/memory.hpp"

namespace hemera::interop::openfhe {
namespace {

using Item = JsonDocument::Item;
using Kind = Item::Kind;

constexpr std::size_t deepest = 64;  // OpenFHE's files have up to 32
constexpr std::size_t longest_text = 1024;
constexpr std::size_t most_names = 1024;
// Memory that a document may take in addition to the size of its text. OpenFHE writes a residue in 20 bytes
// and more, and structure is small compared with residues.
constexpr std::size_t free_bytes = std::size_t{32} << 20;

[[noreturn]] void refuse(const std::string& problem) { throw FormatError("OpenFHE JSON: " + problem); }

// They may be a secret key's.
void zero(std::vector<std::uint64_t>& numbers) {
  runtime::secure_zero(numbers.data(), numbers.size() * sizeof(std::uint64_t));
}

// Receives what a parser finds in the text.
class Builder {
 public:
  Builder(JsonDocument& document, std::size_t text_bytes)
      : document_(document), budget_(free_bytes + text_bytes) {}

  bool null() { refuse("a null, which OpenFHE does not write"); }
  bool boolean(bool value) { return scalar({.kind = Kind::truth, .integer = value ? 1U : 0U}); }
  bool number_integer(std::int64_t value) {
    return scalar({.kind = Kind::signed_number, .integer = static_cast<std::uint64_t>(value)});
  }
  bool number_unsigned(std::uint64_t value) {
    if (open_.empty() || document_.items[open_.back()].kind != Kind::list) {
      return scalar({.kind = Kind::unsigned_number, .integer = value});
    }
    Item& list = document_.items[open_.back()];
    if (!in_numbers_) {
      if (list.integer != 0) refuse("a list of numbers and other values");
      in_numbers_ = true;
      document_.numbers.emplace_back();
      spend(sizeof(document_.numbers[0]));
    }
    auto& numbers = document_.numbers.back();
    if (numbers.size() == numbers.capacity()) {
      // Old and new memory are there at once.
      const std::size_t wanted = std::max<std::size_t>(64, numbers.size() + numbers.size() / 2);
      spend((wanted - numbers.size()) * sizeof(std::uint64_t));
      std::vector<std::uint64_t> larger;
      larger.reserve(wanted);
      larger.assign(numbers.begin(), numbers.end());
      zero(numbers);
      numbers = std::move(larger);
    }
    numbers.push_back(value);
    ++list.integer;
    return true;
  }
  bool number_float(double value, const std::string& /*text*/) {
    return scalar({.kind = Kind::real, .real = value});
  }
  bool string(std::string& value) {
    if (value.size() > longest_text) refuse("a text of " + std::to_string(value.size()) + " characters");
    spend(sizeof(std::string) + value.size());
    document_.texts.push_back(value);
    return scalar({.kind = Kind::text, .integer = document_.texts.size() - 1});
  }
  bool binary(std::vector<std::uint8_t>& /*value*/) { return false; }
  bool key(std::string& name) {
    const auto known = names_.find(name);
    if (known != names_.end()) {
      name_ = known->second;
      return true;
    }
    if (name.size() > longest_text || names_.size() == most_names) refuse("too many names of fields");
    name_ = static_cast<std::uint32_t>(document_.names.size());
    names_.emplace(name, name_);
    document_.names.push_back(name);
    return true;
  }
  bool start_object(std::size_t /*count*/) { return open({.kind = Kind::object}); }
  bool start_array(std::size_t /*count*/) { return open({.kind = Kind::list}); }
  bool end_object() { return close(); }
  bool end_array() {
    if (in_numbers_) {
      Item& list = document_.items[open_.back()];
      list.kind = Kind::numbers;
      list.integer = document_.numbers.size() - 1;
      in_numbers_ = false;
    }
    return close();
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) {
    refuse("malformed text at byte " + std::to_string(position));
  }

 private:
  void spend(std::size_t bytes) {
    if (bytes > budget_) refuse("more values than a file of this size has");
    budget_ -= bytes;
  }

  bool add(Item item) {
    if (in_numbers_) refuse("a list of numbers and other values");
    if (!open_.empty()) ++document_.items[open_.back()].integer;
    item.name = name_;
    name_ = JsonDocument::no_name;
    item.next = document_.items.size() + 1;
    spend(2 * sizeof(Item));  // vectors grow by doubling
    document_.items.push_back(item);
    return true;
  }
  bool scalar(const Item& item) {
    if (open_.empty()) refuse("the text is no object");
    return add(item);
  }
  bool open(const Item& item) {
    if (open_.size() == deepest) refuse("more than " + std::to_string(deepest) + " levels of nesting");
    if (open_.empty() && item.kind != Kind::object) refuse("the text is no object");
    add(item);
    open_.push_back(document_.items.size() - 1);
    return true;
  }
  bool close() {
    document_.items[open_.back()].next = document_.items.size();
    open_.pop_back();
    return true;
  }

  JsonDocument& document_;
  std::size_t budget_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<std::size_t> open_;
  std::uint32_t name_ = JsonDocument::no_name;
  bool in_numbers_ = false;
};

}  // namespace

JsonDocument::~JsonDocument() {
  for (auto& list : numbers) zero(list);
}

JsonDocument::JsonDocument(std::span<const std::byte> text) {
  Builder builder(*this, text.size());
  // The parser takes it for the end of the text.
  if (std::find(text.begin(), text.end(), std::byte{0}) != text.end()) refuse("a null character");
  const auto* const begin = reinterpret_cast<const char*>(text.data());
  if (!nlohmann::json::sax_parse(begin, begin + text.size(), &builder)) refuse("malformed text");
}

JsonReader::JsonReader(const JsonDocument& document) : document_(document) {
  places_.push_back(
      {.first = 1, .next = 1, .end = document.items[0].next, .count = document.items[0].integer});
}

void JsonReader::fail(const std::string& problem) const {
  std::string where;
  if (last_name_ != nullptr) where = std::string(" (at \"") + last_name_ + "\")";
  throw FormatError("OpenFHE JSON: " + problem + where);
}

void JsonReader::expect_end() const {
  if (places_.size() != 1 || places_.front().taken != places_.front().count) {
    fail("more than the object that is asked for");
  }
}

std::size_t JsonReader::find_field(const char* name) const {
  const Place& place = places_.back();
  const auto has_name = [&](std::size_t index) {
    const std::uint32_t found = document_.items[index].name;
    return found != JsonDocument::no_name && document_.names[found] == name;
  };
  // Usually it is the next one.
  std::size_t at = place.next;
  if (at >= place.end || !has_name(at)) {
    at = place.first;
    while (at < place.end && !has_name(at)) at = document_.items[at].next;
  }
  return at;
}

bool JsonReader::has_field(const char* name) { return find_field(name) < places_.back().end; }

const JsonDocument::Item& JsonReader::take(const char* name) {
  Place& place = places_.back();
  if (name != nullptr) last_name_ = name;
  const std::size_t at = name == nullptr ? place.next : find_field(name);
  if (at >= place.end) fail("a field that is not there");
  const Item& item = document_.items[at];
  place.next = item.next;
  ++place.taken;
  position_ = std::max(position_, at);
  return item;
}

std::uint64_t JsonReader::integer(const char* name, std::uint64_t largest) {
  const Item& item = take(name);
  if (item.kind != Kind::unsigned_number || item.integer > largest) {
    fail("a value that is no integer of its range");
  }
  return item.integer;
}

void JsonReader::value(const char* name, bool& value) {
  const Item& item = take(name);
  if (item.kind != Kind::truth) fail("a value that is neither true nor false");
  value = item.integer != 0;
}
void JsonReader::value(const char* name, std::uint8_t& value) {
  value = static_cast<std::uint8_t>(integer(name, std::numeric_limits<std::uint8_t>::max()));
}
void JsonReader::value(const char* name, std::uint32_t& value) {
  value = static_cast<std::uint32_t>(integer(name, std::numeric_limits<std::uint32_t>::max()));
}
void JsonReader::value(const char* name, std::int32_t& value) {
  const Item& item = take(name);
  const auto number = static_cast<std::int64_t>(item.integer);  // of signed_number, which is below 0
  const bool fits = item.kind == Kind::unsigned_number
                        ? item.integer <= std::numeric_limits<std::int32_t>::max()
                        : item.kind == Kind::signed_number &&
                              number >= std::numeric_limits<std::int32_t>::min() &&
                              number <= std::numeric_limits<std::int32_t>::max();
  if (!fits) fail("a value that is no integer of its range");
  value = static_cast<std::int32_t>(number);
}
void JsonReader::value(const char* name, std::uint64_t& value) {
  value = integer(name, std::numeric_limits<std::uint64_t>::max());
}
void JsonReader::value(const char* name, float& value) {
  double wide = 0;
  this->value(name, wide);
  value = static_cast<float>(wide);
}
void JsonReader::value(const char* name, double& value) {
  const Item& item = take(name);
  if (item.kind == Kind::real) {
    value = item.real;
  } else if (item.kind == Kind::unsigned_number) {
    value = static_cast<double>(item.integer);
  } else if (item.kind == Kind::signed_number) {
    value = static_cast<double>(static_cast<std::int64_t>(item.integer));
  } else {
    fail("a value that is no number");
  }
}
void JsonReader::value(const char* name, std::string& value) {
  const Item& item = take(name);
  if (item.kind != Kind::text) fail("a value that is no text");
  value = document_.texts[item.integer];
}

void JsonReader::words(const char* name, std::vector<std::uint64_t>& values) {
  const Item& item = take(name);
  if (item.kind == Kind::numbers) {
    values = document_.numbers[item.integer];
  } else if (item.kind == Kind::list && item.integer == 0) {
    values.clear();
  } else {
    fail("a value that is no list of 64-bit integers");
  }
}

void JsonReader::begin(const char* name) {
  const Item& item = take(name);
  if (item.kind != Kind::object) fail("a value that is no object");
  const auto index = static_cast<std::size_t>(&item - document_.items.data());
  places_.push_back({.first = index + 1, .next = index + 1, .end = item.next, .count = item.integer});
}

void JsonReader::end() {
  const Place& place = places_.back();
  if (place.taken != place.count) fail("a field that OpenFHE does not write, or one twice");
  places_.pop_back();
}

std::size_t JsonReader::begin_list(const char* name, std::size_t /*count*/, std::size_t /*least_bytes*/) {
  const Item& item = take(name);
  if (item.kind != Kind::list) fail("a value that is no list of objects");
  const auto index = static_cast<std::size_t>(&item - document_.items.data());
  places_.push_back({.first = index + 1, .next = index + 1, .end = item.next, .count = item.integer});
  return item.integer;
}

}  // namespace hemera::interop::openfhe
