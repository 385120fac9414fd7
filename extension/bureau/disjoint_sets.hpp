#pragma once

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace bureau {

// Union-find over 0 to size - 1. The smallest element is the root of its set, so roots do not depend on the order of unions.
class DisjointSets {
public:
	explicit DisjointSets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

	std::size_t root(std::size_t element) noexcept {
		while (parent_[element] != element) {
			parent_[element] = parent_[parent_[element]];
			element = parent_[element];
		}
		return element;
	}

	void unite(std::size_t a, std::size_t b) noexcept {
		a = root(a);
		b = root(b);
		if (a > b)
			std::swap(a, b);
		parent_[b] = a;
	}

private:
	std::vector<std::size_t> parent_;
};

} // namespace bureau
