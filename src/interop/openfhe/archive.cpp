#include "interop/openfhe/archive.hpp"

#include <algorithm>

namespace hemera::interop::openfhe {
namespace {

// OpenFHE 1.4 to 1.6 write 0 for keys, crypto objects, parameters and schemes, whose 1 is not registered.
std::uint32_t version_of(Class type) { return type <= Class::ciphertext ? 1 : 0; }

}  // namespace

void Archive::version(Class type) {
  bool& seen = seen_[static_cast<std::size_t>(type)];
  if (seen) return;
  seen = true;
  std::uint32_t version = version_of(type);
  value("cereal_class_version", version);
  // Static builds write 0 where others write 1, with the same fields.
  if (version > 1) {
    fail("a class of version " + std::to_string(version) + ", which OpenFHE 1.4 to 1.6 do not write");
  }
}

void Archive::value(const char* name, std::optional<bool>& value) {
  if (is_reading() ? !has_field(name) : !value) {
    value.reset();
    return;
  }
  bool plain = value.value_or(false);
  this->value(name, plain);
  value = plain;
}

bool Archive::type_word(bool is_there, std::span<const std::string_view> names, std::size_t& type) {
  const auto known = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(type_names_.begin(), type_names_.end(), name) -
                                    type_names_.begin());
  };
  std::uint32_t word = exact_type;
  std::string name;
  if (!is_reading()) {
    if (!is_there) {
      word = 0;
    } else if (!names.empty()) {
      name = names[type];
      const std::size_t index = known(name);
      word = static_cast<std::uint32_t>(index + 1);
      if (index == type_names_.size()) {
        type_names_.push_back(name);
        word |= is_new;
      }
    }
  }
  value("polymorphic_id", word);
  if ((word & is_new) != 0) value("polymorphic_name", name);
  if (!is_reading()) return is_there;

  if (word == 0) return false;
  if (word == exact_type) {
    if (!names.empty()) fail("an object of the abstract type " + std::string(names.front()));
    return true;
  }
  if ((word & is_new) != 0) {
    if ((word & ~is_new) != type_names_.size() + 1) fail("a type with a number out of its order");
    type_names_.push_back(name);
  } else if (word > type_names_.size()) {
    fail("a reference to a type that was not named before");
  }
  const std::string& found = type_names_[(word & ~is_new) - 1];
  const auto match = std::find(names.begin(), names.end(), found);
  if (match == names.end()) {
    fail("an object of the type '" + found.substr(0, 80) + "' where another one belongs");
  }
  type = static_cast<std::size_t>(match - names.begin());
  return true;
}

std::uint32_t Archive::number_of(const void* object) {
  if (is_reading() || object == nullptr) return 0;
  const auto [entry, is_first] =
      written_.try_emplace(object, static_cast<std::uint32_t>(written_.size() + 1));
  return is_first ? entry->second | is_new : entry->second;
}

std::size_t Archive::announce(std::uint32_t number) {
  if (number != read_.size() + 1) fail("an object with a number out of its order");
  read_.emplace_back(nullptr, typeid(void));
  return read_.size() - 1;
}

const std::shared_ptr<void>& Archive::find(std::uint32_t number, std::type_index type) const {
  if (number > read_.size() || read_[number - 1].first == nullptr || read_[number - 1].second != type) {
    fail("a reference to an object that is not there or of another type");
  }
  return read_[number - 1].first;
}

}  // namespace hemera::interop::openfhe
