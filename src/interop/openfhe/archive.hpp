// The archive that OpenFHE's files are written by (cereal's), as one description of fields for both of its
// encodings and both directions: a `visit` function for each class names the fields in their order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

namespace hemera::interop::openfhe {

/// Classes that write a version before their fields where they first occur in a file. The parameters and
/// schemes of each scheme are classes of their own, three in a row.
enum class Class : std::uint8_t {
  crypto_context,
  dcrt_parameters,
  native_parameters,
  big_element_parameters,
  native_element_parameters,
  big_integer,
  native_integer,
  encoding_parameters,
  dcrt_polynomial,
  native_polynomial,
  native_vector,
  ciphertext,
  public_key,
  private_key,
  evaluation_key,
  relinearization_key,
  key,
  crypto_object,
  scheme_parameters,
  rns_parameters = scheme_parameters + 3,
  rlwe_parameters,
  base_parameters,
  scheme,
  rns_scheme = scheme + 3,
  base_scheme,
};
inline constexpr std::size_t class_count = static_cast<std::size_t>(Class::base_scheme) + 1;

constexpr Class for_scheme(Class first, std::size_t scheme) {
  return static_cast<Class>(static_cast<std::size_t>(first) + scheme);
}

/// One file, read or written from its beginning to its end. Names are those of JSON; list elements have none.
/// Readers throw FormatError.
class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  virtual ~Archive() = default;

  [[nodiscard]] virtual bool is_reading() const = 0;
  /// Throws FormatError that says where.
  [[noreturn]] virtual void fail(const std::string& problem) const = 0;
  /// The same for what OpenFHE does write, and Hemera does not have.
  [[noreturn]] void refuse(const std::string& problem) {
    was_refused_ = true;
    fail(problem);
    std::terminate();  // not reached: GCC forgets of virtual functions that they do not return
  }
  [[nodiscard]] bool was_refused() const { return was_refused_; }
  /// How far it got, in units of its own.
  [[nodiscard]] virtual std::size_t position() const = 0;
  /// Throws FormatError unless everything was read.
  virtual void expect_end() const = 0;

  // Fields go to the values, or come from them.
  virtual void value(const char* name, bool& value) = 0;
  virtual void value(const char* name, std::uint8_t& value) = 0;
  virtual void value(const char* name, std::uint32_t& value) = 0;
  virtual void value(const char* name, std::int32_t& value) = 0;
  virtual void value(const char* name, std::uint64_t& value) = 0;
  virtual void value(const char* name, float& value) = 0;
  virtual void value(const char* name, double& value) = 0;
  virtual void value(const char* name, std::string& value) = 0;
  /// A field that OpenFHE 1.4 does not write: none where a file has none.
  void value(const char* name, std::optional<bool>& value);
  /// Whether such fields were assumed to be there; the bytes do not show it.
  [[nodiscard]] virtual bool has_guessed() const { return false; }
  /// A vector of numbers.
  virtual void words(const char* name, std::vector<std::uint64_t>& values) = 0;
  /// The same for this many numbers that the binary writer leaves place for: they are still with a device.
  virtual void words_later(const char* /*name*/, std::size_t /*count*/) {
    fail("numbers that are not there");
  }

  /// The fields of an object stand between these.
  virtual void begin(const char* name) = 0;
  virtual void end() = 0;

  /// Elements by `visit_element(element)`. A reader takes no memory for elements that can not follow, of
  /// `least_bytes` each in the binary encoding.
  template <typename T, typename Visit>
  void list(const char* name, std::vector<T>& elements, std::size_t least_bytes, const Visit& visit_element) {
    const std::size_t count = begin_list(name, elements.size(), least_bytes);
    if (is_reading()) {
      elements.clear();
      for (std::size_t i = 0; i < count; ++i) visit_element(elements.emplace_back());
    } else {
      for (T& element : elements) visit_element(element);
    }
    end_list();
  }

  /// The version of a class: checked, and always written as OpenFHE 1.5 does.
  void version(Class type);

  /// A shared pointer to a class with virtual functions. Without names the object has exactly the declared
  /// type; with names it has one of these, and T::type is its index. Objects come by `visit`.
  template <typename T>
  void pointer(const char* name, std::shared_ptr<T>& object, std::span<const std::string_view> names = {}) {
    begin(name);
    std::size_t type = 0;
    if constexpr (requires { object->type; }) {
      if (object != nullptr) type = object->type;
    }
    if (type_word(object != nullptr, names, type)) {
      wrapper(object, [&](T& made) {
        if constexpr (requires { made.type; }) made.type = type;
        begin("data");
        visit(*this, made);
        end();
      });
      if (object == nullptr) fail("a pointer with a type and no object");
      if constexpr (requires { object->type; }) {
        if (object->type != type) fail("a reference to an object of another type");
      }
    } else {
      object.reset();
    }
    end();
  }

  /// A shared pointer to a class without virtual functions; `visit_object` visits its field "data".
  template <typename T, typename Visit>
  void plain_pointer(const char* name, std::shared_ptr<T>& object, const Visit& visit_object) {
    begin(name);
    wrapper(object, visit_object);
    end();
  }

  /// A unique pointer, which is never null; `visit_object` visits the fields of the object.
  template <typename Visit>
  void unique_pointer(const char* name, const Visit& visit_object) {
    begin(name);
    std::uint32_t type = exact_type;
    value("polymorphic_id", type);
    if (type != exact_type) fail("an empty pointer where there must be an object");
    begin("ptr_wrapper");
    std::uint8_t valid = 1;
    value("valid", valid);
    if (valid != 1) fail("an empty pointer where there must be an object");
    begin("data");
    visit_object();
    end();
    end();
    end();
  }

 protected:
  /// Readers: whether the field that may be missing is the next one.
  virtual bool has_field(const char* name) = 0;
  /// The number of elements: `count` if it writes.
  virtual std::size_t begin_list(const char* name, std::size_t count, std::size_t least_bytes) = 0;
  virtual void end_list() = 0;

 private:
  // The number of an object, and the object where it is new.
  template <typename T, typename Visit>
  void wrapper(std::shared_ptr<T>& object, const Visit& visit_object) {
    begin("ptr_wrapper");
    std::uint32_t id = number_of(object.get());
    value("id", id);
    if (!is_reading()) {
      if ((id & is_new) != 0) visit_object(*object);
    } else if (id == 0) {
      object.reset();
    } else if ((id & is_new) != 0) {
      const std::size_t index = announce(id & ~is_new);
      auto made = std::make_shared<T>();
      visit_object(*made);
      read_[index] = {made, typeid(T)};
      object = std::move(made);
    } else {
      object = std::static_pointer_cast<T>(find(id, typeid(T)));
    }
    end();
  }

  static constexpr std::uint32_t exact_type = 0x40000000;
  static constexpr std::uint32_t is_new = 0x80000000;

  // The word for the type of a pointer, with the name where it is new; false: null. `type`: the index among
  // the names.
  bool type_word(bool is_there, std::span<const std::string_view> names, std::size_t& type);
  // Writing: the number of an object, marked if it is new.
  std::uint32_t number_of(const void* object);
  // Reading: the place of a new object of this number, which can not be referred to before it is read.
  std::size_t announce(std::uint32_t number);
  [[nodiscard]] const std::shared_ptr<void>& find(std::uint32_t number, std::type_index type) const;

  bool was_refused_ = false;
  std::array<bool, class_count> seen_{};
  std::vector<std::string> type_names_;
  std::map<const void*, std::uint32_t> written_;
  std::vector<std::pair<std::shared_ptr<void>, std::type_index>> read_;
};

}  // namespace hemera::interop::openfhe
