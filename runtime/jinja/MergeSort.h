// SPDX-License-Identifier: Apache-2.0
// mergeSort: a stable sort by any relation.
#pragma once

#include <algorithm>
#include <vector>

namespace ingot::runtime::jinja {

/// Sorts as sorted() of Python. `less` may throw, and need not be an order (a NaN is less than
/// nothing), which the sorts of the standard library do not allow.
template <class T, class Less> void mergeSort(std::vector<T> &items, const Less &less) {
  std::vector<T> merged;
  for (size_t run = 1; run < items.size(); run *= 2) {
    merged.clear();
    for (size_t begin = 0; begin < items.size(); begin += 2 * run) {
      const size_t middle = std::min(begin + run, items.size());
      const size_t end = std::min(middle + run, items.size());
      size_t left = begin, right = middle;
      while (left < middle && right < end)
        merged.push_back(less(items[right], items[left]) ? items[right++] : items[left++]);
      while (left < middle)
        merged.push_back(items[left++]);
      while (right < end)
        merged.push_back(items[right++]);
    }
    items.swap(merged);
  }
}

} // namespace ingot::runtime::jinja
