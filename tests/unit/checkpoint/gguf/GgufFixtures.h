// SPDX-License-Identifier: Apache-2.0
// GGUF files made on the spot, for every test that reads some.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::test {

/// The bytes of one GGUF file, value by value. Numbers of types and of tensor types are those of
/// the format.
class GgufWriter {
public:
  explicit GgufWriter(uint32_t version = 3) : version(version) {}

  template <class T> static std::string number(T value) {
    std::string bytes(sizeof(T), '\0');
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    return bytes;
  }
  static std::string number(float value) { return number(std::bit_cast<uint32_t>(value)); }
  static std::string text(std::string_view value) {
    return number<uint64_t>(value.size()).append(value);
  }
  static std::string array(uint32_t type, uint64_t count, std::string_view elements) {
    return (number(type) + number(count)).append(elements);
  }

  /// A value of any type, given as the bytes behind its type.
  GgufWriter &key(std::string_view name, uint32_t type, std::string_view value) {
    keys += (text(name) + number(type)).append(value);
    ++keyCount;
    return *this;
  }
  GgufWriter &u32(std::string_view name, uint32_t value) { return key(name, 4, number(value)); }
  GgufWriter &f32(std::string_view name, float value) { return key(name, 6, number(value)); }
  GgufWriter &boolean(std::string_view name, bool value) {
    return key(name, 7, std::string(1, value ? '\1' : '\0'));
  }
  GgufWriter &string(std::string_view name, std::string_view value) {
    return key(name, 8, text(value));
  }
  GgufWriter &strings(std::string_view name, const std::vector<std::string> &values) {
    std::string elements;
    for (const std::string &value : values)
      elements += text(value);
    return key(name, 9, array(8, values.size(), elements));
  }
  GgufWriter &numbers(std::string_view name, const std::vector<int32_t> &values) {
    std::string elements;
    for (int32_t value : values)
      elements += number(value);
    return key(name, 9, array(5, values.size(), elements));
  }
  GgufWriter &numbers(std::string_view name, const std::vector<float> &values) {
    std::string elements;
    for (float value : values)
      elements += number(value);
    return key(name, 9, array(6, values.size(), elements));
  }

  /// A tensor of ggml type `type` whose bytes are `bytes`; `dims` innermost first, as in the file.
  GgufWriter &tensor(std::string_view name, uint32_t type, const std::vector<uint64_t> &dims,
                     std::string_view bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    return tensorAt(name, type, dims, data.size(), bytes);
  }

  /// The same where the file says that it begins at `offset` of the data part.
  GgufWriter &tensorAt(std::string_view name, uint32_t type, const std::vector<uint64_t> &dims,
                       uint64_t offset, std::string_view bytes) {
    infos += text(name) + number<uint32_t>(static_cast<uint32_t>(dims.size()));
    for (uint64_t dim : dims)
      infos += number(dim);
    infos += number(type) + number(offset);
    data += bytes;
    ++tensorCount;
    return *this;
  }

  std::string str() const {
    std::string file = "GGUF" + number(version) + number(tensorCount) + number(keyCount);
    file += keys + infos;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data;
  }

private:
  static constexpr size_t alignment = 32;

  uint32_t version;
  uint64_t keyCount = 0, tensorCount = 0;
  std::string keys, infos, data;
};

} // namespace ingot::test
