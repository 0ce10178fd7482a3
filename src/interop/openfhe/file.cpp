#include "interop/openfhe/file.hpp"

#include <array>
#include <optional>
#include <string>

#include "hemera/runtime/error.hpp"
#include "interop/openfhe/binary_archive.hpp"
#include "interop/openfhe/json_archive.hpp"

namespace hemera::interop::openfhe {
namespace {

// The object, or where and why it is none.
struct Failure {
  std::size_t position = 0;
  std::string message;
  bool is_refusal = false;
};

[[noreturn]] void refuse(const Failure& failure) {
  if (failure.is_refusal) throw FormatError(failure.message);
  // Readers of an undamaged file want to know this.
  throw FormatError(failure.message + "; files of OpenFHE 1.4 to 1.6 are read, none of older versions");
}

template <typename T>
std::optional<Failure> read_once(Archive& archive, T& object) {
  try {
    visit_file(archive, object);
    archive.expect_end();
    return {};
  } catch (const FormatError& error) {
    return Failure{archive.position(), error.what(), archive.was_refused()};
  }
}

// A file as OpenFHE 1.5 and 1.6 write it, or else 1.4: one of 1.4 that were read with the fields of 1.5 would
// be too short at the end.
template <typename T>
std::optional<Failure> read(const auto& make, T& object) {
  const auto archive = make(true);
  auto failure = read_once(*archive, object);
  if (!failure || !archive->has_guessed()) return failure;
  object = {};
  auto without = read_once(*make(false), object);
  if (!without || without->position > failure->position) return without;
  return failure;
}

std::string with_article(const std::string& kind) { return (kind.ends_with('s') ? "" : "a ") + kind; }

// Calls body(make) with what makes a new archive over the file.
template <typename Body>
auto with_archives(std::span<const std::byte> file, const Body& body) {
  if (format_of(file) == Format::binary) {
    return body([&](bool has_all_fields) { return std::make_unique<BinaryReader>(file, has_all_fields); });
  }
  JsonDocument document(file);
  return body([&](bool /*has_all_fields*/) { return std::make_unique<JsonReader>(document); });
}

template <std::size_t index>
void try_kinds(const auto& make, std::optional<AnyFile>& found, Failure& furthest) {
  if constexpr (index < std::variant_size_v<AnyFile>) {
    std::variant_alternative_t<index, AnyFile> object{};
    if (auto failure = read(make, object)) {
      if (failure->position >= furthest.position) furthest = std::move(*failure);
      try_kinds<index + 1>(make, found, furthest);
    } else {
      found = std::move(object);
    }
  }
}

}  // namespace

Format format_of(std::span<const std::byte> file) {
  if (file.empty()) throw FormatError("an empty file, which is none of OpenFHE's");
  if (std::to_integer<unsigned>(file[0]) <= 1) return Format::binary;
  for (const std::byte byte : file) {
    const char character = static_cast<char>(byte);
    if (character == '{') return Format::json;
    if (character != ' ' && character != '\n' && character != '\r' && character != '\t') break;
  }
  throw FormatError("neither a binary archive of OpenFHE, which begins with 0 or 1, nor JSON");
}

const char* kind_of(const AnyFile& file) {
  constexpr std::array<const char*, std::variant_size_v<AnyFile>> names = {
      "crypto context", "ciphertext", "public key", "secret key", "relinearization keys", "Galois keys"};
  return names[file.index()];
}

template <typename T>
T read_file(std::span<const std::byte> file) {
  return with_archives(file, [](const auto& make) {
    T object{};
    const auto failure = read(make, object);
    if (!failure) return object;
    std::optional<AnyFile> other;
    Failure furthest;
    try_kinds<0>(make, other, furthest);
    if (other) {
      throw FormatError(std::string("OpenFHE archive: the file holds ") + with_article(kind_of(*other)) +
                        ", not " + with_article(kind_of(AnyFile(std::move(object)))) +
                        "; load it as what it is");
    }
    refuse(*failure);
  });
}

AnyFile read_any_file(std::span<const std::byte> file) {
  return with_archives(file, [](const auto& make) {
    std::optional<AnyFile> found;
    Failure furthest;
    try_kinds<0>(make, found, furthest);
    if (!found) refuse(furthest);
    return std::move(*found);
  });
}

template <typename T>
void write_binary(io::Sink& sink, T& object, const WriteLater& write_later) {
  BinaryWriter writer;
  visit_file(writer, object);
  const std::span<std::byte> room = sink.room(writer.size());
  if (!room.empty()) {
    write_later(writer.write_to(room));
    return;
  }
  std::vector<std::byte> file(writer.size());
  write_later(writer.write_to(file));
  sink.write(file);
}

template <typename T>
std::vector<std::byte> write_file(T& object, Format format) {
  if (format == Format::json) {
    JsonWriter writer;
    visit_file(writer, object);
    return writer.take();
  }
  io::MemorySink sink;
  write_binary(sink, object, [](const auto& /*places*/) {});
  return sink.take();
}

template std::shared_ptr<CryptoContext> read_file(std::span<const std::byte>);
template std::shared_ptr<CiphertextObject> read_file(std::span<const std::byte>);
template std::shared_ptr<PublicKeyObject> read_file(std::span<const std::byte>);
template std::shared_ptr<PrivateKeyObject> read_file(std::span<const std::byte>);
template MultiplicationKeys read_file(std::span<const std::byte>);
template AutomorphismKeys read_file(std::span<const std::byte>);
template std::vector<std::byte> write_file(std::shared_ptr<CryptoContext>&, Format);
template std::vector<std::byte> write_file(std::shared_ptr<CiphertextObject>&, Format);
template std::vector<std::byte> write_file(std::shared_ptr<PublicKeyObject>&, Format);
template std::vector<std::byte> write_file(std::shared_ptr<PrivateKeyObject>&, Format);
template std::vector<std::byte> write_file(MultiplicationKeys&, Format);
template std::vector<std::byte> write_file(AutomorphismKeys&, Format);
template void write_binary(io::Sink&, std::shared_ptr<CiphertextObject>&, const WriteLater&);

}  // namespace hemera::interop::openfhe
