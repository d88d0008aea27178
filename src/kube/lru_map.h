// LruMap: what was used last, up to a bound.
#pragma once

#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace mainstay::kube {

template <class Value>
class LruMap {
 public:
  explicit LruMap(std::size_t capacity) : capacity_(capacity) {}

  // nullptr when absent. What is found counts as used. Valid until the next call.
  Value* find(const std::string& key) {
    const auto at = index_.find(key);
    if (at == index_.end()) {
      return nullptr;
    }
    entries_.splice(entries_.begin(), entries_, at->second);
    return &at->second->second;
  }

  // The value of `key`, made of `arguments` when there is none; then the one unused for longest may go.
  template <class... Arguments>
  Value& get(const std::string& key, Arguments&&... arguments) {
    if (Value* present = find(key)) {
      return *present;
    }
    entries_.emplace_front(std::piecewise_construct, std::forward_as_tuple(key),
                           std::forward_as_tuple(std::forward<Arguments>(arguments)...));
    index_[key] = entries_.begin();
    if (entries_.size() > capacity_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return entries_.front().second;
  }

  void erase(const std::string& key) {
    if (const auto at = index_.find(key); at != index_.end()) {
      entries_.erase(at->second);
      index_.erase(at);
    }
  }

 private:
  using Entries = std::list<std::pair<const std::string, Value>>;
  const std::size_t capacity_;
  Entries entries_;  // the one used last in front
  std::unordered_map<std::string, typename Entries::iterator> index_;
};

}  // namespace mainstay::kube
