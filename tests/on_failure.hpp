// What a failing assertion prints besides its expressions: the text that each living object of this
// class makes at that moment, for example what an engine refused so far.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace veriroce::house {

class OnFailure {
  public:
    explicit OnFailure(std::function<std::string()> text) : text_(std::move(text)) {
        living().push_back(this);
    }
    ~OnFailure() { std::erase(living(), this); }
    OnFailure(const OnFailure&) = delete;
    OnFailure& operator=(const OnFailure&) = delete;

    static std::string all() {
        std::string text;
        for (const OnFailure* one : living())
            text += one->text_();
        return text;
    }

  private:
    static std::vector<OnFailure*>& living() {
        static std::vector<OnFailure*> all;
        return all;
    }

    std::function<std::string()> text_;
};

} // namespace veriroce::house
