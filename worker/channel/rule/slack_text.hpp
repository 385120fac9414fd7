#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace backfill::worker::rule {

// Slack's limits: 50 blocks a message and 3000 characters the text of a section block
// (docs.slack.dev/reference/block-kit/blocks, .../blocks/section-block), 40,000 characters the text of a message, beyond
// which it is truncated (docs.slack.dev/reference/methods/chat.postMessage). What Slack counts as a character is not
// written there; UTF-16 code units are never fewer than its count, whatever it is.
inline constexpr std::size_t slack_blocks = 50;
inline constexpr std::size_t slack_section_characters = 3000;
inline constexpr std::size_t slack_text_characters = 40000;

// UTF-16 code units of UTF-8 text.
std::size_t slack_length(std::string_view text) noexcept;

// &, < and > are the three characters Slack asks to escape (docs.slack.dev/messaging/formatting-message-text).
std::string slack_escaped(std::string_view text);

// The text in pieces that each fit a section; cut at the end of a line where there is one, else at a space, and never
// inside a character or an &entity;. If there are more pieces than `most`, the last of them says that more was left out.
std::vector<std::string> slack_sections(std::string_view text, std::size_t most = slack_blocks);

// The longest beginning of the text that has at most so many characters, cut in the same way.
std::string_view slack_cut(std::string_view text, std::size_t characters) noexcept;

} // namespace backfill::worker::rule
